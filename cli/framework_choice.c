/* SPDX-License-Identifier: Apache-2.0 */
/* Which framework and stack a request means, and why. */
#include "cli/strategy_options.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void settle_framework(const rk_request *r, bool stack_known, rk_inputs *inputs)
{
    const rk_framework of_stack =
        stack_known ? rk_framework_of_stack(inputs->stack.family, inputs->stack.base)
                    : RK_FRAMEWORK_COUNT;
    if (r->framework >= 0) {
        inputs->framework = (rk_framework)r->framework;
        inputs->framework_source = RK_FRAMEWORK_GIVEN;
    } else if (of_stack < RK_FRAMEWORK_COUNT) {
        inputs->framework = of_stack;
        inputs->framework_source = RK_FRAMEWORK_BY_STACK;
    } else {
        inputs->framework = rk_framework_usual(inputs->system.accelerator.generation);
        inputs->framework_source = RK_FRAMEWORK_BY_ACCELERATOR;
    }
}

rk_status rk_request_settle(const rk_request *request, bool stack_given, rk_inputs *inputs,
                            rk_error *err)
{
    const rk_request *r = request;
    const rk_accelerator *accelerator = &inputs->system.accelerator;
    rk_status status = RK_OK;
    inputs->match = RK_STACK_NAMED;
    if (r->stack) {
        status = rk_stack_choose(r->stack, accelerator, &inputs->stack, err);
    }
    if (status) {
        return status;
    }
    settle_framework(r, stack_given || r->stack, inputs);
    const rk_framework_traits *f = rk_framework_of(inputs->framework);
    if (r->stack) {
        inputs->match = rk_stack_match_of(r->stack, accelerator, &inputs->stack);
    } else if (!stack_given) {
        status = rk_stack_choose(f->stacks[0], accelerator, &inputs->stack, err);
        inputs->match =
            status ? inputs->match : rk_stack_match_of(f->stacks[0], accelerator, &inputs->stack);
    }
    /* a family of other software says nothing of the framework's releases */
    const bool own =
        rk_framework_of_stack(inputs->stack.family, inputs->stack.base) == inputs->framework;
    inputs->year = own ? inputs->stack.year : 0;
    inputs->convention = r->convention >= 0 ? (rk_flop_convention)r->convention : f->convention;
    return status;
}

/* ---- reasons -------------------------------------------------------------------------------- */

const char *rk_framework_reason(const rk_inputs *inputs, char out[RK_REASON_SIZE])
{
    const rk_generation generation = inputs->system.accelerator.generation;
    switch (inputs->framework_source) {
    case RK_FRAMEWORK_GIVEN:
        (void)snprintf(out, RK_REASON_SIZE, "as given");
        break;
    case RK_FRAMEWORK_BY_STACK:
        (void)snprintf(out, RK_REASON_SIZE, "which the stack runs");
        break;
    case RK_FRAMEWORK_BY_ACCELERATOR:
        (void)snprintf(out, RK_REASON_SIZE, "usual on %s",
                       generation == RK_GENERATION_NONE ? "accelerators of no stated generation"
                                                        : rk_generation_names[generation]);
        break;
    }
    return out;
}

/* The generations that a stack was measured on: "ampere and hopper". */
static void list_generations(const rk_stack *stack, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; rk_generation_names[i] && stack->generations >> i; i++) {
        if (used < size && (stack->generations >> i & 1U)) {
            const char *separator = used == 0 ? "" : stack->generations >> i >> 1 ? ", " : " and ";
            used += (size_t)snprintf(out + used, size - used, "%s%s", separator,
                                     rk_generation_names[i]);
        }
    }
}

const char *rk_stack_reason(const rk_request *request, const rk_inputs *inputs,
                            char out[RK_REASON_SIZE])
{
    char measured[128];
    const char *asked =
        request->stack ? request->stack : rk_framework_of(inputs->framework)->stacks[0];
    out[0] = '\0';
    list_generations(&inputs->stack, measured, sizeof(measured));
    if (inputs->match == RK_STACK_OTHER) {
        (void)snprintf(out, RK_REASON_SIZE,
                       "warning: measured on %s, not on %s; times are uncertain", measured,
                       rk_generation_names[inputs->system.accelerator.generation]);
    } else if (inputs->match == RK_STACK_BASE) {
        (void)snprintf(out, RK_REASON_SIZE,
                       "%s was not measured on %s; %s, on which it builds, is used instead", asked,
                       rk_generation_names[inputs->system.accelerator.generation],
                       inputs->stack.name);
    } else if (request->stack && strcmp(request->stack, inputs->stack.name) != 0 &&
               !strchr(request->stack, '/')) {
        (void)snprintf(out, RK_REASON_SIZE, "the nearest to %s that was measured on %s", asked,
                       rk_generation_names[inputs->system.accelerator.generation]);
    }
    return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Selects framework and stack by the request, the stack family and the accelerator generation. */
#include "framework/software_choice.h"

#include "base/error.h"
#include "io/json.h"

#include <stdio.h>
#include <string.h>

static void choose_framework(const rk_software_request *wish, bool stack_known,
                             const rk_accelerator *accelerator, rk_software *software)
{
    const rk_stack *stack = &software->stack;
    const rk_framework of_stack =
        stack_known ? rk_framework_of_stack(stack->family, stack->base) : RK_FRAMEWORK_COUNT;
    if (wish->framework >= 0) {
        software->framework = (rk_framework)wish->framework;
        software->source = RK_FRAMEWORK_GIVEN;
    } else if (of_stack < RK_FRAMEWORK_COUNT) {
        software->framework = of_stack;
        software->source = RK_FRAMEWORK_BY_STACK;
    } else if (wish->quantised &&
               rk_framework_of(RK_FRAMEWORK_HUGGINGFACE)->runs_on >> accelerator->generation & 1U) {
        software->framework = RK_FRAMEWORK_HUGGINGFACE;
        software->source = RK_FRAMEWORK_OF_TUNING;
    } else {
        software->framework = rk_framework_usual(accelerator->generation);
        software->source = RK_FRAMEWORK_BY_ACCELERATOR;
    }
}

rk_status rk_software_choose(const rk_software_request *wish, const rk_accelerator *accelerator,
                             rk_software *software, rk_error *err)
{
    rk_status status = RK_OK;
    memset(software, 0, sizeof(*software));
    software->match = RK_STACK_NAMED;
    if (wish->known) {
        software->stack = *wish->known;
    } else if (wish->stack) {
        status = rk_stack_choose(wish->stack, accelerator, &software->stack, err);
    }
    if (status) {
        return status;
    }
    choose_framework(wish, wish->known || wish->stack, accelerator, software);
    const rk_framework_traits *f = rk_framework_of(software->framework);
    const char *name = wish->stack;
    if (!name && !wish->known) {
        name = f->stacks[0];
        status = rk_stack_choose(name, accelerator, &software->stack, err);
    }
    if (name && !status) {
        software->match = rk_stack_match_of(name, accelerator, &software->stack);
    }
    /* the year of other software says nothing about this framework's releases */
    const rk_framework own = rk_framework_of_stack(software->stack.family, software->stack.base);
    software->year = own == software->framework ? software->stack.year : 0;
    software->convention =
        wish->convention >= 0 ? (rk_flop_convention)wish->convention : f->convention;
    return status;
}

/* ---- reasons -------------------------------------------------------------------------------- */

const char *rk_software_framework_reason(const rk_software *software,
                                         const rk_accelerator *accelerator,
                                         char out[RK_REASON_SIZE])
{
    const rk_generation generation = accelerator->generation;
    switch (software->source) {
    case RK_FRAMEWORK_GIVEN:
        (void)snprintf(out, RK_REASON_SIZE, "as given");
        break;
    case RK_FRAMEWORK_BY_STACK:
        (void)snprintf(out, RK_REASON_SIZE, "which the stack runs");
        break;
    case RK_FRAMEWORK_OF_TUNING:
        (void)snprintf(out, RK_REASON_SIZE, "default for fine-tuning");
        break;
    case RK_FRAMEWORK_BY_ACCELERATOR:
        (void)snprintf(out, RK_REASON_SIZE, "default on %s",
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

const char *rk_software_stack_reason(const char *asked, const rk_software *software,
                                     const rk_accelerator *accelerator, char out[RK_REASON_SIZE])
{
    char measured[128];
    const char *generation = rk_generation_names[accelerator->generation];
    const char *name = asked ? asked : rk_framework_of(software->framework)->stacks[0];
    out[0] = '\0';
    list_generations(&software->stack, measured, sizeof(measured));
    if (software->match == RK_STACK_OTHER) {
        (void)snprintf(out, RK_REASON_SIZE,
                       "warning: measured on %s, not on %s; times are uncertain", measured,
                       generation);
    } else if (software->match == RK_STACK_BASE) {
        (void)snprintf(out, RK_REASON_SIZE,
                       "%s was not measured on %s; %s, on which it builds, is used instead", name,
                       generation, software->stack.name);
    } else if (asked && strcmp(asked, software->stack.name) != 0 && !strchr(asked, '/') &&
               !rk_json_is_text(asked)) {
        (void)snprintf(out, RK_REASON_SIZE, "the nearest to %s that was measured on %s", asked,
                       generation);
    }
    return out;
}

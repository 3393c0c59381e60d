/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a request from its options, and reads the documents that it names. */
#include "base/error.h"
#include "base/units.h"
#include "request/derived_sizes.h"
#include "request/launch_flags.h"
#include "request/option_values.h"
#include "request/request_check.h"
#include "request/run_row.h"
#include "request/shared_documents.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads "8" or "8*14", layers and the stages that have as many, and moves *text behind it. */
static bool read_run(const char **text, long *layers, long *stages)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    *layers = strtol(*text, &end, 10);
    *stages = 1;
    if (*end == '*' && isdigit((unsigned char)end[1])) {
        *stages = strtol(end + 1, &end, 10);
    }
    *text = end;
    return *layers <= RK_LAYER_MAX && *stages >= 1;
}

/* Reads "7,8*14,6" into the layout of the request. */
static bool read_layout(const char *text, rk_request *r)
{
    bool more = true;
    while (more) {
        long layers = 0, stages = 0;
        if (!read_run(&text, &layers, &stages) || stages > RK_LAYOUT_MAX - r->layout_count) {
            return false;
        }
        for (long i = 0; i < stages; i++) {
            r->layout[r->layout_count++] = (int16_t)layers;
        }
        more = *text == ',';
        text += more;
    }
    return *text == '\0';
}

/* A launch file is for one framework, so that its rules and defaults have to hold. */
static rk_status choose_framework(rk_request *request, rk_error *err)
{
    if (request->line.titan && request->framework == RK_NOT_GIVEN) {
        request->framework = RK_FRAMEWORK_TORCHTITAN;
    }
    if (request->emit < 0) {
        return RK_OK;
    }
    const rk_framework usual = rk_launch_kinds[request->emit].framework;
    if (request->framework != RK_NOT_GIVEN && request->framework != (int)usual) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--emit %s writes for --framework %s, not %s; leave out one of the two",
                       rk_launch_names[request->emit], rk_framework_names[usual],
                       rk_framework_names[request->framework]);
    }
    request->framework = (int)usual;
    return RK_OK;
}

const char *const rk_policy_names[] = {"search", "launch", "observed", NULL};

_Static_assert(RK_STRATEGY_FIELD_COUNT <= 64, "a bit of rk_request.filled for each field");

void rk_request_note_filled(rk_request *request, const char *field)
{
    request->filled |= UINT64_C(1) << rk_find_strategy_field(field);
}

rk_policy rk_request_policy(const rk_request *request)
{
    return request->line.complete                  ? RK_POLICY_LAUNCH
           : request->policy == RK_POLICY_OBSERVED ? RK_POLICY_OBSERVED
                                                   : RK_POLICY_SEARCH;
}

rk_status rk_request_complete(rk_request *request, rk_error *err)
{
    if (request->layout_text && !read_layout(request->layout_text, request)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--layout needs the layers of up to %d stages such as 7,8*14,6, at most %d "
                       "each, not '%.200s'",
                       RK_LAYOUT_MAX, RK_LAYER_MAX, request->layout_text);
    }
    rk_status status = choose_framework(request, err);
    status = status ? status : rk_request_settle_launch(request, err);
    if (status) {
        return status;
    }
    if (request->fsdp) {
        request->zero.values[0] = RK_SHARD_ALL;
        request->zero.count = 1;
    }
    if (request->fp8_recipe != RK_NOT_GIVEN &&
        (rk_request_precision(request) != RK_FP8 ||
         (rk_request_is_mxfp8(request) && request->fp8_recipe != RK_FP8_MX))) {
        return rk_fail(err, RK_ERR_INVALID, "--fp8-recipe %s needs --precision fp8, not %s",
                       rk_fp8_recipe_names[request->fp8_recipe],
                       rk_precision_choices[request->precision < 0 ? 0 : request->precision]);
    }
    const rk_status checked = rk_request_check(request, err);
    return checked ? checked : rk_request_settle_sizes(request, err);
}

void rk_request_init(void *request)
{
    *(rk_request *)request = rk_request_defaults();
}

rk_status rk_request_finish(void *request, rk_error *err)
{
    const rk_status status = rk_request_complete(request, err);
    return status ? status : rk_request_settle_output(request, err);
}

/* ---- documents ------------------------------------------------------------------------------ */

const char *rk_request_unit(const rk_system *system)
{
    return rk_system_unit_names[system->unit == RK_UNIT_ACCELERATOR ? RK_UNIT_NODE : system->unit];
}

static rk_status check_accelerators(const rk_request *request, const rk_system *system,
                                    rk_error *err)
{
    const int64_t most = system->tiers[system->tier_count - 1].size;
    if (system->tier_count == 0 || request->accelerators <= most) {
        return RK_OK;
    }
    char nodes[80] = "";
    if (request->nodes) {
        (void)snprintf(nodes, sizeof(nodes), " = %" PRId64 " %ss of %" PRId64, request->nodes,
                       rk_request_unit(system), rk_system_unit_size(system));
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "the rule accelerators of the system: %s has %" PRId64 ", not %" PRId64
                   "%s; give fewer, or a system document of more",
                   system->name, most, request->accelerators, nodes);
}

/* Host memory for the accelerators of a node that the run uses. */
static void limit_host(const rk_request *request, rk_system *system)
{
    const int64_t node = rk_system_node(system), n = request->accelerators;
    if (request->host_memory > 0) {
        system->accelerator.host_capacity =
            request->host_memory * GIB / (double)(n > 0 && n < node ? n : node);
    }
}

rk_status rk_request_limit(const rk_request *request, rk_system *system, rk_error *err)
{
    rk_status status = rk_request_set_node(request, system, err);
    status = status ? status : check_accelerators(request, system, err);
    if (!status && request->max_memory > 0) {
        system->accelerator.memory_usable = request->max_memory * GIB;
    }
    limit_host(request, system);
    if (!status && request->side_links && !rk_system_use_side_links(system)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--side-links needs a tier with \"side_links\"; %s has none", system->name);
    }
    return status;
}

rk_status rk_request_load(const rk_request *request, rk_inputs *inputs, rk_error *err)
{
    inputs->system.accelerator.measured = NULL;
    rk_status status = rk_documents_model(request->documents, request->model, &inputs->model, err);
    if (!status) {
        status = rk_request_set_modules(request, &inputs->model, err);
    }
    if (!status) {
        status = rk_documents_system(request->documents, request->system, &inputs->system, err);
    }
    return status ? status : rk_request_apply(request, false, inputs, err);
}

rk_status rk_request_apply(const rk_request *request, bool stack_given, rk_inputs *inputs,
                           rk_error *err)
{
    inputs->risk = request->risk > 0 ? request->risk / 100 : RK_RISK_USUAL;
    rk_status status = rk_request_settle(request, stack_given, inputs, err);
    status = status ? status : rk_request_settle_facts(request, inputs, err);
    if (!status && request->emit >= 0) {
        status = rk_launch_check(rk_launch_kinds[request->emit].framework, &inputs->model,
                                 &inputs->system, err);
    }
    return status;
}

void rk_inputs_clear(rk_inputs *inputs)
{
    rk_system_clear(&inputs->system);
}

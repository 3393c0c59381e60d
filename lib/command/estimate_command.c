/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon estimate`: the step of one strategy, its parts, its memory and its communication. */
#include "answer/estimate_answer.h"
#include "command/commands.h"
#include "command/option_groups.h"
#include "command/with_inputs.h"
#include "system/machine.h"

static const rk_option estimate_options[] = {
    RK_OPTION("explain", FLAG, offsetof(rk_request, explain), .group = "Answer", .common = true,
              .help = "show what limits the step and what better hardware would gain"),
    RK_OPTION("changes", FLAG, offsetof(rk_request, changes), .common = true,
              .help = "list the single changes that make the step faster or leaner, best first"),
    RK_OPTION("operators", FLAG, offsetof(rk_request, operators),
              .help = "list the operators of one micro-batch: sizes, FLOPs, bytes, messages, time"),
    RK_OPTIONS_OF_SYNC,
    RK_OPTION_EMIT,
    RK_OPTION_COMPLETE,
};

static rk_status answer(rk_job *job, void *arguments, const rk_inputs *inputs, void *what,
                        rk_error *err)
{
    rk_estimate_answer *estimate = what;
    rk_status status = rk_estimate_find(rk_job_work(job), arguments, inputs, estimate, err);
    status = status ? status : rk_estimate_write(job, estimate, err);
    const rk_answer *best = rk_plan_best(&estimate->plan);
    rk_job_set_found(job, !status && best && best->estimate.fits);
    rk_estimate_answer_clear(estimate);
    return status;
}

/* The name of a node or an instance alone, without degrees: all of its accelerators. */
static rk_status take_whole_node(rk_request *request, rk_error *err)
{
    static const int64_t node_most = 16; /* racks and pods are asked for in part */
    const bool open = request->tp.count + request->cp.count + request->pp.count +
                          request->ep.count + request->etp.count ==
                      0;
    const bool counted = request->accelerators || request->nodes || request->gpus_per_node ||
                         request->dp || request->launch || request->line.script;
    int64_t each = 1;
    const rk_status status =
        open && !counted && request->system ? rk_machine_unit(request->system, &each, err) : RK_OK;
    request->nodes = each > 1 && each <= node_most ? 1 : request->nodes;
    return status;
}

static rk_status complete(void *request, rk_error *err)
{
    const rk_status status = take_whole_node(request, err);
    return status ? status : rk_request_finish(request, err);
}

static rk_status run_estimate(rk_job *job, void *arguments, rk_error *err)
{
    rk_request *request = arguments;
    if (request->accelerators == 0 && request->dp == 0) {
        request->dp = 1; /* degrees that are not given are 1, even if none is given */
    }
    request->changes = request->changes || request->launch; /* suggest what to change */
    return rk_with_inputs(job, arguments, sizeof(rk_estimate_answer), answer, err);
}

const rk_command rk_command_estimate = {
    .name = "estimate",
    .purpose = "Predict one training step: time, memory and communication",
    .options = estimate_options,
    .option_count = sizeof(estimate_options) / sizeof(estimate_options[0]),
    RK_COMMAND_OF_STRATEGY,
    .notes = RK_NOTES_OF_CHOICES
    "Without --accelerators, degrees that are left open are 1; a node or an\n"
    "instance alone stands for all of its accelerators. Exit status: 0 done,\n"
    "1 it does not fit, 2 wrong usage or input, or an illegal strategy.\n"
    "\n"
    "example: reckon estimate llama3-70b 64xh100 --tp 8 --pp 2 --explain",
    .size = sizeof(rk_request),
    .init = rk_request_init,
    .complete = complete,
    .run = run_estimate,
};

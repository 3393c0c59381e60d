/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon estimate`: the step of one strategy, its parts, its memory and its communication. */
#include "answer/estimate_answer.h"
#include "base/error.h"
#include "command/commands.h"
#include "command/option_groups.h"

static const rk_option estimate_options[] = {
    {.name = "explain",
     .group = "Answer",
     .common = true,
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, explain),
     .help = "show what limits the step and what better hardware would gain"},
    {.name = "changes",
     .common = true,
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, changes),
     .help = "list the single changes that make the step faster or leaner, best first"},
    {.name = "operators",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, operators),
     .help = "list the operators of one micro-batch: sizes, FLOPs, bytes, messages, time"},
    RK_OPTIONS_OF_SYNC,
    RK_OPTION_EMIT,
    RK_OPTION_COMPLETE,
};

static rk_status run_estimate(rk_job *job, void *arguments, rk_error *err)
{
    rk_request *request = arguments;
    if (request->accelerators == 0 && request->dp == 0) {
        request->dp = 1; /* degrees that are not given are 1, even if none is given */
    }
    struct {
        rk_inputs inputs;
        rk_estimate_answer e;
    } *all = malloc(sizeof(*all)); /* too large for the stack of a thread */
    if (!all) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    rk_estimate_answer *e = &all->e;
    *e = (rk_estimate_answer){.request = request, .inputs = &all->inputs};
    rk_status status = rk_request_load(request, &all->inputs, err);
    status = status ? status : rk_plan_find(job, request, &all->inputs, &e->plan, err);
    const rk_answer *answer = status ? NULL : rk_plan_best(&e->plan);
    if (answer && request->explain) {
        status = rk_find_sensitivities(&e->plan.setting, &answer->strategy, answer->estimate.step,
                                       &e->worth, err);
    }
    if (!status && answer && request->changes) {
        status =
            rk_find_gains(&e->plan.setting, &answer->strategy, &answer->estimate, &e->gains, err);
    }
    status = status ? status : rk_plan_remark(&e->plan, err);
    if (!status && answer && request->operators) {
        status = rk_operators_fill(&all->inputs, &answer->strategy, &e->operators, err);
    }
    status = status ? status : rk_estimate_write(job, e, err);
    rk_operators_clear(&e->operators);
    rk_job_set_found(job, answer && answer->estimate.fits);
    rk_plan_clear(&e->plan);
    rk_inputs_clear(&all->inputs);
    free(all);
    return status;
}

const rk_command rk_command_estimate = {
    .name = "estimate",
    .purpose = "Predict one training step: time, memory and communication",
    .options = estimate_options,
    .option_count = sizeof(estimate_options) / sizeof(estimate_options[0]),
    RK_COMMAND_OF_STRATEGY,
    .notes = RK_NOTES_OF_CHOICES
    "Without --accelerators, degrees that are left open are 1. Exit status: 0 done,\n"
    "1 it does not fit, 2 wrong usage or input, or an illegal strategy.\n"
    "\n"
    "example: reckon estimate llama3-70b 64xh100 --tp 8 --pp 2 --explain",
    .size = sizeof(rk_request),
    .init = rk_request_init,
    .complete = rk_request_finish,
    .run = run_estimate,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a run, between which sequence length and batch change. */
#include "command/whole_run.h"

#include "base/error.h"
#include "request/sizes.h"

/* A sequence length or a batch; 0 if it is out of range. */
static int64_t count_of(double amount)
{
    return amount < INT32_MAX ? (int64_t)amount : 0;
}

static bool read_phase(const char **at, const rk_request *request, rk_run_phase *phase)
{
    phase->seq = count_of(rk_option_amount(at, true));
    if (phase->seq < 1 || **at != ':') {
        return false;
    }
    (*at)++;
    phase->tokens = rk_option_amount(at, false);
    phase->assumed_batch = request->assumed_batch && **at != ':';
    phase->batch = phase->assumed_batch
                       ? rk_request_batch_of(request, phase->seq, RK_USUAL_BATCH_TOKENS)
                       : request->global_batch;
    if (**at == ':') {
        (*at)++;
        phase->batch = count_of(rk_option_amount(at, false));
    }
    return phase->tokens >= 1 && phase->batch >= 1 && (**at == ',' || **at == '\0');
}

rk_status rk_run_phases_read(rk_whole_run *run, rk_error *err)
{
    const rk_request *request = &run->args->request;
    run->phase_count = 0;
    for (const char *at = run->args->phases; at && *at;) {
        if (run->phase_count == RK_PHASES_MAX ||
            !read_phase(&at, request, &run->phases[run->phase_count])) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--phases: expected at most %d of SEQUENCE:TOKENS:BATCH as "
                           "8k:15T:2048,128k:100G:128; without the batch it is --global-batch",
                           RK_PHASES_MAX);
        }
        const rk_run_phase *phase = &run->phases[run->phase_count++];
        const rk_status status =
            rk_run_check_length("phases", phase->tokens, phase->batch, phase->seq, err);
        if (status) {
            return status;
        }
        at += *at == ',';
    }
    return RK_OK;
}

/* The step of a phase, by the fastest strategy that fits; `plan` refers to `request`. */
static rk_status fill_phase(rk_job *job, const rk_whole_run *run, rk_run_phase *phase,
                            rk_request *request, rk_plan *plan, rk_error *err)
{
    *request = run->args->request;
    request->seq = phase->seq;
    request->global_batch = phase->batch;
    const rk_status status = rk_plan_find(job, request, run->inputs, plan, err);
    const rk_answer *answer = status ? NULL : rk_plan_best(plan);
    if (!status && !answer && run->phase_count > 1) {
        return rk_fail(err, RK_ERR_INVALID,
                       "no strategy fits with sequences of %lld and a batch of %lld: give more "
                       "accelerators, or another batch",
                       (long long)phase->seq, (long long)phase->batch);
    }
    phase->step_s = answer ? rk_run_step_s(run->args, &answer->estimate) : 0;
    return status;
}

rk_status rk_run_phases_fill(rk_job *job, rk_whole_run *run, rk_error *err)
{
    rk_status status = fill_phase(job, run, &run->phases[0], &run->first_request, &run->plan, err);
    for (int i = 1; i < run->phase_count && !status; i++) {
        rk_request request;
        rk_plan plan;
        status = fill_phase(job, run, &run->phases[i], &request, &plan, err);
        rk_plan_clear(&plan);
    }
    return status;
}

rk_request rk_run_shown_request(const rk_whole_run *run)
{
    rk_request shown = run->args->request;
    if (run->args->phases) {
        shown.seq = run->phases[0].seq;
        shown.assumed_batch = false;
    }
    for (int i = 0; run->args->phases && i < run->phase_count && !shown.assumed_batch; i++) {
        shown.assumed_batch = run->phases[i].assumed_batch;
        shown.global_batch = run->phases[i].batch;
    }
    return shown;
}

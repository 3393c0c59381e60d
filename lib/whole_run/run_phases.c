/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a run, between which sequence length and batch change. */
#include "whole_run/whole_run.h"

#include "base/error.h"

/* The step of a phase, by the fastest strategy that fits; `plan` refers to `request`. */
static rk_status fill_phase(rk_control *control, const rk_whole_run *run, rk_run_phase *phase,
                            rk_request *request, rk_plan *plan, rk_error *err)
{
    *request = run->question->request;
    request->seq = phase->seq;
    request->global_batch = phase->batch;
    const rk_status status = rk_plan_find(control, request, run->inputs, plan, err);
    const rk_answer *answer = status ? NULL : rk_plan_best(plan);
    if (!status && !answer && run->phase_count > 1) {
        return rk_fail(err, RK_ERR_INVALID,
                       "no strategy fits with sequences of %lld and a batch of %lld: give more "
                       "accelerators, or another batch",
                       (long long)phase->seq, (long long)phase->batch);
    }
    phase->step_s = answer ? rk_run_step_s(run->question, &answer->estimate) : 0;
    return status;
}

rk_status rk_run_phases_fill(rk_control *control, rk_whole_run *run, rk_error *err)
{
    rk_status status =
        fill_phase(control, run, &run->phases[0], &run->first_request, &run->plan, err);
    for (int i = 1; i < run->phase_count && !status; i++) {
        rk_request request;
        rk_plan plan;
        status = fill_phase(control, run, &run->phases[i], &request, &plan, err);
        rk_plan_clear(&plan);
    }
    return status;
}

rk_request rk_run_shown_request(const rk_whole_run *run)
{
    rk_request shown = run->question->request;
    if (run->question->phase_count > 0) {
        shown.seq = run->phases[0].seq;
        shown.assumed_batch = false;
    }
    for (int i = 0; run->question->phase_count > 0 && i < run->phase_count && !shown.assumed_batch;
         i++) {
        shown.assumed_batch = run->phases[i].assumed_batch;
        shown.global_batch = run->phases[i].batch;
    }
    return shown;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that rises at the start of a run, as phases with the same layout. */
#include "whole_run/whole_run.h"

#include "base/error.h"

/*
 * Adds a phase, or its tokens to the last phase if that has the same batch.  The layout is that of
 * the run; a given step time scales with the batch.
 */
static rk_status add_phase(rk_whole_run *run, const rk_setting *setting, double sequences,
                           double tokens, rk_error *err)
{
    const rk_answer *answer = rk_plan_best(&run->plan);
    const rk_strategy *s = &answer->strategy;
    const int64_t batch = rk_batch_at_least(setting, s, sequences);
    rk_run_phase *last = run->phase_count > 0 ? &run->phases[run->phase_count - 1] : NULL;
    rk_estimate estimate;
    if (last && last->batch == batch) {
        last->tokens += tokens;
        return RK_OK;
    }
    const rk_status status = rk_estimate_batch(setting, s, batch, &estimate, err);
    if (status) {
        return status;
    }
    const double stated = run->question->asked.step_s;
    run->phases[run->phase_count++] = (rk_run_phase){
        .seq = s->seq,
        .batch = batch,
        .tokens = tokens,
        .step_s = stated > 0 ? stated * estimate.step / answer->estimate.step
                             : rk_run_step_s(run->question, &estimate),
    };
    return RK_OK;
}

rk_status rk_run_ramp_fill(rk_whole_run *run, rk_error *err)
{
    const rk_setting setting = rk_setting_of(run->inputs);
    const double full = (double)rk_plan_best(&run->plan)->strategy.global_batch;
    const rk_batch_ramp r = run->question->ramp;
    rk_status status = RK_OK;
    if (r.steps == 0) {
        return RK_OK;
    }
    if (r.from >= full || r.tokens >= run->training.tokens) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "--batch-ramp must start below the batch of %.0f and end before the %.4g "
                         "tokens of the run",
                         full, run->training.tokens);
    }
    if (!status) {
        status = rk_run_check_length("batch-ramp", r.tokens, (int64_t)r.from,
                                     rk_plan_best(&run->plan)->strategy.seq, err);
    }
    run->phase_count = 0;
    for (int64_t i = 0; i < r.steps && !status; i++) {
        const double sequences = r.from + (full - r.from) * (double)i / (double)r.steps;
        status = add_phase(run, &setting, sequences, r.tokens / (double)r.steps, err);
    }
    return status ? status : add_phase(run, &setting, full, run->training.tokens - r.tokens, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A batch that rises at the start of a run, as phases with the same layout. */
#include "whole_run/whole_run.h"

#include "base/error.h"

#include <math.h>

/* The smallest batch of at least this many sequences that is legal for the layout of the run. */
static int64_t batch_of(const rk_setting *setting, const rk_strategy *strategy, double sequences)
{
    rk_strategy part = *strategy;
    const int64_t unit = part.dp * part.micro_batch, full = part.global_batch;
    part.global_batch = (int64_t)ceil(sequences / (double)unit) * unit;
    while (part.global_batch < full &&
           !rk_strategy_legal(setting->model, setting->system, &part, setting->framework, NULL)) {
        part.global_batch += unit;
    }
    return part.global_batch < full ? part.global_batch : full;
}

/* The step time of the run's layout with another batch; a given step time scales with it. */
static rk_status step_of(const rk_whole_run *run, const rk_setting *setting, rk_run_phase *phase,
                         rk_error *err)
{
    const rk_answer *answer = rk_plan_best(&run->plan);
    rk_strategy part = answer->strategy;
    rk_estimate estimate;
    part.global_batch = phase->batch;
    const rk_status status = rk_estimate_exact(setting, &part, &estimate, NULL, err);
    if (!status) {
        phase->step_s = run->question->step_s > 0
                            ? run->question->step_s * estimate.step / answer->estimate.step
                            : rk_run_step_s(run->question, &estimate);
    }
    return status;
}

/* Adds a phase, or its tokens to the last phase if that has the same batch. */
static rk_status add_phase(rk_whole_run *run, const rk_setting *setting, double sequences,
                           double tokens, rk_error *err)
{
    const rk_strategy *s = &rk_plan_best(&run->plan)->strategy;
    const int64_t batch = batch_of(setting, s, sequences);
    rk_run_phase *last = run->phase_count > 0 ? &run->phases[run->phase_count - 1] : NULL;
    if (last && last->batch == batch) {
        last->tokens += tokens;
        return RK_OK;
    }
    rk_run_phase *phase = &run->phases[run->phase_count++];
    *phase = (rk_run_phase){.seq = s->seq, .batch = batch, .tokens = tokens};
    return step_of(run, setting, phase, err);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The computation of `reckon explain`: the best strategy is searched again with each number of the
 * machine changed.
 */
#include "command/explain_answer.h"

/* ---- results ------------------------------------------------------------------------------- */

double rk_explain_gain(const rk_explain *explain, const rk_replan *replan)
{
    return replan->best.rate / explain->best.rate - 1;
}

const char *rk_explain_changes(const rk_explain *explain, const rk_replan *replan,
                               char out[RK_WORDS_SIZE])
{
    out[0] = '\0';
    return replan->runs
               ? explain->asked.planner->method->changes(&explain->best, &replan->best, out)
               : out;
}

/* ---- the searches -------------------------------------------------------------------------- */

/* Searches with every number changed. */
static rk_status replan(rk_job *job, rk_explain *explain, rk_error *err)
{
    const rk_asked *asked = &explain->asked;
    const rk_search_control control = rk_job_search_control(job, "searches", asked->threads);
    const double started = rk_job_cpu_s(job);
    explain->best = asked->ranking->candidates[0];
    rk_status status = asked->planner->method->evaluate(&asked->problem, &explain->best, err);
    if (!status) {
        status = rk_replan_all(&asked->problem, &control, explain->change, &explain->best,
                               explain->replans, &explain->count, &explain->counts, err);
    }
    rk_bounded_counts_add(&explain->counts, &asked->ranking->bounded);
    explain->cpu_s = asked->time.cpu_s + rk_job_cpu_s(job) - started;
    return status;
}

rk_status rk_explain_find(rk_job *job, rk_explain *explain, rk_error *err)
{
    const rk_status status = explain->asked.planner->rank(job, &explain->asked, err);
    return status || explain->asked.ranking->count == 0 ? status : replan(job, explain, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The searches behind `reckon explain`: the best strategy first, then one per changed number. */
#include "codesign/explain_answer.h"

#include <math.h>

/* ---- results ------------------------------------------------------------------------------- */

rk_explanation_facts rk_explain_figures(const rk_explain *explain)
{
    return (rk_explanation_facts){
        .found = rk_question_has_answer(&explain->question),
        .change = explain->change,
        .step_s = explain->best.step,
        .sequences_per_s = explain->best.rate,
        .numbers = (int64_t)explain->count,
        .strategies = explain->counts.total,
        .evaluated = explain->counts.evaluated,
    };
}

rk_number_worth rk_explain_worth(const rk_explain *explain, const rk_number_effect *replan)
{
    return (rk_number_worth){
        .key = replan->number.key,
        .name = replan->number.name,
        .unit = replan->number.unit,
        .from = replan->number.value,
        .to = replan->value,
        .old_step_s = replan->old_step,
        .runs = replan->runs,
        .step_s = replan->best.step,
        .sequences_per_s = replan->best.rate,
        .gain = replan->runs ? replan->best.rate / explain->best.rate - 1 : (double)NAN,
    };
}

const char *rk_explain_changes(const rk_explain *explain, const rk_number_effect *replan,
                               char out[RK_WORDS_SIZE])
{
    out[0] = '\0';
    return replan->runs
               ? explain->question.problem.method->changes(&explain->best, &replan->best, out)
               : out;
}

/* ---- the searches -------------------------------------------------------------------------- */

/* Searches with every number changed. */
static rk_status replan(rk_control *control, rk_explain *explain, rk_error *err)
{
    const rk_question *question = &explain->question;
    const rk_plan *plan = &question->plan;
    const rk_search_control search = rk_control_search(control, "searches", question->view.threads);
    const double started = rk_control_cpu_s(control);
    explain->best = plan->ranking.candidates[0];
    rk_status status = question->problem.method->evaluate(&question->problem, &explain->best, err);
    if (!status) {
        status = rk_replan_all(&question->problem, &search, explain->change, &explain->best,
                               explain->replans, &explain->count, &explain->counts, err);
    }
    rk_bounded_counts_add(&explain->counts, &plan->ranking.bounded);
    explain->cpu_s = plan->cpu_s + rk_control_cpu_s(control) - started;
    return status;
}

rk_status rk_explain_find(rk_control *control, rk_explain *explain, rk_error *err)
{
    const rk_status status = rk_question_rank(control, &explain->question, err);
    return status || !rk_question_has_answer(&explain->question) ? status
                                                                 : replan(control, explain, err);
}

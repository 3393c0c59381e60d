/* SPDX-License-Identifier: Apache-2.0 */
/* The search of `reckon plan` and `fit` by the reckon model. */
#include "command/reckon_plan.h"

#include "base/error.h"
#include "command/bounded.h"
#include "report/describe.h"
#include "report/estimate_fields.h"
#include "work/share.h"

#include <stdlib.h>

/* ---- the search ----------------------------------------------------------------------------- */

static rk_status fill_answers(rk_plan_answer *plan, rk_error *err)
{
    const rk_ranking *ranking = &plan->ranking;
    rk_status status = RK_OK;
    plan->answers = calloc(ranking->count + 1, sizeof(*plan->answers));
    if (!plan->answers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answers");
    }
    for (; plan->answer_count < ranking->count && !status; plan->answer_count++) {
        status = rk_answer_fill(&plan->setting, &ranking->candidates[plan->answer_count].strategy,
                                &plan->answers[plan->answer_count], err);
    }
    if (!status && ranking->shortage.legal) {
        status = rk_answer_fill(&plan->setting, &ranking->shortage.nearest.strategy, &plan->nearest,
                                err);
    }
    return status;
}

rk_status rk_plan_answer_search(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                                size_t top, rk_plan_answer *plan, rk_error *err)
{
    const rk_search_control control = rk_job_search_control(job, "strategies", request->threads);
    const rk_search_kind kind = request->bounded      ? RK_SEARCH_BOUNDED
                                : request->exhaustive ? RK_SEARCH_EXHAUSTIVE
                                                      : RK_SEARCH_ANY;
    *plan = (rk_plan_answer){
        .request = request, .inputs = inputs, .setting = rk_setting_of(request, inputs)};
    rk_status status = rk_request_space(request, inputs, &plan->space, err);
    if (status) {
        rk_share_leave(rk_job_team(job), err);
        return status;
    }
    const rk_problem problem = rk_plan_answer_problem(plan);
    const double started = rk_job_cpu_s(job);
    status =
        rk_rank_strategies(&problem, kind, top, rk_job_team(job), &control, &plan->ranking, err);
    plan->cpu_s = rk_job_cpu_s(job) - started;
    return status || !rk_job_is_first(job) ? status : fill_answers(plan, err);
}

rk_problem rk_plan_answer_problem(const rk_plan_answer *plan)
{
    const rk_inputs *inputs = plan->inputs;
    return (rk_problem){
        .method = &rk_method_reckon,
        .reckon = {inputs->model, inputs->system, inputs->software.stack, plan->space}};
}

void rk_plan_answer_clear(rk_plan_answer *plan)
{
    for (size_t i = 0; i < plan->answer_count; i++) {
        free(plan->answers[i].stages);
    }
    free(plan->answers);
    free(plan->nearest.stages);
    rk_ranking_clear(&plan->ranking);
    plan->answers = NULL;
    plan->nearest.stages = NULL;
    plan->answer_count = 0;
}

/* ---- how it went ---------------------------------------------------------------------------- */

void rk_write_search(FILE *to, const rk_plan_answer *plan)
{
    if (plan->ranking.by_bounds) {
        rk_write_bounded(to, &plan->ranking.bounded, "reckon", plan->cpu_s);
        if (!plan->request->bounded) {
            (void)fprintf(to, "%-10sbounded search; --exhaustive counts what is legal and fits\n",
                          "");
        }
        return;
    }
    char explored[RK_COMMAS_SIZE], legal[RK_COMMAS_SIZE], fitting[RK_COMMAS_SIZE];
    (void)fprintf(to, "%-10s%s strategies, %s legal, %s fit\n", "search",
                  rk_with_commas(plan->ranking.counts[0], explored),
                  rk_with_commas(plan->ranking.counts[1], legal),
                  rk_with_commas(plan->ranking.counts[2], fitting));
    (void)fprintf(to, "%-10s%.3f s of processor time", "", plan->cpu_s);
    if (plan->cpu_s > 0) {
        (void)fprintf(to, ", %.1f million strategies/s",
                      (double)plan->ranking.counts[0] / plan->cpu_s / 1e6);
    }
    (void)fputc('\n', to);
}

void rk_search_write_json(rk_json_writer *writer, const rk_plan_answer *plan)
{
    rk_json_open_member(writer, "search", "{");
    rk_json_string(writer, "method", plan->ranking.by_bounds ? "bounded" : "exhaustive");
    if (plan->ranking.by_bounds) {
        rk_bounded_write_json(writer, &plan->ranking.bounded);
    } else {
        rk_json_count(writer, "strategies", plan->ranking.counts[0]);
        rk_json_count(writer, "legal", plan->ranking.counts[1]);
        rk_json_count(writer, "fit", plan->ranking.counts[2]);
    }
    rk_json_close(writer, "}");
    rk_json_performance(writer, plan->cpu_s, -1);
}

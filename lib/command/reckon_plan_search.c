/* SPDX-License-Identifier: Apache-2.0 */
/* The search of `reckon plan` and `fit` by the reckon model. */
#include "command/reckon_plan.h"

#include "base/error.h"
#include "work/share.h"

#include <stdlib.h>
#include <string.h>

const char *const rk_reckon_plan_methods[] = {"reckon", "calculon", NULL};

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
    const rk_search_kind kind = request->bounded      ? RK_SEARCH_BOUNDED
                                : request->exhaustive ? RK_SEARCH_EXHAUSTIVE
                                                      : RK_SEARCH_ANY;
    memset(plan, 0, sizeof(*plan));
    plan->request = request;
    plan->inputs = inputs;
    plan->setting = rk_setting_of(inputs);
    rk_status status = rk_request_space(request, inputs, &plan->space, err);
    if (status) {
        rk_share_leave(rk_job_team(job), err);
        return status;
    }
    rk_problem *problem = malloc(sizeof(*problem)); /* too large for the stack of a thread */
    if (!problem) {
        (void)rk_fail(err, RK_ERR_MEMORY, "not enough memory for a search");
        rk_share_leave(rk_job_team(job), err);
        return RK_ERR_MEMORY;
    }
    *problem = rk_plan_answer_problem(plan);
    rk_search_time time;
    status = rk_rank_for_job(job, problem, kind, top, request->threads, &plan->ranking, &time, err);
    plan->cpu_s = time.cpu_s;
    free(problem);
    return status || !rk_job_is_first(job) ? status : fill_answers(plan, err);
}

double rk_plan_answer_slowdown(const rk_plan_answer *plan, size_t i)
{
    return plan->answers[i].estimate.step / plan->answers[0].estimate.step;
}

rk_problem rk_plan_answer_problem(const rk_plan_answer *plan)
{
    const rk_inputs *inputs = plan->inputs;
    return (rk_problem){.method = &rk_method_reckon,
                        .reckon = {.inputs = *inputs, .space = plan->space}};
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
    rk_ranking_write(to, &rk_method_reckon, &plan->ranking, plan->cpu_s);
}

void rk_search_write_json(rk_json_writer *writer, const rk_plan_answer *plan)
{
    rk_ranking_write_json(writer, &rk_method_reckon, &plan->ranking,
                          (rk_search_time){.cpu_s = plan->cpu_s, .wall_s = -1});
}

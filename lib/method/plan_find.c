/* SPDX-License-Identifier: Apache-2.0 */
/* The strategies of a question: searched, or given. */
#include "method/plan_result.h"

#include "base/clock.h"
#include "base/error.h"
#include "request/strategy_choices.h"
#include "search/bounded_plan.h"
#include "work/shared_work.h"

#include <stdlib.h>

/* ---- searches ------------------------------------------------------------------------------- */

rk_status rk_plan_rank(rk_control *control, const rk_problem *problem, rk_search_kind kind,
                       size_t top, int64_t threads, rk_plan *plan, rk_error *err)
{
    const rk_search_control search = rk_control_search(control, "strategies", threads);
    const double cpu = rk_control_cpu_s(control), wall = rk_wall_seconds();
    rk_team *team = rk_control_team(control);
    const rk_status status =
        top > 0 ? rk_rank_strategies(problem, kind, top, team, &search, &plan->ranking, err)
                : rk_rank_alternatives(problem, kind, team, &search, &plan->ranking, err);
    plan->searched = true;
    plan->cpu_s = rk_control_cpu_s(control) - cpu;
    plan->wall_s = rk_wall_seconds() - wall;
    return status;
}

void rk_plan_clear(rk_plan *plan)
{
    for (size_t i = 0; plan->answers && i < plan->answer_count; i++) {
        free(plan->answers[i].stages);
    }
    free(plan->answers);
    free(plan->nearest.stages);
    free(plan->launched);
    free(plan->results);
    rk_ranking_clear(&plan->ranking);
    plan->answers = NULL;
    plan->results = NULL;
    plan->nearest.stages = NULL;
    plan->launched = NULL;
    plan->answer_count = 0;
}

/* ---- by the reckon model -------------------------------------------------------------------- */

static rk_status make_room(rk_plan *plan, size_t count, rk_error *err)
{
    plan->answers = calloc(count + 1, sizeof(*plan->answers));
    return plan->answers ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answers");
}

static rk_status add_answer(rk_plan *plan, const rk_strategy *strategy, rk_error *err)
{
    return rk_answer_fill(&plan->setting, strategy, &plan->answers[plan->answer_count++], err);
}

rk_search_kind rk_plan_kind(const rk_request *request)
{
    return request->bounded      ? RK_SEARCH_BOUNDED
           : request->exhaustive ? RK_SEARCH_EXHAUSTIVE
                                 : RK_SEARCH_ANY;
}

rk_status rk_plan_predict(rk_plan *plan, rk_error *err)
{
    const rk_ranking *ranking = &plan->ranking;
    rk_status status = make_room(plan, ranking->count, err);
    for (size_t i = 0; i < ranking->count && !status; i++) {
        status = add_answer(plan, &ranking->candidates[i].strategy, err);
    }
    if (!status && ranking->shortage.legal) {
        status = rk_answer_fill(&plan->setting, &ranking->shortage.nearest.strategy, &plan->nearest,
                                err);
    }
    return status;
}

static void begin(const rk_request *request, const rk_inputs *inputs, rk_plan *plan)
{
    *plan = (rk_plan){.request = request, .inputs = inputs, .setting = rk_setting_of(inputs)};
}

rk_status rk_plan_request(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                          size_t top, rk_plan *plan, rk_error *err)
{
    begin(request, inputs, plan);
    rk_status status = rk_request_space(request, inputs, &plan->space, err);
    if (status) {
        rk_share_leave(rk_control_team(control), err);
        return status;
    }
    rk_problem *problem = malloc(sizeof(*problem)); /* too large for the stack of a thread */
    if (!problem) {
        (void)rk_fail(err, RK_ERR_MEMORY, "not enough memory for a search");
        rk_share_leave(rk_control_team(control), err);
        return RK_ERR_MEMORY;
    }
    *problem = (rk_problem){.method = &rk_method_reckon,
                            .reckon = {.inputs = *inputs, .space = plan->space}};
    status =
        rk_plan_rank(control, problem, rk_plan_kind(request), top, request->threads, plan, err);
    free(problem);
    return status || !rk_control_is_first(control) ? status : rk_plan_predict(plan, err);
}

rk_status rk_plan_find_faster(rk_control *control, const rk_request *request,
                              const rk_inputs *inputs, double least_rate, bool *found,
                              rk_strategy *fastest, rk_error *err)
{
    rk_plan_space space;
    rk_planned_strategy planned;
    rk_bounded_counts counts;
    rk_error refusal;
    size_t count = 0;
    *found = false;
    if (rk_request_space(request, inputs, &space, &refusal)) {
        return RK_OK;
    }
    rk_search_control search = rk_control_search(control, "clusters", request->threads);
    search.least_rate = least_rate;
    const rk_status status =
        rk_plan_search_bounded(&inputs->model, &inputs->system, &inputs->software.stack, &space,
                               &search, 1, &planned, &count, &counts, err);
    *found = count > 0;
    if (*found) {
        *fastest = planned.strategy;
    }
    return status;
}

/*
 * Nothing is legal: the given choices with the usual values of the rest break a rule, which the
 * error names.
 */
static rk_status explain_refusal(const rk_request *request, const rk_inputs *inputs, rk_error *err)
{
    rk_strategy strategy;
    return rk_request_strategy(request, inputs, &strategy, err);
}

static rk_status search_strategy(rk_control *control, const rk_request *request,
                                 const rk_inputs *inputs, rk_plan *plan, rk_error *err)
{
    const rk_choice_sets sets = rk_request_choices(request, inputs);
    if (request->global_batch == 0 && request->accelerators > 0 && !sets.several) {
        char open[RK_CHOICE_LIST_SIZE];
        const rk_status status = explain_refusal(request, inputs, err);
        return status ? status
                      : rk_fail(err, RK_ERR_INVALID,
                                "--global-batch is missing: %s are open, and a search needs it",
                                rk_choice_list(sets.open & RK_CHOICES_NEEDED, open));
    }
    const rk_status status = rk_plan_request(control, request, inputs, 1, plan, err);
    plan->origins = plan->space.origins;
    const bool legal = plan->answer_count > 0 || plan->ranking.shortage.legal;
    return status || legal || !sets.given || sets.several ? status
                                                          : explain_refusal(request, inputs, err);
}

rk_status rk_plan_predict_one(const rk_setting *setting, const rk_strategy *strategy, rk_plan *plan,
                              rk_error *err)
{
    plan->setting = *setting;
    const rk_status status = make_room(plan, 1, err);
    return status ? status : add_answer(plan, strategy, err);
}

rk_status rk_plan_find(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                       rk_plan *plan, rk_error *err)
{
    begin(request, inputs, plan);
    if (!inputs->completed.done && !rk_request_is_strategy(request, inputs)) {
        return search_strategy(control, request, inputs, plan, err);
    }
    rk_strategy strategy;
    const rk_setting setting = plan->setting;
    const rk_status status =
        rk_request_complete_strategy(request, inputs, &strategy, &plan->origins, err);
    return status ? status : rk_plan_predict_one(&setting, &strategy, plan, err);
}

const rk_answer *rk_plan_best(const rk_plan *plan)
{
    return plan->answer_count > 0 ? plan->answers : NULL; /* NULL with another method, too */
}

rk_status rk_plan_remark(rk_plan *plan, rk_error *err)
{
    const rk_answer *best = rk_plan_best(plan);
    const rk_status status = best ? rk_rules_fill(&plan->setting, best, &plan->rules, err) : RK_OK;
    return status || !best || !plan->request->dp_sync
               ? status
               : rk_sync_fill(plan->request, &plan->setting, best, &plan->sync, err);
}

double rk_plan_slowdown(const rk_plan *plan, size_t i)
{
    return plan->answers[i].estimate.step / plan->answers[0].estimate.step;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The search of `reckon plan` and `fit`, and what is looked for when nothing fits. */
#include "command/reckon_plan.h"

#include "base/error.h"
#include "command/bounded.h"
#include "report/describe.h"
#include "report/estimate_fields.h"
#include "search/bounded_plan.h"
#include "search/shared.h"
#include "work/share.h"

#include <stdlib.h>

#define MOST_DOUBLINGS 6 /* of accelerators, to find out how many would do */

/* Strategies of a space from which on bounds are faster than looking at all, see docs/search.md. */
#define BOUNDS_PAY_FROM 1000000

/* ---- the search ----------------------------------------------------------------------------- */

static rk_status fill_answers(rk_reckoning *plan, const rk_planned *planned, size_t found,
                              rk_error *err)
{
    rk_status status = RK_OK;
    plan->answers = calloc(found + 1, sizeof(*plan->answers));
    if (!plan->answers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answers");
    }
    for (; plan->answer_count < found && !status; plan->answer_count++) {
        status = rk_answer_fill(&plan->setting, &planned[plan->answer_count].strategy,
                                &plan->answers[plan->answer_count], err);
    }
    return status;
}

/* Doubles the accelerators until something fits. */
static rk_status find_enough(rk_reckoning *plan, const rk_search_control *control, rk_error *err)
{
    const rk_system *system = plan->setting.system;
    const int64_t most = system->tiers[system->tier_count - 1].size;
    rk_plan_space space = plan->space;
    rk_status status = RK_OK;
    for (int i = 0; i < MOST_DOUBLINGS && !status && plan->enough == 0; i++) {
        rk_planned planned;
        rk_bounded_counts counts;
        size_t found = 0;
        space.accelerators *= 2;
        if (space.accelerators > most) {
            break;
        }
        status = rk_plan_search_bounded(plan->setting.model, system, plan->setting.stack, &space,
                                        control, 1, &planned, &found, &counts, err);
        plan->enough = found > 0 ? space.accelerators : 0;
    }
    return status;
}

static rk_status explain_shortage(rk_reckoning *plan, const rk_planned *nearest,
                                  const rk_search_control *control, rk_error *err)
{
    plan->has_nearest = nearest->index != UINT64_MAX;
    if (!plan->has_nearest) {
        return rk_plan_find_reasons(plan->setting.model, plan->setting.system, &plan->space,
                                    &plan->reasons, err);
    }
    rk_status status = rk_answer_fill(&plan->setting, &nearest->strategy, &plan->nearest, err);
    if (!status) {
        status = rk_remedy_find(&plan->setting, &nearest->strategy, &plan->remedy, err);
    }
    return status ? status : find_enough(plan, control, err);
}

/*
 * Whether to search by bounds: as the request says, and else where the space is so large that it
 * pays.  Ranks share exhaustive searches only.
 */
static rk_status choose_search(rk_job *job, rk_reckoning *plan, rk_error *err)
{
    const rk_inputs *inputs = plan->inputs;
    uint64_t strategies = 0;
    rk_status status = RK_OK;
    if (!plan->request->bounded && !plan->request->exhaustive && !rk_job_team(job)) {
        status = rk_plan_count(&inputs->model, &inputs->system, &plan->space, &strategies, err);
    }
    plan->by_bounds = plan->request->bounded || strategies >= BOUNDS_PAY_FROM;
    return status;
}

/*
 * What needs least memory is known to a search that looks at all of it only, which is also the one
 * that ranks share.
 */
static rk_status search(rk_job *job, rk_reckoning *plan, const rk_search_control *control,
                        size_t top, rk_planned *planned, size_t *found, rk_planned *nearest,
                        rk_error *err)
{
    const rk_inputs *inputs = plan->inputs;
    rk_status status = choose_search(job, plan, err);
    *found = 0;
    if (!status && plan->by_bounds && !rk_job_is_first(job)) {
        return RK_OK;
    }
    if (!status && plan->by_bounds) {
        status =
            rk_plan_search_bounded(&inputs->model, &inputs->system, &inputs->stack, &plan->space,
                                   control, top, planned, found, &plan->bounded, err);
    }
    if (!status && *found == 0) {
        plan->by_bounds = plan->request->bounded;
        status = rk_plan_search_shared(rk_job_team(job), &inputs->model, &inputs->system,
                                       &inputs->stack, &plan->space, control, top, planned, found,
                                       nearest, &plan->counts, err);
    }
    return status;
}

rk_status rk_reckoning_search(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                              size_t top, rk_reckoning *plan, rk_error *err)
{
    rk_planned nearest, *planned = calloc(top, sizeof(*planned));
    size_t found = 0;
    const rk_search_control control = rk_job_search_control(job, "strategies", request->threads);
    *plan = (rk_reckoning){
        .request = request, .inputs = inputs, .setting = rk_setting_of(request, inputs)};
    if (!planned) {
        const rk_status failed = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
        rk_share_leave(rk_job_team(job), err);
        return failed;
    }
    rk_status status = rk_request_space(request, inputs, &plan->space, err);
    if (status) {
        rk_share_leave(rk_job_team(job), err);
        free(planned);
        return status;
    }
    const double started = rk_job_cpu_s(job);
    status = search(job, plan, &control, top, planned, &found, &nearest, err);
    plan->cpu_s = rk_job_cpu_s(job) - started;
    if (!status && rk_job_is_first(job)) {
        status = found > 0 ? fill_answers(plan, planned, found, err)
                           : explain_shortage(plan, &nearest, &control, err);
    }
    free(planned);
    return status;
}

rk_problem rk_reckoning_problem(const rk_reckoning *plan)
{
    const rk_inputs *inputs = plan->inputs;
    return (rk_problem){.method = &rk_method_reckon,
                        .reckon = {inputs->model, inputs->system, inputs->stack, plan->space}};
}

void rk_reckoning_clear(rk_reckoning *plan)
{
    for (size_t i = 0; i < plan->answer_count; i++) {
        free(plan->answers[i].stages);
    }
    free(plan->answers);
    free(plan->nearest.stages);
    plan->answers = NULL;
    plan->nearest.stages = NULL;
    plan->answer_count = 0;
}

/* ---- how it went ---------------------------------------------------------------------------- */

void rk_write_search(FILE *to, const rk_reckoning *plan)
{
    if (plan->by_bounds) {
        rk_write_bounded(to, &plan->bounded, "reckon", plan->cpu_s);
        if (!plan->request->bounded) {
            (void)fprintf(to, "%-10sbounded search; --exhaustive counts what is legal and fits\n",
                          "");
        }
        return;
    }
    char explored[RK_COMMAS_SIZE], legal[RK_COMMAS_SIZE], fitting[RK_COMMAS_SIZE];
    (void)fprintf(to, "%-10s%s strategies, %s legal, %s fit\n", "search",
                  rk_with_commas(plan->counts.enumerated, explored),
                  rk_with_commas(plan->counts.legal, legal),
                  rk_with_commas(plan->counts.fitting, fitting));
    (void)fprintf(to, "%-10s%.3f s of processor time", "", plan->cpu_s);
    if (plan->cpu_s > 0) {
        (void)fprintf(to, ", %.1f million strategies/s",
                      (double)plan->counts.enumerated / plan->cpu_s / 1e6);
    }
    (void)fputc('\n', to);
}

void rk_search_write_json(rk_json_writer *writer, const rk_reckoning *plan)
{
    rk_json_open_member(writer, "search", "{");
    rk_json_string(writer, "method", plan->by_bounds ? "bounded" : "exhaustive");
    if (plan->by_bounds) {
        rk_bounded_write_json(writer, &plan->bounded);
    } else {
        rk_json_count(writer, "strategies", plan->counts.enumerated);
        rk_json_count(writer, "legal", plan->counts.legal);
        rk_json_count(writer, "fit", plan->counts.fitting);
    }
    rk_json_real(writer, "processor_time_s", plan->cpu_s);
    rk_json_close(writer, "}");
}

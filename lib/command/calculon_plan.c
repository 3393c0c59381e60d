/* SPDX-License-Identifier: Apache-2.0 */
#include "command/calculon_plan.h"

#include "base/error.h"
#include "base/extremes.h"
#include "calculon/calculon_docs.h"
#include "command/calculon_options.h"
#include "job/output_form.h"

#include <stdlib.h>

const char *const rk_calculon_methods[] = {"calculon", NULL};

const char *const rk_fused_names[] = {"true", "false", "both", NULL};

static const rk_calculon_request plan_defaults = {
    .top = 5, .output = "-", .datatype = -1, .fused = RK_FUSED_TRUE};

void rk_calculon_request_init(void *request)
{
    *(rk_calculon_request *)request = plan_defaults;
}

rk_status rk_calculon_request_check(void *request, rk_error *err)
{
    rk_calculon_request *r = request;
    const rk_output output = {.path = r->output,
                              .json = &r->json,
                              .csv = &r->csv,
                              .html = true,
                              .message = RK_OUTPUT_MESSAGE};
    return r->json && r->csv ? rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other")
                             : rk_output_settle(&output, err);
}

const rk_option rk_calculon_plan_options[RK_CALCULON_PLAN_OPTIONS] = {
    RK_OPTION_APPLICATION,   RK_OPTION_SYSTEM,        RK_OPTION_PROCESSORS(true),
    RK_OPTION_BATCH,         RK_OPTION_DATATYPE,      RK_OPTION_FUSED,
    RK_OPTION_NO_TP_OVERLAP, RK_OPTION_NO_DP_OVERLAP, RK_OPTION_THREADS,
    RK_OPTION_JSON,          RK_OPTION_CSV,           RK_OPTION_OUTPUT,
};

rk_status rk_calculon_plan_evaluate(const rk_calculon_plan *plan, const rk_candidate *candidate,
                                    rk_calculon_result *strategy, rk_error *err)
{
    rk_calculon_sys sys = plan->problem.calculon.sys;
    rk_calculon_verdict verdict;
    sys.mem1.capacity = rk_max(sys.mem1.capacity, candidate->memory);
    sys.mem2.capacity = rk_max(sys.mem2.capacity, candidate->offloaded);
    strategy->exe = candidate->exe;
    strategy->layer_count = 0;
    return rk_calculon_evaluate(&plan->problem.calculon.app, &sys, &candidate->exe,
                                &strategy->stats, NULL, NULL, &verdict, err);
}

static rk_status fill_strategies(rk_calculon_plan *plan, rk_error *err)
{
    const rk_ranking *ranking = &plan->ranking;
    rk_status status = RK_OK;
    plan->strategies = calloc(ranking->count + 1, sizeof(*plan->strategies));
    if (!plan->strategies) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answers");
    }
    for (; !status && plan->strategy_count < ranking->count; plan->strategy_count++) {
        status = rk_calculon_plan_evaluate(plan, &ranking->candidates[plan->strategy_count],
                                           &plan->strategies[plan->strategy_count], err);
    }
    return status;
}

rk_status rk_calculon_plan_rank(rk_job *job, rk_calculon_plan *plan, rk_error *err)
{
    const rk_calculon_request *request = &plan->request;
    const rk_status status =
        rk_rank_for_job(job, &plan->problem, request->bounded ? RK_SEARCH_BOUNDED : RK_SEARCH_ANY,
                        (size_t)request->top, request->threads, &plan->ranking, &plan->time, err);
    return status || !rk_job_is_first(job) ? status : fill_strategies(plan, err);
}

void rk_calculon_plan_clear(rk_calculon_plan *plan)
{
    rk_ranking_clear(&plan->ranking);
    free(plan->strategies);
    plan->strategies = NULL;
    plan->strategy_count = 0;
}

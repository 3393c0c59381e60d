/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon plan` by the Calculon methodology: the best strategies. */
#include "command/plan_command.h"

#include "base/clock.h"
#include "base/error.h"
#include "calculon/calculon_docs.h"
#include "command/calculon_options.h"
#include "command/commands.h"
#include "command/planner.h"

#include <math.h>
#include <stdlib.h>

#define MOST_RANKED 1000

const char *const rk_plan_methods[] = {"calculon", NULL};

const char *const rk_fused_names[] = {"true", "false", "both", NULL};
enum { FUSED_TRUE, FUSED_FALSE, FUSED_BOTH };

static const rk_plan_request plan_defaults = {
    .top = 5, .output = "-", .datatype = -1, .fused = FUSED_TRUE};

void rk_plan_request_init(void *request)
{
    *(rk_plan_request *)request = plan_defaults;
}

rk_status rk_plan_request_check(void *request, rk_error *err)
{
    const rk_plan_request *r = request;
    return r->json && r->csv ? rk_fail(err, RK_ERR_INVALID, "--json and --csv exclude each other")
                             : RK_OK;
}

#define PLACE(member) offsetof(rk_plan_request, member)

const rk_option rk_calculon_plan_options[RK_CALCULON_PLAN_OPTIONS] = {
    RK_OPTION_APPLICATION,   RK_OPTION_SYSTEM,        RK_OPTION_PROCESSORS(true),
    RK_OPTION_BATCH,         RK_OPTION_DATATYPE,      RK_OPTION_FUSED,
    RK_OPTION_NO_TP_OVERLAP, RK_OPTION_NO_DP_OVERLAP, RK_OPTION_THREADS,
    RK_OPTION_JSON,          RK_OPTION_CSV,           RK_OPTION_OUTPUT,
};

static const rk_option plan_options[] = {
    {.name = "top",
     .letter = 'n',
     .type = RK_OPTION_COUNT,
     .offset = PLACE(top),
     .min = 1,
     .max = MOST_RANKED,
     .value = "N",
     .help = "strategies to show; default: 5"},
    RK_OPTION_METHOD,
    {.name = "mbs-break",
     .type = RK_OPTION_FLAG,
     .offset = PLACE(mbs_break),
     .help = "skip larger microbatches once one does not fit; same answer"},
    {.name = "bounded",
     .type = RK_OPTION_FLAG,
     .offset = PLACE(bounded),
     .help = "settle most strategies by bounds, without evaluating them; same answer"},
};

rk_status rk_plan_evaluate(const rk_plan *plan, const rk_candidate *candidate,
                           rk_calculon_result *strategy, rk_error *err)
{
    rk_calculon_sys sys = plan->sys;
    rk_calculon_verdict verdict;
    sys.mem1.capacity = fmax(sys.mem1.capacity, candidate->memory);
    sys.mem2.capacity = fmax(sys.mem2.capacity, candidate->offloaded);
    strategy->exe = candidate->exe;
    strategy->layer_count = 0;
    return rk_calculon_evaluate(&plan->app, &sys, &candidate->exe, &strategy->stats, NULL, NULL,
                                &verdict, err);
}

/* Returns the first datatype that the system computes in; the search complains if there is none. */
static int smallest_datatype(const rk_calculon_sys *sys)
{
    for (int i = 0; i < RK_DATATYPE_COUNT; i++) {
        if (sys->matrix[i].present && sys->vector[i].present) {
            return i;
        }
    }
    return 0;
}

rk_status rk_plan_load(rk_plan *plan, rk_error *err)
{
    rk_plan_request *request = &plan->request;
    rk_status status =
        request->model ? rk_calculon_app_load(request->model, false, &plan->app, err) : RK_OK;
    if (!status) {
        status = rk_calculon_sys_load(request->system, false, &plan->sys, err);
    }
    if (!status && request->datatype < 0) {
        request->datatype = smallest_datatype(&plan->sys);
    }
    plan->space = (rk_calculon_space){
        .num_procs = request->processors,
        .max_batch_size = request->batch,
        .datatype = (rk_datatype)request->datatype,
        .fused_count = request->fused == FUSED_BOTH ? 2 : 1,
        .fused = {request->fused == FUSED_TRUE, true},
        .no_tp_overlap = request->no_tp_overlap,
        .no_dp_overlap = request->no_dp_overlap,
        .mbs_break = request->mbs_break,
    };
    return status;
}

rk_problem rk_plan_problem(const rk_plan *plan)
{
    return (rk_problem){.method = &rk_method_calculon,
                        .calculon = {plan->app, plan->sys, plan->space}};
}

static rk_status fill_strategies(rk_plan *plan, rk_error *err)
{
    const rk_ranking *ranking = &plan->ranking;
    rk_status status = RK_OK;
    plan->strategies = calloc(ranking->count + 1, sizeof(*plan->strategies));
    if (!plan->strategies) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answers");
    }
    for (; !status && plan->strategy_count < ranking->count; plan->strategy_count++) {
        status = rk_plan_evaluate(plan, &ranking->candidates[plan->strategy_count],
                                  &plan->strategies[plan->strategy_count], err);
    }
    return status;
}

rk_status rk_plan_rank(rk_job *job, rk_plan *plan, rk_error *err)
{
    const rk_plan_request *request = &plan->request;
    const rk_search_control control = rk_job_search_control(job, "strategies", request->threads);
    const rk_problem problem = rk_plan_problem(plan);
    const double cpu = rk_job_cpu_s(job), wall = rk_wall_seconds();
    const rk_status status =
        rk_rank_strategies(&problem, request->bounded ? RK_SEARCH_BOUNDED : RK_SEARCH_ANY,
                           (size_t)request->top, rk_job_team(job), &control, &plan->ranking, err);
    plan->cpu_s = rk_job_cpu_s(job) - cpu;
    plan->wall_s = rk_wall_seconds() - wall;
    return status || !rk_job_is_first(job) ? status : fill_strategies(plan, err);
}

void rk_plan_clear(rk_plan *plan)
{
    rk_ranking_clear(&plan->ranking);
    free(plan->strategies);
    plan->strategies = NULL;
    plan->strategy_count = 0;
}

static rk_status run_plan(rk_job *job, void *arguments, rk_error *err)
{
    return rk_planner_run(&rk_planner_calculon, job, arguments, err);
}

const rk_command rk_command_plan_calculon = {
    .name = "plan",
    .purpose = "Find the best strategies to train a model on a system",
    .options = plan_options,
    .option_count = sizeof(plan_options) / sizeof(plan_options[0]),
    .shared = rk_calculon_plan_options,
    .shared_count = RK_CALCULON_PLAN_OPTIONS,
    .notes = "Numbers may end in k, M, G, B, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024).\n"
             "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n\n"
             "example: reckon plan --model seed-1T --system h100-80g-off512g50-nvl8 \\\n"
             "             --processors 4096 --batch 3072 --datatype float8",
    .is_shared = true,
    .size = sizeof(rk_plan_request),
    .init = rk_plan_request_init,
    .complete = rk_plan_request_check,
    .run = run_plan,
};

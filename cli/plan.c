/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon plan` by the Calculon methodology: the best strategies. */
#include "cli/plan.h"

#include "base/error.h"
#include "calculon/calculon_docs.h"
#include "cli/calculon_options.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/team.h"
#include "search/shared.h"
#include "work/share.h"

#include <stdlib.h>

#define MOST_RANKED 1000

const char *const rk_plan_methods[] = {"calculon", NULL};

const char *const rk_fused_names[] = {"true", "false", "both", NULL};
enum { FUSED_TRUE, FUSED_FALSE, FUSED_BOTH };

const rk_plan_request rk_plan_request_defaults = {
    .top = 5, .output = "-", .datatype = -1, .fused = FUSED_TRUE};

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

rk_status rk_plan_evaluate(const rk_plan *plan, const rk_calculon_sys *sys,
                           const rk_calculon_exe *exe, rk_calculon_result *strategy,
                           rk_calculon_verdict *verdict, rk_error *err)
{
    strategy->exe = *exe;
    strategy->layer_count = 0;
    return rk_calculon_evaluate(&plan->app, sys, exe, &strategy->stats, NULL, NULL, verdict, err);
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

rk_status rk_plan_rank(rk_plan *plan, const rk_search_control *control, rk_error *err)
{
    const size_t top = (size_t)plan->request.top;
    size_t found = 0;
    rk_calculon_verdict verdict;
    rk_calculon_ranked *ranked = calloc(top, sizeof(*ranked));
    plan->strategies = calloc(top, sizeof(*plan->strategies));
    rk_status status = RK_OK;
    if (!ranked || !plan->strategies) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
        goto cleanup;
    }
    const double cpu = rk_cpu_seconds(), wall = rk_wall_seconds();
    if (plan->request.bounded && !rk_team_is_first()) {
        goto cleanup; /* only the exhaustive search is shared */
    }
    status = plan->request.bounded
                 ? rk_calculon_search_bounded(&plan->app, &plan->sys, &plan->space, control, top,
                                              ranked, &found, &plan->bounded, err)
                 : rk_calculon_search_shared(rk_team_joined(), &plan->app, &plan->sys, &plan->space,
                                             control, top, ranked, &found, &plan->counts, err);
    plan->cpu_s = rk_cpu_seconds() - cpu + rk_team_other_cpu_s();
    plan->wall_s = rk_wall_seconds() - wall;
    for (; !status && plan->strategy_count < found; plan->strategy_count++) {
        status = rk_plan_evaluate(plan, &plan->sys, &ranked[plan->strategy_count].exe,
                                  &plan->strategies[plan->strategy_count], &verdict, err);
    }
cleanup:
    free(ranked);
    return status;
}

static rk_status write_answer(const rk_plan *plan, rk_error *err)
{
    if (plan->request.json) {
        return rk_plan_write_json(plan, err);
    }
    return plan->request.csv ? rk_plan_write_csv(plan, err)
                             : rk_print_text(plan->request.output, rk_plan_write_text, plan, err);
}

static const rk_command calculon_plan = {
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
};

int rk_calculon_plan_run(int argc, char **argv)
{
    rk_plan plan = {.request = rk_plan_request_defaults};
    rk_progress progress;
    rk_error err;
    int result = rk_options_parse(&calculon_plan, argc, argv, &plan.request);
    if (result != RK_PARSED) {
        return result;
    }
    if (plan.request.json && plan.request.csv) {
        return rk_command_fail(&calculon_plan, "--json and --csv exclude each other");
    }
    if (rk_plan_load(&plan, &err)) {
        rk_share_leave(rk_team_joined(), &err);
        return rk_command_fail_error(&calculon_plan, &err);
    }
    const rk_search_control control = {.threads = rk_team_threads(plan.request.threads),
                                       .progress = rk_cli_progress,
                                       .user = &progress};
    rk_progress_start(&progress, "strategies");
    rk_status status = rk_plan_rank(&plan, &control, &err);
    if (!status && plan.strategy_count == 0 && rk_team_is_first()) {
        status = rk_plan_find_shortfall(&plan, &control, &err);
    }
    rk_progress_end(&progress);
    if (!status && rk_team_is_first()) {
        rk_team_report(&calculon_plan);
        status = write_answer(&plan, &err);
    }
    result = rk_command_end(&calculon_plan, status, plan.strategy_count > 0, &err);
    free(plan.strategies);
    return result;
}

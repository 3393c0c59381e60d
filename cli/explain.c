/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon explain`: what each number of a machine is worth to the best strategy, planned again. */
#include "cli/explain.h"

#include "cli/calculon_options.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_CHANGE 10 /* % */

/* ---- options ------------------------------------------------------------------------------- */

/* The command lines of the two methods; what they share with `reckon plan` comes first. */
struct calculon_args {
    rk_plan_request request;
    double change;
};

struct reckon_args {
    rk_request request;
    double change;
};

#define CHANGE_OPTION(args)                                                                        \
    {                                                                                              \
        .name = "change", .type = RK_OPTION_REAL, .offset = offsetof(struct args, change),         \
        .min = -90, .max = 900, .value = "PERCENT",                                                \
        .help = "how much better every number gets, worse below 0; default: 10"                    \
    }

static const rk_option calculon_options[] = {
    CHANGE_OPTION(calculon_args),
    RK_OPTION_METHOD,
};

static const rk_option reckon_options[] = {
    CHANGE_OPTION(reckon_args),
    RK_OPTIONS_OF_SEARCH,
};

static const rk_command calculon_explain = {
    .name = "explain",
    .purpose = "Tell what each number of a machine is worth, with the best strategy planned again",
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .shared = rk_calculon_plan_options,
    .shared_count = RK_CALCULON_PLAN_OPTIONS,
    .notes = "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n\n"
             "example: reckon explain --model seed-1T --system h100-80g-off512g50-nvl8 \\\n"
             "             --processors 4096 --batch 3072",
};

/* ---- results ------------------------------------------------------------------------------- */

double rk_explain_gain(const rk_explain *explain, const rk_replan *replan)
{
    return replan->best.rate / explain->best.rate - 1;
}

const char *rk_explain_changes(const rk_explain *explain, const rk_replan *replan,
                               char out[RK_WORDS_SIZE])
{
    out[0] = '\0';
    return replan->runs ? explain->problem.method->changes(&explain->best, &replan->best, out)
                        : out;
}

static rk_status write_answer(const rk_explain *explain, bool json, bool csv, rk_error *err)
{
    if (json) {
        return rk_explain_write_json(explain, err);
    }
    return csv ? rk_explain_write_csv(explain, err)
               : rk_print_text(explain->output, rk_explain_write_text, explain, err);
}

/* ---- both methods -------------------------------------------------------------------------- */

/* Searches with every number changed; `best` and the counts of its search are there. */
static rk_status replan(rk_explain *explain, int64_t threads, rk_error *err)
{
    rk_progress progress;
    const rk_search_control control = {
        .threads = (int)threads, .progress = rk_cli_progress, .user = &progress};
    const rk_bounded_counts before = explain->counts;
    rk_progress_start(&progress, "searches");
    const double started = rk_cpu_seconds();
    const rk_status status =
        rk_replan_all(&explain->problem, &control, explain->change, &explain->best,
                      explain->replans, &explain->count, &explain->counts, err);
    explain->cpu_s += rk_cpu_seconds() - started;
    rk_bounded_counts_add(&explain->counts, &before);
    rk_progress_end(&progress);
    return status;
}

/* ---- the Calculon methodology -------------------------------------------------------------- */

static rk_status explain_calculon(rk_plan *plan, rk_explain *explain, rk_error *err)
{
    rk_progress progress;
    const rk_search_control control = {
        .threads = (int)plan->request.threads, .progress = rk_cli_progress, .user = &progress};
    rk_progress_start(&progress, "strategies");
    rk_status status = rk_plan_rank(plan, &control, err);
    if (!status && plan->strategy_count == 0) {
        status = rk_plan_find_shortfall(plan, &control, err);
    }
    rk_progress_end(&progress);
    if (status || plan->strategy_count == 0) {
        return status;
    }
    explain->problem = rk_plan_problem(plan);
    explain->best.exe = plan->strategies[0].exe;
    explain->counts = plan->bounded;
    explain->cpu_s = plan->cpu_s;
    status = explain->problem.method->evaluate(&explain->problem, &explain->best, err);
    return status ? status : replan(explain, plan->request.threads, err);
}

/* A shortage is reported as `reckon plan` reports it. */
static rk_status write_calculon_shortfall(const rk_plan *plan, rk_error *err)
{
    if (plan->request.json) {
        return rk_plan_write_json(plan, err);
    }
    return plan->request.csv ? rk_plan_write_csv(plan, err)
                             : rk_print_text(plan->request.output, rk_plan_write_text, plan, err);
}

static int run_calculon(int argc, char **argv)
{
    struct calculon_args args = {.request = rk_plan_request_defaults, .change = DEFAULT_CHANGE};
    rk_plan plan;
    rk_error err;
    const int parsed = rk_options_parse(&calculon_explain, argc, argv, &args);
    if (parsed != RK_PARSED) {
        return parsed;
    }
    if (args.request.json && args.request.csv) {
        return rk_command_fail(&calculon_explain, "--json and --csv exclude each other");
    }
    args.request.top = 1;
    args.request.bounded = true;
    plan = (rk_plan){.request = args.request};
    rk_explain explain = {
        .plan = &plan, .change = args.change / 100, .output = args.request.output};
    rk_status status = rk_plan_load(&plan, &err);
    if (!status) {
        status = explain_calculon(&plan, &explain, &err);
    }
    if (!status) {
        status = plan.strategy_count > 0
                     ? write_answer(&explain, args.request.json, args.request.csv, &err)
                     : write_calculon_shortfall(&plan, &err);
    }
    const int result = rk_command_end(&calculon_explain, status, plan.strategy_count > 0, &err);
    free(plan.strategies);
    return result;
}

/* ---- the reckon model ---------------------------------------------------------------------- */

static rk_status explain_reckon(rk_reckoning *plan, rk_explain *explain, rk_error *err)
{
    explain->problem = rk_reckoning_problem(plan);
    explain->best.strategy = plan->answers[0].strategy;
    explain->counts = plan->bounded;
    explain->cpu_s = plan->cpu_s;
    const rk_status status =
        explain->problem.method->evaluate(&explain->problem, &explain->best, err);
    return status ? status : replan(explain, plan->request->threads, err);
}

static int run_reckon(int argc, char **argv)
{
    struct reckon_args args = {.request = rk_request_defaults(), .change = DEFAULT_CHANGE};
    rk_inputs inputs;
    rk_reckoning plan = {0};
    rk_error err;
    const int parsed = rk_request_parse(&rk_command_explain, argc, argv, &args.request);
    if (parsed != RK_PARSED) {
        return parsed;
    }
    args.request.bounded = true;
    rk_explain explain = {
        .reckoning = &plan, .change = args.change / 100, .output = args.request.output};
    rk_status status = rk_request_load(&args.request, &inputs, &err);
    if (!status) {
        status = rk_reckoning_search(&args.request, &inputs, 1, &plan, &err);
    }
    if (!status && plan.answer_count > 0) {
        status = explain_reckon(&plan, &explain, &err);
    }
    if (!status) {
        status = plan.answer_count > 0
                     ? write_answer(&explain, args.request.json, args.request.csv, &err)
                     : rk_reckoning_write(&plan, &err);
    }
    const int result = rk_command_end(&rk_command_explain, status, plan.answer_count > 0, &err);
    rk_reckoning_clear(&plan);
    rk_inputs_clear(&inputs);
    return result;
}

/* ---- the command --------------------------------------------------------------------------- */

static int run_explain(int argc, char **argv)
{
    return rk_run_by_method(&rk_command_explain, argc, argv, run_calculon, run_reckon);
}

const rk_command rk_command_explain = {
    .name = "explain",
    .purpose = "Tell what each number of a machine is worth, with the best strategy planned again",
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .notes = "Every number gets better by itself; the domain of the fastest network doubles.  "
             "Documents of Calculon\nare explained by its methodology, whose options 'reckon "
             "explain --method calculon --help' lists.\nExit status: 0 done, 1 no strategy fits, "
             "2 wrong usage or input.\n\n"
             "example: reckon explain --model llama3-70b --system dgx-h100-superpod \\\n"
             "             --accelerators 256 --global-batch 512",
    .run = run_explain,
};

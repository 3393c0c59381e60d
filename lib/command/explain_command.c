/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon explain`: what each number of a machine is worth to the best strategy, planned again. */
#include "command/explain.h"

#include "command/calculon_options.h"
#include "command/commands.h"

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

static rk_status write_answer(const rk_job *job, const rk_explain *explain, bool json, bool csv,
                              rk_error *err)
{
    if (json) {
        return rk_explain_write_json(job, explain, err);
    }
    return csv ? rk_explain_write_csv(job, explain, err)
               : rk_job_print(job, explain->output, rk_explain_write_text, explain, err);
}

/* ---- both methods -------------------------------------------------------------------------- */

/* Searches with every number changed; `best` and the counts of its search are there. */
static rk_status replan(rk_job *job, rk_explain *explain, int64_t threads, rk_error *err)
{
    const rk_search_control control = rk_job_search_control(job, "searches", threads);
    const rk_bounded_counts before = explain->counts;
    const double started = rk_job_cpu_s(job);
    const rk_status status =
        rk_replan_all(&explain->problem, &control, explain->change, &explain->best,
                      explain->replans, &explain->count, &explain->counts, err);
    explain->cpu_s += rk_job_cpu_s(job) - started;
    rk_bounded_counts_add(&explain->counts, &before);
    return status;
}

/* ---- the Calculon methodology -------------------------------------------------------------- */

static rk_status explain_calculon(rk_job *job, rk_plan *plan, rk_explain *explain, rk_error *err)
{
    rk_status status = rk_plan_rank(job, plan, err);
    if (status || plan->strategy_count == 0) {
        return status;
    }
    explain->problem = rk_plan_problem(plan);
    explain->best.exe = plan->strategies[0].exe;
    explain->counts = plan->ranking.bounded;
    explain->cpu_s = plan->cpu_s;
    status = explain->problem.method->evaluate(&explain->problem, &explain->best, err);
    return status ? status : replan(job, explain, plan->request.threads, err);
}

/* A shortage is reported as `reckon plan` reports it. */
static rk_status write_calculon_shortfall(const rk_job *job, const rk_plan *plan, rk_error *err)
{
    if (plan->request.json) {
        return rk_plan_write_json(job, plan, err);
    }
    return plan->request.csv
               ? rk_plan_write_csv(job, plan, err)
               : rk_job_print(job, plan->request.output, rk_plan_write_text, plan, err);
}

static void init_calculon(void *arguments)
{
    struct calculon_args *args = arguments;
    rk_plan_request_init(&args->request);
    args->request.top = 1;
    args->request.bounded = true;
    args->change = DEFAULT_CHANGE;
}

static rk_status run_calculon(rk_job *job, void *arguments, rk_error *err)
{
    const struct calculon_args *args = arguments;
    const rk_plan_request *request = &args->request;
    rk_plan plan = {.request = *request};
    rk_explain explain = {.plan = &plan, .change = args->change / 100, .output = request->output};
    rk_status status = rk_plan_load(&plan, err);
    if (!status) {
        status = explain_calculon(job, &plan, &explain, err);
    }
    if (!status) {
        status = plan.strategy_count > 0
                     ? write_answer(job, &explain, request->json, request->csv, err)
                     : write_calculon_shortfall(job, &plan, err);
    }
    rk_job_set_found(job, plan.strategy_count > 0);
    rk_plan_clear(&plan);
    return status;
}

/* ---- the reckon model ---------------------------------------------------------------------- */

static rk_status explain_reckon(rk_job *job, rk_reckoning *plan, rk_explain *explain, rk_error *err)
{
    explain->problem = rk_reckoning_problem(plan);
    explain->best.strategy = plan->answers[0].strategy;
    explain->counts = plan->ranking.bounded;
    explain->cpu_s = plan->cpu_s;
    const rk_status status =
        explain->problem.method->evaluate(&explain->problem, &explain->best, err);
    return status ? status : replan(job, explain, plan->request->threads, err);
}

static void init_reckon(void *arguments)
{
    struct reckon_args *args = arguments;
    rk_request_init(&args->request);
    args->request.bounded = true;
    args->change = DEFAULT_CHANGE;
}

static rk_status run_reckon(rk_job *job, void *arguments, rk_error *err)
{
    const struct reckon_args *args = arguments;
    const rk_request *request = &args->request;
    rk_inputs inputs;
    rk_reckoning plan = {0};
    rk_explain explain = {
        .reckoning = &plan, .change = args->change / 100, .output = request->output};
    rk_status status = rk_request_load(request, &inputs, err);
    if (!status) {
        status = rk_reckoning_search(job, request, &inputs, 1, &plan, err);
    }
    if (!status && plan.answer_count > 0) {
        status = explain_reckon(job, &plan, &explain, err);
    }
    if (!status) {
        status = plan.answer_count > 0
                     ? write_answer(job, &explain, request->json, request->csv, err)
                     : rk_reckoning_write(job, &plan, err);
    }
    rk_job_set_found(job, plan.answer_count > 0);
    rk_reckoning_clear(&plan);
    rk_inputs_clear(&inputs);
    return status;
}

/* ---- the commands -------------------------------------------------------------------------- */

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
    .size = sizeof(struct calculon_args),
    .init = init_calculon,
    .complete = rk_plan_request_check,
    .run = run_calculon,
};

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
    .calculon = &calculon_explain,
    .size = sizeof(struct reckon_args),
    .init = init_reckon,
    .complete = rk_request_finish,
    .run = run_reckon,
};

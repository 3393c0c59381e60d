/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs. */
#include "api/handles.h"

#include "base/error.h"
#include "command/commands.h"
#include "command/run_options.h"

#include <stdlib.h>

struct rk_run_outcome {
    rk_outcome strategies; /* shares `plan` with the run */
    rk_whole_run run;
};

/* ---- what is asked --------------------------------------------------------------------------- */

void rk_run_request_init(rk_run_request *request, size_t size)
{
    rk_run_request usual = rk_run_request_usual();
    usual.size = size;
    rk_abi_copy(request, size, &usual, sizeof(usual));
}

static rk_status find_run(const rk_setup *setup, rk_run_outcome *outcome, rk_error *err)
{
    rk_job *job = outcome->strategies.job;
    rk_whole_run *run = &outcome->run;
    const rk_run_options *options = rk_job_arguments(job);
    run->question = &options->question;
    run->inputs = &setup->inputs;
    if (rk_run_asks_for_cluster(run->question) || options->timeline) {
        return rk_fail(err, RK_ERR_INVALID,
                       "deadline, budget, max_power and timeline are for jobs: see "
                       "rk_answer_request");
    }
    const rk_strategy *strategy = run->question->asked.strategy;
    rk_status status = rk_run_check_tokens(run->question, &setup->inputs.model, err);
    if (status || !strategy) {
        return status ? status : rk_whole_run_find(rk_job_work(job), run, err);
    }
    status = rk_ask_strategy(setup, strategy, &run->plan, err);
    return status ? status : rk_whole_run_fill(run, err);
}

static rk_status ask_run(const rk_setup *setup, const rk_run_request *request,
                         const rk_job_control *control, rk_run_outcome *outcome, rk_error *err)
{
    static const rk_space none = {.size = sizeof(none)};
    rk_status status = rk_open_job(setup, &rk_command_run, &outcome->strategies.job, err);
    if (status) {
        return status;
    }
    rk_job *job = outcome->strategies.job;
    outcome->strategies.setup = setup;
    ((rk_run_options *)rk_job_arguments(job))->question.asked = *request;
    status = rk_start_job(setup, request->space ? request->space : &none, control, job, err);
    status = status ? status : find_run(setup, outcome, err);
    outcome->strategies.fit.plan = outcome->run.plan;
    return status;
}

rk_status rk_predict_run(const rk_setup *setup, const rk_run_request *request,
                         const rk_job_control *control, rk_run_outcome **run, rk_error *err)
{
    rk_run_request own;
    rk_status status = rk_run_request_take(request, &own, err);
    if (!status && !own.strategy == !own.space) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "a run has either a strategy or a space to choose one from; begin with "
                         "rk_run_request_init and set one of them");
    }
    *run = rk_allocate(sizeof(**run), "a run", &status, err);
    status = status ? status : ask_run(setup, &own, control, *run, err);
    return RK_CREATED(status, run, rk_run_outcome_free);
}

static void clear_run(rk_run_outcome *run)
{
    rk_outcome_clear(&run->strategies);
}
RK_DEFINE_FREE(rk_run_outcome, clear_run)

/* ---- results --------------------------------------------------------------------------------- */

void rk_run_outcome_describe(const rk_run_outcome *outcome, rk_run_outcome_facts *facts,
                             size_t size)
{
    const rk_run_outcome_facts all = rk_whole_run_figures(&outcome->run);
    rk_abi_copy(facts, size, &all, sizeof(all));
}

const rk_outcome *rk_run_outcome_strategies(const rk_run_outcome *run)
{
    return &run->strategies;
}

bool rk_run_outcome_assumption(const rk_run_outcome *run, size_t index,
                               rk_run_assumption *assumption, size_t size)
{
    return index < (size_t)run->run.range_count &&
           rk_abi_copy(assumption, size, &run->run.ranges[index].figures, sizeof(*assumption));
}

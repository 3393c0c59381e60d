/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs. */
#include "api/handles.h"
#include "api/struct_tables.h"

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

/* A question about a run. */
struct asking {
    rk_run_outcome *outcome;
    const rk_strategy *strategy; /* NULL: the options hold a space */
};

static rk_status find_run(rk_job *job, void *arguments, void *what, rk_error *err)
{
    const struct asking *asking = what;
    rk_run_outcome *outcome = asking->outcome;
    rk_whole_run *run = &outcome->run;
    const rk_setup *setup = outcome->strategies.setup;
    const rk_run_options *options = arguments;
    const rk_run_question *question = &options->question;
    run->question = question;
    run->inputs = &setup->inputs;
    if (rk_run_asks_for_cluster(question) || options->timeline) {
        return rk_fail(err, RK_ERR_INVALID,
                       "deadline, budget, max_power and timeline are for jobs: see "
                       "rk_answer_request");
    }
    rk_status status = rk_run_check_tokens(question, &setup->inputs.model, err);
    if (status || !asking->strategy) {
        return status ? status : rk_whole_run_find(rk_job_work(job), run, err);
    }
    status = rk_ask_strategy(setup, asking->strategy, &run->plan, err);
    return status ? status : rk_whole_run_fill(run, err);
}

static rk_status ask_run(const rk_setup *setup, const rk_run_request *request,
                         const rk_job_control *control, rk_run_outcome *outcome, rk_error *err)
{
    struct asking asking = {.outcome = outcome, .strategy = request->strategy};
    outcome->strategies.setup = setup;
    rk_status status = rk_open_job(setup, &rk_command_run, &outcome->strategies.job, err);
    if (status) {
        return status;
    }
    rk_job *job = outcome->strategies.job;
    ((rk_run_options *)rk_job_arguments(job))->question.asked = *request;
    if (request->space) {
        status = rk_use_job(setup, request->space, job, control, find_run, &asking, err);
    } else {
        status = rk_ask(setup, job, NULL, err);
        status = status ? status : rk_job_use(job, control, NULL, NULL, find_run, &asking, err);
    }
    outcome->strategies.fit.plan = outcome->run.plan;
    return status;
}

rk_status rk_predict_run(const rk_setup *setup, const rk_run_request *request,
                         const rk_job_control *control, rk_run_outcome **run, rk_error *err)
{
    rk_run_request own;
    rk_status status = rk_take_run_request(request, &own, err);
    if (!status && !own.strategy == !own.space) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "a run has either a strategy or a space to choose one from; begin with "
                         "rk_run_request_init and set one of them");
    }
    *run = rk_allocate(sizeof(**run), "a run", &status, err);
    status = status ? status : ask_run(setup, &own, control, *run, err);
    return RK_CREATED(status, run, rk_run_outcome_free);
}

void rk_run_outcome_free(rk_run_outcome *run)
{
    if (run) {
        rk_outcome_clear(&run->strategies);
        free(run);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static rk_spread scaled(const rk_spread *spread, double factor)
{
    return (rk_spread){.mean = factor * spread->mean,
                       .error = factor * spread->error,
                       .p10 = factor * spread->p10,
                       .p50 = factor * spread->p50,
                       .p90 = factor * spread->p90};
}

static void add_simulated(const rk_whole_run *run, rk_run_outcome_facts *facts)
{
    const rk_simulated *s = &run->simulated;
    facts->simulated_runs = run->simulation.runs;
    facts->unfinished_runs = s->unfinished;
    facts->simulated_total_s = s->total_s;
    facts->simulated_goodput = s->goodput;
    facts->simulated_interruptions = s->interruptions;
    if (rk_whole_run_cost_rate(run) > 0) {
        facts->simulated_cost = scaled(&s->total_s, rk_whole_run_cost_rate(run));
    }
}

void rk_run_outcome_describe(const rk_run_outcome *outcome, rk_run_outcome_facts *facts,
                             size_t size)
{
    rk_run_outcome_facts all = {.found = false};
    const rk_whole_run *run = &outcome->run;
    const rk_training *t = &run->training;
    const rk_training_result *r = &run->result;
    if (rk_plan_best(&run->plan)) {
        all = (rk_run_outcome_facts){
            .found = true,
            .tokens = t->tokens,
            .steps = r->steps,
            .step_s = t->step,
            .accelerators = t->accelerators,
            .checkpoint_bytes = t->checkpoint,
            .total_s = r->total,
            .training_s = r->part[RK_TRAINING_STEPS],
            .checkpoints_s = r->part[RK_TRAINING_CHECKPOINTS],
            .lost_s = r->part[RK_TRAINING_LOST],
            .restarts_s = r->part[RK_TRAINING_RESTARTS],
            .planned_s = r->part[RK_TRAINING_PLANNED],
            .start_s = r->part[RK_TRAINING_START],
            .goodput = r->goodput,
            .mtbf_s = r->mtbf,
            .failures = r->failures,
            .checkpoint_interval_s = r->interval,
            .near_copies = r->far_every,
            .checkpoint_write_s = r->writing,
            .checkpoint_blocking_s = r->blocking,
            .accelerator_hours = r->accelerator_hours,
            .cost = r->cost,
            .energy_joules = r->energy,
            .carbon_kg = r->carbon,
        };
        if (run->simulation.runs > 0) {
            add_simulated(run, &all);
        }
    }
    rk_abi_copy(facts, size, &all, sizeof(all));
}

const rk_outcome *rk_run_outcome_strategies(const rk_run_outcome *run)
{
    return &run->strategies;
}

bool rk_run_outcome_assumption(const rk_run_outcome *run, size_t index,
                               rk_run_assumption *assumption, size_t size)
{
    if (index >= (size_t)run->run.range_count) {
        return false;
    }
    const rk_assumed_range *range = &run->run.ranges[index];
    const rk_run_assumption all = {
        .name = range->name,
        .low = range->low,
        .high = range->high,
        .low_total_s = range->low_s,
        .high_total_s = range->high_s,
    };
    return rk_abi_copy(assumption, size, &all, sizeof(all));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A whole run: its tokens, its parts, its percentiles and what moves it. */
#include "whole_run/whole_run.h"

#include "base/error.h"
#include "base/units.h"
#include "run/stragglers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define P90 1.2815515655446004 /* standard deviations to the 90th percentile */

/* ---- how many tokens ----------------------------------------------------------------------- */

/* Tokens needed with the batch of the run, relative to those with the reference batch. */
static rk_status fill_batch_factor(rk_whole_run *run, double batch, rk_error *err)
{
    const rk_run_question *question = run->question;
    rk_batch_law law;
    run->tokens_factor = 1;
    const rk_status status = rk_batch_law_load(
        question->asked.batch_law ? question->asked.batch_law : "power-lines", &law, err);
    if (status || !(question->asked.reference_batch > 0)) {
        return status;
    }
    run->critical = rk_batch_critical(&law, run->training.tokens, question->asked.loss);
    if (law.by_loss && !(question->asked.loss > 0)) {
        return rk_fail(err, RK_ERR_INVALID, "the batch law %s needs --loss", law.name);
    }
    run->tokens_factor =
        rk_batch_tokens_factor(batch, question->asked.reference_batch, run->critical);
    run->training.tokens *= run->tokens_factor;
    return RK_OK;
}

/* All phases as one: their steps, and their mean time weighted by tokens. */
static void join_phases(rk_whole_run *run)
{
    double tokens = 0, steps = 0, seconds = 0;
    for (int i = 0; i < run->phase_count; i++) {
        rk_run_phase *phase = &run->phases[i];
        const double each = ceil(phase->tokens / ((double)phase->seq * (double)phase->batch));
        const double time = each * phase->step_s * run->straggling;
        phase->days = time / DAY;
        tokens += phase->tokens;
        steps += each;
        seconds += time;
    }
    run->training.tokens = tokens;
    run->training.tokens_per_step = tokens / steps;
    run->training.step = seconds / steps;
}

/* The batch that suits the tokens of the run better than the assumed one. */
static rk_status fill_best_batch(rk_whole_run *run, rk_error *err)
{
    const rk_request *request = &run->question->request;
    const rk_strategy *s = &rk_plan_best(&run->plan)->strategy;
    run->best_batch = 0;
    if (!request->assumed_batch || run->question->phase_count > 0 ||
        run->question->asked.steps > 0) {
        return RK_OK;
    }
    const rk_status status =
        rk_run_best_batch(request, s->seq, run->training.tokens, &run->best_batch, err);
    run->best_batch = run->best_batch == s->global_batch ? 0 : run->best_batch;
    return status;
}

static rk_status fill_tokens(rk_whole_run *run, rk_error *err)
{
    const rk_run_question *question = run->question;
    const double batch = run->training.tokens_per_step;
    rk_status status =
        rk_run_tokens(question, &run->inputs->model, &run->target, &run->training.tokens, err);
    if (status) {
        return status;
    }
    if (question->asked.steps > 0) {
        run->training.tokens = question->asked.steps * batch;
    } else if (question->phase_count > 0) {
        join_phases(run);
    }
    status = fill_best_batch(run, err);
    status = status ? status : fill_batch_factor(run, batch, err);
    status = status ? status : rk_run_ramp_fill(run, err);
    if (!status && question->ramp.steps > 0) {
        join_phases(run);
    }
    return status;
}

/* ---- the parts of a run -------------------------------------------------------------------- */

/* A checkpoint holds the trainable weights and the optimizer states. */
static double checkpoint_bytes(const rk_model *model, const rk_strategy *s)
{
    const rk_model_params params = rk_model_params_of(model);
    const double each = rk_strategy_learning(s) * s->states.weight + s->states.optimizer;
    return (double)(params.total + params.mtp) * each;
}

/* As estimated or as given, with stragglers, by chance and for good. */
static double step_of(rk_whole_run *run)
{
    const rk_run_question *question = run->question;
    const rk_answer *answer = rk_plan_best(&run->plan);
    const double workers = (double)rk_strategy_ranks(&answer->strategy);
    run->straggling = rk_straggler_barriers(workers, question->asked.stragglers_percent / 100,
                                            question->barriers) *
                      rk_straggler_persistent(workers, run->slow_share, run->slow_by);
    return rk_run_step_s(question, &answer->estimate) * run->straggling;
}

static rk_status fill_training(rk_whole_run *run, rk_error *err)
{
    const rk_run_question *question = run->question;
    const rk_answer *answer = rk_plan_best(&run->plan);
    const rk_strategy *s = &answer->strategy;
    const rk_accelerator *a = &run->inputs->system.accelerator;
    const double accelerators = (double)rk_strategy_ranks(s);
    rk_reliability *reliability = &run->reliability;
    rk_status status = rk_training_usual(accelerators, &run->training, err);
    status = status ? status
                    : rk_reliability_load(question->asked.reliability ? question->asked.reliability
                                                                      : "published",
                                          reliability, err);
    if (status) {
        return status;
    }
    rk_training *t = &run->training;
    t->tokens_per_step = (double)s->global_batch * (double)s->seq;
    t->window = question->window_hours * HOUR;
    t->window_every = question->window_days * DAY;
    run->slow_share = question->slow_percent / 100;
    run->slow_by = question->slow_by / 100;
    t->step = step_of(run);
    run->parameters = (double)rk_model_params_of(&run->inputs->model).active;
    t->failure_rate =
        question->asked.failures >= 0 ? question->asked.failures / 1000 / DAY : reliability->rate;
    t->restart = question->asked.restart_s >= 0
                     ? question->asked.restart_s
                     : rk_reliability_stall_s(reliability, question->asked.spares > 0);
    t->checkpoint = checkpoint_bytes(&run->inputs->model, s);
    t->storage =
        question->asked.storage_bytes_per_s > 0 ? question->asked.storage_bytes_per_s : t->storage;
    t->host = question->asked.async_checkpoint ? a->host_bandwidth * a->host_efficiency : 0;
    t->interval = question->asked.checkpoint_every_s;
    t->planned_share = question->asked.failures >= 0 ? 0 : reliability->planned_share;
    t->start = question->start >= 0 ? question->start * MINUTE : reliability->start_s;
    t->silent_share = rk_reliability_silent_share(reliability);
    t->silent = question->silent >= 0 ? question->silent * MINUTE : reliability->silent_s;
    run->rate_spread = question->asked.failures >= 0 ? 0 : reliability->spread;
    if (question->asked.async_checkpoint && !(t->host > 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the system document has no link to host memory, which "
                       "--async-checkpoint needs");
    }
    status = rk_run_fill_tiers(run, err);
    status = status ? status : fill_tokens(run, err);
    status = status ? status : rk_run_fill_prices(run, err);
    const rk_setting setting = rk_setting_of(run->inputs);
    status = status ? status : rk_rules_fill(&setting, answer, &run->rules, err);
    return status ? status : rk_training_run(t, &run->result, err);
}

/* ---- percentiles --------------------------------------------------------------------------- */

/* Standard deviation of the logarithm of the step, from the interval of its estimate. */
static double step_spread(const rk_whole_run *run)
{
    const rk_interval *interval = &rk_plan_best(&run->plan)->interval;
    const bool known = interval->runs > 0 && !rk_run_step_is_stated(run->question);
    return known ? log(interval->high / interval->low) / (2 * P90) : 0;
}

/* By whether the near copy is usable, and whether a node has to be replaced. */
static void fill_causes(rk_whole_run *run)
{
    rk_simulation *s = &run->simulation;
    const rk_training *t = &run->training;
    const double hardware = rk_reliability_hardware_share(&run->reliability);
    const double near = t->near_write > 0 ? t->near_share : 0;
    const double silent = t->silent > 0 ? t->silent_share : 0;
    s->cause_count = 4;
    for (int i = 0; i < s->cause_count; i++) {
        const bool part = i % 2 == 0, usable = i / 2 == 0;
        s->causes[i] = (rk_cause){
            .share = (1 - silent) * (part ? hardware : 1 - hardware) * (usable ? near : 1 - near),
            .near_s = t->restart + t->near_read,
            .far_s = t->restart + run->result.writing,
            .near = usable,
            .hardware = part,
        };
    }
    if (silent > 0) {
        s->causes[s->cause_count++] = (rk_cause){
            .share = silent,
            .far_s = t->restart + run->result.writing,
            .rollback_s = t->silent,
            .hardware = true,
        };
    }
}

static rk_status simulate(rk_whole_run *run, rk_error *err)
{
    const rk_run_question *question = run->question;
    const rk_training *t = &run->training;
    const int64_t threads = question->request.threads;
    run->simulation = (rk_simulation){
        .work_s = run->result.part[RK_TRAINING_STEPS],
        .work_spread = step_spread(run),
        .rate = t->failure_rate * t->accelerators,
        .rate_spread = run->rate_spread,
        .interval_s = run->result.interval,
        .planned_rate = t->failure_rate * t->accelerators * t->planned_share,
        .planned_s = t->restart + run->result.writing,
        .window_every = t->window_every,
        .window_s = t->window_every > 0 ? t->window + t->restart + run->result.writing : 0,
        .start_s = run->result.part[RK_TRAINING_START],
        .near_cost_s = run->result.far_every > 1 ? t->near_write : 0,
        .far_cost_s = run->result.blocking + (run->result.far_every > 1 ? 0 : t->near_write),
        .far_every = run->result.far_every,
        .far_writing_s = t->host > 0 ? run->result.writing : 0,
        .spares = (int)question->asked.spares,
        .repair_s = run->reliability.repair_s,
        .runs = question->asked.simulated_runs,
        .seed = (uint64_t)question->asked.seed,
        .threads = (int)threads,
    };
    fill_causes(run);
    return run->simulation.runs > 0 ? rk_simulate(&run->simulation, &run->simulated, err) : RK_OK;
}

/* ---- what moves it ------------------------------------------------------------------------- */

static void add_range(rk_whole_run *run, rk_assumption what, double low, double high)
{
    assert((size_t)run->range_count < sizeof(run->ranges) / sizeof(run->ranges[0]));
    if (high > low) {
        run->ranges[run->range_count++] =
            (rk_assumed_range){.what = what, .figures = {.low = low, .high = high}};
    }
}

static void fill_ranges(rk_whole_run *run)
{
    const double step = exp(P90 * step_spread(run)), rate = exp(P90 * run->rate_spread);
    const rk_reliability *r = &run->reliability;
    run->range_count = 0;
    add_range(run, RK_ASSUMES_STEP, 1 / step, step);
    if (run->training.failure_rate > 0) {
        add_range(run, RK_ASSUMES_INTERRUPTIONS, 1 / rate, rate);
        if (run->question->asked.restart_s < 0) { /* warm standbys, or as long again */
            add_range(run, RK_ASSUMES_RESTART,
                      rk_reliability_stall_s(r, true) / run->training.restart, 2);
        }
        if (!(run->question->asked.storage_bytes_per_s > 0)) {
            add_range(run, RK_ASSUMES_STORAGE, 0.25, 4);
        }
    }
    rk_training_sensitivity(&run->training, run->ranges, run->range_count);
}

/* ---- data ---------------------------------------------------------------------------------- */

/* Data sets of Megatron Core have 2 bytes for a token of a vocabulary below this, else 4. */
#define VOCABULARY_OF_2_BYTES 65500

static void fill_data(rk_whole_run *run)
{
    const rk_training *t = &run->training;
    const double each = run->question->token_bytes > 0 ? run->question->token_bytes
                        : run->inputs->model.vocab < VOCABULARY_OF_2_BYTES ? 2
                                                                           : 4;
    run->data_bytes = each * t->tokens;
    run->data_rate = each * t->tokens_per_step / t->step;
}

rk_status rk_whole_run_fill(rk_whole_run *run, rk_error *err)
{
    rk_status status = fill_training(run, err);
    status = status ? status : simulate(run, err);
    if (!status) {
        fill_ranges(run);
        fill_data(run);
        status = rk_run_compare_tiers(run, err);
    }
    return status;
}

bool rk_run_asks_for_cluster(const rk_run_question *question)
{
    return question->deadline > 0 || question->budget > 0 || question->max_power > 0;
}

double rk_run_stated_mfu(const rk_run_question *question)
{
    const double mfu = question->asked.mfu_percent;
    return mfu > 1 ? mfu / 100 : mfu;
}

/* The step time of an estimate, or the one given; without stragglers. */
double rk_run_step_s(const rk_run_question *question, const rk_estimate *estimate)
{
    return question->asked.step_s > 0 ? question->asked.step_s
           : question->asked.mfu_percent > 0
               ? estimate->step * estimate->mfu / rk_run_stated_mfu(question)
               : estimate->step;
}

bool rk_run_step_is_stated(const rk_run_question *question)
{
    return question->asked.step_s > 0 || question->asked.mfu_percent > 0;
}

double rk_whole_run_cost_rate(const rk_whole_run *run)
{
    return run->result.total > 0 ? run->result.cost / run->result.total : 0;
}

rk_status rk_whole_run_find(rk_control *control, rk_whole_run *run, rk_error *err)
{
    run->phase_count = run->question->phase_count;
    memcpy(run->phases, run->question->phases, sizeof(run->phases));
    const rk_status status = run->phase_count > 0 ? rk_run_phases_fill(control, run, err)
                                                  : rk_plan_find(control, &run->question->request,
                                                                 run->inputs, &run->plan, err);
    return status || !rk_plan_best(&run->plan) ? status : rk_whole_run_fill(run, err);
}

/* ---- figures --------------------------------------------------------------------------------- */

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

rk_run_outcome_facts rk_whole_run_figures(const rk_whole_run *run)
{
    rk_run_outcome_facts all = {.found = false};
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
            .near_copies_per_checkpoint = r->far_every,
            .checkpoint_write_s = r->writing,
            .checkpoint_blocking_s = r->blocking,
            .accelerator_hours = r->accelerator_hours,
            .cost = r->cost,
            .energy_J = r->energy,
            .carbon_kg = r->carbon,
        };
        if (run->simulation.runs > 0) {
            add_simulated(run, &all);
        }
    }
    return all;
}

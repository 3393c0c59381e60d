/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, estimates and fits, with everything that is predicted. */
#include "api/handles.h"
#include "api/struct_tables.h"

#include "base/error.h"
#include "command/commands.h"
#include "method/estimate_fields.h"
#include "method/fit.h"

#include <stdlib.h>

/* ---- what is asked --------------------------------------------------------------------------- */

rk_status rk_open_job(const rk_setup *setup, const rk_command *command, rk_job **job, rk_error *err)
{
    const rk_status status = rk_need(setup, "setup", err);
    return status ? status : rk_job_create(command, job, err);
}

void rk_outcome_clear(rk_outcome *outcome)
{
    rk_plan_clear(&outcome->fit.plan);
    rk_job_free(outcome->job);
}

static rk_status create_outcome(const rk_setup *setup, const rk_command *command,
                                rk_outcome **outcome, rk_error *err)
{
    rk_status status = RK_OK;
    *outcome = rk_allocate(sizeof(**outcome), "an outcome", &status, err);
    if (status) {
        return status;
    }
    (*outcome)->setup = setup;
    status = rk_open_job(setup, command, &(*outcome)->job, err);
    return RK_CREATED(status, outcome, rk_outcome_free);
}

/* The fields of a space in the terms of options. */
static rk_status take_space(const rk_space *given, rk_request *request, rk_space *space,
                            rk_error *err)
{
    const rk_status status = rk_take_space(given, space, err);
    if (status) {
        return status;
    }
    request->tp = space->tp;
    request->cp = space->cp;
    request->pp = space->pp;
    request->vp = space->vp;
    request->ep = space->ep;
    request->etp = space->etp;
    request->micro_batch = space->micro_batch;
    request->zero = space->zero;
    request->accelerators = space->accelerators;
    request->global_batch = space->global_batch;
    request->schedules = space->schedules;
    request->recomputes = space->recomputes;
    request->top = space->top > 0 ? space->top : RK_PLAN_TOP;
    request->threads = space->threads;
    request->bounded = space->bounded;
    request->exhaustive = space->exhaustive;
    return RK_OK;
}

rk_status rk_use_job(const rk_setup *setup, const rk_space *space, rk_job *job,
                     const rk_job_control *control, rk_job_user *use, void *what, rk_error *err)
{
    rk_space own;
    rk_status status = take_space(space, rk_job_arguments(job), &own, err);
    status = status ? status : rk_ask(setup, job, own.options, err);
    return status ? status : rk_job_use(job, control, NULL, NULL, use, what, err);
}

rk_status rk_ask_strategy(const rk_setup *setup, const rk_strategy *strategy, rk_plan *plan,
                          rk_error *err)
{
    rk_strategy own;
    const rk_status status = rk_strategy_adopt_legal(setup, strategy, &own, err);
    return status ? status : rk_plan_predict_one(&setup->setting, &own, plan, err);
}

/* Searches or fits. */
static rk_status answer_space(const rk_setup *setup, const rk_space *space,
                              const rk_command *command, rk_job_user *use,
                              const rk_job_control *control, rk_outcome **outcome, rk_error *err)
{
    rk_status status = create_outcome(setup, command, outcome, err);
    if (!status) {
        status = rk_use_job(setup, space, (*outcome)->job, control, use, *outcome, err);
    }
    return RK_CREATED(status, outcome, rk_outcome_free);
}

static rk_status plan(rk_job *job, void *arguments, void *what, rk_error *err)
{
    rk_outcome *outcome = what;
    const rk_request *request = arguments;
    return rk_plan_request(rk_job_work(job), request, &outcome->setup->inputs, (size_t)request->top,
                           &outcome->fit.plan, err);
}

rk_status rk_plan_strategies(const rk_setup *setup, const rk_space *space,
                             const rk_job_control *control, rk_outcome **outcome, rk_error *err)
{
    return answer_space(setup, space, &rk_command_plan, plan, control, outcome, err);
}

static rk_status fit(rk_job *job, void *arguments, void *what, rk_error *err)
{
    rk_outcome *outcome = what;
    return rk_fit_find(rk_job_work(job), arguments, &outcome->setup->inputs, &outcome->fit, err);
}

rk_status rk_fit_strategies(const rk_setup *setup, const rk_space *space,
                            const rk_job_control *control, rk_outcome **outcome, rk_error *err)
{
    return answer_space(setup, space, &rk_command_fit, fit, control, outcome, err);
}

rk_status rk_estimate_strategy(const rk_setup *setup, const rk_strategy *strategy,
                               rk_outcome **outcome, rk_error *err)
{
    rk_status status = create_outcome(setup, &rk_command_estimate, outcome, err);
    status = status ? status : rk_ask(setup, (*outcome)->job, NULL, err);
    status = status ? status : rk_ask_strategy(setup, strategy, &(*outcome)->fit.plan, err);
    return RK_CREATED(status, outcome, rk_outcome_free);
}

void rk_outcome_free(rk_outcome *outcome)
{
    if (outcome) {
        rk_outcome_clear(outcome);
        free(outcome);
    }
}

/* ---- what was found -------------------------------------------------------------------------- */

void rk_outcome_describe(const rk_outcome *outcome, rk_outcome_facts *facts, size_t size)
{
    const rk_plan *plan = &outcome->fit.plan;
    const rk_ranking *ranking = &plan->ranking;
    rk_outcome_facts all = {.fewest_accelerators = outcome->fit.fewest};
    if (plan->searched) {
        all.searched = true;
        all.bounded = ranking->by_bounds;
        all.strategies = ranking->by_bounds ? ranking->bounded.total : ranking->counts[0];
        all.evaluated = ranking->by_bounds ? ranking->bounded.evaluated : ranking->counts[1];
        all.legal = ranking->by_bounds ? 0 : ranking->counts[1];
        all.fitting = ranking->by_bounds ? 0 : ranking->counts[2];
        all.enough_accelerators = ranking->shortage.accelerators;
    }
    rk_abi_copy(facts, size, &all, sizeof(all));
}

size_t rk_outcome_count(const rk_outcome *outcome)
{
    return outcome->fit.plan.answer_count;
}

const rk_answer *rk_outcome_answer(const rk_outcome *outcome, size_t index)
{
    if (index >= rk_outcome_count(outcome)) {
        return NULL;
    }
    return &outcome->fit.plan.answers[index];
}

rk_status rk_outcome_pick(const rk_outcome *outcome, size_t index, const rk_answer **answer,
                          rk_error *err)
{
    *answer = NULL;
    const rk_status status = rk_need(outcome, "outcome", err);
    if (status) {
        return status;
    }
    *answer = rk_outcome_answer(outcome, index);
    return *answer
               ? RK_OK
               : rk_fail(err, RK_ERR_INVALID, "the outcome has %zu strategies, and not number %zu",
                         rk_outcome_count(outcome), index);
}

static void hand_out_prediction(const rk_answer *answer, rk_prediction *prediction, size_t size)
{
    const rk_interval *interval = &answer->interval;
    rk_prediction all = rk_prediction_of(&answer->estimate);
    all.step_p10_s = interval->low * answer->estimate.step;
    all.step_p90_s = interval->high * answer->estimate.step;
    all.comparable_runs = interval->runs;
    all.comparable_models = interval->groups;
    (void)snprintf(all.comparable_text, sizeof(all.comparable_text), "%s", interval->basis);
    all.bf16_step_s = answer->bf16_step;
    rk_abi_copy(prediction, size, &all, sizeof(all));
}

bool rk_outcome_strategy(const rk_outcome *outcome, size_t index, rk_strategy *strategy,
                         size_t size)
{
    const rk_answer *answer = rk_outcome_answer(outcome, index);
    if (answer) {
        rk_strategy_abi_copy(&answer->strategy, strategy, size);
    }
    return answer;
}

bool rk_outcome_prediction(const rk_outcome *outcome, size_t index, rk_prediction *prediction,
                           size_t size)
{
    const rk_answer *answer = rk_outcome_answer(outcome, index);
    if (answer) {
        hand_out_prediction(answer, prediction, size);
    }
    return answer;
}

bool rk_outcome_stage(const rk_outcome *outcome, size_t index, int64_t stage, rk_stage_use *use,
                      size_t size)
{
    const rk_answer *answer = rk_outcome_answer(outcome, index);
    if (!answer || stage < 0 || stage >= answer->strategy.pp) {
        return false;
    }
    const rk_stage_memory *memory = &answer->stages[stage];
    rk_stage_use all = {.total_bytes = memory->total,
                        .allocated_bytes = memory->allocated,
                        .reserved_bytes = memory->reserved};
    rk_memory_parts_of(memory, all.memory_part_bytes);
    return rk_abi_copy(use, size, &all, sizeof(all));
}

bool rk_outcome_nearest(const rk_outcome *outcome, rk_strategy *strategy, size_t strategy_size,
                        rk_prediction *prediction, size_t prediction_size)
{
    const rk_plan *plan = &outcome->fit.plan;
    if (plan->answer_count > 0 || !plan->ranking.shortage.legal) {
        return false;
    }
    if (strategy) {
        rk_strategy_abi_copy(&plan->nearest.strategy, strategy, strategy_size);
    }
    if (prediction) {
        hand_out_prediction(&plan->nearest, prediction, prediction_size);
    }
    return true;
}

bool rk_outcome_change(const rk_outcome *outcome, size_t index, char *text, size_t text_size,
                       rk_strategy *strategy, size_t strategy_size)
{
    char words[RK_FIT_CHANGE_TEXT];
    const rk_answer *answer = rk_fit_answer(&outcome->fit);
    if (!answer || index >= outcome->fit.changes.count) {
        return false;
    }
    const rk_fit_change *change = &outcome->fit.changes.items[index];
    (void)snprintf(text, text_size, "%s", rk_fit_change_text(&answer->strategy, change, words));
    rk_strategy_abi_copy(&change->strategy, strategy, strategy_size);
    return true;
}

/* ---- launch files ---------------------------------------------------------------------------- */

rk_status rk_outcome_write_launch(const rk_outcome *outcome, size_t index, const char *name,
                                  void (*remark)(void *user, const char *line), void *user,
                                  char **text, rk_error *err)
{
    const rk_answer *answer;
    int kind = 0;
    *text = NULL;
    rk_status status = rk_outcome_pick(outcome, index, &answer, err);
    status = status ? status : rk_find_name("launch file", name, rk_launch_names, &kind, err);
    if (status) {
        return status;
    }
    const rk_inputs *inputs = &outcome->setup->inputs;
    status = rk_launch_check(rk_launch_kinds[kind].framework, &inputs->model, &inputs->system, err);
    return status ? status : rk_answer_launch_text(answer, inputs, kind, remark, user, text, err);
}

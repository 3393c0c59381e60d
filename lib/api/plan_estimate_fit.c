/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, estimates and fits, with everything that is predicted. */
#include "api/handles.h"

#include "base/error.h"
#include "command/commands.h"
#include "method/estimate_fields.h"
#include "method/fit.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- what is asked --------------------------------------------------------------------------- */

void rk_outcome_clear(rk_outcome *outcome)
{
    rk_plan_clear(&outcome->fit.plan);
    rk_job_free(outcome->job);
}

/* Options that belong to the setup. */
static rk_status check_options(const rk_setup *setup, const rk_request *request, rk_error *err)
{
    const int64_t node = rk_system_node(&setup->inputs.system);
    if (request->gpus_per_node && request->gpus_per_node != node) {
        return rk_fail(err, RK_ERR_INVALID,
                       "gpus_per_node %" PRId64 ": the nodes of %s have %" PRId64
                       "; give the setup a system of other nodes",
                       request->gpus_per_node, setup->inputs.system.name, node);
    }
    const char *fault =
        request->model || request->system
            ? "the options name a model or a system, which the setup has already"
        : request->stack || request->framework >= 0 || request->convention >= 0 ||
                request->max_memory > 0 || request->risk > 0
            ? "stack, framework, mfu_convention, max_memory and risk belong to the setup: see "
              "rk_setup_choice"
        : request->settings || request->policy == RK_POLICY_OBSERVED
            ? "\"set\" and \"complete\": \"observed\" change documents, which the setup has "
              "already; rk_answer_request takes them"
        : request->emit >= 0 ? "\"emit\" writes a file; rk_outcome_write_launch gives its text"
                             : NULL;
    return fault ? rk_fail(err, RK_ERR_INVALID, "%s", fault) : RK_OK;
}

static rk_status set_options(const rk_setup *setup, const char *options, rk_job *job, rk_error *err)
{
    rk_system own = setup->inputs.system; /* the limit is checked, and memory already set */
    rk_request *request = rk_job_arguments(job);
    rk_status status = options ? rk_job_set_json(job, options, err) : RK_OK;
    status = status ? status : check_options(setup, request, err);
    status = status ? status : rk_job_set(job, "model", setup->inputs.model.name, err);
    status = status ? status : rk_job_set_exactly(job, "system", setup->inputs.system.name, err);
    return status ? status : rk_request_limit(request, &own, err);
}

rk_status rk_open_job(const rk_setup *setup, const rk_command *command, rk_job **job, rk_error *err)
{
    const rk_status status = rk_need(setup, "setup", err);
    return status ? status : rk_job_create(command, job, err);
}

rk_status rk_start_job(const rk_setup *setup, const rk_space *space, const rk_job_control *control,
                       rk_job *job, rk_error *err)
{
    const char *options;
    rk_status status = rk_take_space(space, rk_job_arguments(job), &options, err);
    status = status ? status : set_options(setup, options, job, err);
    return status ? status : rk_job_start(job, control, NULL, NULL, err);
}

rk_status rk_ask_strategy(const rk_setup *setup, const rk_strategy *strategy, rk_plan *plan,
                          rk_error *err)
{
    rk_strategy own;
    const rk_status status = rk_strategy_adopt_legal(setup, strategy, &own, err);
    return status ? status : rk_plan_predict_one(&setup->setting, &own, plan, err);
}

/* An outcome with its job, which is started. */
static rk_status start_outcome(const rk_setup *setup, const rk_space *space,
                               const rk_command *command, const rk_job_control *control,
                               rk_outcome **outcome, rk_error *err)
{
    rk_status status = RK_OK;
    rk_outcome *o = rk_allocate(sizeof(*o), "an outcome", &status, err);
    *outcome = o;
    status = status ? status : rk_open_job(setup, command, &o->job, err);
    if (!status) {
        o->setup = setup;
        status = rk_start_job(setup, space, control, o->job, err);
    }
    return status;
}

rk_status rk_plan_strategies(const rk_setup *setup, const rk_space *space,
                             const rk_job_control *control, rk_outcome **outcome, rk_error *err)
{
    rk_status status = start_outcome(setup, space, &rk_command_plan, control, outcome, err);
    if (!status) {
        rk_job *job = (*outcome)->job;
        const rk_request *request = rk_job_arguments(job);
        status = rk_plan_request(rk_job_work(job), request, &setup->inputs, (size_t)request->top,
                                 &(*outcome)->fit.plan, err);
    }
    return RK_CREATED(status, outcome, rk_outcome_free);
}

rk_status rk_fit_strategies(const rk_setup *setup, const rk_space *space,
                            const rk_job_control *control, rk_outcome **outcome, rk_error *err)
{
    rk_status status = start_outcome(setup, space, &rk_command_fit, control, outcome, err);
    if (!status) {
        rk_job *job = (*outcome)->job;
        status = rk_fit_find(rk_job_work(job), rk_job_arguments(job), &setup->inputs,
                             &(*outcome)->fit, err);
    }
    return RK_CREATED(status, outcome, rk_outcome_free);
}

rk_status rk_estimate_strategy(const rk_setup *setup, const rk_strategy *strategy,
                               rk_outcome **outcome, rk_error *err)
{
    rk_status status = RK_OK;
    rk_outcome *o = rk_allocate(sizeof(*o), "an outcome", &status, err);
    *outcome = o;
    if (!status) {
        o->setup = setup;
        status = rk_ask_strategy(setup, strategy, &o->fit.plan, err);
    }
    return RK_CREATED(status, outcome, rk_outcome_free);
}

RK_DEFINE_FREE(rk_outcome, rk_outcome_clear)

/* ---- what was found -------------------------------------------------------------------------- */

void rk_outcome_describe(const rk_outcome *outcome, rk_outcome_facts *facts, size_t size)
{
    const rk_outcome_facts all = rk_fit_figures(&outcome->fit);
    rk_abi_copy(facts, size, &all, sizeof(all));
}

size_t rk_outcome_count(const rk_outcome *outcome)
{
    return outcome->fit.plan.answer_count;
}

static const rk_answer *find_answer(const rk_outcome *outcome, size_t index)
{
    return index < rk_outcome_count(outcome) ? &outcome->fit.plan.answers[index] : NULL;
}

rk_status rk_outcome_pick(const rk_outcome *outcome, size_t index, const rk_answer **answer,
                          rk_error *err)
{
    const rk_status status = rk_need(outcome, "outcome", err);
    *answer = status ? NULL : find_answer(outcome, index);
    return status || *answer
               ? status
               : rk_fail(err, RK_ERR_INVALID, "the outcome has %zu strategies, and not number %zu",
                         rk_outcome_count(outcome), index);
}

static bool hand_out_prediction(const rk_answer *answer, rk_prediction *prediction, size_t size)
{
    const rk_prediction all = rk_answer_figures(answer);
    return rk_abi_copy(prediction, size, &all, sizeof(all));
}

bool rk_outcome_strategy(const rk_outcome *outcome, size_t index, rk_strategy *strategy,
                         size_t size)
{
    const rk_answer *answer = find_answer(outcome, index);
    return answer && rk_strategy_abi_copy(&answer->strategy, strategy, size);
}

bool rk_outcome_prediction(const rk_outcome *outcome, size_t index, rk_prediction *prediction,
                           size_t size)
{
    const rk_answer *answer = find_answer(outcome, index);
    return answer && hand_out_prediction(answer, prediction, size);
}

bool rk_outcome_stage(const rk_outcome *outcome, size_t index, int64_t stage, rk_stage_use *use,
                      size_t size)
{
    const rk_answer *answer = find_answer(outcome, index);
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
    return (!strategy || rk_strategy_abi_copy(&plan->nearest.strategy, strategy, strategy_size)) &&
           (!prediction || hand_out_prediction(&plan->nearest, prediction, prediction_size));
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
    return rk_strategy_abi_copy(&change->strategy, strategy, strategy_size);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Sensitivities of a machine's numbers, the cheapest machine, the best shape of a model. */
#include "api/handles.h"

#include "base/error.h"
#include "base/members.h"
#include "codesign/explain_answer.h"
#include "codesign/shape_answer.h"
#include "command/commands.h"
#include "command/design_command.h"

#include <stdlib.h>

/* ---- what each number is worth --------------------------------------------------------------- */

struct rk_explanation {
    rk_job *job; /* owned */
    rk_explain explain;
};

/* Starts the job of a verb, and reads its question. */
static rk_status ask(const rk_setup *setup, const rk_space *space, const rk_command *command,
                     const rk_job_control *control, rk_job **job, rk_question *question,
                     rk_error *err)
{
    rk_status status = rk_open_job(setup, command, job, err);
    status = status ? status : rk_start_job(setup, space, control, *job, err);
    return status ? status : rk_question_ask(&setup->inputs, rk_job_arguments(*job), question, err);
}

rk_status rk_explain_system(const rk_setup *setup, const rk_space *space, double change,
                            const rk_job_control *control, rk_explanation **explanation,
                            rk_error *err)
{
    static const rk_member bounds = {
        .name = "change", .kind = RK_MEMBER_REAL, .least = -0.9, .most = 9};
    rk_status status = rk_members_check(&change, "", &bounds, 1, err);
    rk_explanation *e = rk_allocate(sizeof(*e), "an explanation", &status, err);
    *explanation = e;
    if (!status) {
        e->explain.change = change;
        status =
            ask(setup, space, &rk_command_explain, control, &e->job, &e->explain.question, err);
    }
    status = status ? status : rk_explain_find(rk_job_work(e->job), &e->explain, err);
    return RK_CREATED(status, explanation, rk_explanation_free);
}

static void clear_explanation(rk_explanation *explanation)
{
    rk_plan_clear(&explanation->explain.question.plan);
    rk_job_free(explanation->job);
}
RK_DEFINE_FREE(rk_explanation, clear_explanation)

void rk_explanation_describe(const rk_explanation *explanation, rk_explanation_facts *facts,
                             size_t size)
{
    const rk_explanation_facts all = rk_explain_figures(&explanation->explain);
    rk_abi_copy(facts, size, &all, sizeof(all));
}

bool rk_explanation_at(const rk_explanation *explanation, size_t index, rk_number_worth *worth,
                       size_t size)
{
    const rk_explain *e = &explanation->explain;
    if (index >= e->count) {
        return false;
    }
    rk_number_worth all = rk_explain_worth(e, &e->replans[index]);
    all.gain = all.runs ? all.gain : 0;
    return rk_abi_copy(worth, size, &all, sizeof(all));
}

bool rk_explanation_strategy(const rk_explanation *explanation, size_t index, rk_strategy *strategy,
                             size_t size, char *text, size_t text_size)
{
    const rk_explain *e = &explanation->explain;
    char words[RK_WORDS_SIZE];
    if (index >= e->count || !e->replans[index].runs) {
        return false;
    }
    if (text) {
        (void)snprintf(text, text_size, "%s", rk_explain_changes(e, &e->replans[index], words));
    }
    return rk_strategy_abi_copy(&e->replans[index].best.strategy, strategy, size);
}

/* ---- the cheapest machine -------------------------------------------------------------------- */

struct rk_machines {
    rk_job *job; /* owned */
    rk_design_answer answer;
};

static rk_status design(const rk_setup *setup, const rk_space *space, const rk_job_control *control,
                        rk_machines *m, rk_error *err)
{
    rk_design_answer *d = &m->answer;
    rk_status status = rk_open_job(setup, &rk_command_design, &m->job, err);
    if (status) {
        return status;
    }
    rk_design_args *args = rk_job_arguments(m->job);
    args->target = d->target;
    status = rk_start_job(setup, space, control, m->job, err);
    status = status ? status : rk_design_answer_prepare(&rk_method_reckon, args, d, err);
    status = status ? status
                    : rk_question_ask(&setup->inputs, &args->question.reckon, &d->question, err);
    return status ? status : rk_design_answer_find(rk_job_work(m->job), d, err);
}

rk_status rk_design_machines(const rk_setup *setup, const rk_space *space,
                             const rk_machine_target *target, const rk_job_control *control,
                             rk_machines **machines, rk_error *err)
{
    rk_status status = RK_OK;
    rk_machines *m = rk_allocate(sizeof(*m), "machines", &status, err);
    *machines = m;
    status = status ? status : rk_machine_target_take(target, &m->answer.target, err);
    status = status ? status : design(setup, space, control, m, err);
    return RK_CREATED(status, machines, rk_machines_free);
}

static void clear_machines(rk_machines *machines)
{
    free(machines->answer.designs);
    rk_plan_clear(&machines->answer.question.plan);
    rk_job_free(machines->job);
}
RK_DEFINE_FREE(rk_machines, clear_machines)

static const rk_design *find_design(const rk_machines *machines, size_t index)
{
    return index < machines->answer.count ? &machines->answer.designs[index] : NULL;
}

bool rk_machines_at(const rk_machines *machines, size_t index, rk_machine_facts *facts, size_t size)
{
    const rk_design *found = find_design(machines, index);
    if (!found) {
        return false;
    }
    const rk_machine_facts all = rk_design_answer_machine(&machines->answer, found);
    return rk_abi_copy(facts, size, &all, sizeof(all));
}

bool rk_machines_number(const rk_machines *machines, size_t index, size_t axis, const char **key,
                        double *value)
{
    const rk_prices *prices = &machines->answer.prices;
    const rk_design *found = find_design(machines, index);
    if (!found || axis >= (size_t)prices->axis_count) {
        return false;
    }
    *key = prices->axes[axis].key;
    *value = prices->axes[axis].values[found->choice[axis]];
    return true;
}

bool rk_machines_strategy(const rk_machines *machines, size_t index, rk_strategy *strategy,
                          size_t size)
{
    const rk_design *found = find_design(machines, index);
    return found && found->runs && rk_strategy_abi_copy(&found->best.strategy, strategy, size);
}

/* ---- the shape of a model -------------------------------------------------------------------- */

struct rk_shapes {
    rk_job *job; /* owned */
    rk_shape_answer answer;
};

rk_status rk_shape_models(const rk_setup *setup, const rk_space *space,
                          const rk_shape_choice *choice, const rk_job_control *control,
                          rk_shapes **shapes, rk_error *err)
{
    rk_status status = RK_OK;
    rk_shapes *s = rk_allocate(sizeof(*s), "shapes", &status, err);
    *shapes = s;
    status = status ? status : rk_shape_choice_take(choice, &s->answer.wish, err);
    status = status
                 ? status
                 : ask(setup, space, &rk_command_shape, control, &s->job, &s->answer.question, err);
    status = status ? status : rk_shape_answer_find(rk_job_work(s->job), &s->answer, err);
    return RK_CREATED(status, shapes, rk_shapes_free);
}

static void clear_shapes(rk_shapes *shapes)
{
    free(shapes->answer.shapes);
    rk_plan_clear(&shapes->answer.question.plan);
    rk_job_free(shapes->job);
}
RK_DEFINE_FREE(rk_shapes, clear_shapes)

static const rk_shape *find_shape(const rk_shapes *shapes, size_t index)
{
    return index < shapes->answer.count ? &shapes->answer.shapes[index] : NULL;
}

bool rk_shapes_at(const rk_shapes *shapes, size_t index, rk_shape_facts *facts, size_t size)
{
    const rk_shape *found = find_shape(shapes, index);
    if (!found) {
        return false;
    }
    const rk_shape_facts all = rk_shape_describe(found);
    return rk_abi_copy(facts, size, &all, sizeof(all));
}

bool rk_shapes_strategy(const rk_shapes *shapes, size_t index, rk_strategy *strategy, size_t size)
{
    const rk_shape *found = find_shape(shapes, index);
    return found && found->runs && rk_strategy_abi_copy(&found->best.strategy, strategy, size);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sensitivities of a machine's numbers, the cheapest machine, the best shape of a model. */
#include "api/handles.h"
#include "api/struct_tables.h"

#include "base/error.h"
#include "base/members.h"
#include "codesign/explain_answer.h"
#include "command/commands.h"
#include "command/design_command.h"
#include "command/shape_command.h"

#include <stdlib.h>

static bool hand_out_best(const rk_candidate *best, bool runs, rk_strategy *strategy, size_t size)
{
    if (runs) {
        rk_strategy_abi_copy(&best->strategy, strategy, size);
    }
    return runs;
}

/* ---- what each number is worth --------------------------------------------------------------- */

struct rk_explanation {
    const rk_setup *setup;
    rk_job *job; /* owned */
    rk_explain explain;
};

static rk_status explain(rk_job *job, void *arguments, void *what, rk_error *err)
{
    rk_explanation *e = what;
    const rk_status status =
        rk_question_ask(&e->setup->inputs, arguments, &e->explain.question, err);
    return status ? status : rk_explain_find(rk_job_work(job), &e->explain, err);
}

rk_status rk_explain_system(const rk_setup *setup, const rk_space *space, double change,
                            const rk_job_control *control, rk_explanation **explanation,
                            rk_error *err)
{
    static const rk_member bounds = {"change", RK_MEMBER_REAL, 0, -0.9, 9, false};
    rk_status status = rk_members_check(&change, "", &bounds, 1, err);
    rk_explanation *e = rk_allocate(sizeof(*e), "an explanation", &status, err);
    *explanation = e;
    if (status) {
        return status;
    }
    *e = (rk_explanation){.setup = setup, .explain.change = change};
    status = rk_open_job(setup, &rk_command_explain, &e->job, err);
    status = status ? status : rk_use_job(setup, space, e->job, control, explain, e, err);
    return RK_CREATED(status, explanation, rk_explanation_free);
}

void rk_explanation_free(rk_explanation *explanation)
{
    if (explanation) {
        rk_plan_clear(&explanation->explain.question.plan);
        rk_job_free(explanation->job);
        free(explanation);
    }
}

void rk_explanation_describe(const rk_explanation *explanation, rk_explanation_facts *facts,
                             size_t size)
{
    const rk_explain *e = &explanation->explain;
    const rk_explanation_facts all = {
        .found = rk_question_has_answer(&e->question),
        .change = e->change,
        .step_s = e->best.step,
        .sequences_per_s = e->best.rate,
        .numbers = (int64_t)e->count,
        .strategies = e->counts.total,
        .evaluated = e->counts.evaluated,
    };
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
    return hand_out_best(&e->replans[index].best, true, strategy, size);
}

/* ---- the cheapest machine -------------------------------------------------------------------- */

struct rk_machines {
    const rk_setup *setup;
    rk_job *job; /* owned */
    rk_design_answer answer;
};

static rk_status design(rk_job *job, void *arguments, void *what, rk_error *err)
{
    rk_machines *m = what;
    rk_design_answer *d = &m->answer;
    d->target = ((const rk_design_args *)arguments)->target;
    rk_status status = rk_design_answer_prepare(&rk_method_reckon, arguments, d, err);
    status = status ? status : rk_question_ask(&m->setup->inputs, arguments, &d->question, err);
    return status ? status : rk_design_answer_find(rk_job_work(job), d, err);
}

rk_status rk_design_machines(const rk_setup *setup, const rk_space *space,
                             const rk_machine_target *target, const rk_job_control *control,
                             rk_machines **machines, rk_error *err)
{
    rk_machine_target own;
    rk_status status = rk_take_machine_target(target, &own, err);
    if (!status && !own.prices) {
        status = rk_fail_at(err, RK_ERR_INVALID, "prices",
                            "a design needs prices: \"example\", or a .json file");
    }
    rk_machines *m = rk_allocate(sizeof(*m), "machines", &status, err);
    *machines = m;
    if (status) {
        return status;
    }
    m->setup = setup;
    status = rk_open_job(setup, &rk_command_design, &m->job, err);
    if (!status) {
        ((rk_design_args *)rk_job_arguments(m->job))->target = own;
        status = rk_use_job(setup, space, m->job, control, design, m, err);
    }
    return RK_CREATED(status, machines, rk_machines_free);
}

void rk_machines_free(rk_machines *machines)
{
    if (machines) {
        free(machines->answer.designs);
        rk_plan_clear(&machines->answer.question.plan);
        rk_job_free(machines->job);
        free(machines);
    }
}

bool rk_machines_at(const rk_machines *machines, size_t index, rk_machine_facts *facts, size_t size)
{
    const rk_design_answer *d = &machines->answer;
    if (index >= d->count) {
        return false;
    }
    const rk_machine_facts all = rk_design_answer_machine(d, &d->designs[index]);
    return rk_abi_copy(facts, size, &all, sizeof(all));
}

bool rk_machines_number(const rk_machines *machines, size_t index, size_t axis, const char **key,
                        double *value)
{
    const rk_design_answer *d = &machines->answer;
    if (index >= d->count || axis >= (size_t)d->prices.axis_count) {
        return false;
    }
    *key = d->prices.axes[axis].key;
    *value = d->prices.axes[axis].values[d->designs[index].choice[axis]];
    return true;
}

bool rk_machines_strategy(const rk_machines *machines, size_t index, rk_strategy *strategy,
                          size_t size)
{
    const rk_design_answer *d = &machines->answer;
    return index < d->count &&
           hand_out_best(&d->designs[index].best, d->designs[index].runs, strategy, size);
}

/* ---- the shape of a model -------------------------------------------------------------------- */

struct rk_shapes {
    const rk_setup *setup;
    rk_job *job; /* owned */
    rk_shape_answer answer;
};

static rk_status shape(rk_job *job, void *arguments, void *what, rk_error *err)
{
    rk_shapes *s = what;
    s->answer.wish = ((const rk_shape_args *)arguments)->wish;
    const rk_status status =
        rk_question_ask(&s->setup->inputs, arguments, &s->answer.question, err);
    return status ? status : rk_shape_answer_find(rk_job_work(job), &s->answer, err);
}

static double given_or(double number, double usual)
{
    return number > 0 ? number : usual;
}

/* Of these, 0 means the usual. */
static void complete_choice(rk_shape_choice *choice)
{
    const rk_shape_choice *usual = &rk_shape_usual;
    choice->tolerance_percent = given_or(choice->tolerance_percent, usual->tolerance_percent);
    choice->aspect_min = given_or(choice->aspect_min, usual->aspect_min);
    choice->aspect_max = given_or(choice->aspect_max, usual->aspect_max);
    if (!choice->head_multiple) {
        choice->head_multiple = usual->head_multiple;
    }
}

rk_status rk_shape_models(const rk_setup *setup, const rk_space *space,
                          const rk_shape_choice *choice, const rk_job_control *control,
                          rk_shapes **shapes, rk_error *err)
{
    rk_shape_choice own;
    rk_status status = rk_take_shape_choice(choice, &own, err);
    rk_shapes *s = rk_allocate(sizeof(*s), "shapes", &status, err);
    *shapes = s;
    if (status) {
        return status;
    }
    s->setup = setup;
    complete_choice(&own);
    status = rk_open_job(setup, &rk_command_shape, &s->job, err);
    if (!status) {
        ((rk_shape_args *)rk_job_arguments(s->job))->wish = own;
        status = rk_use_job(setup, space, s->job, control, shape, s, err);
    }
    return RK_CREATED(status, shapes, rk_shapes_free);
}

void rk_shapes_free(rk_shapes *shapes)
{
    if (shapes) {
        free(shapes->answer.shapes);
        rk_plan_clear(&shapes->answer.question.plan);
        rk_job_free(shapes->job);
        free(shapes);
    }
}

bool rk_shapes_at(const rk_shapes *shapes, size_t index, rk_shape_facts *facts, size_t size)
{
    const rk_shape_answer *s = &shapes->answer;
    if (index >= s->count) {
        return false;
    }
    const rk_shape_facts all = rk_shape_describe(&s->shapes[index]);
    return rk_abi_copy(facts, size, &all, sizeof(all));
}

bool rk_shapes_strategy(const rk_shapes *shapes, size_t index, rk_strategy *strategy, size_t size)
{
    const rk_shape_answer *s = &shapes->answer;
    return index < s->count &&
           hand_out_best(&s->shapes[index].best, s->shapes[index].runs, strategy, size);
}

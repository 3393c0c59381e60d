/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a shape request from the model, and searches the shapes that it admits. */
#include "codesign/shape_answer.h"

#include "base/error.h"

const rk_shape_choice rk_shape_usual = {
    .size = sizeof(rk_shape_choice),
    .tolerance_percent = 2,
    .head_multiple = 8,
    .aspect_min = 64,
    .aspect_max = 256,
};

static double given_or(double number, double usual)
{
    return number > 0 ? number : usual;
}

void rk_shape_take_usual(rk_shape_choice *wish)
{
    const rk_shape_choice *usual = &rk_shape_usual;
    wish->tolerance_percent = given_or(wish->tolerance_percent, usual->tolerance_percent);
    wish->aspect_min = given_or(wish->aspect_min, usual->aspect_min);
    wish->aspect_max = given_or(wish->aspect_max, usual->aspect_max);
    if (!wish->head_multiple) {
        wish->head_multiple = usual->head_multiple;
    }
}

static rk_status search(rk_control *control, rk_shape_answer *s, rk_error *err)
{
    const rk_search_control search = rk_control_search(control, "shapes", s->question.view.threads);
    const double started = rk_control_cpu_s(control);
    const rk_status status = rk_shape_search(&s->wish, &s->question.problem, &search, &s->shapes,
                                             &s->count, &s->counts, err);
    s->cpu_s = rk_control_cpu_s(control) - started;
    for (size_t i = 0; i < s->count; i++) {
        s->runs += s->shapes[i].runs;
    }
    return status;
}

/* The model supplies what the request leaves open. */
static rk_status complete_wish(const rk_problem *problem, rk_shape_choice *wish, rk_error *err)
{
    rk_model_sizes sizes;
    problem->method->sizes(problem, &sizes);
    if (sizes.blocks > 0 && sizes.heads == 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "shapes vary the heads of attention, and the first layer of this model has "
                       "none; take a model whose first layer has attention");
    }
    if (!(wish->parameters > 0)) {
        wish->parameters = sizes.parameters;
    }
    if (wish->head_sizes.count == 0) {
        wish->head_sizes = (rk_counts){1, {sizes.head_size}};
    }
    return RK_OK;
}

rk_status rk_shape_answer_find(rk_control *control, rk_shape_answer *s, rk_error *err)
{
    rk_question_set_seq(&s->question, s->seq);
    const rk_status status = complete_wish(&s->question.problem, &s->wish, err);
    return status ? status : search(control, s, err);
}

rk_shape_facts rk_shape_describe(const rk_shape *shape)
{
    const rk_model_sizes *sizes = &shape->sizes;
    rk_shape_facts facts = {.blocks = sizes->blocks,
                            .hidden = sizes->hidden,
                            .feedforward = sizes->feedforward,
                            .heads = sizes->heads,
                            .head_size = sizes->head_size,
                            .parameters = sizes->parameters,
                            .mappings = shape->mappings,
                            .runs = shape->runs};
    if (shape->runs) {
        facts.mfu = shape->best.efficiency;
        facts.step_s = shape->best.step;
        facts.sequences_per_s = shape->best.rate;
        facts.tokens_per_s = shape->best.rate * (double)sizes->seq;
    }
    return facts;
}

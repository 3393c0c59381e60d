/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a shape request from the model, and searches the shapes that it admits. */
#include "codesign/shape_answer.h"

#include "base/error.h"
#include "base/members.h"
#include "base/units.h"

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

#define VALUE_MAX         (1 << 24) /* blocks, heads and sizes, as of options */
#define REAL(name, most_) RK_MEMBER(rk_shape_choice, REAL, name, 0, most_)
#define LIST(name)        RK_MEMBER(rk_shape_choice, COUNTS, name, 1, VALUE_MAX)

rk_status rk_shape_choice_take(const rk_shape_choice *given, rk_shape_choice *own, rk_error *err)
{
    static const rk_member members[] = {
        RK_MEMBER_OR_ZERO(rk_shape_choice, parameters, 1, RK_MEMBER_REAL_MAX),
        REAL(tolerance_percent, 50),
        LIST(blocks),
        LIST(heads),
        LIST(head_sizes),
        RK_MEMBER(rk_shape_choice, INT64, head_multiple, 0, VALUE_MAX),
        RK_MEMBER_OR_ZERO(rk_shape_choice, feedforward, 1, 64),
        REAL(aspect_min, RK_MEMBER_REAL_MAX),
        REAL(aspect_max, RK_MEMBER_REAL_MAX),
    };
    const rk_shape_choice *usual = &rk_shape_usual;
    *own = *usual;
    const rk_status status = given ? rk_members_take(own, sizeof(*own), given, "rk_shape_choice",
                                                     members, COUNT(members), err)
                                   : RK_OK;
    own->tolerance_percent = given_or(own->tolerance_percent, usual->tolerance_percent);
    own->aspect_min = given_or(own->aspect_min, usual->aspect_min);
    own->aspect_max = given_or(own->aspect_max, usual->aspect_max);
    own->head_multiple = own->head_multiple ? own->head_multiple : usual->head_multiple;
    return status;
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

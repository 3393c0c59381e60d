/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a shape request from the model, and searches the shapes that it admits. */
#include "codesign/shape_answer.h"

#include "base/error.h"

#include <string.h>

/* Given values are used as they are, at any aspect ratio. */
static rk_shape_space space_of(const rk_shape_request *wish)
{
    const bool all = wish->blocks.count == 0;
    rk_shape_space space = {
        .parameters = wish->parameters,
        .tolerance = wish->tolerance / 100,
        .feedforward_ratio = wish->feedforward,
        .head_multiple = wish->head_multiple,
        .aspect_min = all ? wish->aspect_min : 0,
        .aspect_max = all ? wish->aspect_max : (double)INT64_MAX,
        .block_count = wish->blocks.count,
        .head_size_count = wish->head_sizes.count,
        .head_count = wish->heads.count,
    };
    memcpy(space.blocks, wish->blocks.values, sizeof(space.blocks));
    memcpy(space.head_sizes, wish->head_sizes.values, sizeof(space.head_sizes));
    memcpy(space.heads, wish->heads.values, sizeof(space.heads));
    return space;
}

static rk_status search(rk_control *control, rk_shape_answer *s, rk_error *err)
{
    const rk_search_control search = rk_control_search(control, "shapes", s->question.view.threads);
    s->space = space_of(&s->wish);
    const double started = rk_control_cpu_s(control);
    const rk_status status = rk_shape_search(&s->space, &s->question.problem, &search, &s->shapes,
                                             &s->count, &s->counts, err);
    s->cpu_s = rk_control_cpu_s(control) - started;
    for (size_t i = 0; i < s->count; i++) {
        s->runs += s->shapes[i].runs;
    }
    return status;
}

/* The model supplies what the request leaves open. */
static rk_status complete_wish(const rk_problem *problem, rk_shape_request *wish, rk_error *err)
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
    rk_question_set_seq(&s->question, s->wish.seq);
    const rk_status status = complete_wish(&s->question.problem, &s->wish, err);
    return status ? status : search(control, s, err);
}

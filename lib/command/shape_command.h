/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `reckon shape`. */
#ifndef RK_COMMAND_SHAPE_H
#define RK_COMMAND_SHAPE_H

#include "codesign/shape.h"
#include "command/planner.h"

/* The requested shapes. */
typedef struct rk_shape_wish {
    double parameters, tolerance; /* the second in % */
    int64_t seq, head_multiple;
    rk_option_counts blocks, heads, head_sizes; /* count 0: not given */
    double feedforward, aspect_min, aspect_max;
} rk_shape_wish;

/* The question and the answer. */
typedef struct rk_shape_answer {
    rk_shape_wish wish;
    rk_asked asked;
    rk_shape_space space;
    rk_shape *shapes; /* owned; the most efficient first */
    size_t count, runs;
    rk_bounded_counts counts;
    double cpu_s;
} rk_shape_answer;

/* The shapes that the options of `reckon shape` request with the reckon model. */
const rk_shape_wish *rk_shape_wish_of(const void *options);

/* Searches for the best strategy of every shape. */
rk_status rk_shape_answer_find(rk_job *job, rk_shape_answer *s, rk_error *err);

rk_text_writer rk_shape_answer_write_text; /* `what` is the rk_shape_answer */
rk_status rk_shape_answer_write_json(const rk_job *job, const rk_shape_answer *s, rk_error *err);
rk_status rk_shape_answer_write_csv(const rk_job *job, const rk_shape_answer *s, rk_error *err);

#endif

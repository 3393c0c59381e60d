/* SPDX-License-Identifier: Apache-2.0 */
/* The verb shape: the model of a given size that maps best onto a machine. */
#ifndef RK_CODESIGN_SHAPE_ANSWER_H
#define RK_CODESIGN_SHAPE_ANSWER_H

#include "codesign/shape.h"
#include "method/question.h"

/* The requested shapes. */
typedef struct rk_shape_request {
    double parameters, tolerance; /* the second in % */
    int64_t seq, head_multiple;
    rk_counts blocks, heads, head_sizes; /* count 0: not given */
    double feedforward, aspect_min, aspect_max;
} rk_shape_request;

/* The question and the answer. */
typedef struct rk_shape_answer {
    rk_shape_request wish;
    rk_question question;
    rk_shape_space space;
    rk_shape *shapes; /* owned; the most efficient first */
    size_t count, runs;
    rk_bounded_counts counts;
    double cpu_s;
} rk_shape_answer;

/* Searches for the best strategy of every shape. */
rk_status rk_shape_answer_find(rk_control *control, rk_shape_answer *s, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The verb shape: the model of a given size that maps best onto a machine. */
#ifndef RK_CODESIGN_SHAPE_ANSWER_H
#define RK_CODESIGN_SHAPE_ANSWER_H

#include "codesign/shape.h"
#include "method/question.h"

/* The defaults where a request leaves them open. */
extern const rk_shape_choice rk_shape_usual;

/* The same where numbers of a program's choice are 0. */
void rk_shape_take_usual(rk_shape_choice *wish);

/* The question and the answer. */
typedef struct rk_shape_answer {
    rk_shape_choice wish;
    int64_t seq; /* 0: as in the model */
    rk_question question;
    rk_shape *shapes; /* owned; the most efficient first */
    size_t count, runs;
    rk_bounded_counts counts;
    double cpu_s;
} rk_shape_answer;

/* Searches for the best strategy of every shape. */
rk_status rk_shape_answer_find(rk_control *control, rk_shape_answer *s, rk_error *err);

/* A shape with its best strategy, if one fits. */
rk_shape_facts rk_shape_describe(const rk_shape *shape);

#endif

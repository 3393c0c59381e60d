/* SPDX-License-Identifier: Apache-2.0 */
/* The verb shape: the model of a given size that maps best onto a machine. */
#ifndef RK_CODESIGN_SHAPE_ANSWER_H
#define RK_CODESIGN_SHAPE_ANSWER_H

#include "codesign/shape.h"
#include "method/question.h"

/* The defaults where a request leaves them open. */
extern const rk_shape_choice rk_shape_usual;

/*
 * Copies the choice of a program, whose version may differ, with defaults for what is 0; NULL: all
 * is.  Refuses numbers out of bounds.
 */
rk_status rk_shape_choice_take(const rk_shape_choice *given, rk_shape_choice *own, rk_error *err);

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

/* SPDX-License-Identifier: Apache-2.0 */
/* The verb design: the cheapest machine that trains a model fast enough. */
#ifndef RK_CODESIGN_DESIGN_ANSWER_H
#define RK_CODESIGN_DESIGN_ANSWER_H

#include "codesign/design.h"
#include "method/question.h"

/* The question and the answer. */
typedef struct rk_design_answer {
    rk_machine_target target;
    rk_question question;
    rk_prices prices;
    double least_rate;  /* required sequences/s; 0: no target */
    rk_design *designs; /* owned; cheapest first */
    size_t count;
    const rk_design *cheapest; /* machine that meets the target; NULL: none, or no target */
    rk_bounded_counts counts;
    double cpu_s;
} rk_design_answer;

/* Copies the target of a program, whose version may differ; refuses numbers out of bounds. */
rk_status rk_machine_target_take(const rk_machine_target *given, rk_machine_target *own,
                                 rk_error *err);

/* Loads the prices of the target, and settles how many accelerators the request means. */
rk_status rk_design_answer_prepare(const rk_method *method, void *request, rk_design_answer *d,
                                   rk_error *err);

/* Searches on every machine. */
rk_status rk_design_answer_find(rk_control *control, rk_design_answer *d, rk_error *err);

/* A machine with its best strategy, if it runs. */
rk_machine_facts rk_design_answer_machine(const rk_design_answer *d, const rk_design *design);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question of `plan`, `explain`, `design` or `shape` with either method, and the plan that
 * answers it.
 */
#ifndef RK_METHOD_QUESTION_H
#define RK_METHOD_QUESTION_H

#include "method/plan_result.h"

struct rk_question {
    rk_problem problem;
    const void *request; /* rk_request, rk_calculon_request; outlives the question */
    rk_request_view view;
    int64_t batch, seq; /* sequences of a step, at most; tokens of one */
    rk_plan plan;       /* after rk_question_rank */
};

/* Loads the documents of a request; cleared with rk_question_clear, also after a failure. */
rk_status rk_question_load(const rk_method *method, const void *request, rk_question *question,
                           rk_error *err);
void rk_question_clear(rk_question *question);

/*
 * The same of the reckon model, with documents that the caller has loaded and keeps; cleared with
 * rk_plan_clear(&question->plan).
 */
rk_status rk_question_ask(const rk_inputs *inputs, const rk_request *request, rk_question *question,
                          rk_error *err);

/* Sets the sequence length where the request names no model; otherwise it stays. */
void rk_question_set_seq(rk_question *question, int64_t seq);

/* Finds the best strategies, with all predictions. */
rk_status rk_question_rank(rk_control *control, rk_question *question, rk_error *err);

/* Whether a strategy fits. */
bool rk_question_has_answer(const rk_question *question);

#endif

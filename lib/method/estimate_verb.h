/* SPDX-License-Identifier: Apache-2.0 */
/* The verb estimate: a step of one strategy, given or the fastest that fits. */
#ifndef RK_METHOD_ESTIMATE_VERB_H
#define RK_METHOD_ESTIMATE_VERB_H

#include "method/block_operators.h"
#include "method/gains.h"
#include "method/plan_result.h"

/* The question and the answer. */
typedef struct rk_estimate_answer {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_plan plan;
    rk_sensitivities worth; /* filled when requested */
    rk_gains gains;         /* filled when requested */
    rk_operators operators; /* filled when requested */
} rk_estimate_answer;

/*
 * Finds the strategy and answers the request about it; cleared with rk_estimate_answer_clear, also
 * after a failure.
 */
rk_status rk_estimate_find(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                           rk_estimate_answer *estimate, rk_error *err);
void rk_estimate_answer_clear(rk_estimate_answer *estimate);

#endif

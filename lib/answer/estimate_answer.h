/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `estimate`. */
#ifndef RK_ANSWER_ESTIMATE_ANSWER_H
#define RK_ANSWER_ESTIMATE_ANSWER_H

#include "answer/estimate_operators.h"
#include "method/plan_result.h"
#include "report/gains.h"

/* The question and the answer. */
typedef struct rk_estimate_answer {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_plan plan;
    rk_sensitivities worth; /* filled when they are asked for */
    rk_fit_changes gains;   /* likewise */
    rk_operators operators; /* likewise */
} rk_estimate_answer;

/* Writes it in the format of the request, or as a launch file. */
rk_status rk_estimate_write(const rk_job *job, const rk_estimate_answer *estimate, rk_error *err);

#endif

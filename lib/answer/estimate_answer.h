/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `estimate`. */
#ifndef RK_ANSWER_ESTIMATE_ANSWER_H
#define RK_ANSWER_ESTIMATE_ANSWER_H

#include "method/estimate_verb.h"

/* Writes it in the format of the request, or as a launch file. */
rk_status rk_estimate_write(rk_job *job, const rk_estimate_answer *estimate, rk_error *err);

#endif

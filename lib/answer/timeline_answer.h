/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `timeline`. */
#ifndef RK_ANSWER_TIMELINE_ANSWER_H
#define RK_ANSWER_TIMELINE_ANSWER_H

#include "method/plan_result.h"
#include "timeline/operations.h"

/* The question and the answer. */
typedef struct rk_timeline_answer {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_plan plan;
    rk_timeline timeline; /* of the best strategy, while it is written */
} rk_timeline_answer;

/* Plays the best strategy of the plan and writes it in the format that the request names. */
rk_status rk_timeline_write(const rk_job *job, rk_timeline_answer *answer, rk_error *err);

/*
 * Items of a list for a report: an SVG of the step of each of the first `most` strategies as a
 * text; null where it would make the page too large.
 */
void rk_plan_write_drawings(rk_json_writer *writer, const rk_plan *plan, size_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of verbs as text, JSON or CSV, in the format and to the file that their request names. */
#ifndef RK_ANSWER_ANSWERS_H
#define RK_ANSWER_ANSWERS_H

#include "codesign/design_answer.h"
#include "codesign/explain_answer.h"
#include "codesign/shape_answer.h"
#include "job/answer_writers.h"
#include "method/fit.h"

rk_status rk_plan_write(const rk_job *job, const rk_question *question, rk_error *err);
rk_status rk_fit_write(const rk_job *job, const rk_fit *fit, rk_error *err);
rk_status rk_explain_write(const rk_job *job, const rk_explain *explain, rk_error *err);
rk_status rk_design_write(const rk_job *job, const rk_design_answer *design, rk_error *err);
rk_status rk_shape_write(const rk_job *job, const rk_shape_answer *shape, rk_error *err);

/* The launch file of --emit; answer NULL: none fits, which is remarked. */
rk_status rk_launch_write(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                          const rk_answer *answer, rk_error *err);

/*
 * Remarks that a file is not written because no strategy fits: "launch file" of --emit, "picture".
 * A file with the reason in it would pass for one.
 */
void rk_remark_no_file(const rk_job *job, const char *file, const char *option);

/* The lines of a question: its documents and its run. */
void rk_question_write(FILE *to, const rk_question *question);

#endif

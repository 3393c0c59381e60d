/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of `validate`. */
#ifndef RK_ANSWER_VALIDATE_ANSWER_H
#define RK_ANSWER_VALIDATE_ANSWER_H

#include "answer/answer_fields.h"
#include "evidence/validate_runs.h"
#include "job/job.h"

enum { RK_SCORE_FIELDS = 7 };
extern const rk_answer_field rk_error_fields[RK_SCORE_FIELDS];  /* of rk_errors */
extern const rk_answer_field rk_regret_fields[RK_SCORE_FIELDS]; /* of rk_regret */

rk_text_writer rk_validation_write_text; /* `what` is an rk_validation */
rk_status rk_validation_write_json(const rk_job *job, const rk_validation *v, rk_error *err);
rk_status rk_validation_write_csv(const rk_job *job, const rk_validation *v, rk_error *err);
rk_text_writer rk_validation_write_figures; /* `what` is an rk_figures */
rk_status rk_validation_plot(const rk_job *job, const rk_validation *v, const char *path,
                             rk_error *err);

/*
 * Writes the published runs of a table (evidence/published.h) as tables of Markdown.  *found: a run
 * was predicted.
 */
rk_status rk_published_write(const rk_job *job, const rk_validate_request *request, bool *found,
                             rk_error *err);

#endif

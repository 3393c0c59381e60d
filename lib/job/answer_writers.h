/* SPDX-License-Identifier: Apache-2.0 */
/* An answer in the format that the options of its command name. */
#ifndef RK_JOB_ANSWER_WRITERS_H
#define RK_JOB_ANSWER_WRITERS_H

#include "io/json_write.h"
#include "job/job.h"

/* Writers of one kind of answer, `what`; a CSV table has either cells or lines. */
typedef struct rk_answer_writers {
    rk_text_writer *text;
    void (*members)(rk_json_writer *writer, const void *what); /* of the JSON object */
    void (*cells)(rk_csv_out *csv, const void *what);
    void (*lines)(rk_out *out, const void *what);
    /* Items of a list for a report: of each strategy an SVG of its step, or null; or NULL. */
    void (*drawings)(rk_json_writer *writer, const void *what);
} rk_answer_writers;

rk_status rk_job_answer(const rk_job *job, const rk_answer_writers *writers, const void *what,
                        bool json, bool csv, const char *output, rk_error *err);

#endif

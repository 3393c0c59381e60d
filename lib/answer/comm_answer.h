/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of `reckon comm`: times of collectives, and constants fitted to measured ones. */
#ifndef RK_ANSWER_COMM_ANSWER_H
#define RK_ANSWER_COMM_ANSWER_H

#include "answer/comm_servers.h"
#include "comm/comm_question.h"
#include "comm/comm_results.h"
#include "job/job.h"

/* Where an answer goes, and in which form. */
typedef struct rk_comm_output {
    const char *path, *plot; /* "-" or NULL: the answer of the job; NULL: no figure */
    const char *settings;    /* numbers of the system that were changed; NULL: none */
    bool json, csv;
} rk_comm_output;

/* Times of collectives; `servers` NULL: without parameter servers. */
rk_status rk_comm_write(const rk_job *job, const rk_comm_answer *answer,
                        const rk_comm_servers *servers, const rk_comm_output *output,
                        rk_error *err);

/* Reads measured collectives, fits those of each machine, and writes the constants and errors. */
rk_status rk_comm_fit_write(const rk_job *job, const char *path, const rk_comm_hint *hint,
                            const rk_comm_output *output, rk_error *err);

#endif

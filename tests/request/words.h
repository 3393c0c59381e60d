/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command line, without the command. */
#ifndef RK_TESTS_WORDS_H
#define RK_TESTS_WORDS_H

#include "job/job.h"
#include "request/request.h"

/*
 * Reads "--model m -p 64 --tp=8" as a request of `reckon fit`.  The texts of the request live as
 * long as *job, which the caller frees, also after an error.
 */
rk_status words_read(const char *line, rk_job **job, rk_request *request, rk_error *err);

#endif

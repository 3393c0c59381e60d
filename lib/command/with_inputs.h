/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that answer about the documents of one request. */
#ifndef RK_COMMAND_WITH_INPUTS_H
#define RK_COMMAND_WITH_INPUTS_H

#include "job/job.h"
#include "request/request.h"

/* Answers; `what` is room for the answer, all zero. */
typedef rk_status rk_inputs_user(rk_job *job, void *arguments, const rk_inputs *inputs, void *what,
                                 rk_error *err);

/*
 * Loads the inputs of a command whose arguments begin with an rk_request, and calls `use` with them
 * and room for `size` bytes.
 */
rk_status rk_with_inputs(rk_job *job, void *arguments, size_t size, rk_inputs_user *use,
                         rk_error *err);

#endif

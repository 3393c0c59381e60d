/* SPDX-License-Identifier: Apache-2.0 */
/* Launch lines of Megatron-LM, pasted behind a command. */
#ifndef RK_REQUEST_LAUNCH_FLAGS_H
#define RK_REQUEST_LAUNCH_FLAGS_H

#include "job/job.h"
#include "request/request.h"

/* As rk_job_set_launch_flag, for jobs whose arguments begin with an rk_request. */
rk_status rk_request_take_launch_flag(rk_job *job, const char *flag, const char *value,
                                      rk_flag_use *use, rk_error *err);

/* Notes a word or a flag that says which tool a line is for; `request` is an rk_request. */
bool rk_request_note_launch_word(void *request, const char *word);

/*
 * Applies the flags that have a meaning only together: recomputed layers and Megatron-LM's default
 * sharding; and checks that flags of the model agree with the named model.
 */
rk_status rk_request_settle_launch(rk_request *request, rk_error *err);

#endif

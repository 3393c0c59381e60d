/* SPDX-License-Identifier: Apache-2.0 */
/* Launch lines of Megatron-LM, pasted behind a command. */
#ifndef RK_REQUEST_LAUNCH_FLAGS_H
#define RK_REQUEST_LAUNCH_FLAGS_H

#include "job/job.h"
#include "request/request.h"

#define RK_SHAPE_TEXT_SIZE 1024

/* The model document that Megatron-LM's flags describe, with its defaults.  Returns out. */
const char *rk_shape_document(const int64_t *shape, char out[RK_SHAPE_TEXT_SIZE]);

/* As rk_job_set_launch_flag, for jobs whose arguments begin with an rk_request. */
rk_status rk_request_take_launch_flag(rk_job *job, const char *flag, const char *value,
                                      rk_flag_use *use, rk_error *err);

#endif

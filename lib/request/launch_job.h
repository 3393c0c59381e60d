/* SPDX-License-Identifier: Apache-2.0 */
/* A launch line of Megatron-LM as a complete job: what it does not say is the framework's default.
 */
#ifndef RK_REQUEST_LAUNCH_JOB_H
#define RK_REQUEST_LAUNCH_JOB_H

#include "job/job.h"
#include "request/request.h"

/* Takes a flag of what overlaps with compute; false: it is none. */
bool rk_launch_take_overlap(rk_launch_line *line, const char *flag, const char *value,
                            rk_flag_use *use);

/*
 * Gives the options that a line leaves open their values: degrees of 1, no recomputation, one
 * virtual stage, and no sequence parallelism and no overlap but those that it names.  Options of a
 * degree of 1 are left out, as Megatron-LM does.  Source: arguments.py of Megatron-LM.
 */
void rk_launch_complete(rk_request *request);

/* What overlaps on a line that is not a whole job: also what is off by default, if it is named. */
void rk_launch_add_overlaps(rk_request *request);

/* Tensor parallelism of experts that a complete line leaves open is that of the model; else 0. */
int64_t rk_launch_expert_tensor(const rk_request *request, const rk_model *model, int64_t tp);

#endif

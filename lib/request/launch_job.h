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
 * virtual stage, one micro-batch per step, and no sequence parallelism and no overlap but those
 * that it names.  Source: arguments.py of Megatron-LM.  Of another framework, degrees of 1 and its
 * own sharding, recomputation and overlap.
 */
void rk_launch_complete(rk_request *request);

/* Applies the flags of overlap of a line that is not a whole job to the default of --overlap. */
void rk_launch_settle_overlaps(rk_request *request);

/* Drops options of a degree that is 1, as Megatron-LM does; questions in our own options refuse
 * them. */
void rk_launch_drop_without_effect(rk_request *request);

/* Tensor parallelism of experts that a complete line leaves open equals the model's; else 0. */
int64_t rk_launch_expert_tensor(const rk_request *request, const rk_model *model, int64_t tp);

#endif

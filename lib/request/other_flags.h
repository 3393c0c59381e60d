/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of other tools than Megatron-LM: torchtitan, DeepSpeed, the Hugging Face Trainer. */
#ifndef RK_REQUEST_OTHER_FLAGS_H
#define RK_REQUEST_OTHER_FLAGS_H

#include "job/job.h"

/*
 * As rk_job_set_launch_flag; `*known` becomes false for flags that are none of theirs.  Errors:
 * RK_ERR_INVALID for values without a counterpart, and for flags that say less than is needed,
 * with the option that says it.
 */
rk_status rk_take_other_flag(rk_job *job, const char *flag, const char *value, rk_flag_use *use,
                             bool *known, rk_error *err);

#endif

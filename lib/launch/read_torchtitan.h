/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan's facts, for its own configurations and for frameworks that run it. */
#ifndef RK_LAUNCH_READ_TORCHTITAN_H
#define RK_LAUNCH_READ_TORCHTITAN_H

#include "launch/launch.h"

/* How the base configuration differs from torchtitan's own. */
typedef struct rk_torchtitan_base {
    bool is_main;          /* 2026: batches in tokens, CUDA graphs, classes in place of modes */
    const char *recompute; /* activation_checkpoint.mode */
    const char *selective; /* activation_checkpoint.selective_ac_option */
    bool compile;          /* compile.enable, of model and loss */
} rk_torchtitan_base;

/* States layout, batch, precision, memory and overlap; the model is the caller's. */
void rk_torchtitan_state(rk_launch *launch, const rk_torchtitan_base *base);

/* States schedule, virtual stages and layers of the stages of a pipeline. */
void rk_torchtitan_state_stages(rk_launch *launch, int64_t pp);

#endif

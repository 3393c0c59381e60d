/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy as the command line that starts it. */
#ifndef RK_REPORT_LAUNCH_H
#define RK_REPORT_LAUNCH_H

#include "block/stack.h"
#include "formats/out.h"
#include "strategy/strategy.h"

/*
 * Writes a shell script that starts pretrain_gpt.py of Megatron-LM as of August 2026: the shape of
 * the model, the strategy, and no data; what has no argument there stands in it as a comment. Fails
 * with RK_ERR_INVALID, before anything is written, where Megatron-LM cannot run the strategy at
 * all.
 */
rk_status rk_launch_megatron(const rk_model *model, const rk_system *system, const rk_stack *stack,
                             const rk_strategy *strategy, const char *title, rk_out *out,
                             rk_error *err);

#endif

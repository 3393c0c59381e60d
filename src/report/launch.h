/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy as what starts it: the arguments or the configuration of a framework. */
#ifndef RK_REPORT_LAUNCH_H
#define RK_REPORT_LAUNCH_H

#include "block/stack.h"
#include "formats/out.h"
#include "strategy/strategy.h"

/* What is to be started; all borrowed. */
typedef struct rk_launch {
    const rk_model *model;
    const rk_system *system;
    const rk_stack *stack;
    const rk_strategy *strategy;
    const char *title; /* a line that stands first, as a comment */
} rk_launch;

/*
 * Writers fail with RK_ERR_INVALID, before anything is written, where the framework cannot run the
 * strategy at all; what only has no name there stands in the text as a comment.
 */
typedef rk_status rk_launch_writer(const rk_launch *launch, rk_out *out, rk_error *err);

/* A shell script for pretrain_gpt.py of Megatron-LM as of August 2026: the model and the strategy.
 */
rk_launch_writer rk_launch_megatron;

/* TOML for torchtitan up to 0.2.2: the strategy; the model is one of torchtitan's flavors. */
rk_launch_writer rk_launch_torchtitan;

/* A line of a comment, without what could end it. */
void rk_launch_comment(rk_out *out, const char *words);

/* "Not said by KIND: WORDS." */
void rk_launch_note(rk_out *out, const char *kind, const char *words);

#endif

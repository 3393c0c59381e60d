/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders that repeat a building block on stages in a V (Qi et al. 2024, "Pipeline Parallelism with
 * Controllable Memory"): a microbatch enters every six ticks, its six steps on a rank
 * (forward, input and weight gradients of two chunks) take a tick each, and the distance of
 * its steps on neighbouring ranks decides how long activations are kept.  A rank runs its steps in
 * the order of their ticks; inside lib/schedule only.
 */
#ifndef RK_SCHEDULE_V_BLOCK_H
#define RK_SCHEDULE_V_BLOCK_H

#include "schedule/order.h"

/* Functions of a schedule that has a block. */
void rk_v_block_write(const rk_pipeline *pipeline, int64_t rank, rk_order *order);
rk_schedule_needs rk_v_block_needs(int64_t ranks);
rk_schedule_round rk_v_block_round(const rk_pipeline *pipeline);
int64_t rk_v_block_first_round(const rk_pipeline *pipeline, int64_t rank);

/* Activations of a rank in microbatches, as of rk_pipeline_in_flight. */
double rk_v_block_in_flight(const rk_v_block *block, int64_t ranks, int64_t rank);

#endif

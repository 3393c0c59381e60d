/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What strategies take at least, from costs of blocks alone: for the bounded search.  Estimates may
 * fall below by rounding, which RK_LEAST_SLACK covers.  docs/search.md has the argument.
 */
#ifndef RK_ESTIMATE_LEAST_H
#define RK_ESTIMATE_LEAST_H

#include "estimate/stage.h"

#define RK_LEAST_SLACK 1e-9 /* relative */

/* The model on one rank: what the ranks of a pipeline share out.  No layer is checkpointed. */
rk_stage rk_whole_model(const rk_cost_table *table, const rk_strategy *strategy);

/*
 * Seconds of a step of any strategy with these degrees, schedule and batch, whatever its split of
 * layers, recompute of the table, sharding and offload.  `send` is rk_send_seconds.
 */
double rk_least_step(const rk_cost_table *table, const rk_strategy *strategy, const rk_stage *whole,
                     double send);

/* Seconds of a step with these chunks, whatever its sharding and offload. */
double rk_least_step_of(const rk_cost_table *table, const rk_strategy *strategy,
                        const rk_chunk_times *chunks, double send);

/* Seconds of a message between stages: the same for all shapes of a pipeline degree. */
double rk_least_send(const rk_cost_table *table, const rk_strategy *strategy);

/* Bytes that the fullest rank needs at least: the states of the mean one. */
double rk_least_memory(const rk_cost_table *table, const rk_strategy *strategy,
                       const rk_stage *whole);

#endif

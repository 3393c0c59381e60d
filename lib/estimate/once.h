/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step has besides the passes of its microbatches: traffic of data parallelism, messages
 * between stages, the optimizer, offloading.  `stage` is that of the slowest rank, `heaviest` that
 * of the rank with most parameters; inside lib/estimate only.
 */
#ifndef RK_ESTIMATE_ONCE_H
#define RK_ESTIMATE_ONCE_H

#include "estimate/stage.h"

/* Traffic of data parallelism in a step, and the compute that hides it. */
typedef struct rk_exchange {
    double visible; /* s */
    double bytes;   /* sent by a rank */
    /* s of the passes of `forwards` and `backwards` microbatches, of all of them together */
    double hidden_forward, hidden_backward;
    double forwards, backwards;
} rk_exchange;

/* Reducing gradients and gathering parameters. */
rk_exchange rk_reduce(const rk_cost_table *table, const rk_strategy *strategy,
                      const rk_stage *stage, const rk_stage *heaviest);

/*
 * With sequence parallelism tensor ranks see different tokens: gradients of what they hold whole
 * (norms, router, latents) are summed over them, in one message or in rings of each.
 */
double rk_replicated_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                             const rk_stage *heaviest);

/*
 * Seconds of one message between stages; 0 without stages.  *bytes: sent by a rank in a step, a
 * message each way per microbatch and chunk.  Scattered ones go in parts over the links of the
 * tensor group, which gathers them again.
 */
double rk_send_seconds(const rk_cost_table *table, const rk_strategy *strategy, double *bytes);

/* The pipeline of a strategy in which messages of `send` seconds hold their sender. */
rk_pipeline rk_pipeline_of(const rk_strategy *strategy, const rk_chunk_times *chunks, double send);

/*
 * What messages that overlap with compute add to a step: a share of all, and those on the way.
 * Infinite where they do not overlap.
 */
double rk_overlapped_sends(const rk_stack *stack, const rk_strategy *strategy, double send);

/*
 * Casts of the weights of linears in low precision: all copies once a step, from what is gathered;
 * of fully sharded weights one in every pass.
 */
double rk_weight_cast_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                              const rk_stage *heaviest);

/* The update of the parameters of which a rank keeps the states. */
double rk_optimizer_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                            const rk_stage *heaviest);

/*
 * Offloading: the optimizer's states go and come once a step; activations go under forward and
 * come back under backward, weights come in both, per microbatch.  They hide under what the
 * exchange leaves of the passes.
 */
double rk_offload_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                          const rk_stage *stage, const rk_stage *heaviest,
                          const rk_exchange *exchange);

/* What does not depend on the strategy, and what the rest, of so many seconds, grows by at scale.
 */
double rk_fixed_seconds(const rk_stack *stack, const rk_strategy *strategy, double seconds);

#endif

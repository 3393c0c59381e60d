/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a step other than computation: traffic of data parallelism, messages between stages,
 * the optimizer, offloading.  `heaviest` is the stage of the rank with most parameters.  For
 * lib/estimate and the search.
 */
#ifndef RK_ESTIMATE_STEP_OVERHEADS_H
#define RK_ESTIMATE_STEP_OVERHEADS_H

#include "estimate/step.h"

/*
 * Visible traffic of one microbatch during the passes of one chunk: it makes the passes longer.
 * Seconds by pass; gradients and parameters, and copies to and from the host.
 */
typedef struct rk_pass_traffic {
    rk_chunk_times data, copies;
    double bytes; /* sent for data parallelism */
    double ends;  /* s more in a step whose first stage this is, see docs/method/steps.md */
} rk_pass_traffic;

/* Whether every microbatch has such traffic: ZeRO-2 and 3, offloaded activations and weights. */
bool rk_has_pass_traffic(const rk_strategy *strategy);

/*
 * Time to reduce and to gather what a rank shares with its replicas, s, and bytes sent; and the
 * time of the copies that go with them.
 */
typedef struct rk_dp_traffic {
    double reduce, gather;
    double reduce_bytes, gather_bytes;
    double pack, unpack;
} rk_dp_traffic;

/*
 * The same of the mean layer of a stage if fully sharded, else of the stage; no schedule changes
 * it.
 */
rk_dp_traffic rk_piece_traffic(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_stage *stage);

/*
 * Traffic of a chunk that holds `stage`, with the passes of its computation; `data`:
 * rk_piece_traffic, or NULL.
 */
rk_pass_traffic rk_pass_traffic_of(const rk_cost_table *table, const rk_strategy *strategy,
                                   const rk_stage *stage, const rk_chunk_times *passes,
                                   const rk_dp_traffic *data);

/* passes += data + copies. */
void rk_lengthen_passes(rk_chunk_times *passes, const rk_pass_traffic *traffic);

/* Seconds of all passes. */
static inline double rk_passes_sum(const rk_chunk_times *passes)
{
    return passes->forward + (passes->backward + passes->weight);
}

/* Adds the traffic of one of the chunks of a rank, the first chunk first. */
static inline void rk_add_chunk_traffic(const rk_strategy *s, const rk_pass_traffic *chunk,
                                        rk_rank_traffic *rank)
{
    /* of the two chunks of DualPipe a microbatch passes one */
    const double share = (double)rk_stage_passes(s) / (double)rk_stage_chunks(s);
    rank->data += share * rk_passes_sum(&chunk->data);
    rank->copies += share * rk_passes_sum(&chunk->copies);
    rank->bytes += share * chunk->bytes;
    rank->ends = rank->chunks++ == 0 ? chunk->ends : rank->ends;
}

/*
 * The times of each of the `chunks` of a rank, and the traffic in them if their passes wait for any
 * (rk_has_pass_traffic).
 */
rk_rank_traffic rk_stage_times(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_chunk *chunks, bool waits, rk_chunk_times *times);

/* Traffic of data parallelism once a step, and what it uses of a microbatch's passes. */
typedef struct rk_exchange {
    double visible;                         /* s */
    double bytes;                           /* sent by a rank */
    double hidden_forward, hidden_backward; /* s of one pass */
} rk_exchange;

/* Reducing gradients and gathering parameters, as far as that is done once. */
rk_exchange rk_reduce(const rk_cost_table *table, const rk_strategy *strategy,
                      const rk_stage *heaviest);

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
 * Seconds added to a step by messages that overlap with compute: a share of all, and the messages
 * on the way.  Infinite if they do not overlap.
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
 * Copies to and from the host once a step: the optimizer's states, and what is visible of the
 * copies of one microbatch because the exchange uses its passes.
 */
double rk_offload_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                          const rk_stage *heaviest, const rk_exchange *exchange);

/* Seconds that do not depend on the strategy, and the growth of the rest, `seconds`, at scale.
 */
double rk_fixed_seconds(const rk_stack *stack, const rk_strategy *strategy, double seconds);

#endif

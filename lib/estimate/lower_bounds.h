/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds on time and memory of strategies, from costs of blocks alone: for the bounded
 * search.  Estimates may fall below by rounding, which RK_LOWER_BOUND_SLACK covers.  docs/search.md
 * has the argument.
 */
#ifndef RK_ESTIMATE_LOWER_BOUNDS_H
#define RK_ESTIMATE_LOWER_BOUNDS_H

#include "estimate/step.h"

#define RK_LOWER_BOUND_SLACK 1e-9 /* relative */

/*
 * All blocks of the model, of which no layer is checkpointed: what the ranks of any pipeline share
 * out.  Only where modules of multi-token prediction lie is up to the strategy.
 */
rk_stage_blocks rk_whole_blocks(const rk_model *model, const rk_strategy *strategy);

/* What they keep on one rank, without times; its layers are of the type with most parameters. */
rk_stage rk_whole_model(const rk_cost_table *table, const rk_stage_blocks *whole);

/*
 * Seconds of a microbatch on all ranks of a pipeline together, without recomputation; *experts: of
 * so many layers with experts.
 */
double rk_whole_seconds(const rk_cost_table *table, const rk_stage_blocks *whole, int *experts);

/* The part of rk_least_gathering_seconds that depends on a table, not on degrees and sharding. */
typedef struct rk_gathering {
    rk_stage_blocks blocks;
    rk_stage stage;            /* that keeps them in so many layers as there are messages */
    int messages;              /* fewest of all parameters; 0: layers have to be looked at */
    rk_chunk_times one, apart; /* of a microbatch, with weight gradients in backward and apart */
} rk_gathering;

rk_gathering rk_gathering_of(const rk_cost_table *table, const rk_stage_blocks *whole);

/*
 * Seconds of a microbatch on the mean rank of a pipeline at least, without recomputation, where
 * every layer gathers its parameters (ZeRO-3); 0 where gathers go tensor by tensor, infinite where
 * replicas do not divide the ranks.  The strategy's schedule and offload are of no account.
 */
double rk_least_gathering_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                                  const rk_gathering *gathering);

/*
 * The makespan of a strategy with this pipeline, which has no messages, and messages of `send`
 * seconds, at least, but for the bytes sent; messages that hold their sender count as work.  Of one
 * above `limit` seconds without overlapped messages, these are left out.
 */
rk_makespan rk_least_makespan(const rk_stack *stack, const rk_strategy *strategy,
                              const rk_pipeline *pipeline, double send, double limit);

/* Seconds of a step with a makespan of so much or more, with any sharding and offload. */
double rk_least_step(const rk_cost_table *table, const rk_strategy *strategy,
                     const rk_makespan *least);

/*
 * Bytes that a rank needs at least that holds the stage of `need` or more, with so many
 * microbatches in flight or more.
 */
double rk_least_of_rank(const rk_cost_table *table, const rk_stage_need *need, double in_flight);

/*
 * Bytes of the activations that a stage keeps of so many microbatches, and that no allocator takes
 * back: it needs more, with any sharding and no offload.
 */
double rk_least_activations(const rk_cost_table *table, const rk_strategy *strategy,
                            const rk_stage *stage, double in_flight);

/*
 * The part of rk_least_of_rank in a lane that recomputation leaves alone: bytes of states,
 * of buffers and of what is gathered.
 */
typedef struct rk_rank_floor {
    double still;       /* when a step ends */
    double layer, head; /* when the backward of a layer begins, and of the head */
    double unsharded;   /* as `layer`, without states */
    double rate;        /* bytes of memory for a byte that is allocated */
    double share;       /* microbatches whose activations stay on the device */
} rk_rank_floor;

/* Of a rank of `stage`, whose activations are of no account. */
rk_rank_floor rk_rank_floor_of(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_stage *stage, double in_flight);

/*
 * The part that depends on recomputation: bytes of a microbatch's activations, without late ones,
 * and of the work of a layer.
 */
typedef struct rk_least_kept {
    double saved, work;
} rk_least_kept;

rk_least_kept rk_least_kept_of(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_stage_blocks *blocks);

/*
 * Bytes that a rank needs at least with both, in its lane.  Without states it needs the second with
 * as much sharding or more, too, which only adds to the rest, unless whole gradients pass through
 * the rank on their way.
 */
double rk_rank_floor_bytes(const rk_rank_floor *floor, const rk_least_kept *kept);
double rk_rank_floor_unsharded(const rk_rank_floor *floor, const rk_least_kept *kept);

/* Bytes that some rank needs for a loss, with any pipeline, sharding, recomputation and experts. */
double rk_least_loss(const rk_cost_table *table);

/* Bytes that the fullest rank needs at least: the states of the mean one. */
double rk_least_memory(const rk_cost_table *table, const rk_strategy *strategy,
                       const rk_stage *whole);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks that one pipeline rank holds, added up; for lib/estimate and the search. */
#ifndef RK_ESTIMATE_STAGE_H
#define RK_ESTIMATE_STAGE_H

#include "estimate/estimate.h"

/*
 * Sums over all chunks of the rank.  DualPipe runs half of the microbatches through each of its two
 * chunks: there, what belongs to a microbatch is the mean of the chunks.
 */
typedef struct rk_stage {
    rk_times forward, backward; /* s of one microbatch */
    rk_split_backward apart;
    double hidden_forward, hidden_backward; /* s of one microbatch, see rk_cost */
    double flops_forward, flops_backward, flops_recompute;
    rk_sent_bytes sent;        /* bytes of one microbatch */
    double saved;              /* bytes of one microbatch, without the head */
    double late;               /* part of `saved`, see rk_cost */
    double unsaved, transient; /* bytes, of the layer with most */
    double wgrad_buffers;      /* bytes, of the layer with most */
    double head_saved;         /* bytes of one microbatch */
    double head_transient;     /* bytes */
    double dense_params, expert_params, replicated_params;
    double low_dense_params, low_expert_params; /* of linears in 8 or 4 bits */
    double layer_dense_params;                  /* of the layer with most */
    double layer_expert_params;
    double layer_low_params;
    double matrix_params; /* of the largest linear of a layer */
    double head_params;
    double outer_params; /* dense ones in embedding and head, and in layers */
    rk_orthogonal orthogonal, orthogonal_experts;
    int layers;
    bool embedding, head;
    bool whole_experts; /* as the stack says */
} rk_stage;

/* How many blocks of each kind all chunks of a rank hold; comparable as bytes. */
typedef struct rk_stage_blocks {
    int16_t layers[RK_LAYER_TYPE_MAX][2]; /* by type; [1]: checkpointed whole */
    bool embedding, head, mtp;            /* mtp: projections of MTP; its layers are counted */
    bool halved;                          /* half of the microbatches run here (DualPipe) */
} rk_stage_blocks;

/* `chunks`: all of one rank (rk_strategy_chunks). */
rk_stage_blocks rk_stage_blocks_of(const rk_model *model, const rk_strategy *strategy,
                                   const rk_chunk *chunks);

/* The blocks of one chunk of a rank. */
rk_stage_blocks rk_chunk_blocks_of(const rk_model *model, const rk_strategy *strategy,
                                   const rk_chunk *chunk);

/* Fills the members that describe memory, and no others. */
void rk_stage_keep(const rk_cost_table *table, const rk_stage_blocks *blocks, rk_stage *stage);

/* Fills the rest: time, FLOPs and messages of the passes of a microbatch. */
void rk_stage_run(const rk_cost_table *table, const rk_stage_blocks *blocks, rk_stage *stage);

/* Seconds of a microbatch, both passes, up to rounding as the parts of a stage add up. */
double rk_stage_seconds(const rk_cost_table *table, const rk_stage_blocks *blocks);

/* All `chunks` of a rank, both what they keep and what they run. */
rk_stage rk_stage_of(const rk_cost_table *table, const rk_strategy *strategy,
                     const rk_chunk *chunks);

/* The times of a chunk with these blocks, for microbatches that overlap with another. */
rk_chunk_times rk_chunk_times_of(const rk_cost_table *table, const rk_stage_blocks *blocks,
                                 bool splits);

/*
 * Share of the microbatches whose all-to-all nothing hides: a rank overlaps the forward pass of one
 * microbatch with the backward pass of another, and before its first backward pass it has run as
 * many forward passes as it then has microbatches in flight; after the last forward pass as many
 * backward passes are alone.
 */
double rk_alone_share(const rk_strategy *strategy);

/* Seconds that the passes of a chunk hide under another microbatch's passes. */
rk_chunk_times rk_chunk_hidden_of(const rk_cost_table *table, const rk_stage_blocks *blocks);

/* The same of both passes of a stage. */
static inline double rk_stage_hidden(const rk_stage *stage)
{
    return stage->hidden_forward + stage->hidden_backward;
}

/* Makes the times of a chunk the mean over its microbatches, of which `share` are alone. */
void rk_add_alone(rk_chunk_times *times, double share, const rk_chunk_times *hidden);

/* Chunks of one rank that a microbatch passes: rk_stage_chunks, but 1 of the two of DualPipe. */
static inline int64_t rk_stage_passes(const rk_strategy *strategy)
{
    return rk_schedule_copies(strategy->schedule) == 2 ? 1 : rk_stage_chunks(strategy);
}

/* Seconds of the backward of a microbatch, with both its passes where weight gradients are one. */
double rk_stage_backward(const rk_strategy *strategy, const rk_stage *stage);

/* Whether the schedule runs weight gradients apart from the rest of backward. */
bool rk_stage_splits(const rk_strategy *strategy);

/*
 * How a pipeline scatters sharded gradients.  Passes sum the gradients of a chunk whole, and
 * scatter them when the chunk's run of microbatches ends (ZeRO-2), or with its last microbatch
 * (FSDP2).
 */
typedef struct rk_gradient_runs {
    double scatters;     /* of a chunk in a step; 0: every microbatch scatters its own */
    double microbatches; /* between two scatters */
    double chunks;       /* of a rank, scattered one after the other */
    double open;         /* share of the rank's gradients that is whole at the peak */
} rk_gradient_runs;

/* Whether a pipeline keeps whole gradients of this sharding until it scatters them. */
bool rk_stages_gradients(const rk_stack *stack, rk_sharding sharding);

rk_gradient_runs rk_stage_gradient_runs(const rk_stack *stack, const rk_strategy *strategy);

/*
 * Bytes of gradients that are kept between microbatches: `shards`, if each is scattered at once,
 * and what is not scattered yet.
 */
double rk_stage_gradient_bytes(const rk_stack *stack, const rk_strategy *strategy,
                               const rk_stage *stage, double shards);

/* Ranks over which the states of dense parameters and of experts are sharded. */
double rk_shard_ranks(const rk_strategy *strategy);
double rk_expert_shard_ranks(const rk_strategy *strategy, const rk_stage *stage);

/* Parameters of whose optimizer states a rank keeps one copy. */
double rk_stage_optimized_params(const rk_strategy *strategy, const rk_stage *stage);

/* Bytes of optimizer states of which a rank keeps one copy. */
double rk_stage_optimizer_bytes(const rk_strategy *strategy, const rk_stage *stage);

/* Share of the activations of every stage that is offloaded. */
double rk_offloaded_share(const rk_model *model, const rk_strategy *strategy);

/* Bytes of the weights of a stage as a rank stores them. */
double rk_stage_stored_weights(const rk_strategy *strategy, const rk_stage *stage);

/* Contents of a rank's memory, bytes, without the number of microbatches in flight. */
typedef struct rk_stage_need {
    double weights, gradients, optimizer;
    double shards;              /* gradients, if each is scattered at once */
    double saved;               /* activations of a microbatch */
    double late;                /* part of `saved`, see rk_cost */
    double live;                /* share of both that lives at the peak */
    double offloaded;           /* share of both that goes to the host */
    double most;                /* microbatches that leave that share on the device at once */
    double ahead;               /* late ones of a host that runs ahead */
    double ends;                /* messages between stages, of a microbatch in flight */
    double always;              /* workspaces and buffers that stay */
    double unsaved;             /* what a layer recomputes in backward */
    double layer;               /* temporaries of the backward of a layer */
    double head;                /* logits and temporaries of the loss */
    double later;               /* gradients that do not exist before backward */
    double unmade;              /* of these, what backward makes last, after its layers */
    double last;                /* gradients of the embedding that are used at once */
    double update;              /* temporaries of the optimizer, after all activations are gone */
    double fragmentation;       /* share of what is allocated */
    double cached;              /* blocks that serve no other moment, and logits of other lengths */
    double stage_fragmentation; /* additional share of activations */
    double context;
    double host, host_saved; /* in host memory: always, and of a microbatch in flight */
    double nvme;             /* on disks */
} rk_stage_need;

rk_stage_need rk_stage_need_of(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_stage *stage);

/*
 * Memory of a rank that keeps the activations of `in_flight` microbatches; what of it the rank does
 * not run without, bytes; bytes on the host.
 */
rk_stage_memory rk_stage_memory_at(const rk_stage_need *need, double in_flight);
double rk_stage_needed_at(const rk_stage_need *need, double in_flight);
double rk_stage_host_at(const rk_stage_need *need, double in_flight);

/* Fills what is allocated at each moment, of which the fullest is memory; searches need none. */
void rk_stage_fill_peaks(const rk_stage_need *need, double in_flight, rk_stage_memory *memory);

/* Both steps at once. */
rk_stage_memory rk_stage_memory_of(const rk_cost_table *table, const rk_strategy *strategy,
                                   const rk_stage *stage, double in_flight);

/*
 * Bytes of so many parameters as they are stored and gathered; `low` parameters belong to linears
 * in 8 or 4 bits.
 */
double rk_stored_bytes(const rk_strategy *strategy, double params, double low);
double rk_gathered_bytes(const rk_strategy *strategy, double params, double low);

/* Whether a rank is busy longer than another: by more than rounding, so that the first of ranks
 * that are equally busy counts as the slowest. */
static inline bool rk_busier(double seconds, double other)
{
    return seconds > (1 + 1e-12) * other;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks that one pipeline rank holds, added up; inside src/estimate only. */
#ifndef RK_ESTIMATE_STAGE_H
#define RK_ESTIMATE_STAGE_H

#include "estimate/estimate.h"

typedef struct rk_stage {
    rk_times forward, backward; /* s of one microbatch, all chunks */
    double weight_seconds;      /* of backward that computes weight gradients */
    double flops_forward, flops_backward, flops_recompute;
    double saved;              /* bytes of one microbatch */
    double unsaved, transient; /* bytes, of the layer with most */
    double logits;             /* bytes of temporaries of the loss */
    double dense_params, expert_params;
    double layer_dense_params; /* of the layer with most */
    double layer_expert_params;
    double tp_bytes, cp_bytes, ep_bytes;
    int layers;
    bool embedding, head;
} rk_stage;

/* Adds the blocks of one chunk to a stage that starts all zero. */
void rk_stage_add_chunk(const rk_cost_table *table, const rk_strategy *strategy,
                        const rk_chunk *chunk, rk_stage *stage);

/* All chunks of a rank; `chunks` (may be NULL) gets the times of each. */
rk_stage rk_stage_of(const rk_cost_table *table, const rk_strategy *strategy, int64_t rank,
                     rk_chunk_times *chunks);

/* Chunks of one rank: vp, or 2 for schedules that give both ends of the model to a rank. */
int64_t rk_stage_chunks(const rk_strategy *strategy);

/* Ranks over which the states of dense parameters and of experts are sharded. */
double rk_shard_ranks(const rk_strategy *strategy);
double rk_expert_shard_ranks(const rk_strategy *strategy);

/* Memory of a rank. */
rk_stage_memory rk_stage_memory_of(const rk_cost_table *table, const rk_strategy *strategy,
                                   const rk_stage *stage, double in_flight);

/* Bytes that a rank keeps in host memory. */
double rk_stage_host_bytes(const rk_strategy *strategy, const rk_stage *stage, double in_flight);

#endif

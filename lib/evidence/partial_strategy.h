/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strategy that is known in part: what its source states, and what its software does by default.
 * infer.h completes it.
 */
#ifndef RK_EVIDENCE_PARTIAL_STRATEGY_H
#define RK_EVIDENCE_PARTIAL_STRATEGY_H

#include "strategy/strategy.h"

enum {
    RK_KNOWN_STAGES_MAX = 256, /* stages of a layout */
    RK_DEGREE_MOST = 1 << 24,  /* of any degree, so that two multiply in 64 bits */
};

typedef struct rk_partial_strategy {
    /* Degrees and batch; 0: not stated. */
    int64_t ranks, tp, pp, vp, cp, ep, etp, dp, micro_batch, global_batch;
    int64_t seq;                         /* tokens; 0: the model's */
    int16_t stages[RK_KNOWN_STAGES_MAX]; /* layers of each, if stated */
    int stage_count;
    bool guesses_recompute;  /* the recomputation below is an assumption */
    bool guesses_sharding;   /* the sharding below is an assumption */
    bool states_activations; /* low_activations is stated */
    bool layer_chunks;       /* chunks are of a layer each, where vp is not stated */
    int schedule;            /* 1 + rk_schedule_kind; 0: as vp says */
    int64_t replicas;        /* HSDP; 0: none */
    int64_t slice;           /* accelerators that share states where all are sharded; 0: all */
    bool keeps_gathered;     /* FSDP2 under pipelines */
    bool stage_microbatches; /* number of micro-batches equals pipeline ranks, if their size is not
                                stated */
    bool no_accumulation;    /* a step is one microbatch, even if the source prints another */
    bool sp;
    rk_cp_kind cp_kind;
    rk_rank_order order;
    rk_sharding sharding;
    int64_t shard_ranks; /* of a group that shards; 0: all data-parallel ranks */
    rk_recompute_kind recompute;
    unsigned modules;
    int64_t recompute_every; /* of full recompute: one layer in so many; 0: all */
    rk_precision precision;
    rk_fp8_recipe fp8_recipe;
    bool low_weights, low_activations;
    rk_attention_kernel kernel;
    bool flash_attention, tp_overlap, grad_overlap, param_overlap, moe_overlap;
    bool graph_capture, graph_step;
    unsigned graph_modules; /* 0: all */
    bool offload_activations;
    int64_t offload_layers;
    bool split_by_weight;  /* stages filled as nanotron does */
    bool short_last_stage; /* a layout by hand: fewer layers on the stage of the loss */
    double capacity_factor;
    double imbalance;  /* of experts; 0: none */
    int64_t lora_rank; /* 0: all weights learn */
    unsigned lora_modules;
    rk_state_recipe states;
    double bucket_bytes; /* more per parameter, with data parallelism */
    rk_optimizer optimizer;
    bool foreach_update, step_in_backward, expandable_segments;
    unsigned offloads;    /* bits of RK_OFFLOAD_NAMES */
    double offload_share; /* of the optimizer; 0: all */
    int frozen_type;      /* 1 + rk_frozen_type; 0: as states.weight */
    bool wide_residual;
    double adapter_bytes; /* of a weight of an adapter; 0: as the frozen ones */
    rk_cross_entropy cross_entropy;
    double logit_bytes; /* 0: as for cross_entropy */
    int64_t loss_chunk; /* tokens; 0: an eighth */
    bool adapts_ends;
    double sub_group_params; /* that step at a time; 0: as the stack */
} rk_partial_strategy;

static inline int64_t rk_at_least_1(int64_t value)
{
    return value < 1 ? 1 : value;
}

/* Whether the degrees follow from what is stated; with all states sharded, none is needed. */
bool rk_known_degrees(const rk_partial_strategy *known);

/*
 * The micro-batch where none is stated: 1 in a pipeline, as in most recipes, otherwise the whole
 * batch of a rank.
 */
int64_t rk_known_micro_batch(const rk_partial_strategy *known, const rk_strategy *strategy);

/*
 * The strategy, with the usual choices where none is stated; `layout` holds its layout, if it has
 * one.  Returns false if the stated stages contradict the degrees.
 */
bool rk_known_strategy(const rk_partial_strategy *known, const rk_model *model,
                       rk_strategy *strategy, int16_t layout[RK_KNOWN_STAGES_MAX]);

#endif

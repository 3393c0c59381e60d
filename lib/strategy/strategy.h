/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run is laid over a system: degrees of parallelism, batch, recompute, sharding, precision,
 * overlap; and where the groups of ranks stand.
 *
 * Ranks are numbered with tensor parallelism fastest, then context, then data and pipeline in the
 * strategy's order (expert groups fold over tensor, context and data ranks).
 */
#ifndef RK_STRATEGY_STRATEGY_H
#define RK_STRATEGY_STRATEGY_H

#include "model/model.h"
#include "schedule/schedule.h"
#include "system/system.h"

typedef enum rk_recompute_kind {
    RK_REC_NONE,
    RK_REC_SELECTIVE, /* the modules of rk_strategy.recompute_modules */
    RK_REC_FULL,      /* whole layers: recompute_layers of each stage chunk, 0 = all */
} rk_recompute_kind;

/* Modules of selective recompute, a bit each. */
enum {
    RK_MODULE_CORE_ATTENTION = 1,
    RK_MODULE_NORM = 2,
    RK_MODULE_ACTIVATION = 4, /* SwiGLU or GELU of FFN and experts */
    RK_MODULE_MLA_UP = 8,
    RK_MODULE_MLP = 16,
    RK_MODULE_MOE = 32,
    /* torchtitan's operators: all but attention, messages and every second product of a layer */
    RK_MODULE_OPERATORS = 64,
};

extern const char *const rk_recompute_kind_names[]; /* NULL-terminated, in enum order */
extern const char *const rk_module_names[];         /* likewise, in the order of the bits */

/* Where adapters stand; bits of rk_strategy.adapter_modules. */
enum rk_adapted { RK_ADAPTED_ATTENTION = 1, RK_ADAPTED_FFN = 2 };

extern const char *const rk_adapted_names[]; /* NULL-terminated, in the order of the bits */

typedef enum rk_cp_kind { RK_CP_RING, RK_CP_ALL_GATHER, RK_CP_ULYSSES } rk_cp_kind;

extern const char *const rk_cp_kind_names[]; /* NULL-terminated, in enum order */

/* How ranks are numbered, the fastest first; experts take the place of cp in their layers. */
typedef enum rk_rank_order {
    RK_ORDER_DATA_PIPELINE, /* tp-cp-dp-pp: Megatron-LM's default */
    RK_ORDER_PIPELINE_DATA, /* tp-cp-pp-dp: that of Llama 3 */
} rk_rank_order;
#define RK_ORDER_COUNT 2

extern const char *const rk_rank_order_names[]; /* NULL-terminated, in enum order */

typedef enum rk_sharding {
    RK_SHARD_NONE,      /* plain data parallelism */
    RK_SHARD_OPTIMIZER, /* ZeRO-1, distributed optimizer */
    RK_SHARD_GRADIENTS, /* ZeRO-2 */
    RK_SHARD_ALL,       /* ZeRO-3, FSDP */
} rk_sharding;

/*
 * How the operands of linears in fp8 are scaled, by the names of Transformer Engine.  Linears in
 * fp4 have one recipe, NVFP4: a scale of 8 bits per 16 elements and one per tensor.
 */
typedef enum rk_fp8_recipe {
    RK_FP8_TENSORWISE, /* one scale per tensor, of what it holds now: one more pass over it */
    RK_FP8_DELAYED,    /* one scale per tensor, of what it held in earlier steps */
    RK_FP8_BLOCKWISE,  /* 1x128 of activations and gradients, 128x128 of weights (DeepSeek) */
    RK_FP8_MX,         /* 1x32 along the inner dimension of each GEMM, in 8 bits */
} rk_fp8_recipe;

extern const char *const rk_fp8_recipe_names[]; /* NULL-terminated, in enum order */

/* Bytes per parameter of model states; weights are those that the optimizer writes. */
typedef struct rk_state_recipe {
    double weight, gradient, optimizer; /* e.g. 2, 4, 12 */
    double gather;                      /* bytes of a gathered parameter, 2 or 1 */
    double reduce;                      /* bytes of a reduced gradient, 4 or 2 */
} rk_state_recipe;

typedef struct rk_strategy {
    int64_t tp, cp, pp, vp, dp; /* vp: chunks per rank of the interleaved schedule, else 1 */
    int64_t ep, etp;            /* experts over ep ranks, each over etp */
    bool sp;                    /* sequence parallelism in the tensor group */
    rk_cp_kind cp_kind;
    rk_rank_order order;
    int64_t micro_batch, global_batch; /* sequences */
    int64_t seq;                       /* tokens */
    int64_t document; /* tokens of a document within which attention stays; 0: the sequence */
    rk_schedule_kind schedule;
    rk_recompute_kind recompute;
    unsigned recompute_modules;
    int64_t recompute_layers;
    rk_sharding sharding;
    int64_t
        replicas; /* HSDP: shard groups are dp * cp / replicas, and as much of experts; 1 = all */
    rk_precision precision; /* of the linears */
    rk_fp8_recipe fp8_recipe;
    bool low_weights; /* those of linears in fp8 and fp4 exist so only, but for the optimizer's */
    rk_state_recipe states;
    bool flash_attention;
    bool tp_overlap, grad_overlap, param_overlap, pp_overlap, moe_overlap;
    bool graph_capture; /* kernels of layers are launched as graphs */
    bool graph_step;    /* a graph holds all kernels of a step */
    bool offload_optimizer, offload_activations, offload_weights;
    int64_t first_stage_layers, last_stage_layers; /* of a rank, all chunks; 0: as the rest */
    bool count_embedding, count_head;              /* they take the place of a layer in the split */
    bool mtp_before_head;                          /* MTP is on the stage before the head's */
    const int16_t *layout; /* the caller's: layers of every virtual stage in the model's order */
    int layout_count;      /* stages of it; 0: no layout, layers are shared out */
    /*
     * Fine-tuning by adapters (LoRA): all that the model has is frozen, and the linears of these
     * modules (dense and shared FFNs, not routed experts) learn by two thin matrices of this rank.
     * 0: everything learns.  rk_strategy_freeze sets all three and the bytes of states.
     */
    int64_t adapter_rank;
    unsigned adapter_modules;
    double learning;        /* with adapters: their parameters over those of the model */
    double capacity_factor; /* MoE; 0: dropless */
    double imbalance;       /* most loaded expert rank over the mean, >= 1 */
} rk_strategy;

/* Whether tensors have 32 bits: TF32 rounds operands within the matrix engine only. */
bool rk_is_full(rk_precision precision);

/* A plain bf16 strategy of one accelerator for the model's usual sequence length. */
rk_strategy rk_strategy_defaults(const rk_model *model);

/*
 * Freezes the model but for adapters of a rank (at least 1) on `modules`.  Bytes of gradients and
 * of the optimizer become those of what learns, per parameter of the model; adapters are weights
 * besides.
 */
void rk_strategy_freeze(const rk_model *model, int64_t rank, unsigned modules,
                        rk_strategy *strategy);

/* Share of the parameters that learn: 1 but with adapters. */
double rk_strategy_learning(const rk_strategy *strategy);

/* tp * cp * pp * dp. */
int64_t rk_strategy_ranks(const rk_strategy *strategy);

/* Sequences that one data-parallel replica runs per step over micro_batch. */
int64_t rk_strategy_microbatches(const rk_strategy *strategy);

/* ---- stages -------------------------------------------------------------------------------- */

/* A chunk holds layers first .. first+count-1; the ends of the model on the first and last. */
typedef struct rk_chunk {
    int first, count;
    bool embedding, head; /* head: final norm, output layer, loss, also those of MTP */
    bool mtp;             /* layers and projections of MTP modules */
} rk_chunk;

/* Most chunks of all ranks: a stage has a layer or an end; DualPipe has every stage twice. */
enum { RK_CHUNK_MAX = 2 * (RK_LAYER_MAX + 2) };

/* Chunks of one rank: vp, or 2 for schedules that give both ends of the model to a rank. */
int64_t rk_stage_chunks(const rk_strategy *strategy);

/*
 * The chunks of all ranks of a legal strategy, those of rank r from chunks[r * rk_stage_chunks]
 * on; at most RK_CHUNK_MAX.  Each holds the layers of its stage in the layout where there is one.
 * Otherwise layers are split as Megatron does, with embedding and head counted as layers where the
 * strategy says so; where they do not divide, earlier stages have one more.  ZB-V and DualPipe
 * place the two chunks of a rank at both ends of the model; DualPipe has every stage on two ranks,
 * so every layer is on two ranks.
 */
void rk_strategy_chunks(const rk_model *model, const rk_strategy *strategy, rk_chunk *chunks);

/* Whether `count` chunks each hold the same kinds of blocks as others, so that they cost the same.
 */
bool rk_chunks_alike(const rk_model *model, const rk_chunk *a, const rk_chunk *b, int64_t count);

/*
 * Writes the layout of nanotron: the layers, then the head, each counted by the weights that its
 * products read for a token, go to one stage after the other, which is closed once the sum
 * reaches its share of the whole.  Where the head is as heavy as several layers, the last stages
 * hold none.  stages >= 1.
 */
void rk_strategy_layout_by_weight(const rk_model *model, int64_t stages, int16_t *layout);

/* Layers that a layout has before virtual stage `stage`; of stage layout_count: all. */
int64_t rk_strategy_layout_before(const rk_strategy *strategy, int64_t stage);

/* ---- groups -------------------------------------------------------------------------------- */

typedef enum rk_group_kind {
    RK_GROUP_TENSOR,
    RK_GROUP_CONTEXT,
    RK_GROUP_EXPERT,
    RK_GROUP_EXPERT_TENSOR,
    RK_GROUP_LAYER_COUNT,                 /* those above talk inside layers */
    RK_GROUP_DATA = RK_GROUP_LAYER_COUNT, /* the dp * cp ranks that reduce dense gradients */
    RK_GROUP_SHARD,                       /* of ZeRO or HSDP, within data */
    RK_GROUP_REPLICA,                     /* of shards, within data; of experts the same ranks */
    RK_GROUP_EXPERT_DATA,
    RK_GROUP_EXPERT_SHARD, /* of ZeRO or HSDP, within expert data */
    RK_GROUP_PIPELINE,     /* neighbours */
    RK_GROUP_ENDS,         /* the first and the last rank of a pipeline of two or more */
} rk_group_kind;

/* Where the groups of a kind stand in the tiers of a machine. */
rk_group rk_strategy_group(const rk_system *system, const rk_strategy *strategy,
                           rk_group_kind kind);

#endif

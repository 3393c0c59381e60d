/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that follow from a strategy (reckon/strategy.h), and its stages. */
#ifndef RK_STRATEGY_STRATEGY_H
#define RK_STRATEGY_STRATEGY_H

#include "model/model.h"
#include "schedule/schedule.h"
#include "system/system.h"

/* Names, in the order of the values or of the bits; NULL-terminated. */
extern const char *const rk_recompute_kind_names[], *const rk_module_names[];
extern const char *const rk_adapted_names[], *const rk_cp_kind_names[];
extern const char *const rk_rank_order_names[], *const rk_fp8_recipe_names[];

/* Whether tensors have 32 bits: TF32 rounds operands within the matrix engine only. */
bool rk_is_full(rk_precision precision);

/* Linears in 8 or 4 bits, whose operands are cast from 16. */
bool rk_is_low(rk_precision precision);

/* A plain bf16 strategy of one accelerator for the model's usual sequence length. */
rk_strategy rk_strategy_defaults(const rk_model *model);

/*
 * Freezes the model except for adapters of a rank (at least 1) on `modules`. Bytes of gradients and
 * optimizer then count the trainable parameters only, per parameter of the model; adapters are
 * additional weights.
 */
void rk_strategy_freeze(const rk_model *model, int64_t rank, unsigned modules,
                        rk_strategy *strategy);

/* Tokens of a sequence, or of a document that masks attention. */
int64_t rk_strategy_reach(const rk_strategy *strategy);

/* Share of the parameters that are trained: 1 without adapters. */
double rk_strategy_learning(const rk_strategy *strategy);

/* Whether sequence parallelism has an effect: not in a tensor group of one. */
bool rk_strategy_splits_sequence(int64_t tp, bool wanted);

/* tp * cp * pp * dp. */
int64_t rk_strategy_ranks(const rk_strategy *strategy);

/* Sequences that one data-parallel replica runs per step over micro_batch. */
int64_t rk_strategy_microbatches(const rk_strategy *strategy);

/* ---- stages -------------------------------------------------------------------------------- */

/* A chunk holds layers first .. first+count-1; the ends of the model on the first and last. */
typedef struct rk_chunk {
    int first, count;
    bool embedding, head; /* head: final norm, output layer, loss, also of MTP */
    bool mtp;             /* layers and projections of MTP modules */
} rk_chunk;

/*
 * Limit on the chunks of all ranks: a stage has a layer or an end; DualPipe has every stage twice.
 */
enum { RK_CHUNK_MAX = 2 * (RK_LAYER_MAX + 2) };

/* The name of its schedule: "1f1b". */
const char *rk_strategy_schedule(const rk_strategy *strategy);

/* Chunks of one rank: vp, or 2 for schedules that give both ends of the model to a rank. */
static inline int64_t rk_stage_chunks(const rk_strategy *strategy)
{
    const bool loop = rk_schedules[strategy->schedule]->placement == RK_PLACEMENT_LOOP;
    return loop ? strategy->vp : 2;
}

/*
 * The chunks of all ranks of a legal strategy, rank r's from chunks[r * rk_stage_chunks] on; at
 * most RK_CHUNK_MAX.  With a layout, each holds the layers of its stage there.  Otherwise layers
 * are split as Megatron does, with embedding and head counted as layers where the strategy says so;
 * where they do not divide, earlier stages have one more.  ZB-V and DualPipe place the two chunks
 * of a rank at both ends of the model; DualPipe has every stage on two ranks, so every layer is on
 * two ranks.
 */
void rk_strategy_chunks(const rk_model *model, const rk_strategy *strategy, rk_chunk *chunks);

/* Whether `count` chunks each hold the same kinds of blocks as others, so that they cost the same.
 */
bool rk_chunks_alike(const rk_model *model, const rk_chunk *a, const rk_chunk *b, int64_t count);

/* How many of `count` chunks, from the first on, hold the same kinds of blocks as the first. */
int64_t rk_chunk_run(const rk_model *model, const rk_chunk *chunks, int64_t count);

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

/* How the groups of a kind lie in the tiers of a machine. */
rk_group rk_strategy_group(const rk_system *system, const rk_strategy *strategy,
                           rk_group_kind kind);

#endif

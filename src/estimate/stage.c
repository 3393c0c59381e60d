/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate/stage.h"

#include <string.h>

int64_t rk_stage_chunks(const rk_strategy *strategy)
{
    const bool both_ends =
        strategy->schedule == RK_SCHEDULE_ZB_V || strategy->schedule == RK_SCHEDULE_DUALPIPE;
    return both_ends ? 2 : strategy->vp;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Adds `count` blocks of one cost. */
static void add_blocks(rk_stage *stage, double count, const rk_cost *cost)
{
    rk_times_add(&stage->forward, count, &cost->forward);
    rk_times_add(&stage->backward, count, &cost->backward);
    stage->weight_seconds += count * cost->weight_share * rk_times_sum(&cost->backward);
    stage->flops_forward += count * cost->flops_forward;
    stage->flops_backward += count * cost->flops_backward;
    stage->flops_recompute += count * cost->flops_recompute;
    stage->saved += count * cost->saved;
    stage->dense_params += count * cost->dense_params;
    stage->expert_params += count * cost->expert_params;
    stage->tp_bytes += count * cost->tp_bytes;
    stage->cp_bytes += count * cost->cp_bytes;
    stage->ep_bytes += count * cost->ep_bytes;
}

static void add_layers(rk_stage *stage, int count, const rk_cost *cost)
{
    if (count == 0) {
        return;
    }
    add_blocks(stage, count, cost);
    stage->layers += count;
    stage->unsaved = larger(stage->unsaved, cost->unsaved);
    stage->transient = larger(stage->transient, cost->transient);
    stage->layer_dense_params = larger(stage->layer_dense_params, cost->dense_params);
    stage->layer_expert_params = larger(stage->layer_expert_params, cost->expert_params);
}

/* Layers of a chunk of `count` that are checkpointed whole. */
static int checkpointed(const rk_strategy *strategy, int count)
{
    if (strategy->recompute != RK_REC_FULL) {
        return 0;
    }
    const bool all = strategy->recompute_layers == 0 || strategy->recompute_layers > count;
    return all ? count : (int)strategy->recompute_layers;
}

void rk_stage_add_chunk(const rk_cost_table *table, const rk_strategy *strategy,
                        const rk_chunk *chunk, rk_stage *stage)
{
    const rk_model *model = table->context.model;
    int full[RK_LAYER_TYPE_MAX] = {0}, plain[RK_LAYER_TYPE_MAX] = {0};
    const int whole = checkpointed(strategy, chunk->count);
    for (int i = 0; i < chunk->count; i++) {
        const int type = model->type_of[chunk->first + i];
        if (i < whole) {
            full[type]++;
        } else {
            plain[type]++;
        }
    }
    for (int type = 0; type < model->type_count; type++) {
        add_layers(stage, full[type], &table->layers[type][1]);
        add_layers(stage, plain[type], &table->layers[type][0]);
    }
    if (chunk->embedding) {
        add_blocks(stage, 1, &table->embedding);
        stage->embedding = true;
    }
    if (chunk->head) {
        const int last = model->type_of[model->layers - 1];
        add_blocks(stage, 1 + model->mtp_layers, &table->head);
        add_layers(stage, model->mtp_layers, &table->layers[last][whole > 0]);
        /* MTP runs the shared head again but holds no copy of it. */
        stage->dense_params -= model->mtp_layers * table->head.dense_params;
        stage->logits = table->head.transient;
        stage->head = true;
    }
}

rk_stage rk_stage_of(const rk_cost_table *table, const rk_strategy *strategy, int64_t rank,
                     rk_chunk_times *chunks)
{
    const rk_model *model = table->context.model;
    const int64_t count = rk_stage_chunks(strategy);
    rk_stage stage = {.layers = 0};
    double forward = 0, backward = 0, weight = 0;
    for (int64_t i = 0; i < count; i++) {
        const rk_chunk chunk = rk_strategy_chunk(model, strategy, rank, i);
        rk_stage_add_chunk(table, strategy, &chunk, &stage);
        if (chunks) {
            const double f = rk_times_sum(&stage.forward), b = rk_times_sum(&stage.backward);
            const double w = stage.weight_seconds;
            const bool splits = strategy->schedule >= RK_SCHEDULE_ZB_H1;
            chunks[i] = (rk_chunk_times){
                .forward = f - forward,
                .backward = b - backward - (splits ? w - weight : 0),
                .weight = splits ? w - weight : 0,
            };
            forward = f;
            backward = b;
            weight = w;
        }
    }
    /* A tied head beside the embedding on one rank is the same matrix. */
    if (model->tied && stage.embedding && stage.head) {
        stage.dense_params -= table->head.dense_params;
    }
    return stage;
}

/* ---- memory -------------------------------------------------------------------------------- */

double rk_shard_ranks(const rk_strategy *strategy)
{
    const double ranks = (double)(strategy->dp * strategy->cp);
    return strategy->sharding == RK_SHARD_NONE ? 1 : ranks / (double)strategy->replicas;
}

double rk_expert_shard_ranks(const rk_strategy *strategy)
{
    const double ranks = (double)(strategy->tp * strategy->cp * strategy->dp) /
                         (double)(strategy->ep * strategy->etp);
    return strategy->sharding == RK_SHARD_NONE ? 1 : ranks;
}

/* Bytes of one kind of state: sharded from ZeRO stage `from` on. */
static double state_bytes(const rk_strategy *s, const rk_stage *stage, double per_param,
                          rk_sharding from)
{
    const bool sharded = s->sharding >= from;
    const double dense = stage->dense_params / (sharded ? rk_shard_ranks(s) : 1);
    const double expert = stage->expert_params / (sharded ? rk_expert_shard_ranks(s) : 1);
    return per_param * (dense + expert);
}

/* Parameters gathered for use while they are sharded: the layer at hand and the next. */
static double gathered_bytes(const rk_strategy *s, const rk_stage *stage)
{
    if (s->sharding != RK_SHARD_ALL) {
        return 0;
    }
    const double layer = stage->layer_dense_params + stage->layer_expert_params;
    return layer * (2 * s->states.gather + s->states.reduce);
}

rk_stage_memory rk_stage_memory_of(const rk_cost_table *table, const rk_strategy *s,
                                   const rk_stage *stage, double in_flight)
{
    const rk_stack *stack = table->context.stack;
    const double copies = s->schedule == RK_SCHEDULE_DUALPIPE ? 2 : 1;
    /* Offloaded activations leave two layers' worth behind as buffers. */
    const double layers = stage->layers > 0 ? stage->layers : 1;
    const double kept = s->offload_activations && 2 / layers < in_flight ? 2 / layers : in_flight;
    rk_stage_memory m = {
        .part =
            {
                [RK_MEM_WEIGHTS] =
                    s->offload_weights
                        ? 2 * s->states.weight *
                              (stage->layer_dense_params + stage->layer_expert_params)
                        : copies * state_bytes(s, stage, s->states.weight, RK_SHARD_ALL),
                [RK_MEM_GRADIENTS] =
                    copies * state_bytes(s, stage, s->states.gradient, RK_SHARD_GRADIENTS),
                [RK_MEM_OPTIMIZER] =
                    s->offload_optimizer
                        ? 0
                        : state_bytes(s, stage, s->states.optimizer, RK_SHARD_OPTIMIZER),
                [RK_MEM_ACTIVATIONS] = kept * stage->saved,
                [RK_MEM_RECOMPUTED] = stage->unsaved,
                [RK_MEM_LOGITS] = stage->logits,
                [RK_MEM_TRANSIENT] =
                    stage->transient + gathered_bytes(s, stage) + stack->workspace_bytes,
            },
    };
    for (int i = 0; i < RK_MEM_FRAGMENTATION; i++) {
        m.allocated += m.part[i];
    }
    m.part[RK_MEM_FRAGMENTATION] = stack->fragmentation * m.allocated;
    m.part[RK_MEM_CONTEXT] = stack->context_bytes;
    m.reserved = m.allocated + m.part[RK_MEM_FRAGMENTATION];
    m.total = m.reserved + m.part[RK_MEM_CONTEXT];
    return m;
}

double rk_stage_host_bytes(const rk_strategy *s, const rk_stage *stage, double in_flight)
{
    double bytes = 0;
    if (s->offload_optimizer) {
        bytes += state_bytes(s, stage, s->states.optimizer, RK_SHARD_OPTIMIZER);
    }
    if (s->offload_activations) {
        bytes += in_flight * stage->saved;
    }
    if (s->offload_weights) {
        bytes += state_bytes(s, stage, s->states.weight, RK_SHARD_ALL);
    }
    return bytes;
}

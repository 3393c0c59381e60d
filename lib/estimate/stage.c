/* SPDX-License-Identifier: Apache-2.0 */
/* Pass times, parameters and memory of a pipeline stage, summed over its blocks. */
#include "estimate/stage.h"

#include "base/extremes.h"
#include "estimate/offload.h"
#include "layer/precision.h"
#include "strategy/optimizer.h"

#include <math.h>
#include <string.h>

bool rk_stage_splits(const rk_strategy *strategy)
{
    return rk_schedules[strategy->schedule]->splits;
}

/* ---- what blocks keep ---------------------------------------------------------------------- */

static void keep_orthogonal(rk_orthogonal *sum, double count, const rk_orthogonal *each)
{
    sum->matrices += count * each->matrices;
    sum->seconds += count * each->seconds;
}

static void keep_params(rk_stage *stage, double count, const rk_cost *cost)
{
    stage->dense_params += count * cost->dense_params;
    stage->replicated_params += count * cost->replicated_params;
    stage->outer_params += count * cost->outer_params;
    stage->expert_params += count * cost->expert_params;
    stage->low_dense_params += count * cost->low_dense_params;
    stage->low_expert_params += count * cost->low_expert_params;
    keep_orthogonal(&stage->orthogonal, count, &cost->orthogonal);
    keep_orthogonal(&stage->orthogonal_experts, count, &cost->orthogonal_experts);
}

static void keep_layers(rk_stage *stage, int count, double share, const rk_cost *cost)
{
    if (count == 0) {
        return;
    }
    keep_params(stage, count, cost);
    stage->layers += count;
    stage->saved += count * share * cost->saved;
    stage->late += count * share * cost->late;
    if (cost->unsaved + cost->transient > stage->unsaved + stage->transient) {
        stage->unsaved = cost->unsaved;
        stage->transient = cost->transient;
    }
    stage->wgrad_buffers = rk_max(stage->wgrad_buffers, cost->wgrad_buffers);
    stage->layer_dense_params = rk_max(stage->layer_dense_params, cost->dense_params);
    stage->layer_expert_params = rk_max(stage->layer_expert_params, cost->expert_params);
    stage->layer_low_params =
        rk_max(stage->layer_low_params, cost->low_dense_params + cost->low_expert_params);
    stage->matrix_params = rk_max(stage->matrix_params, cost->matrix_params);
}

/* MTP modules run the head once more each, but hold no copy. */
static void keep_head(rk_stage *stage, const rk_cost_table *table)
{
    const int modules = table->context.model->mtp_layers;
    const rk_cost *head = &table->head;
    keep_params(stage, 1, head);
    stage->head_saved = (1 + modules) * head->saved;
    stage->head_transient = head->transient;
    stage->head_params = head->dense_params;
    stage->outer_params += head->dense_params;
    stage->head = true;
}

static double share_of(const rk_stage_blocks *blocks)
{
    return blocks->halved ? 0.5 : 1;
}

void rk_stage_keep(const rk_cost_table *table, const rk_stage_blocks *blocks, rk_stage *stage)
{
    const rk_model *model = table->context.model;
    const double share = share_of(blocks);
    stage->saved = stage->late = stage->unsaved = stage->transient = stage->wgrad_buffers = 0;
    stage->head_saved = stage->head_transient = stage->head_params = 0;
    stage->dense_params = stage->expert_params = stage->replicated_params = 0;
    stage->low_dense_params = stage->low_expert_params = stage->outer_params = 0;
    stage->orthogonal = stage->orthogonal_experts = (rk_orthogonal){0, 0};
    stage->layer_dense_params = stage->layer_expert_params = stage->layer_low_params = 0;
    stage->matrix_params = 0;
    stage->layers = 0;
    stage->embedding = blocks->embedding;
    stage->head = blocks->head;
    stage->whole_experts = table->context.stack->whole_experts;
    for (int type = 0; type < model->type_count; type++) {
        keep_layers(stage, blocks->layers[type][1], share, &table->layers[type][1]);
        keep_layers(stage, blocks->layers[type][0], share, &table->layers[type][0]);
    }
    if (blocks->embedding) {
        keep_params(stage, 1, &table->embedding);
        stage->outer_params += table->embedding.dense_params;
    }
    if (blocks->head) {
        keep_head(stage, table);
    }
    if (blocks->mtp && model->mtp_layers > 0) {
        keep_params(stage, model->mtp_layers, &table->mtp);
        stage->saved += model->mtp_layers * share * table->mtp.saved;
    }
    /* A tied head on the rank of the embedding is the same matrix. */
    if (model->tied && blocks->embedding && blocks->head) {
        stage->dense_params -= rk_block_table_params(&table->context);
        stage->outer_params -= rk_block_table_params(&table->context);
    }
}

/* ---- costs of blocks ----------------------------------------------------------------------- */

/* Adds the cost of `run` passes of a block. */
typedef void block_runner(void *to, double run, const rk_cost *cost);

static void run_blocks(const rk_cost_table *table, const rk_stage_blocks *blocks,
                       block_runner *runner, void *to)
{
    const rk_model *model = table->context.model;
    const double share = share_of(blocks);
    for (int type = 0; type < model->type_count; type++) {
        for (int full = 1; full >= 0; full--) {
            if (blocks->layers[type][full]) {
                runner(to, blocks->layers[type][full] * share, &table->layers[type][full]);
            }
        }
    }
    if (blocks->embedding) {
        runner(to, share, &table->embedding);
    }
    if (blocks->head) {
        runner(to, (1 + model->mtp_layers) * share, &table->head);
    }
    if (blocks->mtp && model->mtp_layers > 0) {
        runner(to, model->mtp_layers * share, &table->mtp);
    }
}

static void run_whole(void *to, double run, const rk_cost *cost)
{
    rk_stage *stage = to;
    rk_times_add(&stage->forward, run, &cost->forward);
    rk_times_add(&stage->backward, run, &cost->backward);
    stage->apart.sums += run * cost->apart.sums;
    stage->apart.launches += run * cost->apart.launches;
    stage->hidden_forward += run * cost->hidden_forward;
    stage->hidden_backward += run * cost->hidden_backward;
    stage->flops_forward += run * cost->flops_forward;
    stage->flops_backward += run * cost->flops_backward;
    stage->flops_recompute += run * cost->flops_recompute;
    rk_sent_add(&stage->sent, run, &cost->sent_forward);
    rk_sent_add(&stage->sent, run, &cost->sent_backward);
}

static void run_seconds(void *to, double run, const rk_cost *cost)
{
    rk_chunk_times *times = to;
    times->forward += run * cost->forward_seconds;
    times->backward += run * cost->backward_seconds;
}

/* The same, where weight gradients are a pass of their own. */
static void run_apart(void *to, double run, const rk_cost *cost)
{
    rk_chunk_times *times = to;
    const double more = cost->apart.sums + cost->apart.launches;
    times->forward += run * cost->forward_seconds;
    times->backward += run * (cost->backward_seconds + more - cost->weight_seconds);
    times->weight += run * cost->weight_seconds;
}

void rk_stage_run(const rk_cost_table *table, const rk_stage_blocks *blocks, rk_stage *stage)
{
    memset(&stage->forward, 0, sizeof(stage->forward));
    memset(&stage->backward, 0, sizeof(stage->backward));
    stage->apart = (rk_split_backward){0, 0};
    stage->hidden_forward = stage->hidden_backward = 0;
    stage->flops_forward = stage->flops_backward = stage->flops_recompute = 0;
    stage->sent = (rk_sent_bytes){0, 0, 0};
    run_blocks(table, blocks, run_whole, stage);
}

double rk_stage_backward(const rk_strategy *strategy, const rk_stage *stage)
{
    const double apart = stage->apart.sums + stage->apart.launches;
    return rk_times_sum(&stage->backward) + (rk_stage_splits(strategy) ? apart : 0);
}

double rk_stage_seconds(const rk_cost_table *table, const rk_stage_blocks *blocks)
{
    rk_chunk_times times = {0, 0, 0};
    run_blocks(table, blocks, run_seconds, &times);
    return times.forward + times.backward;
}

rk_stage rk_stage_of(const rk_cost_table *table, const rk_strategy *strategy,
                     const rk_chunk *chunks)
{
    const rk_stage_blocks blocks = rk_stage_blocks_of(table->context.model, strategy, chunks);
    rk_stage stage;
    rk_stage_keep(table, &blocks, &stage);
    rk_stage_run(table, &blocks, &stage);
    return stage;
}

rk_chunk_times rk_chunk_times_of(const rk_cost_table *table, const rk_stage_blocks *blocks,
                                 bool splits)
{
    rk_chunk_times times = {0, 0, 0};
    run_blocks(table, blocks, splits ? run_apart : run_seconds, &times);
    return times;
}

static void run_hidden(void *to, double run, const rk_cost *cost)
{
    rk_chunk_times *hidden = to;
    hidden->forward += run * cost->hidden_forward;
    hidden->backward += run * cost->hidden_backward;
}

rk_chunk_times rk_chunk_hidden_of(const rk_cost_table *table, const rk_stage_blocks *blocks)
{
    rk_chunk_times hidden = {0, 0, 0};
    if (table->context.strategy->moe_overlap) {
        run_blocks(table, blocks, run_hidden, &hidden);
    }
    return hidden;
}

double rk_alone_share(const rk_strategy *strategy)
{
    const int64_t m = rk_strategy_microbatches(strategy);
    return strategy->moe_overlap ? rk_pipeline_in_flight(strategy->schedule, strategy->pp,
                                                         rk_stage_chunks(strategy), m, 0) /
                                       (double)m
                                 : 0;
}

void rk_add_alone(rk_chunk_times *times, double share, const rk_chunk_times *hidden)
{
    times->forward += share * hidden->forward;
    times->backward += share * hidden->backward;
}

/* ---- states -------------------------------------------------------------------------------- */

double rk_shard_ranks(const rk_strategy *strategy)
{
    const double ranks = (double)(strategy->dp * strategy->cp);
    return strategy->sharding == RK_SHARD_NONE ? 1 : ranks / (double)strategy->replicas;
}

double rk_expert_shard_ranks(const rk_strategy *strategy, const rk_stage *stage)
{
    const double ranks = (double)(strategy->tp * strategy->cp * strategy->dp) /
                         (double)(strategy->ep * strategy->etp);
    return strategy->sharding == RK_SHARD_NONE || stage->whole_experts
               ? 1
               : ranks / (double)strategy->replicas;
}

/* Parameters that a rank keeps where they are whole and where they are sharded. */
struct kept {
    double whole, sharded;
    double low, low_sharded; /* of linears in 8 or 4 bits */
    double outer, outer_sharded;
};

static struct kept kept_of(const rk_strategy *s, const rk_stage *stage)
{
    const double experts = stage->expert_params;
    const double low = stage->low_dense_params + stage->low_expert_params;
    struct kept kept = {
        .whole = stage->dense_params + experts,
        .low = low,
        .outer = stage->outer_params,
    };
    kept.sharded = kept.whole;
    kept.low_sharded = low;
    kept.outer_sharded = kept.outer;
    if (s->sharding != RK_SHARD_NONE) {
        const double ranks = rk_shard_ranks(s),
                     of_experts = experts > 0 ? rk_expert_shard_ranks(s, stage) : 1;
        kept.sharded = stage->dense_params / ranks + experts / of_experts;
        kept.low_sharded =
            low > 0 ? stage->low_dense_params / ranks + stage->low_expert_params / of_experts : 0;
        kept.outer_sharded = stage->outer_params / ranks;
    }
    return kept;
}

/* Those of a kind of state that is sharded from ZeRO stage `from` on. */
static double kept_from(const rk_strategy *s, const struct kept *kept, rk_sharding from)
{
    return s->sharding >= from ? kept->sharded : kept->whole;
}

/* Bytes of adapters in a parameter's share of the weights (rk_strategy_freeze). */
static double adapter_bytes(const rk_strategy *s)
{
    const double shared = s->states.weight * s->learning / (1 + s->learning);
    return s->adapter_rank == 0   ? 0
           : s->adapter_bytes > 0 ? s->learning * s->adapter_bytes
                                  : shared;
}

double rk_stored_bytes(const rk_strategy *s, double params, double low)
{
    if (!s->low_weights) {
        return s->states.weight * params;
    }
    const double each = rk_low_weight_bytes(s) + adapter_bytes(s);
    const double wide = s->states.weight + (s->wide_residual ? rk_activation_bytes(s) : 0);
    return wide * (params - low) + each * low;
}

double rk_gathered_bytes(const rk_strategy *s, double params, double low)
{
    return s->states.gather * (params - low) + rk_low_gather_bytes(s) * low;
}

/*
 * Copies of weights in low precision that stay in addition to the stored weights: all that the
 * GEMMs read, except a stored one.  Fully sharded weights are copied a layer at a time.
 */
static double extra_copies(const rk_cost_table *table, const rk_strategy *s)
{
    const rk_accelerator *a = &table->context.system->accelerator;
    return rk_low_weight_copies(s, a) - (s->low_weights ? 1 : 0);
}

/* Weights as a rank stores them, on the device or on the host: its shards of fully sharded ones. */
static double stored_weights(const rk_strategy *s, const struct kept *kept)
{
    const bool sharded = s->sharding == RK_SHARD_ALL;
    return rk_stored_bytes(s, sharded ? kept->sharded : kept->whole,
                           sharded ? kept->low_sharded : kept->low);
}

/*
 * ZeRO-2 with a copy of the weights in the type that is gathered: the copy is whole, the weights
 * that the optimizer updates are sharded with its states (FSDP2 that does not reshard).
 */
static double gathered_weights(const rk_strategy *s, const struct kept *kept)
{
    return rk_gathered_bytes(s, kept->whole, kept->low) +
           rk_stored_bytes(s, kept->sharded, kept->low_sharded);
}

/* Of these copies, those that are made for the layer at hand and not kept. */
static double passing_copies(const rk_cost_table *table, const rk_strategy *s)
{
    const rk_block_context *c = &table->context;
    const double again = rk_transposes_again(s, &c->system->accelerator, c->stack) ? 1 : 0;
    return s->sharding == RK_SHARD_ALL ? extra_copies(table, s) : again;
}

static double kept_weights(const rk_cost_table *table, const rk_strategy *s,
                           const struct kept *kept)
{
    const bool fsdp = table->context.stack->scatters_last || s->states.gather < s->states.weight;
    const bool copied = s->sharding == RK_SHARD_GRADIENTS && fsdp;
    const double stored = copied ? gathered_weights(s, kept) : stored_weights(s, kept);
    const double copies = kept->low > 0 ? extra_copies(table, s) - passing_copies(table, s) : 0;
    return copies > 0 ? stored + copies * rk_low_weight_bytes(s) * kept->low : stored;
}

double rk_stage_stored_weights(const rk_strategy *strategy, const rk_stage *stage)
{
    const struct kept kept = kept_of(strategy, stage);
    return stored_weights(strategy, &kept);
}

/* How many layers' weights are loaded or gathered at once: that at hand, and the next. */
static double layers_at_hand(const rk_stage *stage)
{
    return stage->layers < 2 ? stage->layers : 2;
}

/* Offloaded weights: two layers are on the device, as shards if fully sharded. */
static double loaded_weights(const rk_strategy *s, const rk_stage *stage)
{
    const double dense = stage->layer_dense_params, expert = stage->layer_expert_params;
    const double whole = dense + expert;
    if (s->sharding != RK_SHARD_ALL || whole <= 0) {
        return layers_at_hand(stage) * rk_stored_bytes(s, whole, stage->layer_low_params);
    }
    const double sharded = dense / rk_shard_ranks(s) + expert / rk_expert_shard_ranks(s, stage);
    return layers_at_hand(stage) *
           rk_stored_bytes(s, sharded, stage->layer_low_params * sharded / whole);
}

/* Two ranks that hold the same stages share their optimizer states. */
static double optimized_params(const rk_strategy *s, const struct kept *kept)
{
    const double params = kept_from(s, kept, RK_SHARD_OPTIMIZER);
    return params / rk_schedule_copies(s->schedule);
}

static double optimizer_bytes(const rk_strategy *s, const struct kept *kept)
{
    const double outer = s->sharding >= RK_SHARD_OPTIMIZER ? kept->outer_sharded : kept->outer;
    return s->states.optimizer * optimized_params(s, kept) +
           s->outer_states * outer / rk_schedule_copies(s->schedule);
}

double rk_stage_optimizer_bytes(const rk_strategy *strategy, const rk_stage *stage)
{
    const struct kept kept = kept_of(strategy, stage);
    return optimizer_bytes(strategy, &kept);
}

double rk_stage_optimized_params(const rk_strategy *strategy, const rk_stage *stage)
{
    const struct kept kept = kept_of(strategy, stage);
    return optimized_params(strategy, &kept);
}

bool rk_stages_gradients(const rk_stack *stack, rk_sharding sharding)
{
    return sharding == RK_SHARD_GRADIENTS || (sharding == RK_SHARD_ALL && stack->scatters_last);
}

rk_gradient_runs rk_stage_gradient_runs(const rk_stack *stack, const rk_strategy *strategy)
{
    const bool staged = rk_stages_gradients(stack, strategy->sharding);
    const bool sums =
        strategy->pp > 1 ? staged : stack->sums_whole && strategy->sharding >= RK_SHARD_GRADIENTS;
    const double m = sums ? (double)rk_strategy_microbatches(strategy) : 1;
    if (!sums || (strategy->pp == 1 && m <= 1)) {
        return (rk_gradient_runs){.scatters = 0};
    }
    const bool runs = rk_schedules[strategy->schedule]->runs;
    const double chunks = runs ? (double)rk_stage_chunks(strategy) : 1;
    const double run = runs ? rk_min((double)strategy->pp, m) : m;
    const double scatters = stack->scatters_last ? 1 : ceil(m / run);
    /* the chunk of the first backward, and where runs go on, the one that is being scattered */
    const double open = run >= m ? 1 : stack->scatters_last ? chunks : 2;
    return (rk_gradient_runs){
        .scatters = scatters,
        .microbatches = run,
        .chunks = chunks,
        .open = rk_min(open, chunks) / chunks,
    };
}

double rk_stage_gradient_bytes(const rk_stack *stack, const rk_strategy *s, const rk_stage *stage,
                               double shards)
{
    const rk_gradient_runs runs = rk_stage_gradient_runs(stack, s);
    const double here = s->step_in_backward ? 0 : s->offload_gradients ? 1 - rk_away_share(s) : 1;
    const double whole = stage->dense_params + stage->expert_params;
    const double layer = stage->layer_dense_params + stage->layer_expert_params;
    if (runs.scatters <= 0) {
        return here * shards;
    }
    const double summed = s->states.reduce * rk_max(runs.open * whole, layer);
    return here * (runs.open < 1 ? shards + summed : rk_max(shards, summed));
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Bytes of a hidden state that is not split over the tensor group. */
static double whole_sequence(const rk_block_context *c)
{
    return c->element * c->tokens * (double)c->model->hidden;
}

/*
 * What an optimizer that steps matrix by matrix makes of a rank's part of the largest: of weights
 * in 16 bits without a master copy, casts of these and of their gradients as well.
 */
static double matrix_bytes(const rk_block_context *c, const rk_strategy *s, const rk_stage *stage)
{
    const bool outer = stage->embedding || stage->head;
    const double table = outer ? rk_block_table_params(c) : 0;
    const bool casts = s->states.weight < RK_FP32_BYTES && s->states.optimizer < RK_FP32_BYTES;
    const double each = rk_optimizer_of(s)->matrix_temporaries + (casts ? 2 * RK_FP32_BYTES : 0);
    return each * rk_max(stage->matrix_params, table) / rk_shard_ranks(s);
}

/*
 * Temporaries of the update.  PyTorch's optimizers step all tensors together (foreach), with
 * results as large as the weights; in an engine that casts a group to fp32, as large as these.
 */
static double update_bytes(const rk_block_context *c, const rk_strategy *s, const rk_stage *stage,
                           const struct kept *kept)
{
    const rk_stack *stack = c->stack;
    const double learning = rk_strategy_learning(s);
    const double of_stack = learning * stack->optimizer_temporary * kept->whole;
    const double here = 1 - rk_away_share(s);
    if (s->step_in_backward || here <= 0) {
        return of_stack;
    }
    const bool master =
        stack->step_bytes > 0 && (s->adapter_rank > 0 || s->states.optimizer > 2 * RK_FP32_BYTES);
    const double each = s->adapter_rank > 0 ? adapter_bytes(s)
                        : master            ? RK_FP32_BYTES
                                            : s->states.weight;
    const double cast = rk_max(stack->step_bytes - (master ? 0 : RK_FP32_BYTES), 0);
    const double shard = here * optimized_params(s, kept);
    const double wanted = s->step_params > 0 ? s->step_params : stack->step_params;
    const double group = s->sharding == RK_SHARD_ALL && wanted > 0 ? rk_min(shard, wanted) : shard;
    const bool by_matrix = rk_optimizer_of(s)->matrix_temporaries > 0;
    return of_stack + learning * cast * group +
           (by_matrix           ? learning * matrix_bytes(c, s, stage)
            : s->foreach_update ? each * (master ? group : shard)
                                : 0);
}

/* Whole gradients on the device while an optimizer on the host or in backward consumes them. */
static void fill_passing_gradients(const rk_block_context *c, const rk_strategy *s,
                                   const rk_stage *stage, rk_stage_need *need)
{
    const double each = s->states.reduce;
    if ((s->step_in_backward || s->offload_gradients) && s->sharding < RK_SHARD_GRADIENTS) {
        need->layer += each * stage->matrix_params;
        need->head += each * stage->head_params;
        need->last = stage->embedding ? each * rk_block_table_params(c) : 0;
    }
}

/*
 * Gradients of their inputs that sharded layers of frozen weights keep: hooks on them reshard the
 * weights, and hold them until backward ends; the first and the last layer have none.
 */
static double kept_inputs(const rk_block_context *c, const rk_strategy *s, const rk_stage *stage)
{
    if (s->adapter_rank == 0 || s->sharding != RK_SHARD_ALL || c->stack->frozen_inputs <= 0) {
        return 0;
    }
    const double input =
        c->residual * c->local_tokens * (double)(rk_model_streams(c->model) * c->model->hidden);
    return c->stack->frozen_inputs * rk_max(stage->layers - 2, 0) * input;
}

/* The unit that fully sharded ranks gather at once, a matrix or a layer, and its parameters. */
struct at_hand {
    bool tensors;
    double params, low_params;
};

/* Parameters of the embedding and the head of a stage, a tied table once. */
static double end_params(const rk_block_context *c, const rk_stage *stage)
{
    const double embedding = stage->embedding ? rk_block_table_params(c) : 0;
    const bool shared = stage->embedding && stage->head && c->model->tied;
    return shared ? embedding : embedding + stage->head_params;
}

/* Adds the parameters that are gathered for a layer and for the head. */
static void add_gathered(const rk_block_context *c, const rk_strategy *s, const rk_stage *stage,
                         const struct kept *kept, struct at_hand at_hand, rk_stage_need *need)
{
    /* parameters in use: of the layer or matrix at hand and the next, or of the head */
    const rk_stack *stack = c->stack;
    const double live = s->states.gather * rk_min(stack->live_params, kept->whole);
    const double count = at_hand.tensors ? 2 : stack->keeps_root ? 1 : layers_at_hand(stage);
    need->layer += rk_max(count * rk_gathered_bytes(s, at_hand.params, at_hand.low_params), live);
    /* tensor by tensor, the head is read for the gradients of its inputs before its own */
    const double each =
        at_hand.tensors ? rk_max(s->states.gather, s->states.reduce) : s->states.gather;
    need->head += stage->head ? rk_max(stage->head_params * each, live) : 0;
    if (stack->keeps_root) {
        const double ends = end_params(c, stage);
        need->layer += ends * s->states.gather;
        need->head += rk_max(ends - stage->head_params, 0) * s->states.gather;
        /* the unit of both is the last whose gradients are scattered, after all layers */
        need->last = ends * (s->states.gather + rk_strategy_learning(s) * s->states.reduce);
    }
}

/*
 * Blocks of FSDP2 that wait for their next use on streams of their own: what was gathered of the
 * ends and of three layers (one to come, one that runs, one that has run), gradients that were
 * freed, and the place of 16-bit logits into which copies of theirs in fp32 do not fit.
 */
static double stream_pools(const rk_block_context *c, const rk_strategy *s, const rk_stage *stage,
                           double freed)
{
    const double layer = stage->layer_dense_params + stage->layer_expert_params;
    const double logits = c->element * c->tokens * c->vocab / (double)s->tp;
    return s->states.gather * end_params(c, stage) + freed +
           rk_min(3, stage->layers) * rk_gathered_bytes(s, layer, stage->layer_low_params) +
           (stage->head && rk_loss_freed(c) > logits ? logits : 0);
}

/* Of gradients that were freed, the embedding's is made last; a tied one has the output layer's. */
static double unmade_gradients(const rk_block_context *c, const rk_strategy *s,
                               const rk_stage *stage)
{
    const bool own = stage->embedding && !(stage->head && c->model->tied);
    const double ranks = s->sharding >= RK_SHARD_GRADIENTS ? rk_shard_ranks(s) : 1;
    return own && s->adapter_rank == 0 ? s->states.gradient * rk_block_table_params(c) / ranks : 0;
}

/* Fills the temporaries of the moments at which memory may be fullest. */
static void fill_moments(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage,
                         const struct kept *kept, rk_stage_need *need)
{
    const rk_block_context *c = &table->context;
    const rk_stack *stack = c->stack;
    const double buffers = s->tp > 1 ? stack->gathered_buffers * whole_sequence(c) : 0;
    const bool stale =
        stage->head && stack->stale_logit_bytes > 0 && rk_strategy_microbatches(s) > 1;
    const double losses =
        rk_schedules[s->schedule]->losses_first ? (double)rk_strategy_microbatches(s) : 1;
    need->always = stack->workspace_bytes + stage->wgrad_buffers + buffers;
    if (stack->bucket_memory > 0 && s->sharding > RK_SHARD_NONE) {
        need->always +=
            rk_min(stack->bucket_memory, rk_strategy_learning(s) * s->states.reduce * kept->whole);
    }
    need->unsaved = stage->unsaved;
    need->layer = stage->transient + kept_inputs(c, s, stage);
    /* the gradient of a chunk of the loss is next to the sum of the previous chunks */
    const double chunked = s->cross_entropy == RK_CROSS_ENTROPY_CHUNKED ? s->states.reduce : 0;
    need->head = losses * stage->head_saved + stage->head_transient +
                 (stale ? stack->stale_logit_bytes * (c->tokens * c->vocab / (double)s->tp) : 0) +
                 rk_strategy_learning(s) * chunked * stage->head_params;
    need->update = update_bytes(c, s, stage, kept);
    const bool tensors = stack->gathers_tensors && s->sharding == RK_SHARD_ALL;
    const double layer =
        tensors ? stage->matrix_params : stage->layer_dense_params + stage->layer_expert_params;
    const double low = tensors ? rk_min(stage->layer_low_params, layer) : stage->layer_low_params;
    if (s->sharding >= RK_SHARD_GRADIENTS && rk_stage_gradient_runs(stack, s).scatters <= 0) {
        /* gradients are whole until they are scattered: of the layer or matrix at hand, or of the
         * head, when no more than their gradient is left of the logits */
        need->layer += layer * s->states.reduce;
        need->head += tensors || !stage->head
                          ? 0
                          : rk_max(stage->head_params * s->states.reduce - rk_loss_freed(c), 0);
    }
    if (s->sharding == RK_SHARD_ALL) {
        add_gathered(c, s, stage, kept, (struct at_hand){tensors, layer, low}, need);
    }
    need->layer += low > 0 ? passing_copies(table, s) * rk_low_weight_bytes(s) * low : 0;
    fill_passing_gradients(c, s, stage, need);
}

double rk_offloaded_share(const rk_model *model, const rk_strategy *s)
{
    const double layers = (double)s->offload_layers / model->layers;
    return !s->offload_activations ? 0 : layers > 0 ? rk_min(layers, 1) : 1;
}

/*
 * Tensors that collectives on streams of their own still read are free only when the device gets
 * there, while the host runs ahead; with a pipeline, they never are (the same page).
 */
static void fill_activations(const rk_block_context *c, const rk_strategy *s, const rk_stage *stage,
                             rk_stage_need *need)
{
    /* Offloaded activations leave two layers' worth behind as buffers. */
    const double buffers = stage->layers > 2 ? 2.0 / stage->layers : 1;
    need->offloaded = rk_offloaded_share(c->model, s);
    need->most = buffers;
    need->live = c->stack->activation_share;
    need->saved = stage->saved;
    need->late = s->pp == 1 ? stage->late : 0;
    need->ahead = s->tp > 1 && s->pp == 1 ? c->stack->late_buffers * whole_sequence(c) : 0;
    const double message =
        c->element * c->local_tokens * (double)(rk_model_streams(c->model) * c->model->hidden);
    need->ends = s->pp > 1 ? c->stack->stage_tensors * message : 0;
}

/* Fills the bytes off the device. */
static void fill_host(const rk_stack *stack, const rk_strategy *s, const rk_stage *stage,
                      const struct kept *kept, rk_stage_need *need)
{
    const double share = rk_away_share(s);
    const double gradient = s->offload_gradients ? share * rk_host_gradient_bytes(stack, s) : 0;
    const rk_offloaded_states away = {
        .optimizer = share * optimizer_bytes(s, kept),
        .gradients = gradient * kept_from(s, kept, RK_SHARD_GRADIENTS),
        .weights = s->offload_weights ? stored_weights(s, kept) : 0,
        .stepped = share * optimized_params(s, kept),
    };
    need->host_saved = s->offload_activations ? need->offloaded * stage->saved : 0;
    rk_place_away(stack, s, &away, need);
}

/*
 * Embedding and output layer that learn with adapters, as copies in the type of the frozen ones:
 * weight, gradient and two moments of 2 bytes each, and as much again while all tensors step.
 */
static void add_ends(const rk_strategy *s, const struct kept *kept, rk_stage_need *need)
{
    const bool sharded = s->sharding == RK_SHARD_ALL;
    const double params = rk_activation_bytes(s) * (sharded ? kept->outer_sharded : kept->outer);
    need->weights += params;
    need->gradients += params;
    need->shards += params;
    need->optimizer += 2 * params;
    need->update += s->foreach_update ? params : 0;
}

/* [assumption] Share of fragments that expandable segments leave: docs/method/memory.md. */
static const double expandable_fragments = 0.3;

rk_stage_need rk_stage_need_of(const rk_cost_table *table, const rk_strategy *s,
                               const rk_stage *stage)
{
    const rk_stack *stack = table->context.stack;
    const struct kept kept = kept_of(s, stage);
    const double states = optimizer_bytes(s, &kept);
    const double shards = s->states.gradient * kept_from(s, &kept, RK_SHARD_GRADIENTS);
    const double fragments = s->expandable_segments ? expandable_fragments : 1;
    rk_stage_need need = {
        .weights = s->offload_weights ? loaded_weights(s, stage) : kept_weights(table, s, &kept),
        .shards = shards,
        .gradients = rk_stage_gradient_bytes(stack, s, stage, shards),
        .optimizer = (1 - rk_away_share(s)) * states,
        .fragmentation = fragments * stack->fragmentation,
        .stage_fragmentation = s->pp > 1 ? fragments * stack->stage_fragmentation : 0,
        .context = stack->context_bytes,
    };
    need.context += rk_strategy_ranks(s) > 1 ? stack->communicator_bytes : 0;
    if (stack->frees_gradients && rk_strategy_microbatches(s) == 1) {
        need.later = need.gradients;
        need.unmade = unmade_gradients(&table->context, s, stage);
    }
    fill_activations(&table->context, s, stage, &need);
    fill_moments(table, s, stage, &kept, &need);
    fill_host(stack, s, stage, &kept, &need);
    if ((stack->separate_blocks || stack->stale_logits > 0) && !s->expandable_segments) {
        const double least =
            rk_min(need.unsaved + need.layer, stage->head_saved + stage->head_transient);
        need.cached =
            (stack->separate_blocks ? least : 0) + stack->stale_logits * stage->head_saved;
    }
    if (stack->stream_pools && s->sharding == RK_SHARD_ALL) {
        need.cached += stream_pools(&table->context, s, stage, need.later);
    }
    if (s->adapts_ends && s->adapter_rank > 0) {
        add_ends(s, &kept, &need);
    }
    return need;
}

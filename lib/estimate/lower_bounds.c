/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of makespan, step time and memory from the whole model as one stage. */
#include "estimate/lower_bounds.h"

#include "base/extremes.h"
#include "estimate/step_overheads.h"

#include <assert.h>
#include <math.h>

rk_stage_blocks rk_whole_blocks(const rk_model *model, const rk_strategy *strategy)
{
    rk_strategy s = *strategy;
    rk_chunk chunk;
    s.pp = s.vp = 1;
    s.schedule = rk_schedule_usual(1);
    s.recompute = RK_REC_NONE;
    s.first_stage_layers = s.last_stage_layers = 0;
    s.count_embedding = s.count_head = false;
    s.layout_count = 0;
    rk_strategy_chunks(model, &s, &chunk);
    return rk_chunk_blocks_of(model, &s, &chunk);
}

/* Makes the type of layers that holds most parameters the layer of a stage that holds `blocks`. */
static void keep_usual_layers(const rk_cost_table *table, const rk_stage_blocks *blocks,
                              rk_stage *stage)
{
    double most = 0;
    stage->layers = 0;
    for (int type = 0; type < table->context.model->type_count; type++) {
        const rk_cost *cost = &table->layers[type][0];
        const int count = blocks->layers[type][0];
        const double params = count * (cost->dense_params + cost->expert_params);
        if (params > most) {
            most = params;
            stage->layers = count;
            stage->layer_dense_params = cost->dense_params;
            stage->layer_expert_params = cost->expert_params;
            stage->matrix_params = cost->matrix_params;
        }
    }
}

rk_stage rk_whole_model(const rk_cost_table *table, const rk_stage_blocks *whole)
{
    rk_stage stage = {.layers = 0}; /* without times */
    rk_stage_keep(table, whole, &stage);
    keep_usual_layers(table, whole, &stage);
    return stage;
}

double rk_whole_seconds(const rk_cost_table *table, const rk_stage_blocks *whole, int *experts)
{
    const rk_model *model = table->context.model;
    *experts = 0;
    for (int i = 0; i < model->type_count; i++) {
        *experts += rk_layer_is_moe(&model->types[i]) ? whole->layers[i][0] : 0;
    }
    return rk_stage_seconds(table, whole);
}

/*
 * Seconds of the passes of one layer, which waits for what it gathers and scatters: the least of
 * both kinds of backward, in one part and in two.
 */
static double gathering_layer(const rk_cost_table *table, const rk_strategy *strategy, int type)
{
    static const rk_schedule_kind kinds[] = {RK_SCHEDULE_1F1B, RK_SCHEDULE_ZB_H1};
    rk_strategy s = *strategy;
    rk_stage_blocks blocks = {.embedding = false};
    rk_stage stage;
    double least = (double)INFINITY;
    blocks.layers[type][0] = 1;
    rk_stage_keep(table, &blocks, &stage);
    const rk_dp_traffic data = rk_piece_traffic(table, &s, &stage);
    for (int splits = 0; splits < 2; splits++) {
        s.schedule = kinds[splits];
        rk_chunk_times passes = rk_chunk_times_of(table, &blocks, rk_stage_splits(&s));
        const rk_pass_traffic traffic = rk_pass_traffic_of(table, &s, &stage, &passes, &data);
        rk_lengthen_passes(&passes, &traffic);
        least = rk_min(least, passes.forward + passes.backward + passes.weight);
    }
    return least;
}

/*
 * Seconds of passes that take `pass` in all with `traffic`, whatever chunks they are divided among:
 * both are no more than what a chunk takes, see visible(), and are linear.
 */
static double least_passes(const rk_stack *stack, double pass, double traffic)
{
    const double seen = rk_min(stack->dp_exposed + stack->contention, 1);
    return rk_max(pass + seen * traffic, traffic + rk_min(stack->contention, 1) * pass);
}

/* Whether the time of collectives is modelled: bytes then take no longer in a larger message. */
static bool models_collectives(const rk_system *system)
{
    bool fitted = system->accelerator.measured != NULL;
    for (int i = 0; i < system->tier_count; i++) {
        fitted = fitted || system->tiers[i].fits[RK_COLL_ALL_GATHER].share > 0 ||
                 system->tiers[i].fits[RK_COLL_REDUCE_SCATTER].share > 0 ||
                 system->tiers[i].fits[RK_COLL_ALL_REDUCE].share > 0;
    }
    return !fitted;
}

/*
 * The number of equal messages in which all parameters of `stage`, which holds `blocks`, take no
 * longer than in the messages of any chunks: none has more than a largest layer and what is no
 * layer.
 */
static int fewest_messages(const rk_cost_table *table, const rk_stage_blocks *blocks,
                           const rk_stage *stage)
{
    double dense = 0, experts = 0; /* of the largest layers */
    double other_dense = stage->dense_params, other_experts = stage->expert_params;
    for (int type = 0; type < table->context.model->type_count; type++) {
        const rk_cost *cost = &table->layers[type][0];
        dense = rk_max(dense, cost->dense_params);
        experts = rk_max(experts, cost->expert_params);
        other_dense -= blocks->layers[type][0] * cost->dense_params;
        other_experts -= blocks->layers[type][0] * cost->expert_params;
    }
    const double most = dense + rk_max(other_dense, 0);
    const double most_experts = experts + rk_max(other_experts, 0);
    const double count =
        rk_min(stage->dense_params / most,
               most_experts > 0 ? stage->expert_params / most_experts : (double)INFINITY);
    return count > 1 ? (int)count : 1;
}

rk_gathering rk_gathering_of(const rk_cost_table *table, const rk_stage_blocks *whole)
{
    rk_gathering gathering = {.blocks = *whole};
    rk_stage *stage = &gathering.stage;
    rk_stage_keep(table, whole, stage);
    if (models_collectives(table->context.system) &&
        !(stage->low_dense_params > 0 || stage->low_expert_params > 0) && stage->dense_params > 0) {
        gathering.messages = fewest_messages(table, whole, stage);
        stage->layers = gathering.messages;
        gathering.one = rk_chunk_times_of(table, whole, false);
        gathering.apart = rk_chunk_times_of(table, whole, true);
    }
    return gathering;
}

/*
 * Seconds of the passes of all chunks together, which wait for what they gather and scatter: the
 * least of both kinds of backward.
 */
static double gathering_chunks(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_gathering *gathering)
{
    static const rk_schedule_kind kinds[] = {RK_SCHEDULE_1F1B, RK_SCHEDULE_ZB_H1};
    const rk_stack *stack = table->context.stack;
    rk_strategy s = *strategy;
    double least = (double)INFINITY;
    const rk_dp_traffic data = rk_piece_traffic(table, &s, &gathering->stage);
    const double gather = gathering->messages * data.gather;
    for (int splits = 0; splits < 2; splits++) {
        s.schedule = kinds[splits];
        assert(rk_stage_splits(&s) == (splits == 1));
        const rk_chunk_times *passes = splits ? &gathering->apart : &gathering->one;
        const double reduce =
            rk_stage_gradient_runs(stack, &s).scatters > 0 ? 0 : gathering->messages * data.reduce;
        const double forward = least_passes(stack, passes->forward, gather);
        const double backward =
            splits ? least_passes(stack, passes->backward, gather) +
                         least_passes(stack, passes->weight, reduce)
                   : least_passes(stack, passes->backward, gather + reduce) + passes->weight;
        least = rk_min(least, forward + backward);
    }
    return least;
}

/* Whether replicas of shards divide the copies of parameters and of experts, as in any strategy. */
static bool replicas_divide(const rk_strategy *s)
{
    const int64_t copies = s->dp * s->cp;
    return copies % s->replicas == 0 && s->tp * copies / (s->ep * s->etp) % s->replicas == 0;
}

/*
 * Some rank has the mean number of layers or more, each no faster than the fastest type.  A longer
 * pass hides at most as much more of the traffic as it is longer, and no more parameters than a
 * layer's make its messages shorter: embedding, head, recomputation and other layers only add.
 * And some rank has the mean of what all chunks take, or more.
 */
double rk_least_gathering_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                                  const rk_gathering *gathering)
{
    const rk_model *model = table->context.model;
    rk_strategy s = *strategy;
    double least = (double)INFINITY, layers = 0;
    assert(s.sharding == RK_SHARD_ALL);
    if (table->context.stack->gathers_tensors) {
        return 0;
    }
    if (!replicas_divide(&s)) {
        return (double)INFINITY;
    }
    s.offload_activations = s.offload_weights = false;
    if (gathering->messages > 0) {
        return gathering_chunks(table, &s, gathering) / (double)s.pp;
    }
    for (int type = 0; type < model->type_count; type++) {
        layers += gathering->blocks.layers[type][0];
        least = rk_min(least, gathering_layer(table, &s, type));
    }
    return least * layers / (double)s.pp;
}

/*
 * Whether overlapped messages certainly add less than messages that hold their sender would.  With
 * interleaving a rank sends 2 v - 1 or 2 v times per microbatch, and of its wait the messages that
 * it sends meanwhile hide p before the run of its steps and p after it, see bound() of interleaved;
 * from m = p on its bound is that of a rank:
 *
 *     2 m v e + 2 (p - 1)  <=  m (2 v - 1) - 2 p        e = pp_exposed
 */
static bool adds_less_overlapped(const rk_stack *stack, const rk_strategy *s)
{
    const double m = (double)rk_strategy_microbatches(s), v = (double)s->vp, p = (double)s->pp;
    return s->pp_overlap && s->schedule == RK_SCHEDULE_INTERLEAVED && m >= p &&
           2 * m * v * stack->pp_exposed + 2 * (p - 1) < m * (2 * v - 1) - 2 * p;
}

rk_makespan rk_least_makespan(const rk_stack *stack, const rk_strategy *s,
                              const rk_pipeline *pipeline, double send, double limit)
{
    rk_makespan least = {.work = rk_pipeline_bound(pipeline)};
    if (send > 0 && least.work <= limit && adds_less_overlapped(stack, s)) {
        least.sends = rk_overlapped_sends(stack, s, send);
    } else if (send > 0 && least.work <= limit) {
        rk_pipeline with = *pipeline;
        with.send_seconds = send;
        least.sends = rk_min(rk_overlapped_sends(stack, s, send),
                             rk_max(rk_pipeline_bound(&with) - least.work, 0));
    }
    return least;
}

double rk_least_step(const rk_cost_table *table, const rk_strategy *s, const rk_makespan *least)
{
    const double seconds = least->work + least->sends;
    return seconds + rk_fixed_seconds(table->context.stack, s, seconds);
}

/* Bytes that a rank needs at least; how many gradients are whole is up to the schedule. */
static double least_bytes(rk_stage_need *need, double in_flight)
{
    need->gradients = rk_min(need->gradients, need->shards);
    return rk_stage_needed_at(need, in_flight);
}

/* Whether a layer that is larger may have smaller copies. */
static bool keeps_low(const rk_cost_table *table)
{
    bool low = false;
    for (int type = 0; type < table->context.model->type_count; type++) {
        const rk_cost *cost = &table->layers[type][0];
        low = low || cost->low_dense_params + cost->low_expert_params > 0;
    }
    return low;
}

double rk_least_of_rank(const rk_cost_table *table, const rk_stage_need *given, double in_flight)
{
    if (keeps_low(table)) {
        return 0;
    }
    rk_stage_need need = *given;
    need.most = 0;
    need.stage_fragmentation = 0;
    need.later = rk_min(need.later, need.shards);
    return least_bytes(&need, in_flight);
}

/*
 * Of states S, the least of what is allocated (memory_at) is
 *
 *     S + max(activations + max(layer, head) - later, last, update)
 *
 * also where the allocator gives back what is late, if activations are without it; and the share of
 * fragments is of all that.
 */
rk_rank_floor rk_rank_floor_of(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_stage *stage, double in_flight)
{
    rk_stage still = *stage;
    if (keeps_low(table)) {
        return (rk_rank_floor){.still = 0};
    }
    still.saved = still.late = still.unsaved = still.transient = 0;
    const rk_stage_need need = rk_stage_need_of(table, strategy, &still);
    const double rate = 1 + need.fragmentation;
    const double states = need.weights + rk_min(need.gradients, need.shards) + need.optimizer;
    const double first = states + need.always - rk_min(need.later, need.shards);
    const double sent = in_flight * need.ends;
    return (rk_rank_floor){
        .still = need.context + rate * (states + need.always + rk_max(need.update, need.last)),
        .layer = need.context + rate * (first + need.layer + sent),
        .head = need.context + rate * (first + need.head + sent),
        .unsharded = need.context + rate * (need.always + need.layer + sent),
        .rate = rate,
        .share = need.live * (1 - need.offloaded) * in_flight,
    };
}

static void keep_least(rk_least_kept *kept, double count, double late, const rk_cost *cost)
{
    if (count > 0) {
        kept->saved += count * (cost->saved - late * cost->late);
        kept->work = rk_max(kept->work, cost->unsaved + cost->transient);
    }
}

rk_least_kept rk_least_kept_of(const rk_cost_table *table, const rk_strategy *strategy,
                               const rk_stage_blocks *blocks)
{
    const rk_model *model = table->context.model;
    const double share = blocks->halved ? 0.5 : 1, late = strategy->pp == 1 ? 1 : 0;
    rk_least_kept kept = {0, 0};
    for (int type = 0; type < model->type_count; type++) {
        keep_least(&kept, share * blocks->layers[type][1], late, &table->layers[type][1]);
        keep_least(&kept, share * blocks->layers[type][0], late, &table->layers[type][0]);
    }
    if (blocks->mtp) {
        kept.saved += share * model->mtp_layers * table->mtp.saved;
    }
    return kept;
}

double rk_rank_floor_bytes(const rk_rank_floor *floor, const rk_least_kept *kept)
{
    const double first = rk_max(floor->layer + floor->rate * kept->work, floor->head);
    return rk_max(floor->still, first + floor->rate * floor->share * kept->saved);
}

double rk_rank_floor_unsharded(const rk_rank_floor *floor, const rk_least_kept *kept)
{
    return floor->unsharded + floor->rate * (kept->work + floor->share * kept->saved);
}

double rk_least_activations(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage,
                            double in_flight)
{
    const double kept = stage->saved - (s->pp == 1 ? stage->late : 0);
    return table->context.stack->activation_share * in_flight * kept;
}

/*
 * The least number of the usual layers on a rank whose states need as much as this share of the
 * model or more: what the rest of the model needs is less.  States of experts are whole or sharded
 * as those of other parameters are, over other ranks.
 */
static int least_layers(const rk_strategy *s, const rk_stage *whole, double share)
{
    const double of_experts[] = {1, rk_shard_ranks(s) / rk_expert_shard_ranks(s, whole)};
    const double low = whole->low_dense_params + whole->low_expert_params;
    double least = low > 0 ? 0 : whole->layers;
    for (int i = 0; i < 2 && least > 0; i++) {
        const double all = whole->dense_params + of_experts[i] * whole->expert_params;
        const double layer = whole->layer_dense_params + of_experts[i] * whole->layer_expert_params;
        least = rk_min(least, whole->layers - (1 - share) * all / layer);
    }
    return least > 0 ? (int)ceil(least - RK_LOWER_BOUND_SLACK) : 0;
}

double rk_least_memory(const rk_cost_table *table, const rk_strategy *s, const rk_stage *whole)
{
    const double share = rk_schedule_copies(s->schedule) / (double)s->pp;
    rk_stage mean = {
        .dense_params = share * whole->dense_params,
        .expert_params = share * whole->expert_params,
        .low_dense_params = share * whole->low_dense_params,
        .low_expert_params = share * whole->low_expert_params,
        .layers = least_layers(s, whole, share),
    };
    if (mean.layers > 0) {
        mean.layer_dense_params = whole->layer_dense_params;
        mean.layer_expert_params = whole->layer_expert_params;
        mean.matrix_params = whole->matrix_params;
    }
    rk_stage_need need = rk_stage_need_of(table, s, &mean);
    return least_bytes(&need, 0);
}

/*
 * The backward pass of a microbatch begins at the head, with what its rank allocates no less than
 *
 *     activations + (1 + modules) saved + transient        modules of multi-token prediction
 *
 * of which no more than activations can be late (rk_stage_memory_at).
 */
double rk_least_loss(const rk_cost_table *table)
{
    const rk_cost *head = &table->head;
    return (1 + table->context.model->mtp_layers) * head->saved + head->transient;
}

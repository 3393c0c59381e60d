/* SPDX-License-Identifier: Apache-2.0 */
/* Per-step costs: gradient and parameter exchange, optimizer, offloading, pipeline messages. */
#include "estimate/step_overheads.h"

#include "base/extremes.h"
#include "estimate/offload.h"
#include "layer/precision.h"
#include "strategy/optimizer.h"

#include <assert.h>
#include <math.h>

/* ---- data parallelism ---------------------------------------------------------------------- */

/*
 * Messages of a layer of `params` fully sharded parameters: one, or as many as its largest matrix
 * goes into it where tensors pass one by one.
 */
static double layer_messages(const rk_stack *stack, const rk_stage *stage, double params)
{
    const bool tensors = stack->gathers_tensors && stage->matrix_params > 0;
    return tensors ? rk_max(floor(params / stage->matrix_params + 0.5), 1) : 1;
}

/*
 * A collective on `params` parameters in `bytes`, in messages of about `most` bytes and of at least
 * as many parameters as the stack's buckets have; in one message if nothing limits its size, and in
 * `tensors` of a layer of fully sharded parameters.  Buckets grow with the group, so that the
 * latency of its ring does not (Megatron-Core: the larger of 40 million and 1 million per rank).
 */
static double in_messages(const rk_cost_table *table, const rk_strategy *s, rk_collective op,
                          double params, double bytes, double most, double tensors,
                          const rk_group *group)
{
    assert(params >= 0 && bytes >= 0 && tensors >= 0);
    const rk_stack *stack = table->context.stack;
    const double bucket =
        rk_max(stack->bucket_params, stack->bucket_rank_params * (double)group->size);
    const double message = rk_max(most, bucket * bytes / params);
    const double cut = message > 0 ? rk_max(floor(bytes / message + 0.5), 1) : 1;
    const double messages = s->sharding == RK_SHARD_ALL ? tensors : cut;
    return messages * rk_collective_seconds(table->context.system, op, bytes / messages, group);
}

/*
 * FSDP2 gathers the shards of a layer in one buffer, from which every parameter is copied, and
 * copies the gradients of a layer into one buffer, in the type in which they are reduced; both on
 * the stream that computes (PyTorch 2.6, foreach_all_gather_copy_out and foreach_reduce).
 */
static void add_copies(const rk_cost_table *table, const rk_strategy *s, double gathered,
                       double learns, rk_dp_traffic *t)
{
    const rk_block_context *c = &table->context;
    const rk_accelerator *a = &c->system->accelerator;
    t->unpack += rk_stream_seconds(a, 2 * gathered) / c->stack->stream_share;
    t->pack +=
        rk_stream_seconds(a, learns * (c->element + s->states.reduce)) / c->stack->stream_share;
}

/*
 * Seconds in which DeepSpeed copies `learns` gradients into a bucket and divides the bucket by the
 * ranks before it is reduced (stage_1_and_2.py, average_tensor).
 */
static double division_seconds(const rk_block_context *c, double learns)
{
    return rk_stream_seconds(&c->system->accelerator,
                             c->width * c->stack->division_bytes * learns) /
           c->stack->stream_share;
}

/*
 * Gradients of `params` parameters: all-reduced, or reduce-scattered in the shard group and
 * all-reduced among its replicas (HSDP); then parameters are gathered.
 */
static void add_dp_group(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage,
                         double params, double low, const rk_group *shard, const rk_group *replica,
                         rk_dp_traffic *t)
{
    assert(params >= 0 && low >= 0);
    const rk_stack *stack = table->context.stack;
    const double tensors = layer_messages(stack, stage, params);
    const double reduced = params * s->states.reduce;
    const double gathered = rk_gathered_bytes(s, params, low);
    const double n = (double)shard->size, share = (n - 1) / n;
    const double learning = rk_strategy_learning(s), learns = params * learning;
    const bool sharded = s->sharding != RK_SHARD_NONE;
    if (params <= 0) {
        return;
    }
    if (sharded) {
        /* between steps only what learns has changed */
        const double changed = s->sharding == RK_SHARD_ALL ? 1 : learning;
        t->gather += in_messages(table, s, RK_COLL_ALL_GATHER, changed * params, changed * gathered,
                                 stack->gather_bytes, tensors, shard);
        t->gather_bytes += changed * gathered * share;
    }
    if (s->sharding >= RK_SHARD_GRADIENTS && stack->copies_shards && shard->size > 1) {
        add_copies(table, s, gathered, learns, t);
    }
    if (sharded && s->sharding != RK_SHARD_ALL && shard->size > 1) {
        t->pack += division_seconds(&table->context, learns);
    }
    const bool sums_whole = stack->reduces_whole && s->sharding != RK_SHARD_ALL;
    const bool whole = !sharded || sums_whole || rk_optimizer_of(s)->deals_matrices;
    t->reduce += in_messages(table, s, whole ? RK_COLL_ALL_REDUCE : RK_COLL_REDUCE_SCATTER, learns,
                             reduced, stack->bucket_bytes, tensors, shard);
    t->reduce_bytes += (whole ? 2 : 1) * reduced * share;
    if (replica && replica->size > 1) {
        const double r = (double)replica->size;
        t->reduce += in_messages(table, s, RK_COLL_ALL_REDUCE, learns / n, reduced / n,
                                 stack->bucket_bytes, tensors, replica);
        t->reduce_bytes += 2 * reduced / n * (r - 1) / r;
    }
}

/* Traffic of `share` of the parameters of a stage. */
static rk_dp_traffic dp_traffic(const rk_cost_table *table, const rk_strategy *s,
                                const rk_stage *stage, double share)
{
    const double dense = share * stage->dense_params, low = share * stage->low_dense_params;
    const double experts = share * stage->expert_params;
    const rk_system *system = table->context.system;
    const bool sharded = s->sharding != RK_SHARD_NONE;
    const rk_group replica = rk_strategy_group(system, s, RK_GROUP_REPLICA);
    const rk_group *replicas = sharded ? &replica : NULL;
    const rk_group data = rk_strategy_group(system, s, sharded ? RK_GROUP_SHARD : RK_GROUP_DATA);
    rk_dp_traffic t = {.reduce = 0};
    add_dp_group(table, s, stage, dense, low, &data, replicas, &t);
    if (experts > 0) {
        /* Whole experts are shards of one rank, of which all that hold them are replicas. */
        const bool whole = sharded && stage->whole_experts;
        const rk_group same = rk_strategy_group(system, s, RK_GROUP_EXPERT_DATA);
        const rk_group shard = whole     ? rk_group_of(system, 1, 1)
                               : sharded ? rk_strategy_group(system, s, RK_GROUP_EXPERT_SHARD)
                                         : same;
        add_dp_group(table, s, stage, experts, share * stage->low_expert_params, &shard,
                     whole ? &same : replicas, &t);
    }
    return t;
}

/*
 * Visible part of T seconds of traffic during a window of C seconds, under which H = min(T, C)
 * hide: a share e of the traffic, the rest that does not fit, and a share c of the hidden
 * part, which slows the pass; but at most all of T, as if nothing overlapped:
 *
 *     visible = min(T, e T + (T - H) + c H)
 *
 * T - visible seconds of the pass are then used: they hide nothing else.
 */
static double visible(const rk_stack *stack, double traffic, double window)
{
    assert(traffic >= 0 && window >= 0);
    const double hidden = rk_min(traffic, window);
    return rk_min(traffic,
                  stack->dp_exposed * traffic + (traffic - hidden) + stack->contention * hidden);
}

static double shown(const rk_stack *stack, bool overlaps, double traffic, double window)
{
    return overlaps ? visible(stack, traffic, window) : traffic;
}

/* Gradients of a sharded optimizer that wait for the end of the backward pass. */
static bool reduces_late(const rk_stack *stack, const rk_strategy *s)
{
    return stack->reduces_late && s->sharding != RK_SHARD_NONE;
}

/* ---- every microbatch ---------------------------------------------------------------------- */

bool rk_has_pass_traffic(const rk_strategy *s)
{
    return s->sharding >= RK_SHARD_GRADIENTS || s->offload_activations || s->offload_weights;
}

void rk_lengthen_passes(rk_chunk_times *passes, const rk_pass_traffic *traffic)
{
    passes->forward += traffic->data.forward + traffic->copies.forward;
    passes->backward += traffic->data.backward + traffic->copies.backward;
    passes->weight += traffic->data.weight + traffic->copies.weight;
}

/* Seconds of traffic in each pass if nothing hid it: gathers before a pass, gradients after it. */
static rk_chunk_times exchanged(const rk_strategy *s, double gather, double reduce)
{
    const bool splits = rk_stage_splits(s);
    return (rk_chunk_times){
        .forward = gather,
        .backward = splits ? gather : gather + reduce,
        .weight = splits ? reduce : 0,
    };
}

/*
 * Seconds in which FSDP2 adds whole gradients to the sum of the microbatches before, in the type in
 * which a pipeline reduces them once (PyTorch 2.6, FSDPParam.accumulate_unsharded_grad_if_needed).
 */
static double whole_sums(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage)
{
    const rk_block_context *c = &table->context;
    const double params = rk_strategy_learning(s) * (stage->dense_params + stage->expert_params);
    if (!c->stack->copies_shards || !c->stack->scatters_last ||
        rk_stage_gradient_runs(c->stack, s).scatters <= 0) {
        return 0;
    }
    return rk_stream_seconds(&c->system->accelerator,
                             params * (c->element + 2 * s->states.reduce)) /
           c->stack->stream_share;
}

/* Layers that exchange one after the other, or all of a stage at once. */
static double pieces_of(const rk_strategy *s, const rk_stage *stage)
{
    return s->sharding == RK_SHARD_ALL && stage->layers > 0 ? stage->layers : 1;
}

rk_dp_traffic rk_piece_traffic(const rk_cost_table *table, const rk_strategy *s,
                               const rk_stage *stage)
{
    return dp_traffic(table, s, stage, 1 / pieces_of(s, stage));
}

/*
 * Fully sharded: every layer gathers its parameters in forward and again in backward and
 * scatters its gradients, each during the compute of the layer before.  ZeRO-2 without a pipeline
 * keeps no gradients whole, so every microbatch scatters its own.  Weight gradients that are
 * computed apart are scattered during their own pass.  Fills what hides; returns the seconds of one
 * scatter.
 */
static double add_exchange(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage,
                           const rk_chunk_times *passes, const rk_dp_traffic *data,
                           rk_chunk_times *hidden, rk_pass_traffic *out)
{
    const rk_stack *stack = table->context.stack;
    const bool whole = s->sharding == RK_SHARD_ALL;
    const double pieces = pieces_of(s, stage);
    const rk_dp_traffic t = data ? *data : rk_piece_traffic(table, s, stage);
    const bool overlaps =
        whole ? s->grad_overlap && s->param_overlap : s->grad_overlap && !reduces_late(stack, s);
    const double own = rk_stage_gradient_runs(stack, s).scatters > 0 ? 0 : 1;
    /* a pass lacks gradients at its start and parameters at its end, a layer between others not */
    const double window = whole ? 1 / pieces : stack->dp_window;
    const rk_chunk_times all = exchanged(s, whole ? t.gather : 0, own * t.reduce);
    const rk_chunk_times seen = {
        .forward = shown(stack, overlaps, all.forward, window * passes->forward),
        .backward = shown(stack, overlaps, all.backward, window * passes->backward),
        .weight = shown(stack, overlaps, all.weight, window * passes->weight),
    };
    const rk_chunk_times copies =
        exchanged(s, whole ? t.unpack : 0, own * t.pack + whole_sums(table, s, stage) / pieces);
    out->data = (rk_chunk_times){pieces * (seen.forward + copies.forward),
                                 pieces * (seen.backward + copies.backward),
                                 pieces * (seen.weight + copies.weight)};
    *hidden = (rk_chunk_times){pieces * (all.forward - seen.forward),
                               pieces * (all.backward - seen.backward),
                               pieces * (all.weight - seen.weight)};
    out->bytes = pieces * ((whole ? 2 * t.gather_bytes : 0) + own * t.reduce_bytes);
    return own * t.reduce;
}

/* Seconds of copies of a microbatch each way: activations out and back, weights in for each pass.
 */
static double copies_each_way(const rk_cost_table *table, const rk_strategy *s,
                              const rk_stage *stage)
{
    const rk_accelerator *a = &table->context.system->accelerator;
    double seconds = 0;
    if (s->offload_activations) {
        const double share = rk_offloaded_share(table->context.model, s);
        seconds += rk_host_copy_seconds(a, share * stage->saved);
    }
    if (s->offload_weights) {
        seconds += rk_weights_in_seconds(a, s, stage);
    }
    return seconds;
}

/* Visible seconds of copies during a pass, of which other traffic uses `used` seconds. */
static double visible_copies(double each_way, double pass, double used)
{
    assert(each_way >= 0 && pass >= 0);
    return rk_max(each_way - rk_max(pass - used, 0), 0);
}

/* Visible seconds added to copies by `taken` of the `used` seconds of a pass, which hide other
 * traffic. */
static double copies_beside(double each_way, double pass, double used, double taken)
{
    return rk_max(
        visible_copies(each_way, pass, used) - visible_copies(each_way, pass, used - taken), 0);
}

/*
 * Fully sharded: the first gather and half of the last scatter of a step, on the first stage of the
 * model, have nothing to hide under.  `scatter` is the time of one layer's.
 */
static double sharded_ends(const rk_strategy *s, const rk_stage *first, double scatter,
                           const rk_chunk_times *passes, const rk_chunk_times *hidden,
                           double each_way)
{
    const double layers = first->layers > 0 ? first->layers : 1;
    const bool splits = rk_stage_splits(s);
    const double gathered = hidden->forward / layers;
    const double scattered =
        rk_min(scatter / 2, (splits ? hidden->weight : hidden->backward) / layers);
    return rk_max(gathered - copies_beside(each_way, passes->forward, hidden->forward, gathered),
                  0) +
           rk_max(scattered - copies_beside(each_way, passes->backward, hidden->backward,
                                            splits ? 0 : scattered),
                  0);
}

rk_pass_traffic rk_pass_traffic_of(const rk_cost_table *table, const rk_strategy *s,
                                   const rk_stage *stage, const rk_chunk_times *passes,
                                   const rk_dp_traffic *data)
{
    rk_pass_traffic out = {.bytes = 0};
    rk_chunk_times hidden = {0, 0, 0};
    const double each_way = copies_each_way(table, s, stage);
    if (s->sharding >= RK_SHARD_GRADIENTS) {
        const double scatter = add_exchange(table, s, stage, passes, data, &hidden, &out);
        out.ends = s->sharding == RK_SHARD_ALL
                       ? sharded_ends(s, stage, scatter, passes, &hidden, each_way)
                       : 0;
    }
    if (each_way > 0) {
        out.copies.forward = visible_copies(each_way, passes->forward, hidden.forward);
        out.copies.backward = visible_copies(each_way, passes->backward, hidden.backward);
    }
    return out;
}

/* The microbatches of a chunk all run there, even if a rank has only half (DualPipe). */
rk_rank_traffic rk_stage_times(const rk_cost_table *table, const rk_strategy *s,
                               const rk_chunk *chunks, bool waits, rk_chunk_times *times)
{
    const rk_model *model = table->context.model;
    rk_rank_traffic sum = {.chunks = 0};
    for (int64_t i = 0, v = rk_stage_chunks(s); i < v;) {
        const rk_stage_blocks blocks = rk_chunk_blocks_of(model, s, &chunks[i]);
        rk_chunk_times each = rk_chunk_times_of(table, &blocks, rk_stage_splits(s));
        rk_pass_traffic traffic = {.bytes = 0};
        if (s->moe_overlap) {
            const rk_chunk_times hidden = rk_chunk_hidden_of(table, &blocks);
            rk_add_alone(&each, rk_alone_share(s), &hidden);
        }
        if (waits) {
            rk_stage stage;
            rk_stage_keep(table, &blocks, &stage);
            traffic = rk_pass_traffic_of(table, s, &stage, &each, NULL);
            rk_lengthen_passes(&each, &traffic);
        }
        for (int64_t past = i + rk_chunk_run(model, &chunks[i], v - i); i < past; i++) {
            times[i] = each;
            rk_add_chunk_traffic(s, &traffic, &sum);
        }
    }
    return sum;
}

/* ---- once a step --------------------------------------------------------------------------- */

/*
 * How the traffic of a rank is divided among its chunks.  If schedules send runs of microbatches
 * through one chunk after the other, all chunks but one exchange theirs during the run of another
 * chunk; the first to gather and the last to reduce hides behind a microbatch of its own.
 */
struct chunk_runs {
    double chunks;       /* of the rank */
    double microbatches; /* of a run */
    double times;        /* that every chunk exchanges its own in a step */
};

/* Parameters, and gradients that nothing scatters before the last microbatch. */
static struct chunk_runs chunk_runs_of(const rk_stack *stack, const rk_strategy *s)
{
    if (!stack->overlaps_chunks || !rk_schedules[s->schedule]->runs) {
        return (struct chunk_runs){1, 1, 1};
    }
    return (struct chunk_runs){
        .chunks = (double)rk_stage_chunks(s),
        .microbatches = rk_min((double)s->pp, (double)rk_strategy_microbatches(s)),
        .times = 1,
    };
}

static struct chunk_runs scatter_runs_of(const rk_stack *stack, const rk_strategy *s)
{
    const rk_gradient_runs runs = rk_stage_gradient_runs(stack, s);
    return runs.scatters > 0 ? (struct chunk_runs){runs.chunks, runs.microbatches, runs.scatters}
                             : chunk_runs_of(stack, s);
}

/*
 * Visible seconds of `traffic` for all chunks, as often as the runs say, during passes of `pass`
 * seconds per microbatch through all chunks.  `own`: seconds of a pass that the exchange uses
 * during a microbatch of its own chunk.
 */
static double shown_in_runs(const rk_stack *stack, const struct chunk_runs *runs, bool overlaps,
                            double traffic, double pass, double *own)
{
    assert(runs->chunks >= 1 && runs->times >= 1);
    const double each = traffic / runs->chunks;
    const double window = stack->dp_window * pass / runs->chunks;
    const double alone = shown(stack, overlaps, each, window);
    const double beside = shown(stack, overlaps, each, rk_max(runs->microbatches, 1) * window);
    *own = each - alone;
    return alone + (runs->chunks * runs->times - 1) * beside;
}

/*
 * Gradients under backward, parameters under the next forward.  The last and the first microbatch
 * overlap with no other: their all-to-all is visible.
 */
static rk_exchange reduce_once(const rk_cost_table *table, const rk_strategy *s,
                               const rk_stage *heaviest)
{
    const rk_stack *stack = table->context.stack;
    const rk_dp_traffic t = dp_traffic(table, s, heaviest, 1);
    const struct chunk_runs gathers = chunk_runs_of(stack, s), scatters = scatter_runs_of(stack, s);
    const bool once =
        s->sharding < RK_SHARD_GRADIENTS || rk_stage_gradient_runs(stack, s).scatters > 0;
    const bool gathered = s->sharding != RK_SHARD_ALL; /* else in every pass */
    rk_exchange x = {
        .bytes = (once ? scatters.times * t.reduce_bytes : 0) + (gathered ? t.gather_bytes : 0),
    };
    x.visible = shown_in_runs(
        stack, &scatters, s->grad_overlap && !reduces_late(stack, s), once ? t.reduce : 0,
        rk_stage_backward(s, heaviest) + heaviest->hidden_backward, &x.hidden_backward);
    x.visible += shown_in_runs(stack, &gathers, s->param_overlap, gathered ? t.gather : 0,
                               rk_times_sum(&heaviest->forward) + heaviest->hidden_forward,
                               &x.hidden_forward);
    x.visible += (once ? scatters.times * t.pack : 0) + (gathered ? t.unpack : 0);
    return x;
}

/* A tied embedding has a copy on the first and on the last stage; their gradients are summed. */
static double tied_seconds(const rk_cost_table *table, const rk_strategy *s)
{
    const rk_block_context *c = &table->context;
    if (!c->model->tied || s->pp == 1 || s->adapter_rank > 0) {
        return 0;
    }
    const rk_group pair = rk_strategy_group(c->system, s, RK_GROUP_ENDS);
    return rk_collective_seconds(c->system, RK_COLL_ALL_REDUCE,
                                 rk_block_table_params(c) * s->states.reduce, &pair);
}

rk_exchange rk_reduce(const rk_cost_table *table, const rk_strategy *s, const rk_stage *heaviest)
{
    rk_exchange exchange = {.visible = 0};
    if (s->sharding != RK_SHARD_ALL ||
        rk_stage_gradient_runs(table->context.stack, s).scatters > 0) {
        exchange = reduce_once(table, s, heaviest);
    }
    exchange.visible += tied_seconds(table, s);
    return exchange;
}

double rk_replicated_seconds(const rk_cost_table *table, const rk_strategy *s,
                             const rk_stage *stage)
{
    const rk_block_context *c = &table->context;
    if (s->tp == 1 || !s->sp || s->adapter_rank > 0) {
        return 0;
    }
    const rk_stack *stack = c->stack;
    const rk_group *group = &c->groups[RK_GROUP_TENSOR];
    const double norms = (double)(c->model->norms_per_layer * stage->layers + 1);
    const double bytes = stage->replicated_params * s->states.reduce;
    if (stack->norm_rings <= 0) {
        return rk_collective_seconds(c->system, RK_COLL_ALL_REDUCE, bytes, group);
    }
    const double whole = s->sharding == RK_SHARD_NONE ? stack->norm_rings_whole : 0;
    return (stack->norm_rings + whole) * norms *
           (rk_collective_seconds(c->system, RK_COLL_REDUCE_SCATTER, bytes / norms, group) +
            rk_collective_seconds(c->system, RK_COLL_ALL_GATHER, bytes / norms, group));
}

double rk_weight_cast_seconds(const rk_cost_table *table, const rk_strategy *s,
                              const rk_stage *stage)
{
    const rk_block_context *c = &table->context;
    const double params = stage->low_dense_params + stage->low_expert_params;
    const double copies = rk_low_weight_copies(s, &c->system->accelerator);
    const double turn = (copies - 1) * 2 * rk_low_weight_bytes(s); /* one copy into another */
    const bool again = rk_transposes_again(s, &c->system->accelerator, c->stack);
    const double m = (double)rk_strategy_microbatches(s);
    double bytes;
    if (params <= 0) {
        return 0;
    }
    if (s->sharding == RK_SHARD_ALL) {
        bytes = m * (rk_gathers_low(s) ? turn : 2 * rk_weight_cast_bytes(s, 1));
    } else {
        /* frozen weights are cast once and for all; gathered ones arrive cast */
        const bool cast = s->adapter_rank == 0 && !rk_gathers_low(s);
        const double turns = again ? m : cast || s->adapter_rank > 0 ? 0 : 1;
        bytes = (cast ? rk_weight_cast_bytes(s, again ? 1 : copies) : 0) + turns * turn;
    }
    return rk_stream_seconds(&c->system->accelerator,
                             rk_cast_passes(s, c->stack) * bytes * params) /
           c->stack->stream_share;
}

/* Muon: every rank orthogonalizes all matrices of its stage, or its share if they are dealt out. */
static double orthogonal_seconds(const rk_strategy *s, const rk_orthogonal *all, double ranks)
{
    assert(all->matrices <= 0 || ranks >= 1);
    if (all->matrices <= 0 || !rk_optimizer_of(s)->deals_matrices) {
        return all->seconds;
    }
    return all->seconds * ceil(all->matrices / ranks) / all->matrices;
}

/*
 * Bytes of weights and gradients that AdamW moves over those of 4 bytes each; 1 with a master copy:
 * weights and moments are read and written, gradients read.
 */
static double updated_width(const rk_strategy *s)
{
    const bool narrow = s->states.weight <= 2 && s->states.optimizer <= 4 && s->adapter_rank == 0;
    return narrow ? 0.5 : 1;
}

double rk_optimizer_seconds(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage)
{
    const rk_stack *stack = table->context.stack;
    const double here = rk_steps_on_host(stack, s) ? 1 - rk_away_share(s) : 1;
    const double each = stack->optimizer_bytes + (s->foreach_update ? stack->foreach_bytes : 0);
    const double bytes = here * rk_strategy_learning(s) * rk_stage_optimized_params(s, stage) *
                         each * updated_width(s) * rk_optimizer_of(s)->traffic;
    const double stream =
        rk_stream_seconds(&table->context.system->accelerator, bytes) / stack->stream_share;
    return stream + orthogonal_seconds(s, &stage->orthogonal, rk_shard_ranks(s)) +
           orthogonal_seconds(s, &stage->orthogonal_experts, rk_expert_shard_ranks(s, stage));
}

double rk_offload_seconds(const rk_cost_table *table, const rk_strategy *s,
                          const rk_stage *heaviest, const rk_exchange *x)
{
    const double each_way = copies_each_way(table, s, heaviest);
    const double alone = rk_alone_share(s);
    const double forward = rk_times_sum(&heaviest->forward) + alone * heaviest->hidden_forward;
    const double backward = rk_stage_backward(s, heaviest) + alone * heaviest->hidden_backward;
    double seconds = s->offload_optimizer || s->nvme_weights
                         ? rk_away_step_seconds(table, s, heaviest, backward)
                         : 0;
    if (each_way > 0) {
        seconds += copies_beside(each_way, forward, x->hidden_forward, x->hidden_forward);
        seconds += copies_beside(each_way, backward, x->hidden_backward, x->hidden_backward);
    }
    return seconds;
}

/* Messages that a stage in the middle sends in a step. */
static double crossings(const rk_strategy *s)
{
    return 2 * (double)(rk_stage_passes(s) * rk_strategy_microbatches(s));
}

double rk_send_seconds(const rk_cost_table *table, const rk_strategy *s, double *bytes)
{
    const rk_block_context *c = &table->context;
    const double message =
        c->element * c->local_tokens * (double)(rk_model_streams(c->model) * c->model->hidden);
    const bool scatter = c->stack->scatters_messages && !s->sp && s->tp > 1;
    const double sent = scatter ? message / (double)s->tp : message;
    *bytes = 0;
    if (s->pp == 1) {
        return 0;
    }
    const rk_group neighbours = rk_strategy_group(c->system, s, RK_GROUP_PIPELINE);
    double once =
        c->stack->send_seconds + rk_collective_seconds(c->system, RK_COLL_SEND, sent, &neighbours);
    if (scatter) {
        once += rk_collective_seconds(c->system, RK_COLL_ALL_GATHER, message,
                                      &c->groups[RK_GROUP_TENSOR]);
    }
    *bytes = crossings(s) * sent;
    return once;
}

rk_pipeline rk_pipeline_of(const rk_strategy *s, const rk_chunk_times *chunks, double send)
{
    return (rk_pipeline){
        .kind = s->schedule,
        .ranks = s->pp,
        .chunks_per_rank = rk_stage_chunks(s),
        .microbatches = rk_strategy_microbatches(s),
        .chunks = chunks,
        .send_seconds = send,
        .rolls = rk_schedules[s->schedule]->rolls,
    };
}

double rk_overlapped_sends(const rk_stack *stack, const rk_strategy *s, double send)
{
    const double on_the_way = 2 * (double)(s->pp - 1);
    return s->pp_overlap ? (crossings(s) * stack->pp_exposed + on_the_way) * send : HUGE_VAL;
}

double rk_fixed_seconds(const rk_stack *stack, const rk_strategy *s, double seconds)
{
    assert(seconds >= 0);
    const double n = (double)rk_strategy_ranks(s);
    /* beyond one host of 8, which stacks are measured on */
    const double doublings = n > 8 ? log2(n / 8) : 0;
    const double fixed = s->adapter_rank > 0 ? stack->adapter_seconds : stack->step_seconds;
    return fixed + stack->scale_growth * doublings * seconds;
}

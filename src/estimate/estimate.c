/* SPDX-License-Identifier: Apache-2.0 */
/* From the costs of blocks to the step: stages, schedule, data parallelism, optimizer, memory. */
#include "estimate/estimate.h"

#include "base/error.h"
#include "estimate/stage.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rk_memory_part_names[] = {
    "weights", "gradients",   "optimizer states",    "activations", "recomputed layer",
    "logits",  "temporaries", "allocator fragments", "context",     NULL,
};

void rk_cost_table_fill(const rk_model *model, const rk_system *system, const rk_stack *stack,
                        const rk_strategy *strategy, rk_cost_table *table)
{
    const rk_attention_shape *shape_before = NULL;
    rk_cost attention = {.saved = 0};
    table->context = rk_block_context_of(model, system, stack, strategy);
    for (int i = 0; i < model->type_count; i++) {
        const rk_attention_shape *shape = &model->types[i].attention;
        const bool again = i > 0 && memcmp(shape, shape_before, sizeof(*shape)) == 0;
        attention = again ? attention : rk_block_attention(&table->context, shape);
        shape_before = shape;
        rk_block_layer(&table->context, &model->types[i], &attention, table->layers[i]);
    }
    table->embedding = rk_block_embedding(&table->context);
    table->head = rk_block_head(&table->context);
    table->mtp = model->mtp_layers > 0 ? rk_block_mtp(&table->context) : (rk_cost){.saved = 0};
}

/* ---- the pipeline -------------------------------------------------------------------------- */

/* The stages of all ranks reduced to what the step needs. */
struct ranks {
    int64_t slowest;   /* rank with the longest microbatch */
    rk_stage stage;    /* that rank */
    double busy;       /* s of its microbatch */
    rk_stage heaviest; /* rank with most parameters: it reduces and updates most */
    int64_t worst;     /* rank with most memory */
    rk_stage_memory memory;
    double host_bytes;
    bool fits;
};

static double stage_seconds(const rk_stage *stage)
{
    return rk_times_sum(&stage->forward) + rk_times_sum(&stage->backward);
}

static void survey_ranks(const rk_cost_table *table, const rk_strategy *s, rk_chunk_times *chunks,
                         rk_stage_memory *stages, struct ranks *out)
{
    const int64_t v = rk_stage_chunks(s), m = rk_strategy_microbatches(s);
    const double usable = table->context.system->accelerator.memory_usable;
    double heaviest = -1;
    memset(out, 0, sizeof(*out));
    out->fits = true;
    for (int64_t r = 0; r < s->pp; r++) {
        const rk_stage stage = rk_stage_of(table, s, r, &chunks[r * v]);
        const double in_flight = rk_pipeline_in_flight(s->schedule, s->pp, v, m, r);
        const rk_stage_memory memory = rk_stage_memory_of(table, s, &stage, in_flight);
        const double host = rk_stage_host_bytes(s, &stage, in_flight);
        const double busy = stage_seconds(&stage);
        const double params = stage.dense_params + stage.expert_params;
        if (r == 0 || busy > out->busy) {
            out->slowest = r;
            out->stage = stage;
            out->busy = busy;
        }
        if (params > heaviest) {
            heaviest = params;
            out->heaviest = stage;
        }
        if (r == 0 || memory.total > out->memory.total) {
            out->worst = r;
            out->memory = memory;
            out->host_bytes = host;
        }
        out->fits = out->fits && memory.total <= usable &&
                    host <= table->context.system->accelerator.host_capacity;
        if (stages) {
            stages[r] = memory;
        }
    }
}

/* ---- data parallelism ---------------------------------------------------------------------- */

/* Time to reduce and to gather what a rank shares with its replicas, s, and bytes sent. */
struct dp_traffic {
    double reduce, gather;
    double reduce_bytes, gather_bytes;
};

/* A collective in messages of about `most` bytes; 0: in one. */
static double in_messages(const rk_cost_table *table, rk_collective op, double bytes, double most,
                          const rk_group *group)
{
    const double messages = most > 0 ? fmax(1, floor(bytes / most + 0.5)) : 1;
    return messages * rk_collective_seconds(table->context.system, op, bytes / messages, group);
}

/*
 * Gradients of `params` parameters: all-reduced, or reduce-scattered in the shard group and
 * all-reduced among its replicas (HSDP); then parameters are gathered.
 */
static void add_dp_group(const rk_cost_table *table, const rk_strategy *s, double params,
                         const rk_group *shard, const rk_group *replica, struct dp_traffic *t)
{
    const double reduced = params * s->states.reduce, gathered = params * s->states.gather;
    const double n = (double)shard->size, share = (n - 1) / n;
    const double bucket = table->context.stack->bucket_bytes;
    const bool sharded = s->sharding != RK_SHARD_NONE;
    if (params <= 0) {
        return;
    }
    if (sharded) {
        t->gather += in_messages(table, RK_COLL_ALL_GATHER, gathered,
                                 table->context.stack->gather_bytes, shard);
        t->gather_bytes += gathered * share;
    }
    if (!sharded || table->context.stack->reduces_whole) {
        t->reduce += in_messages(table, RK_COLL_ALL_REDUCE, reduced, bucket, shard);
        t->reduce_bytes += 2 * reduced * share;
    } else {
        t->reduce += in_messages(table, RK_COLL_REDUCE_SCATTER, reduced, bucket, shard);
        t->reduce_bytes += reduced * share;
    }
    if (replica && replica->size > 1) {
        const double r = (double)replica->size, part = reduced / n;
        t->reduce += in_messages(table, RK_COLL_ALL_REDUCE, part, bucket, replica);
        t->reduce_bytes += 2 * part * (r - 1) / r;
    }
}

static struct dp_traffic dp_traffic(const rk_cost_table *table, const rk_strategy *s, double dense,
                                    double expert)
{
    const rk_groups groups = rk_strategy_groups(table->context.system, s);
    struct dp_traffic t = {0, 0, 0, 0};
    if (s->sharding == RK_SHARD_NONE) {
        add_dp_group(table, s, dense, &groups.data, NULL, &t);
    } else {
        add_dp_group(table, s, dense, &groups.shard, &groups.replica, &t);
    }
    add_dp_group(table, s, expert, &groups.expert_data, NULL, &t);
    return t;
}

/* What stays visible of traffic that may hide under `window` seconds of compute. */
static double visible(const rk_stack *stack, double traffic, double window)
{
    const double hidden = fmin(traffic, stack->dp_window * window);
    return stack->dp_exposed * traffic + (traffic - hidden) + stack->contention * hidden;
}

/*
 * Once a step: gradients under the last backward, parameters under the next forward.  Sharded
 * gradients (ZeRO-2) keep nothing whole, so every microbatch scatters its own.
 */
static double reduce_once(const rk_cost_table *table, const rk_strategy *s,
                          const struct ranks *ranks, double *bytes)
{
    const rk_stack *stack = table->context.stack;
    const struct dp_traffic t =
        dp_traffic(table, s, ranks->heaviest.dense_params, ranks->heaviest.expert_params);
    const double backward = rk_times_sum(&ranks->heaviest.backward);
    const double forward = rk_times_sum(&ranks->heaviest.forward);
    const double times =
        s->sharding == RK_SHARD_GRADIENTS ? (double)rk_strategy_microbatches(s) : 1;
    *bytes = times * t.reduce_bytes + t.gather_bytes;
    return times * (s->grad_overlap ? visible(stack, t.reduce, backward) : t.reduce) +
           (s->param_overlap ? visible(stack, t.gather, forward) : t.gather);
}

/*
 * Fully sharded: every layer gathers its parameters in forward and again in backward and
 * scatters its gradients, each beside the compute of the layer before.
 */
static double reduce_by_layer(const rk_cost_table *table, const rk_strategy *s,
                              const struct ranks *ranks, double *bytes)
{
    const rk_stack *stack = table->context.stack;
    const rk_stage *stage = &ranks->stage;
    const double layers = stage->layers > 0 ? stage->layers : 1;
    const double m = (double)rk_strategy_microbatches(s);
    const struct dp_traffic t =
        dp_traffic(table, s, stage->dense_params / layers, stage->expert_params / layers);
    const double forward = rk_times_sum(&stage->forward) / layers;
    const double backward = rk_times_sum(&stage->backward) / layers;
    const bool overlap = s->grad_overlap && s->param_overlap;
    const double both = t.gather + t.reduce;
    const double each = overlap ? visible(stack, t.gather, forward) + visible(stack, both, backward)
                                : t.gather + both;
    *bytes = m * layers * (2 * t.gather_bytes + t.reduce_bytes);
    /* the first gather and the last scatter have nothing to hide under */
    return m * layers * each + (overlap ? t.gather + t.reduce / 2 : 0);
}

/* A tied embedding has a copy on the first and on the last stage; their gradients are summed. */
static double tied_seconds(const rk_cost_table *table, const rk_strategy *s)
{
    const rk_block_context *c = &table->context;
    if (!c->model->tied || s->pp == 1) {
        return 0;
    }
    const rk_group pair = rk_group_of(c->system, 2, s->tp * s->cp * s->dp * (s->pp - 1));
    return rk_collective_seconds(c->system, RK_COLL_ALL_REDUCE,
                                 rk_block_table_params(c) * s->states.reduce, &pair);
}

/*
 * With sequence parallelism tensor ranks see different tokens: gradients of what they hold whole
 * (norms, router, latents) are summed over them, in one message or one by one.
 */
static double replicated_seconds(const rk_cost_table *table, const rk_strategy *s,
                                 const rk_stage *stage)
{
    const rk_block_context *c = &table->context;
    if (s->tp == 1 || !s->sp) {
        return 0;
    }
    const double norms = (double)(c->model->norms_per_layer * stage->layers + 1);
    const double messages = c->stack->reduces_apart ? norms : 1;
    const double bytes = stage->replicated_params * s->states.reduce;
    return messages * rk_collective_seconds(c->system, RK_COLL_ALL_REDUCE, bytes / messages,
                                            &c->groups.tensor);
}

/* ---- once a step --------------------------------------------------------------------------- */

static double optimizer_seconds(const rk_cost_table *table, const rk_strategy *s,
                                const rk_stage *stage)
{
    const rk_stack *stack = table->context.stack;
    const double bytes = rk_stage_optimized_params(s, stage) * stack->optimizer_bytes;
    return rk_stream_seconds(&table->context.system->accelerator, bytes) / stack->stream_share;
}

/*
 * Offloading: the optimizer's states go and come once a step; activations go under forward and
 * come back under backward, weights come in both, per microbatch.
 */
static double offload_seconds(const rk_cost_table *table, const rk_strategy *s,
                              const struct ranks *ranks)
{
    const rk_accelerator *a = &table->context.system->accelerator;
    const rk_stage *stage = &ranks->stage;
    const double m = (double)rk_strategy_microbatches(s);
    double seconds = 0, each_way = 0;
    if (s->offload_optimizer) {
        const double params = rk_stage_optimized_params(s, &ranks->heaviest);
        seconds += 2 * rk_host_copy_seconds(a, params * s->states.optimizer);
    }
    if (s->offload_activations) {
        each_way += rk_host_copy_seconds(a, stage->saved);
    }
    if (s->offload_weights) {
        each_way += rk_host_copy_seconds(a, s->states.weight *
                                                (stage->dense_params + stage->expert_params));
    }
    seconds += m * fmax(0, each_way - rk_times_sum(&stage->forward));
    seconds += m * fmax(0, each_way - rk_times_sum(&stage->backward));
    return seconds;
}

/*
 * Messages between stages: one each way per microbatch and chunk, and once along the pipeline.
 * Scattered ones go in parts over the links of the tensor group, which gathers them again.
 */
static double send_seconds(const rk_cost_table *table, const rk_strategy *s, double *bytes)
{
    const rk_block_context *c = &table->context;
    const double message = 2 * c->local_tokens * (double)c->model->hidden;
    const bool scatter = c->stack->scatters_messages && !s->sp && s->tp > 1;
    const double sent = scatter ? message / (double)s->tp : message;
    if (s->pp == 1) {
        return 0;
    }
    const double crossings = 2 * (double)(rk_stage_passes(s) * rk_strategy_microbatches(s));
    const rk_group neighbours = rk_strategy_groups(c->system, s).pipeline;
    double once = rk_collective_seconds(c->system, RK_COLL_SEND, sent, &neighbours);
    if (scatter) {
        once += rk_collective_seconds(c->system, RK_COLL_ALL_GATHER, message, &c->groups.tensor);
    }
    *bytes = crossings * sent;
    return crossings * once * (s->pp_overlap ? c->stack->pp_exposed : 1) +
           2 * (double)(s->pp - 1) * once;
}

/* ---- the step ------------------------------------------------------------------------------ */

static rk_pipeline pipeline_of(const rk_strategy *s, const rk_chunk_times *chunks)
{
    return (rk_pipeline){
        .kind = s->schedule,
        .ranks = s->pp,
        .chunks_per_rank = rk_stage_chunks(s),
        .microbatches = rk_strategy_microbatches(s),
        .chunks = chunks,
    };
}

static void fill_rates(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage,
                       rk_estimate *e)
{
    const rk_block_context *c = &table->context;
    const double ranks = (double)rk_strategy_ranks(s);
    const double tokens = (double)s->global_batch * (double)s->seq;
    const double peak = c->system->accelerator.gemm[RK_BF16].peak;
    const double done = stage->flops_forward + stage->flops_backward;
    e->model_flops = rk_model_flops_per_token(c->model, s->seq, e->convention) * tokens / ranks;
    e->hardware_flops = e->model_flops * (1 + (done > 0 ? stage->flops_recompute / done : 0));
    e->mfu = e->model_flops / (e->step * peak);
    e->hfu = e->hardware_flops / (e->step * peak);
    e->tokens_per_second = tokens / e->step;
}

static void combine(const rk_cost_table *table, const rk_strategy *s, rk_flop_convention convention,
                    const struct ranks *ranks, double makespan, rk_estimate *e)
{
    const rk_stack *stack = table->context.stack;
    const double m = (double)rk_strategy_microbatches(s), n = (double)rk_strategy_ranks(s);
    memset(e, 0, sizeof(*e));
    e->convention = convention;
    rk_times_add(&e->times, m, &ranks->stage.forward);
    rk_times_add(&e->times, m, &ranks->stage.backward);
    const double idle = makespan - m * ranks->busy;
    e->times.part[RK_PART_BUBBLE] = idle > 0 ? idle : 0;
    e->times.part[RK_PART_PP] = send_seconds(table, s, &e->volumes.pipeline);
    e->times.part[RK_PART_TP] += replicated_seconds(table, s, &ranks->heaviest);
    e->times.part[RK_PART_DP] =
        (s->sharding == RK_SHARD_ALL ? reduce_by_layer(table, s, ranks, &e->volumes.data)
                                     : reduce_once(table, s, ranks, &e->volumes.data)) +
        tied_seconds(table, s);
    e->times.part[RK_PART_OPTIMIZER] = optimizer_seconds(table, s, &ranks->heaviest);
    e->times.part[RK_PART_OFFLOAD] = offload_seconds(table, s, ranks);
    const double doublings = n > 8 ? log2(n / 8) : 0;
    e->times.part[RK_PART_FIXED] =
        stack->step_seconds + stack->scale_growth * doublings * rk_times_sum(&e->times);
    e->step = rk_times_sum(&e->times);

    e->volumes.tensor = m * ranks->stage.sent.tensor;
    e->volumes.context = m * ranks->stage.sent.context;
    e->volumes.expert = m * ranks->stage.sent.expert;
    e->fits = ranks->fits;
    e->worst_stage = ranks->worst;
    e->memory = ranks->memory;
    e->usable = table->context.system->accelerator.memory_usable;
    e->host_bytes = ranks->host_bytes;
    fill_rates(table, s, &ranks->stage, e);
}

void rk_estimate_combine(const rk_cost_table *table, const rk_strategy *strategy,
                         rk_flop_convention convention, rk_estimate *estimate)
{
    rk_chunk_times chunks[RK_LAYER_MAX + 2];
    struct ranks ranks;
    assert(strategy->pp * rk_stage_chunks(strategy) <= RK_LAYER_MAX + 2);
    survey_ranks(table, strategy, chunks, NULL, &ranks);
    const rk_pipeline pipeline = pipeline_of(strategy, chunks);
    combine(table, strategy, convention, &ranks, rk_pipeline_seconds(&pipeline), estimate);
}

void rk_estimate_step(const rk_model *model, const rk_system *system, const rk_stack *stack,
                      const rk_strategy *strategy, rk_flop_convention convention,
                      rk_estimate *estimate)
{
    rk_cost_table table;
    rk_cost_table_fill(model, system, stack, strategy, &table);
    rk_estimate_combine(&table, strategy, convention, estimate);
}

rk_status rk_estimate_play(const rk_cost_table *table, const rk_strategy *strategy,
                           rk_flop_convention convention, rk_estimate *estimate,
                           rk_stage_memory *stages, rk_error *err)
{
    rk_chunk_times chunks[RK_LAYER_MAX + 2];
    struct ranks ranks;
    rk_pipeline_result result = {0};
    assert(strategy->pp * rk_stage_chunks(strategy) <= RK_LAYER_MAX + 2);
    survey_ranks(table, strategy, chunks, stages, &ranks);
    const rk_pipeline pipeline = pipeline_of(strategy, chunks);
    const rk_status status = rk_pipeline_play(&pipeline, &result, NULL, NULL, err);
    if (!status) {
        combine(table, strategy, convention, &ranks, result.seconds, estimate);
    }
    return status;
}

rk_status rk_estimate_exact(const rk_model *model, const rk_system *system, const rk_stack *stack,
                            const rk_strategy *strategy, rk_flop_convention convention,
                            rk_estimate *estimate, rk_stage_memory *stages, rk_error *err)
{
    rk_cost_table table;
    rk_cost_table_fill(model, system, stack, strategy, &table);
    return rk_estimate_play(&table, strategy, convention, estimate, stages, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From the costs of blocks to the step: ranks surveyed, the schedule, everything added up. */
#include "estimate/estimate.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "estimate/cost_store.h"
#include "estimate/step.h"
#include "estimate/step_overheads.h"
#include "layer/operators.h"
#include "layer/precision.h"
#include "layer/price.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rk_memory_part_names[] = {
    "weights", "gradients",   "optimizer states",    "activations", "recomputed layer",
    "logits",  "temporaries", "allocator fragments", "context",     NULL,
};

/* Sums up the times of a block. */
static void finish(rk_cost *cost)
{
    cost->forward_seconds = rk_times_sum(&cost->forward);
    cost->backward_seconds = rk_times_sum(&cost->backward);
}

rk_gemm_prices *rk_gemm_prices_create(void)
{
    return calloc(1, sizeof(rk_gemm_prices));
}

void rk_gemm_prices_clear(rk_gemm_prices *prices)
{
    memset(prices, 0, sizeof(*prices));
}

void rk_gemm_prices_clear_messages(rk_gemm_prices *prices)
{
    memset(prices->messages, 0, sizeof(prices->messages));
}

/* Whether layers keep weights in 8 or 4 bits, which are counted as their linears are. */
static bool keeps_low_weights(const rk_block_context *context)
{
    return rk_is_low(context->strategy->precision) ||
           rk_dequantised_bytes(context->strategy, context->stack) > 0;
}

/* The first type that is the same as a type, maybe itself. */
static int first_alike(const rk_model *model, int type,
                       bool (*same)(const rk_layer_type *, const rk_layer_type *))
{
    int first = 0;
    while (first < type && !same(&model->types[first], &model->types[type])) {
        first++;
    }
    return first;
}

/* Prices the mixers, but for those that cost what they do in a table `like` without recompute. */
static void fill_mixers(rk_cost_table *table, const rk_cost_table *like)
{
    const rk_model *model = table->context.model;
    const rk_strategy *s = table->context.strategy;
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        const int first = first_alike(model, i, rk_same_mixer);
        table->mixers[i] = first < i ? table->mixers[first]
                           : like && !rk_recomputes(s, type->mixer->modules)
                               ? like->mixers[i]
                               : rk_block_mixer(&table->context, type);
    }
}

/* Fills the costs of layers with experts or of others; `whole`: also of checkpointed ones. */
static void fill_layers(rk_cost_table *table, bool experts, bool whole)
{
    const rk_model *model = table->context.model;
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *first = &model->types[i];
        if (rk_layer_is_moe(first) != experts || first_alike(model, i, rk_same_work) < i) {
            continue;
        }
        rk_cost_builder passes = {.c = &table->context, .cost = table->mixers[i]};
        rk_add_passes(&passes, first);
        for (int j = i; j < model->type_count; j++) {
            rk_cost *layer = table->layers[j];
            if (j == i || rk_same_work(first, &model->types[j])) {
                rk_block_layer(&passes, &model->types[j], whole, layer);
                finish(&layer[0]);
                if (whole) {
                    finish(&layer[1]);
                }
            }
        }
    }
}

/* Of layers with experts only what rk_cost_table_lower_experts takes over. */
static void count_params(rk_cost_table *table)
{
    const rk_model *model = table->context.model;
    for (int i = 0; i < model->type_count; i++) {
        if (rk_layer_is_moe(&model->types[i])) {
            rk_block_count_params(&table->context, &model->types[i], &table->layers[i][0]);
        }
    }
}

static void fill_table(const rk_model *model, const rk_system *system, const rk_stack *stack,
                       const rk_strategy *strategy, rk_gemm_prices *prices, bool whole, bool mixers,
                       rk_cost_table *table)
{
    table->context = rk_block_context_of(model, system, stack, strategy);
    table->context.prices = prices;
    fill_mixers(table, NULL);
    fill_layers(table, false, whole);
    if (mixers && !keeps_low_weights(&table->context)) {
        count_params(table);
    } else {
        fill_layers(table, true, whole);
    }
    table->embedding = rk_block_embedding(&table->context);
    table->head = rk_block_head(&table->context);
    table->mtp = model->mtp_layers > 0 ? rk_block_mtp(&table->context) : (rk_cost){.saved = 0};
    finish(&table->embedding);
    finish(&table->head);
    finish(&table->mtp);
    table->executed_flops = 0;
}

void rk_cost_table_fill(const rk_model *model, const rk_system *system, const rk_stack *stack,
                        const rk_strategy *strategy, rk_cost_table *table)
{
    fill_table(model, system, stack, strategy, NULL, true, false, table);
}

void rk_cost_table_fill_with(const rk_model *model, const rk_system *system, const rk_stack *stack,
                             const rk_strategy *strategy, rk_gemm_prices *prices,
                             rk_cost_table *table)
{
    const bool whole = strategy->recompute == RK_REC_FULL;
    fill_table(model, system, stack, strategy, prices, whole, false, table);
}

void rk_cost_table_fill_mixers(const rk_model *model, const rk_system *system,
                               const rk_stack *stack, const rk_strategy *strategy,
                               rk_gemm_prices *prices, rk_cost_table *table)
{
    fill_table(model, system, stack, strategy, prices, false, true, table);
}

void rk_cost_table_fill_experts(const rk_strategy *strategy, rk_cost_table *table)
{
    table->context = rk_block_context_like(&table->context, strategy);
    fill_layers(table, true, strategy->recompute == RK_REC_FULL);
}

void rk_cost_table_fill_layers(const rk_cost_table *like, const rk_strategy *strategy,
                               rk_cost_table *table)
{
    table->context = rk_block_context_like(&like->context, strategy);
    table->embedding = like->embedding;
    table->head = like->head;
    table->mtp = like->mtp;
    table->executed_flops = 0;
    const bool whole = strategy->recompute == RK_REC_FULL;
    fill_mixers(table, like);
    fill_layers(table, false, whole);
    fill_layers(table, true, whole);
}

/* Of two types with experts; some that are the same may count as different. */
static bool same_network(const rk_layer_type *a, const rk_layer_type *b)
{
    return a->feed_forward == b->feed_forward && memcmp(&a->ffn, &b->ffn, sizeof(a->ffn)) == 0 &&
           memcmp(&a->moe, &b->moe, sizeof(a->moe)) == 0;
}

rk_chunk_times rk_least_experts(const rk_cost_table *table, const rk_strategy *strategy)
{
    const rk_model *model = table->context.model;
    const rk_block_context context = rk_block_context_like(&table->context, strategy);
    const rk_layer_type *before = NULL;
    rk_chunk_times least = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        if (!rk_layer_is_moe(type) || (before && same_network(before, type))) {
            continue;
        }
        before = type;
        rk_cost cost = rk_block_network(&context, type);
        if (strategy->moe_overlap || type->moe.shortcut) { /* which hide exchanges */
            cost.forward.part[RK_PART_EP] = cost.backward.part[RK_PART_EP] = 0;
        }
        finish(&cost);
        least.forward = rk_min(least.forward, cost.forward_seconds);
        least.backward = rk_min(least.backward, cost.backward_seconds - cost.weight_seconds);
        least.weight = rk_min(least.weight, cost.weight_seconds);
    }
    return least;
}

void rk_cost_table_lower_experts(const rk_chunk_times *experts, rk_cost_table *table)
{
    const rk_model *model = table->context.model;
    for (int i = 0; i < model->type_count; i++) {
        const rk_cost *layer = &table->layers[i][0];
        if (rk_layer_is_moe(&model->types[i])) {
            rk_cost least = table->mixers[i];
            least.dense_params = layer->dense_params;
            least.replicated_params = layer->replicated_params;
            least.outer_params = layer->outer_params;
            least.low_dense_params = layer->low_dense_params;
            finish(&least);
            least.forward_seconds += experts->forward;
            least.backward_seconds += experts->backward + experts->weight;
            least.weight_seconds += experts->weight;
            table->layers[i][0] = table->layers[i][1] = least;
        }
    }
}

/* ---- the pipeline -------------------------------------------------------------------------- */

/* The memory of all ranks reduced to what an estimate says. */
struct fullest {
    int64_t worst; /* rank that needs most memory */
    rk_stage_memory memory;
    double host_bytes, nvme_bytes;
    bool fits, thrashes;
};

double rk_rank_seconds(const rk_strategy *s, const rk_chunk_times *chunks)
{
    const int64_t v = rk_stage_chunks(s);
    double seconds = 0;
    for (int64_t i = 0; i < v; i++) {
        seconds += rk_passes_sum(&chunks[i]);
    }
    return seconds * (double)rk_stage_passes(s) / (double)v;
}

static void add_memory(const rk_accelerator *a, const rk_stage_need *need, double in_flight,
                       int64_t rank, struct fullest *out)
{
    assert(in_flight > 0);
    const rk_stage_memory memory = rk_stage_memory_at(need, in_flight);
    const double host = rk_stage_host_at(need, in_flight);
    const bool host_fits = host <= a->host_capacity;
    if (rank == 0 || rk_needed_bytes(&memory) > rk_needed_bytes(&out->memory)) {
        out->worst = rank;
        out->memory = memory;
        rk_stage_fill_peaks(need, in_flight, &out->memory);
        out->host_bytes = host;
        out->nvme_bytes = need->nvme;
    }
    out->fits = out->fits && rk_needed_bytes(&memory) <= a->memory_usable && host_fits;
    out->thrashes = out->thrashes || memory.total > a->memory_usable;
}

/* The chunks of all ranks and their times: as many as there are, since there may be thousands. */
struct scratch {
    rk_chunk *chunks;      /* owned, with the times */
    rk_chunk_times *times; /* by rank and chunk */
};

static rk_status scratch_init(struct scratch *scratch, const rk_strategy *s, rk_error *err)
{
    assert(s->pp >= 1 && rk_stage_chunks(s) >= 1);
    const size_t count = (size_t)(s->pp * rk_stage_chunks(s));
    scratch->times = malloc(count * (sizeof(*scratch->times) + sizeof(*scratch->chunks)));
    scratch->chunks = (rk_chunk *)(void *)(scratch->times + count);
    return scratch->times ? RK_OK
                          : rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu stages", count);
}

static void scratch_clear(struct scratch *scratch)
{
    free(scratch->times);
}

static void survey_ranks(const rk_cost_table *table, const rk_strategy *s,
                         const struct scratch *scratch, rk_stage_memory *stages,
                         rk_step_ranks *ranks, struct fullest *out)
{
    const rk_model *model = table->context.model;
    const rk_accelerator *a = &table->context.system->accelerator;
    const int64_t v = rk_stage_chunks(s), m = rk_strategy_microbatches(s);
    rk_chunk *chunks = scratch->chunks;
    rk_chunk_times *times = scratch->times;
    rk_stage_blocks blocks, of_stage, of_heaviest;
    rk_stage stage;
    rk_stage_need need;
    rk_rank_traffic traffic;
    double busy = 0, in_flight = 0;
    const bool waits = rk_has_pass_traffic(s);
    *out = (struct fullest){.fits = true};
    ranks->ends = 0;
    rk_strategy_chunks(model, s, chunks);
    for (int64_t r = 0; r < s->pp; r++) {
        const double kept = rk_pipeline_in_flight(s->schedule, s->pp, v, m, r);
        const bool alike = r > 0 && rk_chunks_alike(model, &chunks[r * v], &chunks[(r - 1) * v], v);
        const bool no_more = alike && kept <= in_flight; /* memory than the rank before needs */
        in_flight = kept;
        if (alike) {
            memcpy(&times[r * v], &times[(r - 1) * v], (size_t)v * sizeof(*times));
        } else {
            blocks = rk_stage_blocks_of(model, s, &chunks[r * v]);
            rk_stage_keep(table, &blocks, &stage);
            need = rk_stage_need_of(table, s, &stage);
            traffic = rk_stage_times(table, s, &chunks[r * v], waits, &times[r * v]);
            ranks->ends = r == 0 ? traffic.ends : ranks->ends;
            busy = rk_rank_seconds(s, &times[r * v]);
        }
        const double params = stage.dense_params + stage.expert_params;
        if (r == 0 || rk_busier(busy, ranks->busy)) {
            ranks->slowest = stage;
            ranks->busy = busy;
            ranks->traffic = traffic;
            of_stage = blocks;
        }
        if (r == 0 || params > ranks->params) {
            ranks->heaviest = stage;
            ranks->params = params;
            of_heaviest = blocks;
        }
        if (!no_more) {
            add_memory(a, &need, in_flight, r, out);
        }
        if (stages) {
            stages[r] = rk_stage_memory_at(&need, in_flight);
            rk_stage_fill_peaks(&need, in_flight, &stages[r]);
        }
    }
    rk_stage_run(table, &of_stage, &ranks->slowest);
    rk_stage_run(table, &of_heaviest, &ranks->heaviest);
}

/* ---- the step ------------------------------------------------------------------------------ */

/*
 * Messages that hold their senders lengthen the schedule; messages that overlap add
 * rk_overlapped_sends, and at most as much.
 */
rk_status rk_step_makespan(const rk_cost_table *table, const rk_strategy *s,
                           const rk_chunk_times *chunks, double busy, rk_makespans *makespans,
                           rk_makespan *out, rk_error *err)
{
    assert(busy > 0);
    const double send = rk_send_seconds(table, s, &out->sent_bytes);
    const double overlapped = rk_overlapped_sends(table->context.stack, s, send);
    const rk_pipeline without = rk_pipeline_of(s, chunks, 0);
    const rk_pipeline with = rk_pipeline_of(s, chunks, send);
    if (s->pp == 1) {
        *out = (rk_makespan){.work = (double)rk_strategy_microbatches(s) * busy};
        return RK_OK;
    }
    rk_status status = rk_pipeline_makespan(makespans, &without, &out->work, err);
    out->sends = send > 0 ? overlapped : 0;
    if (!status && send > 0 && rk_pipeline_least_sends(&without, out->work) * send < overlapped &&
        rk_pipeline_bound(&with) < out->work + overlapped) {
        double all = 0;
        status = rk_pipeline_makespan(makespans, &with, &all, err);
        out->sends = rk_min(overlapped, all - out->work);
    }
    return status;
}

/* By the closed form of the schedule. */
static rk_makespan closed_makespan(const rk_cost_table *table, const rk_strategy *s,
                                   const rk_chunk_times *chunks)
{
    rk_makespan out = {0};
    const double send = rk_send_seconds(table, s, &out.sent_bytes);
    const rk_pipeline without = rk_pipeline_of(s, chunks, 0);
    const rk_pipeline with = rk_pipeline_of(s, chunks, send);
    out.work = rk_pipeline_seconds(&without);
    out.sends = rk_min(rk_overlapped_sends(table->context.stack, s, send),
                       rk_pipeline_seconds(&with) - out.work);
    return out;
}

/* Adds what a step has outside its pipeline, up to what depends on the sum of all parts. */
static void add_outside(const rk_cost_table *table, const rk_strategy *s,
                        const rk_step_ranks *ranks, rk_times *times, double *bytes)
{
    const rk_exchange exchange = rk_reduce(table, s, &ranks->heaviest);
    times->part[RK_PART_TP] += rk_replicated_seconds(table, s, &ranks->heaviest);
    times->part[RK_PART_DP] += ranks->ends;
    times->part[RK_PART_DP] += exchange.visible;
    times->part[RK_PART_CAST] += rk_weight_cast_seconds(table, s, &ranks->heaviest);
    times->part[RK_PART_OPTIMIZER] += rk_optimizer_seconds(table, s, &ranks->heaviest);
    times->part[RK_PART_OFFLOAD] += rk_offload_seconds(table, s, &ranks->heaviest, &exchange);
    *bytes += exchange.bytes;
}

/* Fills the times of a step but for what memory adds; *bytes: sent for data parallelism. */
static void fill_times(const rk_cost_table *table, const rk_strategy *s, const rk_step_ranks *ranks,
                       const rk_makespan *makespan, rk_times *times, double *bytes)
{
    const double m = (double)rk_strategy_microbatches(s);
    const double idle = makespan->work - m * ranks->busy;
    *times = (rk_times){0};
    rk_times_add(times, m, &ranks->slowest.forward);
    rk_times_add(times, m, &ranks->slowest.backward);
    if (rk_stage_splits(s)) {
        times->part[RK_PART_TP] += m * ranks->slowest.apart.sums;
        times->part[RK_PART_HOST] += m * ranks->slowest.apart.launches;
    }
    times->part[RK_PART_BUBBLE] = idle > 0 ? idle : 0;
    times->part[RK_PART_PP] = makespan->sends;
    times->part[RK_PART_EP] += m * rk_alone_share(s) * rk_stage_hidden(&ranks->slowest);
    times->part[RK_PART_DP] = m * ranks->traffic.data;
    times->part[RK_PART_OFFLOAD] = m * ranks->traffic.copies;
    *bytes = m * ranks->traffic.bytes;
    add_outside(table, s, ranks, times, bytes);
    times->part[RK_PART_FIXED] = rk_fixed_seconds(table->context.stack, s, rk_times_sum(times));
}

double rk_step_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                       const rk_step_ranks *ranks, const rk_makespan *makespan)
{
    rk_times times;
    double bytes;
    fill_times(table, strategy, ranks, makespan, &times, &bytes);
    return rk_times_sum(&times);
}

static double pass_flops(const rk_cost *cost)
{
    return cost->flops_forward + cost->flops_backward;
}

double rk_executed_flops(const rk_cost_table *table, const rk_strategy *s)
{
    const rk_model *model = table->context.model;
    const double modules = (double)model->mtp_layers;
    double each = pass_flops(&table->embedding) + (1 + modules) * pass_flops(&table->head) +
                  modules * pass_flops(&table->mtp);
    for (int i = 0; i < model->layers; i++) {
        each += pass_flops(&table->layers[model->type_of[i]][0]);
    }
    return each * (double)s->tp / table->context.tokens;
}

static void fill_rates(const rk_cost_table *table, const rk_strategy *s, const rk_stage *stage,
                       rk_estimate *e)
{
    const rk_block_context *c = &table->context;
    const double ranks = (double)rk_strategy_ranks(s);
    const double tokens = (double)s->global_batch * (double)s->seq;
    const double peak = c->system->accelerator.gemm[RK_BF16].peak;
    const double done = stage->flops_forward + stage->flops_backward;
    const double each = s->adapter_rank > 0
                            ? rk_model_frozen_flops_per_token(c->model, s->seq, e->convention)
                            : rk_model_flops_per_token(c->model, s->seq, e->convention);
    e->counted_flops = each;
    e->executed_flops =
        table->executed_flops > 0 ? table->executed_flops : rk_executed_flops(table, s);
    e->model_flops = each * tokens / ranks;
    e->hardware_flops = e->model_flops * (1 + (done > 0 ? stage->flops_recompute / done : 0));
    e->mfu = e->model_flops / (e->step * peak);
    e->hfu = e->hardware_flops / (e->step * peak);
    e->tokens_per_second = tokens / e->step;
}

/*
 * An allocator that runs out waits for the device, frees all that it caches, and allocates it
 * again, in every microbatch: so many seconds per GiB that it could not keep.
 */
static double thrash_seconds(const rk_stack *stack, const struct fullest *fullest, double usable,
                             double microbatches)
{
    const double beyond = (fullest->memory.total - usable) / GIB;
    return fullest->fits && beyond > 0 ? stack->thrash_seconds * microbatches * beyond : 0;
}

static void combine(const rk_cost_table *table, const rk_strategy *s, rk_flop_convention convention,
                    const rk_step_ranks *ranks, const struct fullest *fullest,
                    const rk_makespan *makespan, rk_estimate *e)
{
    const double m = (double)rk_strategy_microbatches(s);
    memset(e, 0, sizeof(*e));
    e->convention = convention;
    e->usable = table->context.system->accelerator.memory_usable;
    fill_times(table, s, ranks, makespan, &e->times, &e->volumes.data);
    e->times.part[RK_PART_FIXED] += thrash_seconds(table->context.stack, fullest, e->usable, m);
    e->step = rk_times_sum(&e->times);

    assert(e->step > 0 && e->times.part[RK_PART_BUBBLE] >= 0);
    e->volumes.pipeline = makespan->sent_bytes;
    e->volumes.tensor = m * ranks->slowest.sent.tensor;
    e->volumes.context = m * ranks->slowest.sent.context;
    e->volumes.expert = m * ranks->slowest.sent.expert;
    e->fits = fullest->fits;
    e->thrashes = fullest->fits && fullest->thrashes;
    e->worst_stage = fullest->worst;
    e->memory = fullest->memory;
    e->host_bytes = fullest->host_bytes;
    e->nvme_bytes = fullest->nvme_bytes;
    fill_rates(table, s, &ranks->slowest, e);
}

rk_status rk_estimate_table(const rk_cost_table *table, const rk_strategy *strategy,
                            rk_flop_convention convention, rk_makespans *makespans,
                            rk_estimate *estimate, rk_stage_memory *stages, rk_error *err)
{
    struct scratch scratch;
    rk_step_ranks ranks;
    struct fullest fullest;
    rk_makespan makespan;
    rk_status status = scratch_init(&scratch, strategy, err);
    if (status) {
        return status;
    }
    survey_ranks(table, strategy, &scratch, stages, &ranks, &fullest);
    status =
        rk_step_makespan(table, strategy, scratch.times, ranks.busy, makespans, &makespan, err);
    if (!status) {
        combine(table, strategy, convention, &ranks, &fullest, &makespan, estimate);
    }
    scratch_clear(&scratch);
    return status;
}

rk_status rk_estimate_with(const rk_cost_table *table, const rk_strategy *strategy,
                           rk_flop_convention convention, const rk_makespan *makespan,
                           rk_estimate *estimate, rk_error *err)
{
    struct scratch scratch;
    rk_step_ranks ranks;
    struct fullest fullest;
    const rk_status status = scratch_init(&scratch, strategy, err);
    if (!status) {
        survey_ranks(table, strategy, &scratch, NULL, &ranks, &fullest);
        combine(table, strategy, convention, &ranks, &fullest, makespan, estimate);
        scratch_clear(&scratch);
    }
    return status;
}

/* A filled table, which the caller frees; NULL: no memory. */
static rk_cost_table *new_table(const rk_model *model, const rk_system *system,
                                const rk_stack *stack, const rk_strategy *strategy, rk_error *err)
{
    rk_cost_table *table = malloc(sizeof(*table));
    if (table) {
        rk_cost_table_fill_with(model, system, stack, strategy, NULL, table);
    } else {
        (void)rk_fail(err, RK_ERR_MEMORY, "not enough memory for the costs of a model's layers");
    }
    return table;
}

rk_status rk_estimate_exact(const rk_setting *setting, const rk_strategy *strategy,
                            rk_estimate *estimate, rk_stage_memory *stages, rk_error *err)
{
    rk_kept_costs *costs;
    rk_status status = rk_estimate_take(setting, strategy, &costs, err);
    if (!status) {
        status = rk_estimate_table(&costs->table, strategy, setting->convention, costs->makespans,
                                   estimate, stages, err);
    }
    rk_estimate_put(setting->store, costs);
    return status;
}

rk_status rk_estimate_step(const rk_model *model, const rk_system *system, const rk_stack *stack,
                           const rk_strategy *strategy, rk_flop_convention convention,
                           rk_estimate *estimate)
{
    const rk_setting setting = {
        .model = model, .system = system, .stack = stack, .convention = convention};
    return rk_estimate_exact(&setting, strategy, estimate, NULL, NULL);
}

rk_status rk_estimate_closed(const rk_model *model, const rk_system *system, const rk_stack *stack,
                             const rk_strategy *strategy, rk_flop_convention convention,
                             rk_estimate *estimate, rk_error *err)
{
    struct scratch scratch;
    rk_step_ranks ranks;
    struct fullest fullest;
    rk_status status = scratch_init(&scratch, strategy, err);
    if (status) {
        return status;
    }
    rk_cost_table *table = new_table(model, system, stack, strategy, err);
    if (table) {
        survey_ranks(table, strategy, &scratch, NULL, &ranks, &fullest);
        const rk_makespan makespan = closed_makespan(table, strategy, scratch.times);
        combine(table, strategy, convention, &ranks, &fullest, &makespan, estimate);
    }
    status = table ? RK_OK : RK_ERR_MEMORY;
    free(table);
    scratch_clear(&scratch);
    return status;
}

rk_status rk_estimate_visit(const rk_model *model, const rk_system *system, const rk_stack *stack,
                            const rk_strategy *strategy, rk_pipeline_result *result,
                            rk_times *outside, void (*visit)(void *user, const rk_op *op),
                            void *user, rk_error *err)
{
    struct scratch scratch;
    rk_step_ranks ranks;
    struct fullest fullest;
    double sent = 0;
    rk_status status = scratch_init(&scratch, strategy, err);
    if (status) {
        return status;
    }
    rk_cost_table *table = new_table(model, system, stack, strategy, err);
    status = table ? RK_OK : RK_ERR_MEMORY;
    if (table) {
        survey_ranks(table, strategy, &scratch, NULL, &ranks, &fullest);
        *outside = (rk_times){0};
        add_outside(table, strategy, &ranks, outside, &sent);
        const double send = rk_send_seconds(table, strategy, &sent);
        const rk_pipeline pipeline =
            rk_pipeline_of(strategy, scratch.times, strategy->pp_overlap ? 0 : send);
        status = rk_pipeline_play(&pipeline, result, visit, user, err);
    }
    free(table);
    scratch_clear(&scratch);
    return status;
}

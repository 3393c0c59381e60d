/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as the inputs of an estimate. */
#include "base/error.h"
#include "base/units.h"
#include "evidence/facts.h"
#include "framework/framework.h"
#include "layer/precision.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Degrees and batch of a row; 0: not stated. */
typedef struct degrees {
    int64_t ranks, tp, pp, vp, cp, ep, etp, dp, micro_batch, global_batch;
} degrees;

enum { DEGREE_MOST = 1 << 24 };

static rk_status read_degrees(const rk_run_table *table, size_t row, degrees *out, rk_error *err)
{
    const struct {
        rk_run_column column;
        int64_t *place;
    } list[] = {
        {RK_RUN_ACCELERATORS, &out->ranks},
        {RK_RUN_TP, &out->tp},
        {RK_RUN_PP, &out->pp},
        {RK_RUN_VP, &out->vp},
        {RK_RUN_CP, &out->cp},
        {RK_RUN_EP, &out->ep},
        {RK_RUN_ETP, &out->etp},
        {RK_RUN_DP, &out->dp},
        {RK_RUN_MICRO_BATCH, &out->micro_batch},
        {RK_RUN_GLOBAL_BATCH, &out->global_batch},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        double value = 0;
        rk_status status = rk_run_number(table, row, list[i].column, &value, err);
        if (status) {
            return status;
        }
        if (value > DEGREE_MOST) {
            return rk_fail(err, RK_ERR_INVALID, "column %s: expected at most %d",
                           rk_run_column_names[list[i].column], DEGREE_MOST);
        }
        *list[i].place = (int64_t)value;
    }
    if (out->ranks < 1 || out->global_batch < 1) {
        return rk_fail(err, RK_ERR_INVALID, "%s not stated",
                       out->ranks < 1 ? "number of accelerators" : "batch");
    }
    return RK_OK;
}

static int64_t at_least_1(int64_t value)
{
    return value < 1 ? 1 : value;
}

/* One degree follows from the others; with all states sharded, none is needed. */
static bool degrees_stated(const degrees *d, const rk_run_facts *facts)
{
    const bool inner = d->tp > 0 || d->cp > 0 || d->dp * at_least_1(d->pp) == d->ranks;
    const bool stated = (d->dp > 0 && inner) || (d->tp > 0 && d->pp > 0);
    return stated || d->ranks == 1 || facts->sharding == RK_SHARD_ALL;
}

/*
 * Chunks of a pipeline rank; where a row states none, one, or of software that interleaves as many
 * as a rank has layers, the embedding and the head among them where the layers alone do not divide.
 */
static int64_t chunks(const rk_model *model, const degrees *d, const rk_run_facts *facts,
                      const rk_strategy *s)
{
    const int64_t stated = facts->vp ? facts->vp : d->vp, counted = model->layers + 2;
    const bool interleaves = facts->layer_chunks && rk_strategy_microbatches(s) % s->pp == 0;
    if (s->pp == 1) {
        return 1;
    }
    if (stated > 0 || !interleaves) {
        return at_least_1(stated);
    }
    return at_least_1(model->layers % s->pp == 0 ? model->layers / s->pp
                      : counted % s->pp == 0     ? counted / s->pp
                                                 : 1);
}

/*
 * The default of a row without a micro-batch: 1 in a pipeline, as in most recipes, otherwise the
 * whole batch of a rank.
 */
static int64_t usual_micro_batch(const rk_run_facts *facts, const rk_strategy *s)
{
    const int64_t batch = s->global_batch / s->dp;
    return s->pp == 1 ? batch : facts->stage_microbatches ? at_least_1(batch / s->pp) : 1;
}

static void set_degrees(const rk_model *model, const degrees *d, const rk_run_facts *facts,
                        rk_strategy *s)
{
    s->tp = at_least_1(d->tp);
    s->pp = at_least_1(d->pp);
    s->cp = at_least_1(d->cp);
    s->ep = at_least_1(d->ep ? d->ep : facts->ep);
    s->etp = at_least_1(d->etp ? d->etp : facts->etp);
    const int64_t inner = s->tp * s->pp; /* at most 2^48 */
    s->dp = at_least_1(d->dp ? d->dp : d->ranks / inner / s->cp);
    s->global_batch = d->global_batch;
    if (s->global_batch < s->dp) {
        /* Sources that count context-parallel ranks as data-parallel. */
        s->dp = s->global_batch;
        s->cp = at_least_1(d->ranks / inner / s->dp);
    }
    const int64_t printed = d->micro_batch ? d->micro_batch : facts->micro_batch;
    const int64_t micro = facts->no_accumulation ? 0 : printed;
    s->micro_batch = micro ? micro : usual_micro_batch(facts, s);
    s->vp = chunks(model, d, facts, s);
    s->schedule = rk_schedule_usual(s->vp);
    if (facts->schedule > 0 && s->pp > 1) {
        s->schedule = (rk_schedule_kind)(facts->schedule - 1);
        s->vp = rk_schedule_has_vp(s->schedule) ? s->vp : 1; /* sources count those of a V */
    }
}

/*
 * A layout by hand, as in recipes of models with a large vocabulary: fewer layers on the stage of
 * the loss; where stages are too short for that, none, and the MTP modules on the stage before.
 */
static void spare_head(const rk_model *model, int64_t stages, rk_strategy *s, int16_t *layout)
{
    const int64_t each = (model->layers + stages - 1) / stages;
    const bool fits = each * (stages - 1) <= model->layers;
    const int64_t full = fits ? stages - 1 : stages - 2;
    for (int64_t i = 0; i < stages; i++) {
        const int64_t shared = model->layers / full + (i < model->layers % full);
        layout[i] = (int16_t)(i < full ? (fits ? each : shared) : 0);
    }
    if (fits) {
        layout[stages - 1] = (int16_t)(model->layers - full * each);
    }
    s->mtp_before_head = !fits;
    s->layout = layout;
    s->layout_count = (int)stages;
}

/* Split of layers that the degrees ask for. */
static void set_stages(const rk_model *model, const rk_run_facts *facts, rk_strategy *s,
                       int16_t *layout)
{
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp);
    if (facts->split_by_weight && s->pp > 1 && stages <= RK_RUN_STAGE_MAX) {
        rk_strategy_layout_by_weight(model, stages, layout);
        s->layout = layout;
        s->layout_count = (int)stages;
    } else if (facts->short_last_stage && stages > 2 && stages <= RK_RUN_STAGE_MAX) {
        spare_head(model, stages, s, layout);
    } else if (model->layers % stages && (model->layers + 2) % stages == 0) {
        s->count_embedding = s->count_head = true;
    }
}

static void set_strategy(const degrees *d, const rk_run_facts *facts, const rk_model *model,
                         rk_strategy *s, int16_t *layout)
{
    *s = rk_strategy_defaults(model);
    set_degrees(model, d, facts, s);
    set_stages(model, facts, s, layout);
    s->sp = rk_strategy_splits_sequence(s->tp, facts->sp);
    s->recompute = facts->recompute;
    s->recompute_modules = facts->recompute == RK_REC_SELECTIVE ? facts->modules : 0;
    if (facts->recompute == RK_REC_FULL && facts->recompute_every > 1) {
        const int64_t chunk = at_least_1(model->layers / at_least_1(s->pp * s->vp));
        s->recompute_layers = (chunk + facts->recompute_every - 1) / facts->recompute_every;
    }
    s->sharding = facts->sharding;
    const bool groups = facts->shard_ranks > 0 && s->sharding != RK_SHARD_NONE;
    const bool slices = facts->slice > 0 && s->sharding == RK_SHARD_ALL;
    s->replicas = at_least_1(groups                ? s->dp * s->cp / facts->shard_ranks
                             : facts->replicas > 0 ? facts->replicas
                             : slices              ? rk_strategy_ranks(s) / facts->slice
                                                   : 1);
    s->precision = facts->precision;
    s->fp8_recipe = facts->fp8_recipe;
    s->low_weights = facts->low_weights;
    s->low_activations = facts->low_activations;
    s->states = facts->states;
    s->states.gradient += s->dp > 1 ? facts->bucket_bytes : 0;
    if (facts->keeps_gathered && s->pp > 1 && s->sharding == RK_SHARD_ALL) {
        /* torchtitan 0.2: reshard_after_forward "default" */
        s->sharding = RK_SHARD_GRADIENTS;
    }
    if (facts->lora_rank > 0) {
        rk_strategy_freeze(model, facts->lora_rank, facts->lora_modules, s);
    }
    s->cp_kind = facts->cp_kind;
    s->order = facts->order;
    s->flash_attention = facts->flash_attention;
    s->attention_kernel = facts->flash_attention ? facts->kernel : RK_KERNEL_OF_STACK;
    s->tp_overlap = s->sp && facts->tp_overlap;
    s->grad_overlap = facts->grad_overlap;
    s->param_overlap = facts->param_overlap;
    s->pp_overlap = s->vp > 1;
    s->offload_activations = facts->offload_activations;
    s->offload_layers = facts->offload_layers;
    s->graph_capture = facts->graph_capture;
    s->graph_step = facts->graph_step;
    s->moe_overlap = facts->moe_overlap;
    s->capacity_factor = facts->capacity_factor;
}

static rk_status set_documents(const rk_run_sources *sources, const rk_run_facts *facts,
                               rk_run_case *out, rk_error *err)
{
    out->stack = rk_run_place(sources->stack_names, sources->stack_count, facts->stack);
    out->system = rk_run_place(sources->system_names, sources->system_count, facts->system);
    out->network_bandwidth = 1e9 * facts->network_bandwidth;
    out->power = facts->power;
    out->memory_bandwidth = 1e9 * facts->memory_bandwidth;
    out->memory_usable = GIB * facts->memory_usable;
    if (out->system < 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "accelerator without a document; name one in the column system");
    }
    return out->stack < 0 ? rk_fail(err, RK_ERR_INVALID, "no stack is known for such rows") : RK_OK;
}

/* Accelerators of a node, where the row states them. */
static rk_status read_node(const rk_run_table *table, size_t row, rk_run_case *out, rk_error *err)
{
    double node = 0;
    const rk_status status = rk_run_number(table, row, RK_RUN_PER_NODE, &node, err);
    out->node = node >= 1 && node <= DEGREE_MOST ? (int64_t)node : 0;
    return status;
}

/* The measured step; `peak`, FLOP/s, is what utilisation counts by. */
static rk_status set_measured(const rk_run_table *table, size_t row, const rk_run_facts *facts,
                              double peak, rk_run_case *out, rk_error *err)
{
    const rk_strategy *s = &out->strategy;
    double rate = 0, tflops = 0, mfu = 0, memory = 0;
    out->step_seconds = 0;
    rk_status status = rk_run_number(table, row, RK_RUN_STEP_SECONDS, &out->step_seconds, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_TOKENS_PER_SECOND, &rate, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_TFLOPS, &tflops, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_MFU, &mfu, err);
    status = status ? status : rk_run_number(table, row, RK_RUN_MEMORY, &memory, err);
    tflops = tflops > 0 ? tflops : mfu * peak / 1e12;
    out->uncounted = out->step_seconds <= 0 && rate <= 0 && tflops > 0 && facts->rate == 0;
    if (rate <= 0 && tflops > 0 && facts->rate > 0) {
        const rk_flop_convention convention = (rk_flop_convention)(facts->rate - 1);
        rate = 1e12 * tflops / rk_model_flops_per_token(&out->model, s->seq, convention);
    }
    if (out->step_seconds <= 0 && rate > 0) {
        out->step_seconds =
            (double)s->global_batch * (double)s->seq / (rate * (double)rk_strategy_ranks(s));
    }
    out->step_seconds = facts->untimed ? 0 : out->step_seconds;
    out->memory = memory * (facts->decimal_memory ? 1e9 : GIB);
    out->memory_kind = facts->memory;
    out->first_stage = facts->first_stage;
    out->out_of_memory = facts->out_of_memory;
    out->convention = facts->flops;
    return status;
}

static uint64_t bit(rk_run_column column)
{
    return rk_run_column_bit((int)column);
}

/*
 * The framework of a row that names none, or one that no rule knows, is a guess where the stack
 * follows from it.
 */
static uint64_t guessed_framework(const rk_run_table *table, size_t row)
{
    const bool known = rk_run_framework(rk_run_cell(table, row, RK_RUN_FRAMEWORK)) != NULL;
    return known || rk_run_cell(table, row, RK_RUN_STACK)[0] ? 0 : bit(RK_RUN_FRAMEWORK);
}

/* Degrees that neither the row nor a rule states, and that do not follow from others. */
static uint64_t guessed(const degrees *d, const rk_run_facts *facts, const rk_strategy *s)
{
    const bool micro = d->micro_batch || facts->micro_batch || s->global_batch == s->dp;
    const bool chunks_stated = d->vp || facts->vp || facts->schedule > 0;
    return (micro ? 0 : bit(RK_RUN_MICRO_BATCH)) | (chunks_stated ? 0 : bit(RK_RUN_VP));
}

/* The filled-in columns that matter to the run. */
static uint64_t that_matter(uint64_t assumed, const rk_strategy *s)
{
    return assumed & ~(s->tp > 1 ? 0 : bit(RK_RUN_SP)) & ~(s->pp > 1 ? 0 : bit(RK_RUN_VP));
}

static void name_assumed(uint64_t assumed, char out[RK_RUN_NOTE_SIZE])
{
    size_t length = 0;
    out[0] = '\0';
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        if (assumed & rk_run_column_bit(column) && length + 32 < RK_RUN_NOTE_SIZE) {
            const int added = snprintf(out + length, RK_RUN_NOTE_SIZE - length, "%s%s",
                                       length ? ", " : "", rk_run_column_names[column]);
            length += added > 0 ? (size_t)added : 0;
        }
    }
}

static void set_group(const rk_run_table *table, size_t row, const rk_run_facts *facts,
                      rk_run_case *out)
{
    const char *part = rk_run_cell(table, row, RK_RUN_PART);
    (void)snprintf(out->group, sizeof(out->group), "%.63s",
                   facts->group[0] ? facts->group
                   : part[0]       ? part
                                   : "runs");
}

/* ---- what nobody states ---------------------------------------------------------------------- */

typedef struct filling {
    const rk_run_sources *sources;
    rk_run_case *run;
    rk_run_facts facts;
    degrees d;
    uint64_t assumed;
    int16_t stages[RK_RUN_STAGE_MAX]; /* layers of each, where they are stated */
    int stage_count;
} filling;

/* Layers of each stage: "6+9+9+8". */
static rk_status read_stages(const rk_run_table *table, size_t row, filling *f, rk_error *err)
{
    const char *cell = rk_run_cell(table, row, RK_RUN_STAGE_LAYERS);
    f->stage_count = 0;
    while (*cell) {
        char *end = NULL;
        const long layers = strtol(cell, &end, 10);
        if (end == cell || layers < 0 || layers > RK_LAYER_MAX || (*end && *end != '+') ||
            (*end && !end[1]) || f->stage_count == RK_RUN_STAGE_MAX) {
            return rk_fail(err, RK_ERR_INVALID,
                           "column stage_layers: expected the layers of up to %d stages such as "
                           "6+9+9+8, found '%.60s'",
                           RK_RUN_STAGE_MAX, rk_run_cell(table, row, RK_RUN_STAGE_LAYERS));
        }
        f->stages[f->stage_count++] = (int16_t)layers;
        cell = end + (*end == '+');
    }
    return RK_OK;
}

/* Whether the stated stages are those of the strategy; the layout is theirs then. */
static bool take_stages(const filling *f, rk_strategy *s)
{
    int64_t layers = 0;
    for (int i = 0; i < f->stage_count; i++) {
        layers += f->stages[i];
    }
    if (f->stage_count != rk_schedule_stages(s->schedule, s->pp, s->vp) ||
        layers != f->run->model.layers) {
        return f->stage_count == 0;
    }
    memcpy(f->run->layout, f->stages, sizeof(f->stages));
    s->layout = f->run->layout;
    s->layout_count = f->stage_count;
    s->count_embedding = s->count_head = false;
    return true;
}

/* Makes the strategy. Returns whether it is legal. */
static bool try_strategy(filling *f)
{
    rk_run_case *run = f->run;
    set_strategy(&f->d, &f->facts, &run->model, &run->strategy, run->layout);
    return take_stages(f, &run->strategy) && rk_strategy_ranks(&run->strategy) == f->d.ranks &&
           rk_strategy_legal(&run->model, &f->sources->systems[run->system], &run->strategy,
                             RK_FRAMEWORK_ANY, NULL);
}

/* Columns that decide how much memory a run needs. */
#define DECIDE_MEMORY                                                                              \
    (bit(RK_RUN_TP) | bit(RK_RUN_PP) | bit(RK_RUN_VP) | bit(RK_RUN_CP) | bit(RK_RUN_EP) |          \
     bit(RK_RUN_SP) | bit(RK_RUN_SHARDING) | bit(RK_RUN_MICRO_BATCH) | bit(RK_RUN_RECOMPUTE) |     \
     bit(RK_RUN_PRECISION) | bit(RK_RUN_VOCAB) | bit(RK_RUN_HEADS))

/* The same, and whether it fits in memory; *step gets its time. */
static bool try_fit(filling *f, double *step)
{
    rk_run_prediction p;
    if (!try_strategy(f)) {
        return false;
    }
    rk_run_predict(f->sources, f->run, NULL, NULL, &p);
    *step = p.estimate.step;
    return p.estimate.fits;
}

/*
 * The micro-batch of a row that states none: the usual one in a pipeline, otherwise the largest
 * that fits; *step gets its time.
 */
static bool fit_micro_batch(filling *f, double *step)
{
    const int64_t batch = f->run->strategy.global_batch / at_least_1(f->run->strategy.dp);
    const bool pipeline = f->run->strategy.pp > 1;
    const int64_t first = pipeline ? usual_micro_batch(&f->facts, &f->run->strategy) : batch;
    for (int64_t micro = first; micro > 0; micro--) {
        f->d.micro_batch = micro;
        if (batch % micro == 0 && try_fit(f, step)) {
            return true;
        }
    }
    f->d.micro_batch = 1;
    return false;
}

/* Recompute settings, as recipes of Megatron, NeMo and MaxText combine them. */
static const struct {
    rk_recompute_kind kind;
    unsigned modules;
    bool offload;
} recomputations[] = {
    {RK_REC_SELECTIVE, RK_MODULE_MLA_UP, false},
    {RK_REC_SELECTIVE, RK_MODULE_NORM | RK_MODULE_ACTIVATION, false},
    {RK_REC_SELECTIVE,
     RK_MODULE_NORM | RK_MODULE_ACTIVATION | RK_MODULE_MLA_UP | RK_MODULE_CORE_ATTENTION, false},
    {RK_REC_SELECTIVE, RK_MODULE_NORM | RK_MODULE_MLP | RK_MODULE_MOE, false},
    {RK_REC_SELECTIVE,
     RK_MODULE_NORM | RK_MODULE_MLA_UP | RK_MODULE_CORE_ATTENTION | RK_MODULE_MLP | RK_MODULE_MOE,
     false},
    {RK_REC_FULL, 0, false},
    {RK_REC_NONE, 0, true},
};

static bool try_memory(filling *f, bool micro_stated, double *step)
{
    return micro_stated ? try_fit(f, step) : fit_micro_batch(f, step);
}

/*
 * Whether the framework of the run's stack recomputes or offloads so; activations of pipelines are
 * not offloaded.
 */
static bool can_recompute(const filling *f, int way)
{
    const rk_stack *stack = &f->sources->stacks[f->run->stack];
    const rk_framework framework = rk_framework_of_stack(stack->family, stack->base);
    const rk_framework_traits *traits =
        rk_framework_of(framework < RK_FRAMEWORK_COUNT ? framework : RK_FRAMEWORK_ANY);
    return (recomputations[way].modules & ~traits->modules) == 0 &&
           !(recomputations[way].offload && (traits->keeps_activations || f->run->strategy.pp > 1));
}

/* The recompute setting of a row that states none: the fastest that fits. */
static void fit_memory(filling *f, bool micro_stated)
{
    enum { WAYS = sizeof(recomputations) / sizeof(*recomputations) };
    const bool open = f->assumed & bit(RK_RUN_RECOMPUTE);
    const filling before = *f;
    filling best = before;
    double step = (double)INFINITY, least = (double)INFINITY;
    if (try_memory(f, micro_stated, &step) || !open) {
        return;
    }
    for (int i = 0; i < WAYS; i++) {
        *f = before;
        if (!can_recompute(f, i)) {
            continue;
        }
        f->facts.recompute = recomputations[i].kind;
        f->facts.modules = recomputations[i].modules;
        f->facts.offload_activations = recomputations[i].offload;
        if (try_memory(f, micro_stated, &step) && step < least) {
            least = step;
            best = *f;
        }
    }
    *f = best;
    f->run->settled = least < (double)INFINITY;
    (void)try_strategy(f);
}

/* Context parallelism that follows: of stated data-parallel ranks, what else is not used. */
static int64_t context_left(const degrees *asked, int64_t tp, int64_t pp)
{
    const int64_t rest = asked->ranks / tp / pp;
    return asked->cp || asked->dp < 1 || rest % asked->dp ? asked->cp : rest / asked->dp;
}

/* The fastest of the degrees that were tried and fit, or else those that need the least memory. */
typedef struct plan {
    degrees best;
    double step, need;
    bool fits;
} plan;

/* Tries the degrees in `f`, which do not change. */
static void try_degrees(filling *f, plan *best)
{
    rk_run_prediction p;
    const int64_t micro = f->d.micro_batch;
    f->d.micro_batch = at_least_1(micro);
    const bool legal = try_strategy(f);
    f->d.micro_batch = micro;
    if (!legal) {
        return;
    }
    rk_run_predict(f->sources, f->run, NULL, NULL, &p);
    const rk_estimate *e = &p.estimate;
    if (best->fits ? e->fits && e->step < best->step : e->fits || e->memory.total < best->need) {
        *best = (plan){f->d, e->step, e->memory.total, e->fits};
    }
}

/* Tries expert parallelism of every degree that shares out the experts, where it is not stated. */
static void try_experts(filling *f, bool stated, plan *best)
{
    const rk_model *model = &f->run->model;
    const degrees asked = f->d;
    int64_t experts = 1;
    for (int i = 0; i < model->type_count && !stated; i++) {
        const rk_layer_type *type = &model->types[i];
        experts = rk_layer_is_moe(type) ? type->moe.experts : experts;
    }
    for (int64_t ep = 1; ep <= experts; ep++) {
        if (experts % ep == 0) {
            f->d.ep = stated ? asked.ep : ep;
            try_degrees(f, best);
        }
    }
    f->d = asked;
}

static bool states_experts(const filling *f)
{
    bool moe = false;
    for (int i = 0; i < f->run->model.type_count; i++) {
        moe |= rk_layer_is_moe(&f->run->model.types[i]);
    }
    return !moe || f->d.ep > 0 || f->facts.ep > 0;
}

/* Tries tensor parallelism inside a node and every number of stages, where they are not stated. */
static void try_dense_degrees(filling *f, bool dense, bool experts, plan *best)
{
    const degrees asked = f->d;
    rk_system system;
    rk_run_system(f->run, &f->sources->systems[f->run->system], &system);
    const int64_t node = system.tiers[0].size;
    for (int64_t tp = 1; tp <= node && tp <= 64 && !dense; tp *= 2) {
        for (int64_t pp = 1; pp <= f->run->model.layers && pp <= 64; pp++) {
            const int64_t inner = tp * pp * at_least_1(asked.cp);
            if ((asked.tp && tp != asked.tp) || (asked.pp && pp != asked.pp) ||
                asked.ranks % inner) {
                continue;
            }
            f->d = asked;
            f->d.tp = tp;
            f->d.pp = pp;
            f->d.cp = context_left(&asked, tp, pp);
            try_experts(f, experts, best);
        }
    }
    f->d = asked;
    if (dense) {
        try_experts(f, experts, best);
    }
}

/*
 * Degrees of a row that states none: those of the fastest step that fits, with tensor parallelism
 * inside a node; where none fits, with whole layers recomputed if the row leaves that open.
 */
static void plan_degrees(filling *f, bool dense, bool experts)
{
    const degrees asked = f->d;
    const rk_run_facts facts = f->facts;
    plan best = {.best = asked, .step = (double)INFINITY, .need = (double)INFINITY};
    try_dense_degrees(f, dense, experts, &best);
    if (!best.fits && f->assumed & bit(RK_RUN_RECOMPUTE)) {
        f->facts.recompute = RK_REC_FULL;
        try_dense_degrees(f, dense, experts, &best);
        f->facts = facts;
    }
    f->d = best.best;
    if (!dense) {
        f->d.tp = at_least_1(f->d.tp);
        f->d.pp = at_least_1(f->d.pp);
        f->d.cp = f->d.cp ? f->d.cp : context_left(&asked, f->d.tp, f->d.pp);
        f->assumed |= (asked.tp ? 0 : bit(RK_RUN_TP)) | (asked.pp ? 0 : bit(RK_RUN_PP)) |
                      (asked.cp || f->d.cp < 2 ? 0 : bit(RK_RUN_CP));
    }
    f->assumed |= experts ? 0 : bit(RK_RUN_EP);
}

static rk_status fill_as_assumed(filling *f, rk_error *err)
{
    rk_violation violation = {.rule = NULL};
    rk_run_case *run = f->run;
    const bool dense = degrees_stated(&f->d, &f->facts), experts = states_experts(f);
    if (!dense || !experts) {
        plan_degrees(f, dense, experts);
    }
    const degrees stated = f->d;
    const bool legal = try_strategy(f);
    const uint64_t open = guessed(&f->d, &f->facts, &run->strategy);
    f->assumed |= open;
    if (rk_strategy_ranks(&run->strategy) != f->d.ranks) {
        const rk_strategy *s = &run->strategy;
        return rk_fail(err, RK_ERR_INVALID,
                       "degrees do not multiply to the accelerators: tp %" PRId64 " x pp %" PRId64
                       " x cp %" PRId64 " x dp %" PRId64 ", n_accel %" PRId64,
                       s->tp, s->pp, s->cp, s->dp, f->d.ranks);
    }
    if (!take_stages(f, &run->strategy)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "column stage_layers: its %d stages are not the %d layers on pp %d x vpp %d",
                       f->stage_count, (int)run->model.layers, (int)run->strategy.pp,
                       (int)run->strategy.vp);
    }
    if (!legal && !rk_strategy_legal(&run->model, &f->sources->systems[run->system], &run->strategy,
                                     RK_FRAMEWORK_ANY, &violation)) {
        return rk_fail(err, RK_ERR_INVALID, "%s", violation.message);
    }
    const bool micro_stated = !(open & bit(RK_RUN_MICRO_BATCH)) || f->facts.no_accumulation;
    if (!micro_stated || f->assumed & bit(RK_RUN_RECOMPUTE)) {
        f->d = stated;
        fit_memory(f, micro_stated);
    }
    return RK_OK;
}

static bool fits_now(const filling *f)
{
    rk_run_prediction p;
    rk_run_predict(f->sources, f->run, NULL, NULL, &p);
    return p.estimate.fits;
}

/*
 * The strategy that the row states, with the usual choices where it states none.  States that are
 * assumed to be whole on every rank, and do not fit so, are sharded as by ZeRO-1.
 */
static rk_status fill_strategy(filling *f, rk_error *err)
{
    const filling before = *f;
    const rk_status status = fill_as_assumed(f, err);
    const bool whole = f->assumed & bit(RK_RUN_SHARDING) && f->facts.sharding == RK_SHARD_NONE;
    if ((!status && (f->run->strategy.dp == 1 || fits_now(f))) || !whole) {
        return status;
    }
    *f = before;
    f->facts.sharding = RK_SHARD_OPTIMIZER;
    if (!fill_as_assumed(f, err) && fits_now(f)) {
        return RK_OK;
    }
    *f = before;
    return fill_as_assumed(f, err);
}

/* Adds a column to those that are assumed, where it is one. */
static bool note(bool assumed, const char *name, char out[RK_RUN_NOTE_SIZE])
{
    const size_t length = strlen(out);
    if (assumed) {
        (void)snprintf(out + length, RK_RUN_NOTE_SIZE - length, "%s%s", length ? ", " : "", name);
    }
    return assumed;
}

static bool states(const rk_run_table *table, size_t row, const char *fact)
{
    for (size_t i = 0; i < rk_run_fact_count; i++) {
        if (strcmp(rk_run_fact_fields[i].name, fact) == 0) {
            return rk_run_fact_cell(table, row, i)[0] != '\0';
        }
    }
    return false;
}

/*
 * Whether the recomputed modules are a guess, as under policies of XLA that the source does not
 * name or that keep single tensors, or where a row only says "selective".  The step is predicted
 * with them.
 */
static bool guesses_modules(const filling *f, const rk_run_table *table, size_t row)
{
    const bool open = f->facts.recompute == RK_REC_SELECTIVE && f->facts.modules &&
                      states(table, row, "recompute") && !states(table, row, "recompute_modules");
    return open || strstr(rk_run_cell(table, row, RK_RUN_INFERRED), "recompute_modules") != NULL;
}

/* Estimates the run with settings of 8 bits; the change of its stack is the last one. */
static rk_estimate estimate_with(const filling *f, bool low_activations, bool transposes_again)
{
    static const rk_run_change again = {
        .offset = offsetof(rk_stack, transposes_again), .boolean = true, .value = 1};
    rk_run_case *run = f->run;
    rk_run_prediction p;
    run->strategy.low_activations = low_activations;
    if (transposes_again) {
        run->changes[run->change_count++] = again;
    }
    rk_run_predict(f->sources, run, NULL, NULL, &p);
    return p.estimate;
}

/*
 * Settings of training in 8 bits that decide whether a run fits and of which its row says nothing:
 * inputs of gated activations in 8 bits, and transposed copies of weights that are made in every
 * backward pass instead of kept (Megatron Core: activation_func_fp8_input_store,
 * disable_parameter_transpose_cache).  A run that fits in no other way had them: of the fastest
 * step that fits, or else of the fastest that runs at all.
 */
static bool take_settings(const filling *f, const rk_run_table *table, size_t row,
                          char out[RK_RUN_NOTE_SIZE])
{
    enum { LOW = 1, AGAIN = 2, WAYS = 4 };
    static const char *const names[WAYS] = {"", "low_activations", "transposed weights",
                                            "low_activations, transposed weights"};
    rk_run_case *run = f->run;
    const bool stated = run->strategy.low_activations;
    const bool open =
        !stated && !states(table, row, "low_activations") && run->model.types[0].ffn.gated;
    const int changes = run->change_count;
    const rk_estimate usual = estimate_with(f, stated, false);
    double least[2] = {(double)INFINITY, (double)INFINITY}; /* of those that fit, that run */
    int best[2] = {0, 0};
    for (int way = 1; way < WAYS && rk_is_low(run->strategy.precision); way++) {
        if ((way & LOW && !open) || (way & AGAIN && changes == RK_RUN_CHANGE_MAX)) {
            continue;
        }
        const rk_estimate e = estimate_with(f, way & LOW || stated, way & AGAIN);
        const int runs = e.fits ? 0 : 1;
        run->change_count = changes;
        if ((e.fits || (e.thrashes && !usual.thrashes)) && e.step < least[runs]) {
            least[runs] = e.step;
            best[runs] = way;
        }
    }
    const int taken = usual.fits ? 0 : best[0] ? best[0] : best[1];
    (void)estimate_with(f, taken & LOW || stated, taken & AGAIN);
    return note(taken > 0, names[taken], out);
}

/* Whether it fits, or runs short of memory. */
static bool runs_now(const filling *f)
{
    rk_run_prediction p;
    rk_run_predict(f->sources, f->run, NULL, NULL, &p);
    return p.estimate.fits || p.estimate.thrashes;
}

/*
 * Whether a run of unknown software fits with the leanest states that some keep, all in 16 bits,
 * and not with those that are assumed.
 */
static bool rests_on_framework(const filling *f)
{
    rk_run_case *run = f->run;
    const rk_state_recipe assumed = run->strategy.states;
    const bool unknown = f->assumed & bit(RK_RUN_FRAMEWORK);
    if (!unknown || runs_now(f)) {
        return false;
    }
    run->strategy.states.weight = run->strategy.states.gradient = fmin(2, assumed.gradient);
    run->strategy.states.optimizer = fmin(4, assumed.optimizer);
    const bool fits = runs_now(f);
    run->strategy.states = assumed;
    return fits;
}

rk_status rk_run_case_fill(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                           rk_run_case *out, rk_error *err)
{
    filling f = {.sources = sources, .run = out};
    out->settled = false;
    rk_status status = rk_run_facts_of(sources, table, row, &f.facts, out, &f.assumed, err);
    status = status ? status : rk_run_facts_named(table, row, &f.facts, err);
    set_group(table, row, &f.facts, out);
    if (!status && f.facts.unsupported[0]) {
        status = rk_fail(err, RK_ERR_INVALID, "%s", f.facts.unsupported);
    }
    status = status ? status : read_degrees(table, row, &f.d, err);
    status = status ? status : read_node(table, row, out, err);
    status = status ? status : read_stages(table, row, &f, err);
    status = status ? status
                    : rk_run_model_of(sources, table, row, &f.facts, &out->model, &f.assumed, err);
    status = status ? status : set_documents(sources, &f.facts, out, err);
    f.assumed |= guessed_framework(table, row);
    status = status ? status : fill_strategy(&f, err);
    if (status) {
        return status;
    }
    const uint64_t assumed = that_matter(f.assumed, &out->strategy);
    name_assumed(assumed, out->assumed);
    out->filled = assumed != 0;
    out->unsure = note(guesses_modules(&f, table, row), "recompute_modules", out->assumed) ||
                  take_settings(&f, table, row, out->assumed) || (assumed & DECIDE_MEMORY) ||
                  rests_on_framework(&f);
    const double peak = sources->systems[out->system].accelerator.gemm[RK_BF16].peak;
    return set_measured(table, row, &f.facts, peak, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a row leaves open: degrees, the microbatch, recomputation and sharding. */
#include "base/error.h"
#include "evidence/case_parts.h"
#include "framework/framework.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Degrees that neither the row nor a rule states, and that do not follow from others. */
static uint64_t guessed(const rk_run_degrees *d, const rk_run_facts *facts, const rk_strategy *s)
{
    const bool micro = d->micro_batch || facts->micro_batch || s->global_batch == s->dp;
    const bool chunks_stated = d->vp || facts->vp || facts->schedule > 0;
    return (micro ? 0 : rk_run_bit(RK_RUN_MICRO_BATCH)) |
           (chunks_stated ? 0 : rk_run_bit(RK_RUN_VP));
}

rk_status rk_run_read_stages(const rk_run_table *table, size_t row, rk_run_filling *f,
                             rk_error *err)
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
static bool take_stages(const rk_run_filling *f, rk_strategy *s)
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
static bool try_strategy(rk_run_filling *f)
{
    rk_run_case *run = f->run;
    rk_run_set_strategy(&f->d, &f->facts, &run->model, &run->strategy, run->layout);
    return take_stages(f, &run->strategy) && rk_strategy_ranks(&run->strategy) == f->d.ranks &&
           rk_strategy_legal(&run->model, &f->sources->systems[run->system], &run->strategy,
                             RK_FRAMEWORK_ANY, NULL);
}

rk_estimate rk_run_estimate_now(const rk_run_filling *f)
{
    rk_run_prediction p;
    if (rk_run_predict(f->sources, f->run, NULL, NULL, &p, NULL)) {
        *f->no_memory = true;
        return (rk_estimate){.fits = false};
    }
    return p.estimate;
}

/* The same, and whether it fits in memory; *step gets its time. */
static bool try_fit(rk_run_filling *f, double *step)
{
    if (!try_strategy(f)) {
        return false;
    }
    const rk_estimate e = rk_run_estimate_now(f);
    *step = e.step;
    return e.fits;
}

/*
 * The micro-batch of a row that states none: the usual one in a pipeline, otherwise the largest
 * that fits; *step gets its time.
 */
static bool fit_micro_batch(rk_run_filling *f, double *step)
{
    const int64_t batch = f->run->strategy.global_batch / rk_at_least_1(f->run->strategy.dp);
    const bool pipeline = f->run->strategy.pp > 1;
    const int64_t first = pipeline ? rk_run_usual_micro_batch(&f->facts, &f->run->strategy) : batch;
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

static bool try_memory(rk_run_filling *f, bool micro_stated, double *step)
{
    return micro_stated ? try_fit(f, step) : fit_micro_batch(f, step);
}

/*
 * Whether the framework of the run's stack recomputes or offloads so; activations of pipelines are
 * not offloaded.
 */
static bool can_recompute(const rk_run_filling *f, int way)
{
    const rk_stack *stack = &f->sources->stacks[f->run->stack];
    const rk_framework framework = rk_framework_of_stack(stack->family, stack->base);
    const rk_framework_traits *traits =
        rk_framework_of(framework < RK_FRAMEWORK_COUNT ? framework : RK_FRAMEWORK_ANY);
    return (recomputations[way].modules & ~traits->modules) == 0 &&
           !(recomputations[way].offload && (traits->keeps_activations || f->run->strategy.pp > 1));
}

/* The recompute setting of a row that states none: the fastest that fits. */
static void fit_memory(rk_run_filling *f, bool micro_stated)
{
    enum { WAYS = sizeof(recomputations) / sizeof(*recomputations) };
    const bool open = f->assumed & rk_run_bit(RK_RUN_RECOMPUTE);
    const rk_run_filling before = *f;
    rk_run_filling best = before;
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
static int64_t context_left(const rk_run_degrees *asked, int64_t tp, int64_t pp)
{
    const int64_t rest = asked->ranks / tp / pp;
    return asked->cp || asked->dp < 1 || rest % asked->dp ? asked->cp : rest / asked->dp;
}

/* The fastest of the degrees that were tried and fit, or else those that need the least memory. */
typedef struct plan {
    rk_run_degrees best;
    double step, need;
    bool fits;
} plan;

/* Tries the degrees in `f`, which do not change. */
static void try_degrees(rk_run_filling *f, plan *best)
{
    const int64_t micro = f->d.micro_batch;
    f->d.micro_batch = rk_at_least_1(micro);
    const bool legal = try_strategy(f);
    f->d.micro_batch = micro;
    if (!legal) {
        return;
    }
    const rk_estimate e = rk_run_estimate_now(f);
    if (best->fits ? e.fits && e.step < best->step : e.fits || e.memory.total < best->need) {
        *best = (plan){f->d, e.step, e.memory.total, e.fits};
    }
}

/* Tries expert parallelism of every degree that shares out the experts, where it is not stated. */
static void try_experts(rk_run_filling *f, bool stated, plan *best)
{
    const rk_model *model = &f->run->model;
    const rk_run_degrees asked = f->d;
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

static bool states_experts(const rk_run_filling *f)
{
    bool moe = false;
    for (int i = 0; i < f->run->model.type_count; i++) {
        moe |= rk_layer_is_moe(&f->run->model.types[i]);
    }
    return !moe || f->d.ep > 0 || f->facts.ep > 0;
}

/* Tries tensor parallelism inside a node and every number of stages, where they are not stated. */
static void try_dense_degrees(rk_run_filling *f, bool dense, bool experts, plan *best)
{
    const rk_run_degrees asked = f->d;
    rk_system system;
    rk_run_system(f->run, &f->sources->systems[f->run->system], &system);
    const int64_t node = system.tiers[0].size;
    for (int64_t tp = 1; tp <= node && tp <= 64 && !dense; tp *= 2) {
        for (int64_t pp = 1; pp <= f->run->model.layers && pp <= 64; pp++) {
            const int64_t inner = tp * pp * rk_at_least_1(asked.cp);
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
static void plan_degrees(rk_run_filling *f, bool dense, bool experts)
{
    const rk_run_degrees asked = f->d;
    const rk_run_facts facts = f->facts;
    plan best = {.best = asked, .step = (double)INFINITY, .need = (double)INFINITY};
    try_dense_degrees(f, dense, experts, &best);
    if (!best.fits && f->assumed & rk_run_bit(RK_RUN_RECOMPUTE)) {
        f->facts.recompute = RK_REC_FULL;
        try_dense_degrees(f, dense, experts, &best);
        f->facts = facts;
    }
    f->d = best.best;
    if (!dense) {
        f->d.tp = rk_at_least_1(f->d.tp);
        f->d.pp = rk_at_least_1(f->d.pp);
        f->d.cp = f->d.cp ? f->d.cp : context_left(&asked, f->d.tp, f->d.pp);
        f->assumed |= (asked.tp ? 0 : rk_run_bit(RK_RUN_TP)) |
                      (asked.pp ? 0 : rk_run_bit(RK_RUN_PP)) |
                      (asked.cp || f->d.cp < 2 ? 0 : rk_run_bit(RK_RUN_CP));
    }
    f->assumed |= experts ? 0 : rk_run_bit(RK_RUN_EP);
}

static rk_status fill_as_assumed(rk_run_filling *f, rk_error *err)
{
    rk_violation violation = {.rule = NULL};
    rk_run_case *run = f->run;
    const bool dense = rk_run_degrees_stated(&f->d, &f->facts), experts = states_experts(f);
    if (!dense || !experts) {
        plan_degrees(f, dense, experts);
    }
    const rk_run_degrees stated = f->d;
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
    const bool micro_stated = !(open & rk_run_bit(RK_RUN_MICRO_BATCH)) || f->facts.no_accumulation;
    if (!micro_stated || f->assumed & rk_run_bit(RK_RUN_RECOMPUTE)) {
        f->d = stated;
        fit_memory(f, micro_stated);
    }
    return RK_OK;
}

rk_status rk_run_fill_strategy(rk_run_filling *f, rk_error *err)
{
    const rk_run_filling before = *f;
    const rk_status status = fill_as_assumed(f, err);
    const bool whole =
        f->assumed & rk_run_bit(RK_RUN_SHARDING) && f->facts.sharding == RK_SHARD_NONE;
    if ((!status && (f->run->strategy.dp == 1 || rk_run_estimate_now(f).fits)) || !whole) {
        return status;
    }
    *f = before;
    f->facts.sharding = RK_SHARD_OPTIMIZER;
    if (!fill_as_assumed(f, err) && rk_run_estimate_now(f).fits) {
        return RK_OK;
    }
    *f = before;
    return fill_as_assumed(f, err);
}

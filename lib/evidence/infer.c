/* SPDX-License-Identifier: Apache-2.0 */
/* Infers what a run leaves open: degrees, microbatch, recomputation, sharding, 8-bit settings. */
#include "evidence/infer.h"

#include "base/error.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* Makes the strategy. Returns whether it is legal. */
static bool try_strategy(rk_inference *f)
{
    return rk_known_strategy(&f->known, f->model, &f->strategy, f->layout) &&
           rk_strategy_ranks(&f->strategy) == f->known.ranks &&
           rk_strategy_legal(f->model, f->system, &f->strategy, f->framework, NULL);
}

static rk_estimate estimate_on(const rk_inference *f, const rk_stack *stack)
{
    rk_estimate e;
    if (rk_estimate_closed(f->model, f->system, stack, &f->strategy, RK_FLOPS_MEGATRON, &e, NULL)) {
        *f->no_memory = true;
        return (rk_estimate){.fits = false};
    }
    return e;
}

rk_estimate rk_infer_estimate(const rk_inference *f)
{
    return estimate_on(f, f->stack);
}

/* Whether it fits with all that the allocator would like to keep. */
static bool fits_whole(const rk_estimate *e)
{
    return e->fits && !e->thrashes;
}

/* The same, and whether it fits in memory; *step gets its time. */
static bool try_fit(rk_inference *f, double *step)
{
    if (!try_strategy(f)) {
        return false;
    }
    const rk_estimate e = rk_infer_estimate(f);
    *step = e.step;
    return fits_whole(&e);
}

/*
 * The micro-batch of a row that states none: the usual one in a pipeline, otherwise the largest
 * that fits; *step gets its time.
 */
static bool fit_micro_batch(rk_inference *f, double *step)
{
    const int64_t batch = f->strategy.global_batch / rk_at_least_1(f->strategy.dp);
    const bool pipeline = f->strategy.pp > 1;
    const int64_t first = pipeline ? rk_known_micro_batch(&f->known, &f->strategy) : batch;
    for (int64_t micro = first; micro > 0; micro--) {
        f->known.micro_batch = micro;
        if (batch % micro == 0 && try_fit(f, step)) {
            return true;
        }
    }
    f->known.micro_batch = 1;
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

static bool try_memory(rk_inference *f, bool micro_stated, double *step)
{
    return micro_stated ? try_fit(f, step) : fit_micro_batch(f, step);
}

/*
 * Whether the framework of the run's stack recomputes or offloads so; activations of pipelines are
 * not offloaded.
 */
static bool can_recompute(const rk_inference *f, size_t way)
{
    assert(way < sizeof(recomputations) / sizeof(recomputations[0]));
    const rk_framework framework = rk_framework_of_stack(f->stack->family, f->stack->base);
    const rk_framework_traits *traits =
        rk_framework_of(framework < RK_FRAMEWORK_COUNT ? framework : RK_FRAMEWORK_ANY);
    return (recomputations[way].modules & ~traits->modules) == 0 &&
           !(recomputations[way].offload && (traits->keeps_activations || f->strategy.pp > 1));
}

/* The recompute setting of a row that states none: the fastest that fits. */
static void fit_memory(rk_inference *f, bool micro_stated)
{
    const bool open = f->known.guesses_recompute;
    const rk_inference before = *f;
    rk_inference best = before;
    double step = (double)INFINITY, least = (double)INFINITY;
    if (try_memory(f, micro_stated, &step) || !open) {
        return;
    }
    for (size_t i = 0; i < COUNT(recomputations); i++) {
        *f = before;
        if (!can_recompute(f, i)) {
            continue;
        }
        f->known.recompute = recomputations[i].kind;
        f->known.modules = recomputations[i].modules;
        f->known.offload_activations = recomputations[i].offload;
        if (try_memory(f, micro_stated, &step) && step < least) {
            least = step;
            best = *f;
        }
    }
    *f = best;
    f->recompute_inferred = least < (double)INFINITY;
    (void)try_strategy(f);
}

static void set_inferred(rk_inference *f, const char *field, bool inferred)
{
    if (inferred) {
        rk_origin_set(&f->origins, field, RK_ORIGIN_INFERRED);
    }
}

/* Context parallelism that follows: of stated data-parallel ranks, what else is not used. */
static int64_t context_left(const rk_partial_strategy *asked, int64_t tp, int64_t pp)
{
    const int64_t rest = asked->ranks / tp / pp;
    return asked->cp || asked->dp < 1 || rest % asked->dp ? asked->cp : rest / asked->dp;
}

/* The fastest of the degrees that were tried and fit, or else those that need the least memory. */
typedef struct plan {
    rk_partial_strategy best;
    double step, need;
    bool fits;
} plan;

/* Tries the degrees in `f`, which do not change. */
static void try_degrees(rk_inference *f, plan *best)
{
    const int64_t micro = f->known.micro_batch;
    f->known.micro_batch = rk_at_least_1(micro);
    const bool legal = try_strategy(f);
    f->known.micro_batch = micro;
    if (!legal) {
        return;
    }
    const rk_estimate e = rk_infer_estimate(f);
    const bool fits = fits_whole(&e);
    if (best->fits ? fits && e.step < best->step : fits || e.memory.total < best->need) {
        *best = (plan){f->known, e.step, e.memory.total, fits};
    }
}

/* Tries expert parallelism of every degree that shares out the experts, unless stated. */
static void try_experts(rk_inference *f, bool stated, plan *best)
{
    const rk_model *model = f->model;
    const rk_partial_strategy asked = f->known;
    int64_t experts = 1;
    for (int i = 0; i < model->type_count && !stated; i++) {
        const rk_layer_type *type = &model->types[i];
        experts = rk_layer_is_moe(type) ? type->moe.experts : experts;
    }
    for (int64_t ep = 1; ep <= experts; ep++) {
        if (experts % ep == 0) {
            f->known.ep = stated ? asked.ep : ep;
            try_degrees(f, best);
        }
    }
    f->known = asked;
}

/* Whether expert parallelism is stated, or there is nothing to state. */
static bool states_experts(const rk_inference *f)
{
    return !rk_model_has_experts(f->model) || f->known.ep > 0;
}

/* The largest tp and pp that are tried, to bound the number of estimates. */
enum { TRIED_MOST = 64 };

/* Tries tensor parallelism inside a node and every number of stages, where they are not stated. */
static void try_dense_degrees(rk_inference *f, bool dense, bool experts, plan *best)
{
    const rk_partial_strategy asked = f->known;
    const int64_t node = f->system->tiers[0].size;
    for (int64_t tp = 1; tp <= node && tp <= TRIED_MOST && !dense; tp *= 2) {
        for (int64_t pp = 1; pp <= f->model->layers && pp <= TRIED_MOST; pp++) {
            const int64_t inner = tp * pp * rk_at_least_1(asked.cp);
            if ((asked.tp && tp != asked.tp) || (asked.pp && pp != asked.pp) ||
                asked.ranks % inner) {
                continue;
            }
            f->known = asked;
            f->known.tp = tp;
            f->known.pp = pp;
            f->known.cp = context_left(&asked, tp, pp);
            try_experts(f, experts, best);
        }
    }
    f->known = asked;
    if (dense) {
        try_experts(f, experts, best);
    }
}

/*
 * Degrees of a row that states none: the fastest step that fits, with tensor parallelism inside a
 * node; if none fits, with whole layers recomputed if the row leaves that open.
 */
static void plan_degrees(rk_inference *f, bool dense, bool experts)
{
    const rk_partial_strategy asked = f->known;
    plan best = {.best = asked, .step = (double)INFINITY, .need = (double)INFINITY};
    try_dense_degrees(f, dense, experts, &best);
    if (!best.fits && f->known.guesses_recompute) {
        f->known.recompute = RK_REC_FULL;
        try_dense_degrees(f, dense, experts, &best);
    }
    f->known = best.best;
    f->known.recompute = asked.recompute;
    if (!dense) {
        f->known.tp = rk_at_least_1(f->known.tp);
        f->known.pp = rk_at_least_1(f->known.pp);
        f->known.cp = f->known.cp ? f->known.cp : context_left(&asked, f->known.tp, f->known.pp);
        set_inferred(f, "tp", !asked.tp);
        set_inferred(f, "pp", !asked.pp);
        set_inferred(f, "cp", !asked.cp && f->known.cp > 1);
    }
    set_inferred(f, "ep", !experts);
}

/* Refuses degrees and stages that contradict each other, and what the framework refuses. */
static rk_status check(const rk_inference *f, bool stages, rk_error *err)
{
    const rk_strategy *s = &f->strategy;
    rk_legality violation = {.rule = NULL};
    if (rk_strategy_ranks(s) != f->known.ranks) {
        return rk_fail(err, RK_ERR_INVALID,
                       "degrees do not multiply to the accelerators: tp %" PRId64 " x pp %" PRId64
                       " x cp %" PRId64 " x dp %" PRId64 ", n_accel %" PRId64,
                       s->tp, s->pp, s->cp, s->dp, f->known.ranks);
    }
    if (!stages) {
        return rk_fail(err, RK_ERR_INVALID,
                       "stage_layers: its %d stages are not the %d layers on pp %d x vpp %d",
                       f->known.stage_count, (int)f->model->layers, (int)s->pp, (int)s->vp);
    }
    return rk_strategy_legal(f->model, f->system, s, f->framework, &violation)
               ? RK_OK
               : rk_fail(err, RK_ERR_INVALID, "%s", violation.message);
}

static rk_status complete_as_known(rk_inference *f, rk_error *err)
{
    const bool degrees = rk_known_degrees(&f->known), experts = states_experts(f);
    if (!degrees || !experts) {
        plan_degrees(f, degrees, experts);
    }
    const bool stages = rk_known_strategy(&f->known, f->model, &f->strategy, f->layout);
    const rk_status status = check(f, stages, err);
    if (status) {
        return status;
    }
    const bool open = !f->known.micro_batch && f->strategy.global_batch != f->strategy.dp;
    const bool micro_stated = !open || f->known.no_accumulation;
    set_inferred(f, "micro_batch", open);
    if (!f->known.vp && f->known.schedule == 0) {
        rk_origin_set(&f->origins, "vp", RK_ORIGIN_ASSUMED);
    }
    if (!micro_stated || f->known.guesses_recompute) {
        fit_memory(f, micro_stated);
    }
    return RK_OK;
}

/* States that are assumed to be whole on every rank, and do not fit so, are sharded by ZeRO-1. */
static rk_status complete_sharding(rk_inference *f, rk_error *err)
{
    const rk_inference before = *f;
    const rk_status status = complete_as_known(f, err);
    const bool whole = f->known.guesses_sharding && f->known.sharding == RK_SHARD_NONE;
    if ((!status && (f->strategy.dp == 1 || rk_infer_estimate(f).fits)) || !whole) {
        return status;
    }
    *f = before;
    f->known.sharding = RK_SHARD_OPTIMIZER;
    if (!complete_as_known(f, err) && rk_infer_estimate(f).fits) {
        set_inferred(f, "zero", true);
        return RK_OK;
    }
    *f = before;
    return complete_as_known(f, err);
}

/* ---- settings of 8 bits --------------------------------------------------------------------- */

enum { LOW = 1, AGAIN = 2, SETTINGS = 4 };

/* Sets the strategy to settings, and estimates the run with them. */
static rk_estimate try_settings(rk_inference *f, int settings)
{
    rk_stack stack;
    f->strategy.low_activations = settings & LOW || f->known.low_activations;
    f->transposes_again = settings & AGAIN;
    if (!f->transposes_again) {
        return rk_infer_estimate(f);
    }
    stack = *f->stack;
    stack.transposes_again = true;
    return estimate_on(f, &stack);
}

/*
 * Settings of training in 8 bits that decide whether a run fits and of which nothing is said:
 * inputs of gated activations in 8 bits, and transposed copies of weights that are made in every
 * backward pass instead of kept (Megatron Core: activation_func_fp8_input_store,
 * disable_parameter_transpose_cache).  A run that fits in no other way had them: of the fastest
 * step that fits, or else of the fastest that runs at all.
 */
static void complete_settings(rk_inference *f)
{
    const bool open = !f->known.states_activations && f->model->types[0].ffn.gated;
    const rk_estimate usual = try_settings(f, 0);
    double least[2] = {(double)INFINITY, (double)INFINITY}; /* of those that fit, that run */
    int best[2] = {0, 0};
    for (int way = 1; way < SETTINGS && rk_is_low(f->strategy.precision); way++) {
        if (way & LOW && !open) {
            continue;
        }
        const rk_estimate e = try_settings(f, way);
        const int runs = fits_whole(&e) ? 0 : 1;
        if ((runs == 0 || (e.thrashes && !usual.thrashes)) && e.step < least[runs]) {
            least[runs] = e.step;
            best[runs] = way;
        }
    }
    const int taken = fits_whole(&usual) ? 0 : best[0] ? best[0] : best[1];
    (void)try_settings(f, taken);
    f->settings_inferred = taken > 0;
    set_inferred(f, "fp8_activation_input", taken & LOW);
}

rk_status rk_infer_strategy(rk_inference *run, rk_error *err)
{
    const rk_status status = complete_sharding(run, err);
    if (!status) {
        set_inferred(run, "recompute", run->recompute_inferred);
        set_inferred(run, "recompute_modules", run->recompute_inferred);
        set_inferred(run, "offload", run->recompute_inferred);
        complete_settings(run);
        run->strategy.layout = run->strategy.layout_count > 0 ? run->layout : NULL;
    }
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search runs unit by unit (plan_space.h).  Strategies that share the costs of blocks are
 * adjacent, and within them strategies that share stages: the lanes of one base, which differ in
 * sharding and offload only.  Each base adds up its stages once, checks memory lane by lane, and
 * times only lanes that can still enter the top list.
 */
#include "search/plan.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/top.h"
#include "estimate/lower_bounds.h"
#include "search/plan_clock.h"
#include "search/plan_fit.h"
#include "search/plan_lists.h"
#include "work/parallel.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Strategies from which threads pay: starting one takes as long as some hundred of them. */
enum { THREADS_PAY_FROM = 2000 };

/* The strategy that needs least memory so far; equal needs are ordered by index. */
struct least {
    double bytes;
    uint64_t index; /* UINT64_MAX: none */
    rk_strategy strategy;
};

/* Bytes that bases need at least with a floor. */
struct least_floor {
    uint64_t visit; /* in which it was filled; otherwise it is stale */
    double bytes;
};

/* Scratch and results of one thread. */
struct worker {
    rk_top top;
    struct least least;
    rk_plan_counts counts;
    bool has_table; /* of the current costs of blocks */
    rk_plan_fit fit;
    rk_plan_clock clock;
    uint8_t *misfits; /* owned; of bases: a bit per way to keep gradients, see is_misfit */
    struct least_floor *floors; /* owned; by recompute, floor and choice of layers */
    uint64_t visit, batch;      /* of a unit and a kind of CP; of one of its micro-batches */
    rk_status status;
    rk_error error;
    rk_strategy costed;  /* that the table was filled for */
    rk_cost_table table; /* large: from here on nothing is touched before it is filled */
};

struct search {
    const rk_model *model;
    rk_system system; /* with the memory that the space allows */
    rk_risk_limits limits;
    const rk_stack *stack;
    const rk_plan_space *space;
    rk_plan_lists lists;
    struct worker *workers;
    size_t top_n;
    bool least_only;        /* neither counts nor times strategies */
    uint64_t slice, slices; /* of the control */
    double floor;           /* likewise; less: none */
    uint64_t staged_lanes;  /* that keep whole gradients until they are scattered */
    uint64_t total;         /* strategies of the slice */
};

struct base {
    rk_plan_base its;
    int recompute;
    uint8_t *misfits; /* as in the worker */
    uint64_t lanes;   /* that the framework can run with its pp and recompute */
};

/* ---- memory -------------------------------------------------------------------------------- */

static void settle_least(struct least *least, double bytes, uint64_t index,
                         const rk_strategy *strategy)
{
    if (bytes < least->bytes || (!(bytes > least->bytes) && index < least->index)) {
        *least = (struct least){.bytes = bytes, .index = index, .strategy = *strategy};
    }
}

/* Settles the memory of legal lanes.  Returns those that fit. */
static uint64_t fitting_lanes(const struct search *s, struct worker *w, const rk_plan_base *base,
                              uint64_t lanes)
{
    uint64_t fitting = 0;
    rk_strategy strategy = base->strategy;
    for (int lane = 0; lane < RK_PLAN_LANES; lane++) {
        if (!(lanes >> lane & 1)) {
            continue;
        }
        rk_plan_set_lane(&s->lists, lane, &strategy);
        const double bytes = rk_plan_fit_least(&w->fit, &strategy, lane, w->least.bytes);
        settle_least(&w->least, bytes, base->index + (uint64_t)s->lists.lanes[lane].number,
                     &strategy);
        const bool fits = !s->least_only && rk_plan_fit_holds(&w->fit, &strategy, lane);
        fitting |= (uint64_t)fits << lane;
        w->counts.fitting += fits;
    }
    return fitting;
}

/* ---- time ---------------------------------------------------------------------------------- */

/*
 * Longest step that can still enter the top list, with a margin because bounds may be off by
 * rounding.
 */
static double time_limit(const struct search *s, const struct worker *w)
{
    return -rk_max(rk_top_floor(&w->top), s->floor) * (1 + RK_LOWER_BOUND_SLACK);
}

/*
 * Times lanes that fit, unless a lower bound of the step is beyond the limit: all microbatches of
 * the slowest rank, and then the lower bound of the schedule.
 */
static void time_base(const struct search *s, struct worker *w, const rk_plan_base *base,
                      uint64_t lanes)
{
    const double m = (double)rk_strategy_microbatches(&base->strategy);
    const double limit = time_limit(s, w);
    rk_plan_offer offer;
    if (m * rk_plan_fit_seconds(&w->fit, base->shape, base->choice) <= limit &&
        rk_plan_clock_least(&w->clock, base, limit) <= limit) {
        w->status = rk_plan_clock_offer(&w->clock, base, lanes, limit, &w->top, &offer, &w->error);
    }
}

/* ---- bases --------------------------------------------------------------------------------- */

/* The legal ones of `lanes`: all or none, because rules look only at what they share. */
static uint64_t legal_lanes(const struct search *s, struct base *base, uint64_t lanes)
{
    if (lanes == 0) {
        return 0;
    }
    rk_plan_set_lane(&s->lists, rk_first_lane(lanes), &base->its.strategy);
    return rk_strategy_legal(s->model, &s->system, &base->its.strategy, s->space->framework, NULL)
               ? lanes
               : 0;
}

/*
 * The legal lanes of a base with any number of checkpointed layers: hybrid sharding is the only
 * choice of a lane that depends on degrees.
 */
static uint64_t all_legal_lanes(const struct search *s, struct base *base)
{
    const uint64_t hybrid = s->lists.hybrid_lanes;
    return legal_lanes(s, base, base->lanes & ~hybrid) | legal_lanes(s, base, base->lanes & hybrid);
}

static void fill_table(const struct search *s, struct worker *w, const rk_strategy *strategy)
{
    if (!w->has_table) {
        w->costed = *strategy;
        rk_cost_table_fill_with(s->model, &s->system, s->stack, &w->costed, NULL, &w->table);
        w->has_table = true;
        rk_plan_fit_renew(&w->fit, &w->table);
        rk_plan_clock_renew(&w->clock, &w->table);
    }
}

/*
 * Ways to keep gradients (rk_stage_gradient_runs); each keeps no more of them whole than those
 * before: over several runs of as many microbatches as there are ranks, over one run, and of a
 * single microbatch, which are freed or sharded at once.
 */
enum way { WAY_RUNS, WAY_RUN, WAY_ONE };

static enum way way_of(const struct search *s, const struct base *base)
{
    const rk_strategy *strategy = &base->its.strategy;
    const int64_t microbatches = rk_strategy_microbatches(strategy);
    const bool at_once = s->stack->frees_gradients || (strategy->pp == 1 && s->stack->sums_whole);
    const bool in_runs = rk_schedules[strategy->schedule]->runs && rk_stage_chunks(strategy) > 1;
    return microbatches == 1 && at_once              ? WAY_ONE
           : in_runs && microbatches <= strategy->pp ? WAY_RUN
                                                     : WAY_RUNS;
}

/*
 * Memory grows with the micro-batch: a base of which no lane fitted will not fit with a larger one
 * that keeps gradients in the same way.
 */
static bool is_misfit(const struct search *s, const struct base *base)
{
    return *base->misfits >> way_of(s, base) & 1;
}

/*
 * Bytes that any shape of the schedule needs at least with the recompute and choice of a base, and
 * with this micro-batch or, where gradients are kept in runs, any larger one that does so.
 */
static double floor_bytes(const struct search *s, struct worker *w, const struct base *base)
{
    const size_t place = (size_t)base->recompute * s->lists.floor_count + base->its.shape->floor;
    struct least_floor *known = &w->floors[place * RK_PLAN_CHOICES + base->its.choice];
    const uint64_t visit = way_of(s, base) == WAY_RUNS ? w->visit : w->batch;
    if (known->visit == visit) {
        return known->bytes;
    }
    rk_strategy strategy = base->its.strategy;
    *known = (struct least_floor){visit, (double)INFINITY};
    fill_table(s, w, &strategy);
    rk_plan_fit_turn_to(&w->fit, &base->its);
    const double in_flight = rk_plan_fit_floor_flight(&w->fit, &base->its);
    for (int lane = 0; base->lanes >> lane; lane++) {
        if (base->lanes >> lane & 1) {
            rk_plan_set_lane(&s->lists, lane, &strategy);
            const double bytes =
                rk_plan_fit_floor(&w->fit, &base->its, &strategy, lane, in_flight, false);
            known->bytes = rk_min(known->bytes, bytes);
        }
    }
    return known->bytes;
}

/* Whether a base may need as little memory as the least so far. */
static bool may_be_least(const struct search *s, struct worker *w, const struct base *base)
{
    return !is_misfit(s, base) &&
           (!(w->least.bytes < (double)INFINITY) ||
            floor_bytes(s, w, base) <= w->least.bytes * (1 + RK_LOWER_BOUND_SLACK));
}

static void search_base(const struct search *s, struct worker *w, const struct base *base,
                        uint64_t lanes)
{
    w->counts.legal += rk_count_lanes(lanes);
    if (lanes == 0 || is_misfit(s, base)) {
        return;
    }
    if (*base->misfits && way_of(s, base) == WAY_RUN) {
        lanes &= s->staged_lanes; /* others keep the same gradients as before */
    }
    fill_table(s, w, &base->its.strategy);
    rk_plan_fit_turn_to(&w->fit, &base->its);
    const uint64_t fitting = fitting_lanes(s, w, &base->its, lanes);
    *base->misfits = (uint8_t)(*base->misfits | (fitting == 0) << way_of(s, base));
    if (fitting) {
        time_base(s, w, &base->its, fitting);
    }
}

/* ---- units --------------------------------------------------------------------------------- */

/* All shapes of a pipeline degree, from `index` on.  Returns how many strategies were passed. */
static uint64_t search_pipe(const struct search *s, struct worker *w, const rk_plan_unit *unit,
                            const rk_plan_pipe *pipe, int recompute, const rk_strategy *strategy,
                            int lane_count, uint64_t index)
{
    assert(lane_count >= 1 && lane_count <= RK_PLAN_LANES);
    const uint64_t first = index;
    struct base base = {
        .its = {.strategy = *strategy, .unit = unit},
        .recompute = recompute,
        .misfits = &w->misfits[(size_t)recompute * s->lists.base_count + pipe->base_first],
        .lanes = pipe->legal_lanes[recompute] & rk_plan_first_lanes(&s->lists, lane_count) &
                 rk_plan_recipe_lanes(&s->lists, unit->recipe),
    };
    rk_plan_set_recompute(&s->lists.recomputes[recompute], &base.its.strategy);
    rk_plan_fit_turn(&w->fit, pipe);
    rk_plan_clock_turn(&w->clock, pipe);
    for (size_t i = 0; i < pipe->shape_count; i++) {
        base.its.shape = &s->lists.shapes[pipe->shape_first + i];
        rk_plan_set_shape(base.its.shape, &base.its.strategy);
        const bool full = base.its.strategy.recompute == RK_REC_FULL;
        base.its.strategy.recompute_layers = s->lists.recomputes[recompute].layers;
        uint64_t lanes = s->least_only ? 0 : all_legal_lanes(s, &base);
        bool asked = !s->least_only;
        const int choices = full ? base.its.shape->layer_choice_count : 1;
        for (int j = 0; j < choices && !w->status; j++) {
            base.its.strategy.recompute_layers = full ? base.its.shape->layer_choices[j] : 0;
            base.its.choice = full ? (size_t)j + 1 : 0;
            base.its.index = index;
            if (!s->least_only || may_be_least(s, w, &base)) {
                lanes = asked ? lanes : all_legal_lanes(s, &base);
                asked = true;
                search_base(s, w, &base, lanes);
            }
            index += (uint64_t)lane_count;
            base.misfits++;
        }
    }
    return index - first;
}

/* All strategies with the degrees, micro-batch and kind of context parallelism given. */
static uint64_t search_batch(const struct search *s, struct worker *w, const rk_plan_unit *unit,
                             rk_strategy *strategy, uint64_t index)
{
    const rk_plan_lists *l = &s->lists;
    const uint64_t first = index;
    for (int recompute = 0; recompute < l->recompute_count; recompute++) {
        w->has_table = false;
        for (size_t i = 0; i < l->pipe_count; i++) {
            const rk_plan_pipe *pipe = &l->pipes[i];
            const int64_t dp = rk_plan_data_parallel(l, unit, pipe->pp);
            if (dp == 0 || s->space->global_batch % dp ||
                s->space->global_batch / dp % strategy->micro_batch) {
                continue;
            }
            strategy->pp = pipe->pp;
            strategy->dp = dp;
            const int lanes = rk_plan_shardings(l, unit, pipe->pp, dp) * l->offload_count;
            index += search_pipe(s, w, unit, pipe, recompute, strategy, lanes, index);
        }
    }
    return index - first;
}

static size_t floor_places(const rk_plan_lists *l)
{
    return (size_t)l->recompute_count * l->floor_count * RK_PLAN_CHOICES;
}

static void search_unit(void *context, int worker_index, uint64_t number, rk_parallel *shared)
{
    assert(worker_index >= 0);
    struct search *s = context;
    struct worker *w = &s->workers[worker_index];
    const rk_plan_lists *l = &s->lists;
    /* larger degrees come last, and need less */
    const rk_plan_unit *unit =
        &l->units[s->least_only ? l->unit_count - 1 - number
                                : rk_slice_unit(number, s->slice, s->slices)];
    uint64_t index = unit->first;
    rk_strategy strategy = s->space->base;
    rk_plan_set_unit(unit, &strategy);
    strategy.global_batch = s->space->global_batch;
    for (int kind = 0; kind < rk_plan_cp_kinds(l, unit->cp); kind++) {
        strategy.cp_kind = l->cp_kinds[kind];
        memset(w->misfits, 0, (size_t)l->recompute_count * l->base_count * sizeof(*w->misfits));
        w->visit = ++w->batch;
        for (size_t i = 0; i < l->micro_batch.count; i++) {
            strategy.micro_batch = l->micro_batch.items[i];
            w->batch++;
            const uint64_t passed = search_batch(s, w, unit, &strategy, index);
            index += passed;
            atomic_fetch_add_explicit(&shared->done, passed, memory_order_relaxed);
            if (w->status) {
                atomic_store(&shared->stop, true);
            }
            if (atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
                return;
            }
        }
    }
}

/* ---- the search ---------------------------------------------------------------------------- */

rk_plan_space rk_plan_space_defaults(const rk_model *model, const rk_system *system,
                                     int64_t accelerators, int64_t global_batch)
{
    assert(accelerators >= 1 && global_batch >= 1);
    rk_plan_space space = {
        .accelerators = accelerators,
        .global_batch = global_batch,
        .schedules = RK_SCHEDULES_ALL,
        .shardings = (1U << (RK_SHARD_ALL + 1)) - 1,
        .recomputes = (1U << (RK_REC_FULL + 1)) - 1,
        .hybrid = true,
        .cp_kinds = (1U << (RK_CP_ULYSSES + 1)) - 1,
        .orders = 1U << RK_ORDER_DATA_PIPELINE,
        .recompute_layers = -1,
        .offloads =
            system->accelerator.host_capacity > 0 ? RK_PLAN_ALL_OFFLOADS : RK_PLAN_NO_OFFLOAD,
        .framework = RK_FRAMEWORK_MEGATRON,
        .convention = RK_FLOPS_MEGATRON,
        .base = rk_strategy_defaults(model),
    };
    space.base.tp_overlap = true;
    return space;
}

rk_status rk_plan_count(const rk_model *model, const rk_system *system, const rk_plan_space *space,
                        uint64_t *count, rk_error *err)
{
    rk_plan_lists lists;
    const rk_status status = rk_plan_lists_outline(model, system, space, &lists, err);
    *count = lists.total;
    rk_plan_lists_clear(&lists);
    return status;
}

static rk_status init_workers(struct search *s, int threads, rk_error *err)
{
    assert(threads >= 1);
    s->workers = malloc((size_t)threads * sizeof(*s->workers));
    if (!s->workers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %d threads", threads);
    }
    for (int i = 0; i < threads; i++) {
        memset(&s->workers[i], 0, offsetof(struct worker, costed));
    }
    for (int i = 0; i < threads; i++) {
        struct worker *w = &s->workers[i];
        rk_top_init(&w->top, s->top_n, sizeof(rk_plan_entry));
        w->least = (struct least){.bytes = (double)INFINITY, .index = UINT64_MAX};
        w->misfits = malloc((size_t)s->lists.recompute_count * s->lists.base_count + 1);
        w->floors = s->least_only ? calloc(floor_places(&s->lists) + 1, sizeof(*w->floors)) : NULL;
        if (!w->misfits || (s->least_only && !w->floors)) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the scratch of a search");
        }
        rk_status status = rk_plan_fit_init(&w->fit, &s->lists, &s->system, &s->limits, err);
        status = status ? status : rk_plan_clock_init(&w->clock, &s->lists, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

static void clear_search(struct search *s, int threads)
{
    for (int i = 0; s->workers && i < threads; i++) {
        rk_top_clear(&s->workers[i].top);
        rk_plan_fit_clear(&s->workers[i].fit);
        rk_plan_clock_clear(&s->workers[i].clock);
        free(s->workers[i].misfits);
        free(s->workers[i].floors);
    }
    free(s->workers);
    rk_plan_lists_clear(&s->lists);
}

/* Merges the results of all workers into the first. */
static rk_status merge_workers(struct search *s, int threads, rk_error *err)
{
    struct worker *all = &s->workers[0];
    for (int i = 0; i < threads; i++) {
        const struct worker *w = &s->workers[i];
        if (w->status) {
            *err = w->error;
            return w->status;
        }
        if (i == 0) {
            continue;
        }
        const rk_status status = rk_top_merge(&all->top, &w->top, err);
        if (status) {
            return status;
        }
        settle_least(&all->least, w->least.bytes, w->least.index, &w->least.strategy);
        all->counts.legal += w->counts.legal;
        all->counts.fitting += w->counts.fitting;
    }
    all->counts.enumerated = s->total;
    rk_top_sort(&all->top);
    return RK_OK;
}

/* Returns the results of the first worker. */
static rk_status report(const struct search *s, rk_planned_strategy *planned, size_t *found,
                        rk_planned_strategy *nearest, rk_plan_counts *counts, rk_error *err)
{
    const struct worker *w = &s->workers[0];
    *counts = w->counts;
    *found = w->top.count;
    for (size_t i = 0; i < w->top.count; i++) {
        const rk_plan_entry *kept = rk_top_payload(&w->top, i);
        planned[i] = (rk_planned_strategy){
            .strategy = kept->strategy, .estimate = kept->estimate, .index = w->top.heap[i].index};
        rk_set_class_risk(&s->limits, &planned[i].strategy, &planned[i].estimate);
    }
    if (nearest && w->least.index != UINT64_MAX) {
        nearest->strategy = w->least.strategy;
        nearest->index = w->least.index;
        nearest->needed = w->least.bytes;
        const rk_setting setting = {.model = s->model,
                                    .system = &s->system,
                                    .stack = s->stack,
                                    .convention = s->space->convention};
        return rk_predict_estimate(&setting, &nearest->strategy, &nearest->estimate, NULL, err);
    }
    return RK_OK;
}

/* Searches the space of `s`, of which the lists are empty. */
static rk_status search_space(struct search *s, const rk_search_control *control,
                              rk_planned_strategy *planned, size_t *found,
                              rk_planned_strategy *nearest, rk_plan_counts *counts, rk_error *err)
{
    int threads = 1;
    if (s->space->max_memory > 0) {
        s->system.accelerator.memory_usable = s->space->max_memory;
    }
    const rk_setting setting = {.model = s->model, .system = &s->system, .stack = s->stack};
    rk_status status = rk_plan_lists_init(s->model, &s->system, s->space, &s->lists, err);
    status = status ? status
                    : rk_risk_limits_of(&setting, &s->space->base, s->space->risk, &s->limits, err);
    for (int i = 0; i < s->lists.lane_count; i++) {
        const rk_sharding kind = s->lists.lanes[i].sharding.kind;
        s->staged_lanes |= (uint64_t)rk_stages_gradients(s->stack, kind) << i;
    }
    const uint64_t units = rk_slice_count(s->lists.unit_count, s->slice, s->slices);
    for (uint64_t i = 0; i < units && !status; i++) {
        s->total += s->lists.units[rk_slice_unit(i, s->slice, s->slices)].count;
    }
    if (s->total >= THREADS_PAY_FROM) {
        threads = control && control->threads > 0 ? control->threads : rk_core_count();
    }
    if (!status) {
        status = init_workers(s, threads, err);
    }
    if (!status) {
        status = rk_parallel_search(control, 0, s->total, threads, units, search_unit, s, err);
    }
    if (!status) {
        status = merge_workers(s, threads, err);
    }
    if (!status) {
        status = report(s, planned, found, nearest, counts, err);
    }
    clear_search(s, threads);
    return status;
}

rk_status rk_plan_search(const rk_model *model, const rk_system *system, const rk_stack *stack,
                         const rk_plan_space *space, const rk_search_control *control, size_t top_n,
                         rk_planned_strategy *planned, size_t *found, rk_planned_strategy *nearest,
                         rk_plan_counts *counts, rk_error *err)
{
    struct search s = {.model = model,
                       .system = *system,
                       .stack = stack,
                       .space = space,
                       .top_n = top_n,
                       .slice = control ? control->slice : 0,
                       .slices = control ? control->slices : 0,
                       .floor = control && control->floor ? *control->floor : -(double)INFINITY};
    rk_error ignored;
    *found = 0;
    *counts = (rk_plan_counts){0};
    if (nearest) {
        *nearest = (rk_planned_strategy){.index = UINT64_MAX};
    }
    return search_space(&s, control, planned, found, nearest, counts, err ? err : &ignored);
}

rk_status rk_plan_find_nearest(const rk_model *model, const rk_system *system,
                               const rk_stack *stack, const rk_plan_space *space,
                               const rk_search_control *control, rk_planned_strategy *nearest,
                               rk_error *err)
{
    struct search s = {.model = model,
                       .system = *system,
                       .stack = stack,
                       .space = space,
                       .top_n = 1,
                       .least_only = true,
                       .floor = -(double)INFINITY};
    rk_plan_counts counts;
    size_t found = 0;
    *nearest = (rk_planned_strategy){.index = UINT64_MAX};
    return search_space(&s, control, NULL, &found, nearest, &counts, err);
}

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

/* Bytes that something needs at least with a unit and a kind of CP. */
struct known_least {
    uint64_t visit; /* in which it was filled; otherwise it is stale */
    double bytes;
};

/*
 * Ways to keep gradients (rk_stage_gradient_runs); each keeps no more of them whole than those
 * before: over several runs of as many microbatches as there are ranks, over one run, and of a
 * single microbatch, which are freed or sharded at once.
 */
enum way { WAY_RUNS, WAY_RUN, WAY_ONE, WAY_COUNT };

/* What only the search for the strategy that needs least memory remembers. */
struct nearest {
    struct known_least *floors; /* owned; by recompute, floor, choice of layers and way */
    struct known_least *states; /* owned; by pipe and lane */
    /* owned; by recompute, pipe and way to keep the gradients of several chunks: the last visit in
     * which no strategy was left that may need as little as the least */
    uint64_t *settled;
    uint64_t visit; /* of a unit and a kind of CP */
    bool has_whole; /* in that visit */
    rk_stage whole;
};

/* Scratch and results of one thread. */
struct worker {
    rk_top top;
    struct least least;
    rk_plan_counts counts;
    bool has_table; /* of the current costs of blocks */
    bool nowhere;   /* no strategy with the unit and kind of CP at hand is legal */
    rk_plan_fit fit;
    rk_plan_clock clock;
    uint8_t *misfits;        /* owned; of bases: a bit per way to keep gradients, see is_misfit */
    rk_plan_degree *degrees; /* owned; of the unit at hand, by pipe */
    int64_t *dp;             /* owned; the same with the micro-batch at hand */
    rk_gemm_prices *prices;  /* owned */
    struct nearest nearest;
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
    bool within_risk;       /* and looks only for what may be within the risk */
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
        const bool fits = rk_plan_fit_holds(&w->fit, &strategy, lane);
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
static uint64_t legal_lanes(const struct search *s, struct worker *w, struct base *base,
                            uint64_t lanes)
{
    bool nowhere;
    if (lanes == 0) {
        return 0;
    }
    rk_plan_set_lane(&s->lists, rk_first_lane(lanes), &base->its.strategy);
    const bool legal = rk_strategy_legal_here(s->model, &s->system, &base->its.strategy,
                                              s->space->framework, &nowhere);
    w->nowhere = w->nowhere || nowhere;
    return legal ? lanes : 0;
}

/*
 * The legal lanes of a base with any number of checkpointed layers: hybrid sharding is the only
 * choice of a lane that depends on degrees.
 */
static uint64_t all_legal_lanes(const struct search *s, struct worker *w, struct base *base)
{
    const uint64_t hybrid = s->lists.hybrid_lanes;
    return legal_lanes(s, w, base, base->lanes & ~hybrid) |
           legal_lanes(s, w, base, base->lanes & hybrid);
}

static void fill_table(const struct search *s, struct worker *w, const rk_strategy *strategy)
{
    if (!w->has_table) {
        w->costed = *strategy;
        rk_cost_table_fill_with(s->model, &s->system, s->stack, &w->costed, w->prices, &w->table);
        w->has_table = true;
        rk_plan_fit_renew(&w->fit, &w->table);
        rk_plan_clock_renew(&w->clock, &w->table);
    }
}

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

/* ---- the strategy that needs least memory -------------------------------------------------- */

/*
 * Bytes that any shape of the schedule needs at least with the recompute and choice of a base, and
 * with this micro-batch or any larger one that keeps gradients in the same way.
 */
static double floor_bytes(const struct search *s, struct worker *w, const struct base *base,
                          enum way way)
{
    const size_t place = (size_t)base->recompute * s->lists.floor_count + base->its.shape->floor;
    struct known_least *known =
        &w->nearest.floors[(place * RK_PLAN_CHOICES + base->its.choice) * WAY_COUNT + way];
    if (known->visit == w->nearest.visit) {
        return known->bytes;
    }
    rk_strategy strategy = base->its.strategy;
    *known = (struct known_least){w->nearest.visit, (double)INFINITY};
    fill_table(s, w, &strategy);
    rk_plan_fit_turn_to(&w->fit, &base->its);
    const double in_flight = rk_plan_fit_floor_flight(&w->fit, &base->its);
    for (int lane = 0; base->lanes >> lane; lane++) {
        if (base->lanes >> lane & 1) {
            rk_plan_set_lane(&s->lists, lane, &strategy);
            const double bytes = rk_plan_fit_floor(&w->fit, &base->its, &strategy, lane, in_flight);
            known->bytes = rk_min(known->bytes, bytes);
        }
    }
    return known->bytes;
}

/* Whether something that needs so many bytes or more may be the strategy that needs least. */
static bool may_be_least(const struct worker *w, double bytes)
{
    return bytes <= w->least.bytes * (1 + RK_LOWER_BOUND_SLACK);
}

/*
 * The lanes of a pipeline degree of which the states may fit into the least so far, with any
 * micro-batch and recompute.
 */
static uint64_t stateful_lanes(const struct search *s, struct worker *w, const rk_plan_pipe *pipe,
                               const struct base *base)
{
    struct nearest *n = &w->nearest;
    struct known_least *states = &n->states[(size_t)(pipe - s->lists.pipes) * RK_PLAN_LANES];
    rk_strategy strategy = base->its.strategy;
    uint64_t lanes = base->lanes;
    strategy.schedule = RK_SCHEDULE_1F1B; /* others hold as much or twice */
    for (int lane = 0; base->lanes >> lane; lane++) {
        if (!(base->lanes >> lane & 1)) {
            continue;
        }
        if (states[lane].visit != n->visit) {
            rk_plan_set_lane(&s->lists, lane, &strategy);
            fill_table(s, w, &strategy);
            if (!n->has_whole) {
                const rk_stage_blocks whole = rk_whole_blocks(s->model, &strategy);
                n->whole = rk_whole_model(&w->table, &whole);
                n->has_whole = true;
            }
            states[lane].visit = n->visit;
            states[lane].bytes = rk_least_memory(&w->table, &strategy, &n->whole);
        }
        lanes &= ~((uint64_t)!may_be_least(w, states[lane].bytes) << lane);
    }
    return lanes;
}

/*
 * Takes the lane of a base that needs least memory if that is less than the least so far.  Returns
 * whether none is left that does, with any larger micro-batch that keeps gradients in the same way.
 */
static bool settle_nearest(const struct search *s, struct worker *w, struct base *base)
{
    const enum way way = way_of(s, base);
    uint64_t legal = 0;
    bool asked = false, settled = true;
    rk_strategy strategy = base->its.strategy;
    fill_table(s, w, &strategy);
    rk_plan_fit_turn_to(&w->fit, &base->its);
    for (int lane = 0; base->lanes >> lane; lane++) {
        const uint64_t index = base->its.index + (uint64_t)s->lists.lanes[lane].number;
        if (!(base->lanes >> lane & 1)) {
            continue;
        }
        rk_plan_set_lane(&s->lists, lane, &strategy);
        const double bytes = rk_plan_fit_least(&w->fit, &strategy, lane, w->least.bytes);
        if (bytes > w->least.bytes || (!(bytes < w->least.bytes) && index > w->least.index)) {
            continue;
        }
        legal = asked ? legal : all_legal_lanes(s, w, base);
        asked = true;
        if (legal >> lane & 1) {
            w->least = (struct least){.bytes = bytes, .index = index, .strategy = strategy};
        } else {
            settled = false; /* it may be legal with another micro-batch */
        }
    }
    *base->misfits = (uint8_t)(*base->misfits | settled << way);
    return settled;
}

/* A floor with which shapes that have no more choices of layers need more than the least. */
struct beyond {
    size_t floor;
    int choices; /* 0: none is known */
    enum way way;
};

/* The same for the choices of layers of a base's shape. */
static bool settle_shape(const struct search *s, struct worker *w, struct base *base,
                         int lane_count, struct beyond *beyond)
{
    const rk_plan_shape *shape = base->its.shape;
    const bool full = base->its.strategy.recompute == RK_REC_FULL;
    const int choices = full ? shape->layer_choice_count : 1;
    bool settled = true, fits = false;
    rk_plan_set_shape(shape, &base->its.strategy);
    const enum way way = way_of(s, base);
    if (beyond->floor != shape->floor || beyond->way != way || choices > beyond->choices) {
        for (int i = 0; i < choices && !w->status; i++) {
            base->its.strategy.recompute_layers = full ? shape->layer_choices[i] : 0;
            base->its.choice = full ? (size_t)i + 1 : 0;
            const bool may = may_be_least(w, floor_bytes(s, w, base, way));
            if (may && !(*base->misfits >> way & 1)) {
                settled &= settle_nearest(s, w, base);
            }
            fits |= may;
            base->its.index += (uint64_t)lane_count;
            base->misfits++;
        }
        *beyond = fits ? *beyond : (struct beyond){shape->floor, choices, way};
    } else {
        base->its.index += (uint64_t)(lane_count * choices);
        base->misfits += choices;
    }
    return settled;
}

/* Where the visit is kept in which nothing was left with a pipeline degree and a recompute. */
static uint64_t *settled_visit(const struct search *s, const struct worker *w,
                               const rk_plan_pipe *pipe, int recompute, const rk_strategy *strategy)
{
    const size_t place = (size_t)recompute * s->lists.pipe_count + (size_t)(pipe - s->lists.pipes);
    const int64_t microbatches = rk_strategy_microbatches(strategy);
    const enum way way = microbatches == 1          ? WAY_ONE
                         : microbatches <= pipe->pp ? WAY_RUN
                                                    : WAY_RUNS;
    return &w->nearest.settled[place * WAY_COUNT + way];
}

/* Searches the shapes of a base's pipeline degree for the strategy that needs least memory. */
static void search_least(const struct search *s, struct worker *w, struct base *base,
                         const rk_plan_pipe *pipe, int lane_count)
{
    const rk_plan_lists *l = &s->lists;
    uint64_t *settled = settled_visit(s, w, pipe, base->recompute, &base->its.strategy);
    struct beyond beyond = {.choices = 0};
    bool left = false;
    base->lanes = stateful_lanes(s, w, pipe, base);
    for (size_t i = 0; base->lanes && i < pipe->shape_count; i++) {
        base->its.shape = &l->shapes[pipe->shape_first + i];
        left |= !settle_shape(s, w, base, lane_count, &beyond);
    }
    *settled = left ? 0 : w->nearest.visit;
}

/* ---- units --------------------------------------------------------------------------------- */

/* All shapes of a pipeline degree, from `index` on.  Returns how many strategies were passed. */
static uint64_t search_pipe(const struct search *s, struct worker *w, const rk_plan_unit *unit,
                            const rk_plan_pipe *pipe, int recompute, const rk_strategy *strategy,
                            int lane_count, uint64_t index)
{
    assert(lane_count >= 1 && lane_count <= RK_PLAN_LANES);
    const uint64_t first = index;
    const bool full = s->lists.recomputes[recompute].kind == RK_REC_FULL;
    const uint64_t count = full ? pipe->base_count : pipe->shape_count;
    if (w->nowhere ||
        (s->least_only && *settled_visit(s, w, pipe, recompute, strategy) == w->nearest.visit)) {
        return count * (uint64_t)lane_count;
    }
    struct base base = {
        .its = {.strategy = *strategy, .unit = unit, .index = index},
        .recompute = recompute,
        .misfits = &w->misfits[(size_t)recompute * s->lists.base_count + pipe->base_first],
        .lanes = pipe->legal_lanes[recompute] & rk_plan_first_lanes(&s->lists, lane_count) &
                 rk_plan_recipe_lanes(&s->lists, unit->recipe),
    };
    rk_plan_set_recompute(&s->lists.recomputes[recompute], &base.its.strategy);
    rk_plan_fit_turn(&w->fit, pipe);
    rk_plan_clock_turn(&w->clock, pipe);
    if (s->least_only) {
        search_least(s, w, &base, pipe, lane_count);
        return count * (uint64_t)lane_count;
    }
    for (size_t i = 0; i < pipe->shape_count; i++) {
        base.its.shape = &s->lists.shapes[pipe->shape_first + i];
        rk_plan_set_shape(base.its.shape, &base.its.strategy);
        base.its.strategy.recompute_layers = s->lists.recomputes[recompute].layers;
        const uint64_t lanes = all_legal_lanes(s, w, &base);
        const int choices = full ? base.its.shape->layer_choice_count : 1;
        for (int j = 0; j < choices && !w->status; j++) {
            base.its.strategy.recompute_layers = full ? base.its.shape->layer_choices[j] : 0;
            base.its.choice = full ? (size_t)j + 1 : 0;
            base.its.index = index;
            search_base(s, w, &base, lanes);
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
    bool divides = false;
    for (size_t i = 0; i < l->pipe_count; i++) {
        w->dp[i] = rk_plan_data_parallel(&w->degrees[i], strategy->micro_batch);
        divides |= w->dp[i] > 0;
    }
    for (int recompute = 0; divides && recompute < l->recompute_count; recompute++) {
        w->has_table = false;
        for (size_t i = 0; i < l->pipe_count; i++) {
            const rk_plan_pipe *pipe = &l->pipes[i];
            strategy->pp = pipe->pp;
            strategy->dp = w->dp[i];
            if (strategy->dp > 0) {
                index +=
                    search_pipe(s, w, unit, pipe, recompute, strategy, w->degrees[i].lanes, index);
            }
        }
    }
    return index - first;
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
    for (size_t i = 0; i < l->pipe_count; i++) {
        w->degrees[i] = rk_plan_degree_of(l, unit, l->pipes[i].pp);
    }
    strategy.global_batch = s->space->global_batch;
    for (int kind = 0; kind < rk_plan_cp_kinds(l, unit->cp); kind++) {
        strategy.cp_kind = l->cp_kinds[kind];
        memset(w->misfits, 0, (size_t)l->recompute_count * l->base_count * sizeof(*w->misfits));
        w->nowhere = false;
        w->nearest.visit++;
        w->nearest.has_whole = false;
        for (size_t i = 0; i < l->micro_batch.count; i++) {
            strategy.micro_batch = l->micro_batch.items[i];
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

/* Bytes above which a strategy is not looked for, however little others need. */
static double most_needed(const struct search *s)
{
    double most = s->within_risk ? 0 : (double)INFINITY;
    for (int place = 0; place <= RK_TENSOR_ACROSS && s->within_risk; place++) {
        for (int sharding = 0; sharding <= RK_SHARD_ALL; sharding++) {
            most = rk_max(most, s->limits.bytes[place][sharding]);
        }
    }
    return most;
}

static bool init_nearest(const rk_plan_lists *l, struct nearest *n)
{
    const size_t recomputes = (size_t)l->recompute_count, choices = RK_PLAN_CHOICES * WAY_COUNT;
    n->floors = calloc(recomputes * l->floor_count * choices + 1, sizeof(*n->floors));
    n->states = calloc(l->pipe_count * RK_PLAN_LANES + 1, sizeof(*n->states));
    n->settled = calloc(recomputes * l->pipe_count * WAY_COUNT + 1, sizeof(*n->settled));
    return n->floors && n->states && n->settled;
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
        w->least = (struct least){.bytes = most_needed(s), .index = UINT64_MAX};
        w->misfits = malloc((size_t)s->lists.recompute_count * s->lists.base_count + 1);
        w->degrees = malloc((s->lists.pipe_count + 1) * sizeof(*w->degrees));
        w->dp = malloc((s->lists.pipe_count + 1) * sizeof(*w->dp));
        w->prices = rk_gemm_prices_create();
        if (!w->misfits || !w->degrees || !w->dp || !w->prices ||
            (s->least_only && !init_nearest(&s->lists, &w->nearest))) {
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
        free(s->workers[i].degrees);
        free(s->workers[i].dp);
        free(s->workers[i].nearest.floors);
        free(s->workers[i].nearest.states);
        free(s->workers[i].nearest.settled);
        free(s->workers[i].prices);
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
                               const rk_search_control *control, bool within_risk,
                               rk_planned_strategy *nearest, rk_error *err)
{
    struct search s = {.model = model,
                       .system = *system,
                       .stack = stack,
                       .space = space,
                       .top_n = 1,
                       .least_only = true,
                       .within_risk = within_risk,
                       .floor = -(double)INFINITY};
    rk_plan_counts counts;
    size_t found = 0;
    *nearest = (rk_planned_strategy){.index = UINT64_MAX};
    return search_space(&s, control, NULL, &found, nearest, &counts, err);
}

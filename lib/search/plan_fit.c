/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers, per set of blocks and lane, how many microbatches in flight fit in memory. */
#include "search/plan_fit.h"

#include "base/error.h"
#include "base/extremes.h"
#include "estimate/lower_bounds.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Of one set of blocks; times are looked at far more often than the rest. */
struct rk_plan_known {
    uint64_t kept;  /* the visit in which the rest was filled; otherwise it is stale */
    rk_stage stage; /* what it keeps in memory */
};

struct rk_plan_timed {
    uint64_t visit; /* likewise */
    double seconds; /* of a microbatch */
};

/* Microbatches in flight, and bytes of gradients. */
struct load {
    double in_flight, gradients;
};

/* What is known of a set of blocks in a lane: loads that fit, that do not, and that need `bytes`.
 */
struct rk_plan_bracket {
    double open;  /* share of the gradients that is whole, which is up to schedule and batch */
    double limit; /* bytes that are within the risk */
    struct load fits, fails;
    struct load least; /* the fewest that were evaluated */
    double bytes;
    rk_stage_need need; /* with the gradients of the base at hand */
};

rk_status rk_plan_fit_init(rk_plan_fit *fit, const rk_plan_lists *lists, const rk_system *system,
                           const rk_risk_limits *limits, rk_error *err)
{
    const size_t most = lists->block_count + 1;
    size_t kinds = 1;
    bool losses_first = false;
    for (size_t i = 0; i < lists->shape_count; i++) {
        const size_t count = lists->shapes[i].kind_count;
        kinds = count > kinds ? count : kinds;
        losses_first = losses_first || rk_schedules[lists->shapes[i].schedule]->losses_first;
    }
    *fit = (rk_plan_fit){.lists = lists,
                         .system = system,
                         .limits = limits,
                         .lanes = (size_t)lists->lane_count,
                         .ways = losses_first ? 2 : 1};
    fit->known = calloc(most, sizeof(*fit->known));
    fit->timed = calloc(most, sizeof(*fit->timed));
    /* few are ever filled, so that most of the memory is not touched */
    fit->bracket = malloc(most * fit->ways * fit->lanes * sizeof(*fit->bracket));
    fit->filled = calloc(most * fit->ways * fit->lanes, sizeof(*fit->filled));
    fit->ranks = malloc(kinds * sizeof(*fit->ranks));
    return fit->known && fit->timed && fit->bracket && fit->filled && fit->ranks
               ? RK_OK
               : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the stages of a plan");
}

void rk_plan_fit_clear(rk_plan_fit *fit)
{
    free(fit->known);
    free(fit->timed);
    free(fit->bracket);
    free(fit->filled);
    free(fit->ranks);
    *fit = (rk_plan_fit){.lists = NULL};
}

void rk_plan_fit_renew(rk_plan_fit *fit, const rk_cost_table *table)
{
    fit->table = table;
    fit->visit++;
}

void rk_plan_fit_turn(rk_plan_fit *fit, const rk_plan_pipe *pipe)
{
    fit->pipe = pipe;
}

void rk_plan_fit_turn_to(rk_plan_fit *fit, const rk_plan_base *base)
{
    fit->base = base;
    fit->rank_count = 0;
    for (int i = 0; i <= RK_SHARD_ALL; i++) {
        fit->open[i] = -1;
    }
}

/* Fills the ranks of the base at hand. */
static void fill_ranks(rk_plan_fit *fit)
{
    const rk_plan_lists *l = fit->lists;
    const rk_plan_base *base = fit->base;
    const rk_strategy *strategy = &base->strategy;
    const int64_t m = rk_strategy_microbatches(strategy), v = rk_stage_chunks(strategy);
    fit->rank_count = base->shape->kind_count;
    for (size_t i = 0; i < fit->rank_count; i++) {
        const int64_t rank = l->kinds.items[base->shape->kind_first + i];
        fit->ranks[i] = (rk_plan_rank){
            .blocks = rk_plan_held(l, base->shape, base->choice, i),
            .in_flight = rk_pipeline_in_flight(strategy->schedule, strategy->pp, v, m, rank),
        };
    }
}

/* Seconds of a set of blocks, which counts within the pipe. */
static double seconds_of(rk_plan_fit *fit, size_t blocks)
{
    struct rk_plan_timed *timed = &fit->timed[fit->pipe->block_first + blocks];
    if (timed->visit != fit->visit) {
        timed->visit = fit->visit;
        timed->seconds =
            rk_stage_seconds(fit->table, &fit->lists->blocks[fit->pipe->block_first + blocks]);
    }
    return timed->seconds;
}

static const rk_stage *stage_of(rk_plan_fit *fit, size_t blocks)
{
    struct rk_plan_known *known = &fit->known[fit->pipe->block_first + blocks];
    if (known->kept != fit->visit) {
        known->kept = fit->visit;
        rk_stage_keep(fit->table, &fit->lists->blocks[fit->pipe->block_first + blocks],
                      &known->stage);
    }
    return &known->stage;
}

double rk_plan_fit_seconds(rk_plan_fit *fit, const rk_plan_shape *shape, size_t choice)
{
    double seconds = 0;
    for (size_t i = 0; i < shape->kind_count; i++) {
        seconds = rk_max(seconds, seconds_of(fit, rk_plan_held(fit->lists, shape, choice, i)));
    }
    return seconds;
}

double rk_plan_fit_busy(rk_plan_fit *fit, const rk_plan_shape *shape, size_t choice,
                        double microbatches, const double *idle)
{
    double busy = 0;
    for (size_t i = 0; i < shape->kind_count; i++) {
        const double seconds = seconds_of(fit, rk_plan_held(fit->lists, shape, choice, i));
        busy = rk_max(busy, microbatches * seconds + idle[i]);
    }
    return busy;
}

/* ---- one rank ------------------------------------------------------------------------------ */

/* Share of the gradients of a lane of the base at hand that is whole. */
static double open_share(rk_plan_fit *fit, const rk_strategy *strategy)
{
    double *open = &fit->open[strategy->sharding];
    if (*open < 0) {
        *open = rk_stage_gradient_runs(fit->table->context.stack, strategy).open;
    }
    return *open;
}

/* Whether no more than its gradients is up to the share of a lane's gradients that is whole. */
static bool opens_gradients_alone(const rk_stack *stack, const rk_strategy *strategy)
{
    return !strategy->adapts_ends &&
           !(stack->frees_gradients && rk_strategy_microbatches(strategy) == 1);
}

static struct rk_plan_bracket *bracket_of(rk_plan_fit *fit, const rk_strategy *strategy, int lane,
                                          size_t blocks)
{
    assert(lane >= 0 && (size_t)lane < fit->lanes);
    const struct load none = {-1, -1}, most = {(double)INFINITY, (double)INFINITY};
    const rk_stack *stack = fit->table->context.stack;
    const size_t way = rk_schedules[strategy->schedule]->losses_first;
    const double open = open_share(fit, strategy);
    const size_t place = fit->pipe->block_first + blocks;
    const size_t at = (place * fit->ways + way) * fit->lanes + (size_t)lane;
    struct rk_plan_bracket *b = &fit->bracket[at];
    const bool filled = fit->filled[at] == fit->visit;
    const bool other = filled && (b->open < open || b->open > open);
    if (other && opens_gradients_alone(stack, strategy)) {
        b->open = open;
        b->need.gradients =
            rk_stage_gradient_bytes(stack, strategy, stage_of(fit, blocks), b->need.shards);
    } else if (!filled || other) {
        fit->filled[at] = fit->visit;
        *b = (struct rk_plan_bracket){
            .open = open,
            .limit = fit->riskier ? fit->limits->usable : rk_risk_limit(fit->limits, strategy),
            .fits = none,
            .fails = most,
            .least = most,
            .need = rk_stage_need_of(fit->table, strategy, stage_of(fit, blocks)),
        };
    }
    return b;
}

static bool is_within(const struct load *load, const struct load *other)
{
    return load->in_flight <= other->in_flight && load->gradients <= other->gradients;
}

static struct load load_of(const struct rk_plan_bracket *b, const rk_plan_rank *rank)
{
    return (struct load){rank->in_flight, b->need.gradients};
}

/* Whether a rank fits, with the bytes that it needs, and remembers both. */
static bool evaluate(const rk_plan_fit *fit, struct rk_plan_bracket *b, const rk_plan_rank *rank,
                     double *bytes)
{
    const rk_accelerator *a = &fit->system->accelerator;
    const double needed = rk_stage_needed_at(&b->need, rank->in_flight);
    const double host = rk_stage_host_at(&b->need, rank->in_flight);
    *bytes = needed + rk_max(host - a->host_capacity, 0);
    const struct load load = load_of(b, rank);
    const bool fits = needed <= b->limit && host <= a->host_capacity;
    if (fits && is_within(&b->fits, &load)) {
        b->fits = load;
    } else if (!fits && is_within(&load, &b->fails)) {
        b->fails = load;
    }
    if (is_within(&load, &b->least)) {
        b->least = load;
        b->bytes = *bytes;
    }
    return fits;
}

static bool rank_fits(rk_plan_fit *fit, const rk_strategy *strategy, int lane,
                      const rk_plan_rank *rank)
{
    struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, rank->blocks);
    const struct load load = load_of(b, rank);
    if (is_within(&load, &b->fits)) {
        return true;
    }
    double bytes;
    return !is_within(&b->fails, &load) && evaluate(fit, b, rank, &bytes);
}

/* ---- all ranks ----------------------------------------------------------------------------- */

/* Whether some rank is known to need more than `least` bytes. */
static bool needs_more(rk_plan_fit *fit, const rk_strategy *strategy, int lane, double least)
{
    for (size_t i = 0; i < fit->rank_count; i++) {
        const rk_plan_rank *rank = &fit->ranks[i];
        const struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, rank->blocks);
        const struct load load = load_of(b, rank);
        if (is_within(&b->least, &load) && b->bytes > least) {
            return true;
        }
    }
    return false;
}

bool rk_plan_fit_holds(rk_plan_fit *fit, const rk_strategy *strategy, int lane)
{
    if (fit->rank_count == 0) {
        fill_ranks(fit);
    }
    for (size_t i = 0; i < fit->rank_count; i++) {
        if (!rank_fits(fit, strategy, lane, &fit->ranks[i])) {
            return false;
        }
    }
    return true;
}

double rk_plan_fit_bytes(rk_plan_fit *fit, const rk_strategy *strategy, int lane)
{
    double bytes = 0;
    assert(fit->rank_count > 0); /* it was found to fit */
    for (size_t i = 0; i < fit->rank_count; i++) {
        const rk_plan_rank *rank = &fit->ranks[i];
        const struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, rank->blocks);
        bytes = rk_max(bytes, rk_stage_needed_at(&b->need, rank->in_flight));
    }
    return bytes;
}

double rk_plan_fit_floor_flight(const rk_plan_fit *fit, const rk_plan_base *base)
{
    rk_strategy most = base->strategy;
    most.vp = fit->lists->floors[base->shape->floor].vp;
    return rk_pipeline_in_flight(most.schedule, most.pp, rk_stage_chunks(&most),
                                 rk_strategy_microbatches(&most), 0);
}

double rk_plan_fit_floor(rk_plan_fit *fit, const rk_plan_base *base, const rk_strategy *strategy,
                         int lane, double in_flight)
{
    const rk_plan_floor *floor = &fit->lists->floors[base->shape->floor];
    const struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, floor->blocks[base->choice]);
    return rk_least_of_rank(fit->table, &b->need, in_flight);
}

double rk_plan_fit_activations(rk_plan_fit *fit)
{
    if (fit->rank_count == 0) {
        fill_ranks(fit);
    }
    const rk_plan_rank *first = &fit->ranks[0];
    return rk_least_activations(fit->table, &fit->base->strategy, stage_of(fit, first->blocks),
                                first->in_flight);
}

double rk_plan_fit_least(rk_plan_fit *fit, const rk_strategy *strategy, int lane, double least)
{
    double bytes = 0;
    if (fit->rank_count == 0) {
        fill_ranks(fit);
    }
    if (needs_more(fit, strategy, lane, least)) {
        return (double)INFINITY;
    }
    for (size_t i = 0; i < fit->rank_count && bytes <= least; i++) {
        const rk_plan_rank *rank = &fit->ranks[i];
        struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, rank->blocks);
        double own;
        (void)evaluate(fit, b, rank, &own);
        bytes = rk_max(bytes, own);
    }
    return bytes;
}

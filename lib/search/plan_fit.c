/* SPDX-License-Identifier: Apache-2.0 */
#include "search/plan_fit.h"

#include "base/error.h"
#include "base/extremes.h"

#include <math.h>
#include <stdlib.h>

/* Of one set of blocks. */
struct rk_plan_known {
    uint64_t visit; /* in which the rest was filled; otherwise it is stale */
    double seconds; /* of a microbatch */
    rk_stage stage; /* what it keeps in memory */
};

/* Microbatches in flight: so many fit, so many do not, and so many need `bytes`. */
struct rk_plan_bracket {
    uint64_t visit;
    double open;  /* share of the gradients that is whole, which is up to schedule and batch */
    double limit; /* bytes that are within the risk */
    double fits, fails;
    double least, bytes; /* the fewest that were evaluated */
    rk_stage_need need;
};

/* The losses of all microbatches lie in memory with GPipe. */
enum { WAYS = 2 };

rk_status rk_plan_fit_init(rk_plan_fit *fit, const rk_plan_lists *lists, const rk_system *system,
                           const rk_risk_limits *limits, rk_error *err)
{
    size_t most = 1;
    for (size_t i = 0; i < lists->pipe_count; i++) {
        const size_t count = lists->pipes[i].block_count;
        most = count > most ? count : most;
    }
    *fit = (rk_plan_fit){.lists = lists,
                         .system = system,
                         .limits = limits,
                         .lanes = (size_t)(lists->sharding_count * lists->offload_count)};
    fit->known = calloc(most, sizeof(*fit->known));
    fit->bracket = calloc(most * WAYS * fit->lanes, sizeof(*fit->bracket));
    return fit->known && fit->bracket
               ? RK_OK
               : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the stages of a plan");
}

void rk_plan_fit_clear(rk_plan_fit *fit)
{
    free(fit->known);
    free(fit->bracket);
    *fit = (rk_plan_fit){.lists = NULL};
}

void rk_plan_fit_turn(rk_plan_fit *fit, const rk_cost_table *table, const rk_plan_pipe *pipe)
{
    fit->table = table;
    fit->pipe = pipe;
    fit->visit++;
}

/* What is known of a set of blocks. */
static const struct rk_plan_known *known_of(rk_plan_fit *fit, size_t blocks)
{
    struct rk_plan_known *known = &fit->known[blocks];
    if (known->visit != fit->visit) {
        const rk_stage_blocks *held = &fit->lists->blocks[fit->pipe->block_first + blocks];
        known->visit = fit->visit;
        known->seconds = rk_stage_seconds(fit->table, held);
        rk_stage_keep(fit->table, held, &known->stage);
    }
    return known;
}

double rk_plan_fit_seconds(rk_plan_fit *fit, const rk_plan_rank *ranks, size_t count)
{
    double seconds = 0;
    for (size_t i = 0; i < count; i++) {
        seconds = rk_max(seconds, known_of(fit, ranks[i].blocks)->seconds);
    }
    return seconds;
}

/* ---- one rank ------------------------------------------------------------------------------ */

static struct rk_plan_bracket *bracket_of(rk_plan_fit *fit, const rk_strategy *strategy, int lane,
                                          size_t blocks)
{
    const size_t way = rk_schedules[strategy->schedule]->losses_first;
    const double open = rk_stage_gradient_runs(fit->table->context.stack, strategy).open;
    struct rk_plan_bracket *b = &fit->bracket[(blocks * WAYS + way) * fit->lanes + (size_t)lane];
    if (b->visit != fit->visit || b->open < open || b->open > open) {
        *b = (struct rk_plan_bracket){
            .visit = fit->visit,
            .open = open,
            .limit = rk_risk_limit(fit->limits, strategy),
            .fits = -1,
            .fails = (double)INFINITY,
            .least = (double)INFINITY,
            .need = rk_stage_need_of(fit->table, strategy, &known_of(fit, blocks)->stage),
        };
    }
    return b;
}

/* Evaluates a rank and remembers what is found.  Returns the bytes that it needs. */
static double evaluate(const rk_plan_fit *fit, struct rk_plan_bracket *b, const rk_plan_rank *rank)
{
    const rk_accelerator *a = &fit->system->accelerator;
    const rk_stage_memory memory = rk_stage_memory_at(&b->need, rank->in_flight);
    const double needed = rk_needed_bytes(&memory);
    const double host = rk_stage_host_at(&b->need, rank->in_flight);
    const double bytes = needed + rk_max(host - a->host_capacity, 0);
    if (needed <= b->limit && host <= a->host_capacity) {
        b->fits = rk_max(b->fits, rank->in_flight);
    } else {
        b->fails = rk_min(b->fails, rank->in_flight);
    }
    if (rank->in_flight < b->least) {
        b->least = rank->in_flight;
        b->bytes = bytes;
    }
    return bytes;
}

static bool rank_fits(rk_plan_fit *fit, const rk_strategy *strategy, int lane,
                      const rk_plan_rank *rank)
{
    struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, rank->blocks);
    if (rank->in_flight > b->fits && rank->in_flight < b->fails) {
        (void)evaluate(fit, b, rank);
    }
    return rank->in_flight <= b->fits;
}

/* ---- all ranks ----------------------------------------------------------------------------- */

/* Whether some rank is known to need more than `least` bytes. */
static bool needs_more(rk_plan_fit *fit, const rk_strategy *strategy, int lane,
                       const rk_plan_rank *ranks, size_t count, double least)
{
    for (size_t i = 0; i < count; i++) {
        const struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, ranks[i].blocks);
        if (ranks[i].in_flight >= b->least && b->bytes > least) {
            return true;
        }
    }
    return false;
}

bool rk_plan_fit_lane(rk_plan_fit *fit, const rk_strategy *strategy, int lane,
                      const rk_plan_rank *ranks, size_t count, double least, double *bytes)
{
    bool fits = true;
    *bytes = (double)INFINITY;
    if (!needs_more(fit, strategy, lane, ranks, count, least)) {
        *bytes = 0;
        for (size_t i = 0; i < count; i++) {
            struct rk_plan_bracket *b = bracket_of(fit, strategy, lane, ranks[i].blocks);
            *bytes = rk_max(*bytes, evaluate(fit, b, &ranks[i]));
        }
    }
    for (size_t i = 0; i < count && fits; i++) {
        fits = rank_fits(fit, strategy, lane, &ranks[i]);
    }
    return fits;
}

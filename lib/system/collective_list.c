/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All plans of a collective, which `comm` lists.  A named algorithm runs between the outermost
 * domains; an all-reduce scatters inside and gathers afterwards, an all-to-all goes in two levels.
 */
#include "base/error.h"
#include "base/extremes.h"
#include "base/list.h"
#include "base/named.h"
#include "base/units.h"
#include "system/collective_whole.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one tier ------------------------------------------------------------------------------ */

/*
 * Tiers outside have a ring per rank of an inner domain, each of which goes from domain to domain:
 * a round per unit.  The last domain may be part filled.
 */
static rk_tier_span span_at(const rk_collective_query *q, int i)
{
    rk_tier_span span = rk_tier_span_of(q->system, q->group, i);
    span.ranks = span.units = ceil(span.units);
    return span;
}

static int outermost(const rk_collective_query *q)
{
    return rk_group_outermost(q->system, q->group);
}

/*
 * The part of the tensor that a rank sends over tier i, after the tiers below have spread it: of
 * domains with different numbers of ranks, in the one that has fewest.
 */
static double share_of(const rk_collective_query *q, int i)
{
    return 1 / (double)rk_group_fewest(q->group, i - 1);
}

/*
 * Whether the links of a tier are those that an algorithm is made for.  In a mesh, what sends to
 * several ranks at once would use several links: that is the mesh algorithm.
 */
static bool fits(const rk_algorithm *algorithm, const rk_tier *tier)
{
    const bool many = algorithm == &rk_algorithm_tree || algorithm == &rk_algorithm_direct;
    if (algorithm == &rk_algorithm_in_network) {
        return tier->in_network_reduce && tier->kind != RK_TIER_MESH;
    }
    switch (tier->kind) {
    case RK_TIER_MESH:
        return !many;
    case RK_TIER_TORUS:
        return false;
    default:
        return !algorithm->mesh;
    }
}

static void price(const rk_tier_span *span, const rk_algorithm *algorithm, rk_collective op,
                  double bytes, rk_collective_phase *phase)
{
    rk_price_phase(span, algorithm, op, bytes, phase);
    if (algorithm == &rk_algorithm_chain) {
        const rk_link link = rk_phase_link(phase);
        phase->job.chunks = rk_chain_chunks(phase->job.ranks, bytes, &link);
    }
}

static bool runs(const rk_algorithm *algorithm, rk_collective op, const rk_tier_span *span)
{
    return fits(algorithm, span->tier) && rk_algorithm_runs(algorithm, op, (int32_t)span->units);
}

/* The cheapest algorithm for one tier; of several alike the first of the table. */
static void price_cheapest(const rk_tier_span *span, rk_collective op, double bytes,
                           rk_collective_phase *best)
{
    assert(span->units > 1 && bytes >= 0);
    if (span->tier->kind == RK_TIER_TORUS) {
        price(span, NULL, op, bytes, best);
        return;
    }
    *best = (rk_collective_phase){.seconds = HUGE_VAL};
    for (size_t k = 0; rk_algorithms[k]; k++) {
        if (runs(rk_algorithms[k], op, span)) {
            rk_collective_phase phase;
            price(span, rk_algorithms[k], op, bytes, &phase);
            *best = phase.seconds < best->seconds ? phase : *best;
        }
    }
}

/* ---- phases of all tiers ------------------------------------------------------------------- */

/* The phases inside the outermost tier, outwards or inwards. */
static void add_inner(const rk_collective_query *q, rk_collective_plan *plan, rk_collective op,
                      bool outwards)
{
    const int outer = outermost(q);
    for (int k = 0; k < outer; k++) {
        const int i = outwards ? k : outer - 1 - k;
        const double share = op == RK_COLL_ALL_TO_ALL ? 1 : share_of(q, i);
        if (rk_group_spans(q->group, i)) {
            const rk_tier_span span = span_at(q, i);
            price_cheapest(&span, op, q->bytes * share, rk_plan_add_phase(plan));
        }
    }
}

/* The collectives of inner tiers before (outwards) and after (inwards) the outermost phase. */
typedef struct inner {
    rk_collective before, after; /* RK_COLL_COUNT: nothing */
} inner;

static inner inner_of(rk_collective op)
{
    switch (op) {
    case RK_COLL_ALL_REDUCE:
        return (inner){RK_COLL_REDUCE_SCATTER, RK_COLL_ALL_GATHER};
    case RK_COLL_BROADCAST:
        return (inner){RK_COLL_SCATTER, RK_COLL_ALL_GATHER};
    case RK_COLL_REDUCE:
        return (inner){RK_COLL_REDUCE_SCATTER, RK_COLL_GATHER};
    case RK_COLL_REDUCE_SCATTER:
    case RK_COLL_SCATTER:
    case RK_COLL_ALL_TO_ALL:
        return (inner){op, RK_COLL_COUNT};
    default: /* all-gather and gather */
        return (inner){RK_COLL_COUNT, op};
    }
}

/* Phases overlap as the outermost tier says; all-to-all hands everything over in between. */
static double overlapped(const rk_collective_query *q, const rk_collective_plan *plan)
{
    const bool exchange = q->op == RK_COLL_ALL_TO_ALL;
    return rk_plan_overlapped(plan, exchange ? 1 : q->system->tiers[outermost(q)].serial);
}

/* Chunks follow each other; phases are of one, and those in the same tier share its links. */
static double pipelined(const rk_collective_query *q, const rk_collective_plan *plan)
{
    double sum = 0, longest = 0, of[RK_TIER_MAX] = {0};
    for (int i = 0; i < plan->phase_count; i++) {
        double *tier = &of[plan->phases[i].tier - q->system->tiers];
        sum += plan->phases[i].seconds;
        *tier += plan->phases[i].seconds;
        longest = rk_max(longest, *tier);
    }
    return sum + ((double)plan->chunks - 1) * longest;
}

/*
 * An algorithm between the outermost domains, NULL: the cheapest, and the cheapest inside; q->bytes
 * are the bytes of a chunk, `share` a rank's part of the chunk at the outermost tier.
 */
static void plan_phases(const rk_collective_query *q, const rk_algorithm *algorithm, double share,
                        rk_collective_plan *plan)
{
    const inner inside = inner_of(q->op);
    const rk_tier_span span = span_at(q, outermost(q));
    plan->phase_count = 0;
    assert(share > 0);
    if (inside.before != RK_COLL_COUNT) {
        add_inner(q, plan, inside.before, true);
    }
    rk_collective_phase *outer = rk_plan_add_phase(plan);
    if (algorithm) {
        price(&span, algorithm, q->op, q->bytes * share, outer);
    } else {
        price_cheapest(&span, q->op, q->bytes * share, outer);
    }
    plan->name = rk_phase_name(outer);
    if (inside.after != RK_COLL_COUNT) {
        add_inner(q, plan, inside.after, false);
    }
    plan->seconds = plan->chunks > 0 ? pipelined(q, plan) : overlapped(q, plan);
}

/* In as many chunks as requested; for RK_CHUNKS_BEST, the fastest of the powers of two. */
static void plan_by_tiers(const rk_collective_query *q, const rk_algorithm *algorithm,
                          rk_collective_plan *plan)
{
    const int outer = outermost(q);
    const bool best = q->chunks == RK_CHUNKS_BEST;
    const double share = (q->op == RK_COLL_ALL_TO_ALL ? 1 : share_of(q, outer)) *
                         rk_group_lack(q->group, outer - 1, q->op);
    rk_collective_query part = *q;
    plan->chunks = best ? 1 : q->chunks;
    part.bytes = q->bytes / (double)(plan->chunks > 0 ? plan->chunks : 1);
    plan_phases(&part, algorithm, share, plan);
    for (int32_t chunks = 2; best && chunks <= RK_CHUNKS_MAX; chunks *= 2) {
        rk_collective_plan other = {.chunks = chunks};
        part.bytes = q->bytes / (double)chunks;
        plan_phases(&part, algorithm, share, &other);
        *plan = other.seconds < plan->seconds ? other : *plan;
    }
}

/*
 * All-reduce where the last domain has fewer ranks than the others: HCCL's AHC (asymmetric
 * hierarchical concatenation).  A domain of g_i ranks scatters the sum inside, so that each of its
 * ranks has S/g_i; between G domains, ranks whose parts overlap all-reduce what they have in common
 * at once, by the fastest algorithm; then each domain gathers.  A rank of the smallest domain has
 * most to send between domains:
 *
 *     t = max_i scatter(S, g_i) + all-reduce(S / min_i g_i, G) + max_i gather(S, g_i)
 *
 * Source: HCCL, introduction to collective algorithms (AHC).
 */
static bool plan_uneven(const rk_collective_query *q, rk_collective_plan *plan)
{
    const int outer = outermost(q);
    const int64_t below = outer > 0 ? q->group->within[outer - 1] : 1;
    if (q->op != RK_COLL_ALL_REDUCE || rk_group_fewest(q->group, outer - 1) == below ||
        q->system->tiers[outer].kind == RK_TIER_TORUS) {
        return false;
    }
    plan_phases(q, NULL, share_of(q, outer), plan);
    plan->name = RK_AHC_NAME;
    return true;
}

/* A message between neighbours, whose chunks follow each other: the fastest number is 1. */
static void plan_send(const rk_collective_query *q, rk_collective_plan *plan)
{
    const int32_t chunks = q->chunks == RK_CHUNKS_BEST ? 1 : q->chunks;
    const double parts = chunks > 0 ? (double)chunks : 1;
    *plan = (rk_collective_plan){
        .name = rk_algorithm_direct.name,
        .chunks = chunks,
        .seconds = parts * rk_collective_seconds(q->system, q->op, q->bytes / parts, q->group)};
}

/* ---- all plans ----------------------------------------------------------------------------- */

typedef rk_status visit_plan(void *user, const rk_collective_plan *plan);

/* Those that use all tiers at once, and one that is not by an algorithm's name. */
static rk_status visit_whole(const rk_collective_query *q, visit_plan *visit, void *user)
{
    const rk_flat_ring ring = rk_price_flat_ring(q);
    const rk_named_real whole[] = {{RK_FLAT_RING_NAME, ring.latency + ring.transfer},
                                   {RK_FLAT_EXCHANGE_NAME, rk_flat_exchange_seconds(q)},
                                   {RK_CONCURRENT_NAME, rk_concurrent_ring_seconds(q)}};
    rk_collective_plan plan = {0};
    rk_status status = plan_uneven(q, &plan) ? visit(user, &plan) : RK_OK;
    for (size_t i = 0; i < COUNT(whole) && !status; i++) {
        if (whole[i].value < HUGE_VAL) {
            plan = (rk_collective_plan){.name = whole[i].name, .seconds = whole[i].value};
            status = visit(user, &plan);
        }
    }
    return status;
}

/* Visits plans, in no order, until one is not RK_OK. */
static rk_status visit_plans(const rk_collective_query *q, visit_plan *visit, void *user)
{
    const rk_tier_span outer = span_at(q, outermost(q));
    rk_collective_plan plan = {0};
    rk_status status = RK_OK;
    if (q->op == RK_COLL_SEND) {
        plan_send(q, &plan);
        return visit(user, &plan);
    }
    for (size_t k = 0; rk_algorithms[k] && !status; k++) {
        if (runs(rk_algorithms[k], q->op, &outer)) {
            plan_by_tiers(q, rk_algorithms[k], &plan);
            status = visit(user, &plan);
        }
    }
    if (outer.tier->kind == RK_TIER_TORUS && !status) {
        plan_by_tiers(q, NULL, &plan);
        status = visit(user, &plan);
    }
    /* else there is one tier, or one rank in each domain; and these plans know no chunks */
    const bool whole = q->group->within[0] < q->group->size && q->chunks == RK_CHUNKS_AS_MEASURED;
    return whole && !status ? visit_whole(q, visit, user) : status;
}

/* The faster first. */
static int by_seconds(const void *a, const void *b)
{
    const rk_collective_plan *x = a, *y = b;
    const int order = (x->seconds > y->seconds) - (x->seconds < y->seconds);
    return order ? order : strcmp(x->name, y->name);
}

struct search {
    const char *name; /* NULL: any */
    rk_collective_plan *best;
    bool found;
};

static rk_status keep_best(void *user, const rk_collective_plan *plan)
{
    struct search *search = user;
    if ((!search->name || strcmp(plan->name, search->name) == 0) &&
        (!search->found || by_seconds(plan, search->best) < 0)) {
        *search->best = *plan;
        search->found = true;
    }
    return RK_OK;
}

/* The usual plan, which knows no chunks. */
static bool plan_usual(const rk_collective_query *q, rk_collective_plan *plan)
{
    rk_collective_plan usual;
    if (q->chunks != RK_CHUNKS_AS_MEASURED) {
        return false;
    }
    rk_plan_collective(q, &usual);
    *plan = (rk_collective_plan){.name = RK_USUAL_NAME, .seconds = usual.seconds};
    return true;
}

bool rk_find_collective_plan(const rk_collective_query *query, const char *name,
                             rk_collective_plan *plan)
{
    struct search search = {.name = name, .best = plan};
    if (name && strcmp(name, RK_USUAL_NAME) == 0) {
        return plan_usual(query, plan);
    }
    (void)visit_plans(query, keep_best, &search);
    return search.found;
}

struct list {
    rk_collective_plans *out;
    size_t room;
    rk_error *err;
};

static rk_status append(void *user, const rk_collective_plan *plan)
{
    struct list *list = user;
    rk_collective_plans *out = list->out;
    rk_collective_plan *plans = rk_list_grow(out->plans, out->count, &list->room, sizeof(*plans));
    if (!plans) {
        return rk_fail(list->err, RK_ERR_MEMORY, "not enough memory for plans of collectives");
    }
    out->plans = plans;
    out->plans[out->count++] = *plan;
    return RK_OK;
}

rk_status rk_list_collective_plans(const rk_collective_query *query, rk_collective_plans *out,
                                   rk_error *err)
{
    struct list list = {.out = out, .err = err};
    *out = (rk_collective_plans){0};
    const rk_status status = visit_plans(query, append, &list);
    if (status) {
        rk_collective_plans_clear(out);
        return status;
    }
    if (out->count > 0) {
        qsort(out->plans, out->count, sizeof(out->plans[0]), by_seconds);
    }
    return RK_OK;
}

void rk_collective_plans_clear(rk_collective_plans *plans)
{
    free(plans->plans);
    *plans = (rk_collective_plans){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual plan of a collective: the algorithms of lib/collective that training software runs,
 * over the links of transport.c.
 *
 * In every tier that the group spans, the collective itself runs on the share of a rank.  On
 * switches and fabrics a single ring through all ranks competes: it moves more between the tiers,
 * but all tiers at once.  Where no switch reduces (A100 and before), NCCL has no all-reduce of
 * large tensors but that ring.
 */
#include "system/collective_plan.h"

#include "base/extremes.h"
#include "collective/comm_curve.h"
#include "system/collective_whole.h"
#include "system/measured.h"

#include <assert.h>
#include <math.h>

/* ---- plans --------------------------------------------------------------------------------- */

rk_collective_phase *rk_plan_add_phase(rk_collective_plan *plan)
{
    assert(plan->phase_count < RK_COLLECTIVE_PHASE_MAX);
    return &plan->phases[plan->phase_count++];
}

double rk_plan_overlapped(const rk_collective_plan *plan, double serial)
{
    assert(serial >= 0 && serial <= 1);
    double sum = 0, longest = 0;
    for (int i = 0; i < plan->phase_count; i++) {
        sum += plan->phases[i].seconds;
        longest = rk_max(longest, plan->phases[i].seconds);
    }
    return longest + serial * (sum - longest);
}

/* All tiers at once. */
static void take(rk_collective_plan *plan, const char *name, double seconds)
{
    plan->name = name;
    plan->seconds = seconds;
    plan->phase_count = 0;
}

static void take_if_faster(rk_collective_plan *plan, const char *name, double seconds)
{
    if (seconds < plan->seconds) {
        take(plan, name, seconds);
    }
}

/* ---- one tier ------------------------------------------------------------------------------ */

/*
 * The algorithm of training software in switches and fabrics, for every size.  (NCCL's broadcasts
 * are chains; it sends the parts of the others straight to each peer.)
 */
static const rk_algorithm *usual_algorithm(rk_collective op)
{
    switch (op) {
    case RK_COLL_ALL_REDUCE:
    case RK_COLL_REDUCE_SCATTER:
    case RK_COLL_ALL_GATHER:
        return &rk_algorithm_ring;
    case RK_COLL_BROADCAST:
    case RK_COLL_REDUCE:
        return &rk_algorithm_chain;
    default:
        return &rk_algorithm_direct;
    }
}

static void price_if_faster(const rk_tier_span *span, const rk_algorithm *algorithm,
                            rk_collective op, double bytes, rk_collective_phase *best)
{
    rk_collective_phase phase;
    rk_price_phase(span, algorithm, op, bytes, &phase);
    if (phase.seconds < best->seconds) {
        *best = phase;
    }
}

/* The cheapest algorithm that the links of the tier allow. */
static void price_usual(const rk_tier_span *span, rk_collective op, double bytes,
                        rk_collective_phase *best)
{
    const rk_tier *tier = span->tier;
    const bool sums = op == RK_COLL_ALL_REDUCE;
    if (tier->kind == RK_TIER_TORUS) {
        rk_price_phase(span, NULL, op, bytes, best);
        return;
    }
    rk_price_phase(span, tier->kind == RK_TIER_MESH ? &rk_algorithm_mesh : usual_algorithm(op), op,
                   bytes, best);
    if (sums && rk_tier_is_fabric(tier)) {
        price_if_faster(span, &rk_algorithm_tree, op, bytes, best);
    }
    if (sums && tier->in_network_reduce) {
        price_if_faster(span, &rk_algorithm_in_network, op, bytes, best);
    }
}

/* ---- side links ---------------------------------------------------------------------------- */

/*
 * A phase of which side links take a part: each moves of its part what a ring would, and all end
 * together.  Time over the tier's own links bends with the bytes, so the part is found by halving.
 * Side links that end with all of the bytes before the tier begins take them all.
 */
static void price_with_sides(const rk_tier_span *span, rk_collective op, double bytes,
                             rk_collective_phase *best)
{
    const rk_tier *tier = span->tier;
    const size_t count = (size_t)tier->side_count;
    rk_collective_phase part;
    rk_link links[RK_SIDE_LINK_MAX];
    rk_price_phase(span, usual_algorithm(op), op, bytes, &part);
    const double moved = part.traffic.bytes / bytes; /* by a link, per byte */
    for (size_t i = 0; i < count; i++) {
        const rk_side_link *side = &tier->sides[i];
        links[i] = (rk_link){side->bandwidth * side->efficiency / moved, side->latency};
    }
    price_usual(span, op, bytes, best);
    price_usual(span, op, 0, &part);
    if (rk_split_seconds(links, count, bytes, NULL) <= part.seconds) {
        *best = part;
        return;
    }
    double least = 0, most = sqrt(bytes); /* over the tier */
    for (int i = 0; i < 64; i++) {
        const double root = (least + most) / 2; /* in which the ramp is straight */
        const double rest = bytes - root * root;
        if (!(rest > 0)) { /* nothing for sides: the tier alone, as before the loop */
            break;
        }
        price_usual(span, op, root * root, &part);
        const double sides = rk_split_seconds(links, count, rest, NULL);
        if (sides < part.seconds) {
            most = root;
        } else {
            least = root;
        }
        /* never too short, and exact to the last digits where one of the two is flat */
        best->seconds = rk_min(best->seconds, rk_max(sides, part.seconds));
    }
}

/* ---- all tiers ----------------------------------------------------------------------------- */

/* Whether a switch below the outermost tier adds what passes through it. */
static bool switch_reduces(const rk_system *system, int outer)
{
    bool reduces = false;
    for (int i = 0; i < outer; i++) {
        reduces = reduces || system->tiers[i].in_network_reduce;
    }
    return reduces;
}

/*
 * Phases in all tiers.  The part of an all-to-all that stays in a domain goes over its links, after
 * tiers below have sent their part, all tiers at once; where domains differ, the ranks of the
 * smallest carry most.
 */
static void plan_levels(const rk_collective_query *q, rk_collective_plan *plan)
{
    const rk_group *group = q->group;
    const bool exchange = q->op == RK_COLL_ALL_TO_ALL;
    double serial = 0;
    for (int i = 0; i < q->system->tier_count; i++) {
        if (!rk_group_spans(group, i)) {
            continue;
        }
        const rk_tier_span span = rk_tier_span_of(q->system, group, i);
        const bool whole = group->within[i] == group->size;
        const double share =
            exchange ? span.ranks / (double)group->size : 1 / (double)rk_group_fewest(group, i - 1);
        const double bytes = q->bytes * share * (whole ? rk_group_lack(group, i - 1, q->op) : 1);
        /* side links may be what carries data to the next tier: they help within one only */
        const bool sides = span.tier->side_count > 0 && whole && span.units == span.ranks;
        rk_collective_phase *phase = rk_plan_add_phase(plan);
        (sides && bytes > 0 ? price_with_sides : price_usual)(&span, q->op, bytes, phase);
        plan->name = rk_phase_name(phase);
        serial = exchange ? 0 : span.tier->serial;
    }
    plan->seconds = rk_plan_overlapped(plan, serial);
}

/* By the constants that were fitted to the collective on the tier. */
static double fit_seconds(const rk_collective_query *q, int outer)
{
    assert(outer >= 0 && outer < q->system->tier_count);
    const rk_tier *tier = &q->system->tiers[outer];
    const rk_tier_fit *fit = &tier->fits[q->op];
    const rk_comm_curve curve = {fit->step, fit->chunk_step, fit->share * tier->bandwidth};
    const double n = (double)q->group->size;
    const rk_comm_row row = {.op = q->op,
                             .ranks = n,
                             .domains = outer > 0 ? ceil(n / (double)q->group->within[0]) : 1,
                             .bytes = q->bytes,
                             .inject_bytes = fit->inject_bytes};
    return rk_comm_curve_seconds(&curve, &row);
}

/* By the physical model. */
static void plan_modelled(const rk_collective_query *q, rk_collective_plan *plan)
{
    const int outer = rk_group_outermost(q->system, q->group);
    if (q->system->tiers[outer].fits[q->op].share > 0) {
        take(plan, RK_FIT_NAME, fit_seconds(q, outer));
        return;
    }
    if (q->op == RK_COLL_SEND) {
        take(plan, rk_algorithm_direct.name, rk_neighbour_seconds(q));
        return;
    }
    plan_levels(q, plan);
    take_if_faster(plan, RK_CONCURRENT_NAME, rk_concurrent_ring_seconds(q));
    const bool spans = outer > 0 && q->group->within[outer - 1] > 1;
    if (!spans) {
        return;
    }
    const rk_flat_ring flat = rk_price_flat_ring(q);
    const double ring = flat.latency + flat.transfer;
    if (q->op == RK_COLL_ALL_REDUCE && isfinite(ring) && !switch_reduces(q->system, outer)) {
        plan->seconds = rk_max(plan->seconds, ring - flat.latency); /* trees save latency alone */
    }
    take_if_faster(plan, RK_FLAT_RING_NAME, ring);
}

void rk_plan_collective(const rk_collective_query *query, rk_collective_plan *plan)
{
    const rk_measured *measured = query->system->accelerator.measured;
    plan->protocol = NULL;
    plan->chunks = plan->phase_count = 0;
    plan_modelled(query, plan);
    if (measured) {
        plan->seconds *= rk_measured_collective(measured, query->op, query->bytes, query->group);
    }
}

double rk_collective_sent(rk_collective op, double bytes, double ranks)
{
    assert(bytes >= 0 && ranks >= 1);
    const double others = (ranks - 1) / ranks;
    switch (op) {
    case RK_COLL_ALL_REDUCE:
        return 2 * bytes * others;
    case RK_COLL_SEND:
    case RK_COLL_BROADCAST:
    case RK_COLL_REDUCE:
        return ranks > 1 ? bytes : 0;
    case RK_COLL_GATHER:
        return ranks > 1 ? bytes / ranks : 0;
    default:
        return bytes * others;
    }
}

double rk_collective_seconds(const rk_system *system, rk_collective op, double bytes,
                             const rk_group *group)
{
    rk_collective_plan plan;
    if (group->size < 2) {
        return 0;
    }
    rk_plan_collective(
        &(rk_collective_query){.system = system, .group = group, .op = op, .bytes = bytes}, &plan);
    return plan.seconds;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the bandwidth of tiers between two concurrent collectives, by iterating their paces. */
#include "comm/concurrent_collectives.h"

#include "base/extremes.h"

#include <assert.h>
#include <math.h>

/* ---- one collective ------------------------------------------------------------------------ */

/*
 * Bytes that leave a rank's part of a domain of the tier below, of which u exchange data: x (u-1)/u
 * of its share with x = 2 for all-reduce; of an all-to-all what goes to the ranks outside.
 */
static double least_bytes(const rk_group *group, int tier, rk_collective op, double bytes)
{
    assert(tier >= 0 && tier < RK_TIER_MAX && bytes >= 0);
    const double below = tier > 0 ? (double)group->within[tier - 1] : 1;
    const double within = (double)group->within[tier], u = ceil(within / below);
    const double links = (double)rk_group_fewest(group, tier - 1); /* out of the smallest domain */
    switch (op) {
    case RK_COLL_ALL_TO_ALL:
        return bytes * (within - below) / (double)group->size;
    case RK_COLL_ALL_REDUCE:
        return 2 * (u - 1) / u * bytes / links;
    case RK_COLL_REDUCE_SCATTER:
    case RK_COLL_ALL_GATHER:
    case RK_COLL_SCATTER:
    case RK_COLL_GATHER:
        return (u - 1) / u * bytes / links;
    default:
        return u > 1 ? bytes / links : 0;
    }
}

/* A message crosses the outermost tier that the group spans, and no other. */
static bool is_crossed(const rk_group *group, int tiers, int tier, rk_collective op)
{
    bool further = false;
    for (int i = tier + 1; i < tiers; i++) {
        further = further || group->within[i] > group->within[tier];
    }
    return rk_group_spans(group, tier) && !(op == RK_COLL_SEND && further);
}

static void fill_whole(const rk_collective_query *q, rk_comm_flow *flow)
{
    for (int i = 0; i < q->system->tier_count; i++) {
        const rk_tier *tier = &q->system->tiers[i];
        if (is_crossed(q->group, q->system->tier_count, i, q->op)) {
            const double moved =
                q->op == RK_COLL_SEND ? q->bytes : least_bytes(q->group, i, q->op, q->bytes);
            flow->busy_s[i] = moved / (tier->bandwidth * tier->efficiency);
        }
    }
}

rk_comm_flow rk_comm_flow_of(const rk_collective_query *query, const char *name, double seconds)
{
    assert(seconds > 0);
    rk_collective_plan plan;
    if (!rk_find_collective_plan(query, name, &plan)) {
        (void)rk_find_collective_plan(query, NULL, &plan);
    }
    rk_comm_flow flow = {.name = plan.name, .seconds = seconds};
    if (plan.phase_count == 0) {
        fill_whole(query, &flow);
    }
    for (int i = 0; i < plan.phase_count; i++) {
        flow.busy_s[plan.phases[i].tier - query->system->tiers] +=
            rk_phase_busy_seconds(&plan.phases[i]);
    }
    for (int i = 0; i < query->system->tier_count; i++) {
        flow.busy_s[i] = rk_min(flow.busy_s[i], flow.seconds);
    }
    return flow;
}

/* ---- two at once --------------------------------------------------------------------------- */

/* The share of a tier that one gets when it wants `own` and the other `other`. */
static double granted(double own, double other)
{
    return own + other <= 1 ? own : own <= 0.5 ? own : rk_max(1 - other, 0.5);
}

/* The pace of a collective, 1 when it is alone, next to another at `other_pace`. */
static double pace_beside(const rk_comm_flow *own, const rk_comm_flow *other, double other_pace,
                          int tiers)
{
    double pace = 1;
    for (int i = 0; i < tiers; i++) {
        const double x = own->busy_s[i] / own->seconds;
        const double y = other_pace * other->busy_s[i] / other->seconds;
        pace = x > 0 ? rk_min(pace, granted(x, y) / x) : pace;
    }
    return pace;
}

/* Each pace falls when the other rises, so that these rounds close in on both from one side. */
#define PACE_ROUNDS 32

static void find_paces(const rk_comm_flow *a, const rk_comm_flow *b, int tiers, double pace[2])
{
    pace[1] = 1;
    for (int i = 0; i < PACE_ROUNDS; i++) {
        pace[0] = pace_beside(a, b, pace[1], tiers);
        pace[1] = pace_beside(b, a, pace[0], tiers);
    }
}

rk_comm_pair rk_comm_pair_of(const rk_comm_flow *a, const rk_comm_flow *b, int tiers)
{
    assert(tiers >= 1 && tiers <= RK_TIER_MAX);
    rk_comm_pair pair = {.tier = -1};
    double pace[2], most = 1;
    for (int i = 0; i < tiers; i++) {
        const double x = a->busy_s[i] / a->seconds, y = b->busy_s[i] / b->seconds;
        pair.wanted[i] = x + y;
        if (x > 0 && y > 0 && x + y > most) {
            most = x + y;
            pair.tier = i;
        }
    }
    find_paces(a, b, tiers, pace);
    const double first[2] = {a->seconds / pace[0], b->seconds / pace[1]};
    const double end = rk_min(first[0], first[1]);
    for (int k = 0; k < 2; k++) {
        const double alone = k == 0 ? a->seconds : b->seconds;
        pair.seconds[k] = first[k] <= end ? first[k] : end + (alone - end * pace[k]);
    }
    return pair;
}

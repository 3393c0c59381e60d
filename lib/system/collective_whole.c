/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of plans over all tiers at once: flat and concurrent rings, exchanges, neighbour sends. */
#include "system/collective_whole.h"

#include "base/extremes.h"

#include <math.h>

static bool is_ring(rk_collective op)
{
    return rk_algorithm_runs(&rk_algorithm_ring, op, 2);
}

static double passes_of(rk_collective op)
{
    return op == RK_COLL_ALL_REDUCE ? 2 : 1;
}

/*
 * Every rank passes (n-1)/n of the tensor on; in a tier, what leaves a domain of the tier below,
 * the one with fewest ranks, is shared by the links of its ranks (a ring for each, which leave the
 * domain from rank to rank in turn).  Of the u edges of a ring in an inner domain of u units, one
 * leaves it by other links; data that leaves a fabric for one above still uses the NIC.  All links
 * work at once and the slowest tier decides.  (NCCL across nodes: 377 of 400 GB/s on 4 nodes of 8
 * B200 and 350 to 390 on H100 with 8 NICs of 50 GB/s.)
 */
rk_flat_ring rk_price_flat_ring(const rk_collective_query *q)
{
    const rk_flat_ring none = {.transfer = HUGE_VAL};
    const rk_group *group = q->group;
    const double n = (double)group->size, passes = passes_of(q->op);
    rk_flat_ring ring = {0};
    if (!is_ring(q->op)) {
        return none;
    }
    for (int i = 0; i < q->system->tier_count; i++) {
        const rk_tier *tier = &q->system->tiers[i];
        if (!rk_group_spans(group, i)) {
            continue;
        }
        if (tier->kind == RK_TIER_MESH || tier->kind == RK_TIER_TORUS) {
            return none;
        }
        const rk_tier_span span = rk_tier_span_of(q->system, group, i);
        const double u = ceil(span.units);
        const bool leaves = group->within[i] < group->size && !rk_tier_is_fabric(tier);
        const double inside = leaves ? (u - 1) / u : 1;
        const double links = (double)rk_group_fewest(group, i - 1); /* out of a domain below */
        const double moved = inside * passes * (n - 1) / n * q->bytes / links;
        const double port = rk_tier_port(tier, false, u, span.links);
        ring.transfer = rk_max(ring.transfer, rk_transfer_seconds(tier, moved, port, 1));
        ring.latency = tier->latency + passes * (n - 1) * tier->step_latency;
    }
    return ring;
}

/*
 * In every round a rank passes one chunk to the next server, and hands the one that came in the
 * round before to the ranks of its own server over the links of the mesh: of p ranks in p_e
 * servers, with B_e of a NIC and B_i of one link of the mesh,
 *
 *     all-gather, reduce-scatter
 *         t = (p_e - 1) max(alpha_e + S/(p B_e), alpha_i + S/(p B_i)) + alpha_i + S/(p B_i)
 *     all-reduce  twice that
 *
 * and the ramp of both.  Source: HCCL, introduction to collective algorithms (Pipeline).
 */
double rk_concurrent_ring_seconds(const rk_collective_query *q)
{
    const rk_group *group = q->group;
    const rk_tier *inside = &q->system->tiers[0], *between = &q->system->tiers[1];
    const int64_t local = group->within[0];
    if (rk_group_outermost(q->system, group) != 1 || local < 2 || inside->kind != RK_TIER_MESH ||
        !is_ring(q->op)) {
        return HUGE_VAL;
    }
    const double nic = between->bandwidth * between->efficiency;
    const double pair = inside->bandwidth * inside->efficiency / ((double)inside->size - 1);
    const double servers = (double)((group->size + local - 1) / local);
    /* the server with fewest ranks, whose NICs carry most */
    const double passes = passes_of(q->op), n = servers * (double)rk_group_fewest(group, 0);
    const double outside_s = between->step_latency + q->bytes / n / nic;
    const double inside_s = inside->step_latency + q->bytes / n / pair;
    const double ramp = sqrt(between->half_bytes * (passes * (servers - 1) * q->bytes / n)) / nic +
                        sqrt(inside->half_bytes * passes * q->bytes) / inside->bandwidth;
    return between->latency + ramp +
           passes * ((servers - 1) * rk_max(outside_s, inside_s) + inside_s);
}

/*
 * t = alpha + (n - 1) start + max over tiers of (S added / n / B), with the ranks that a tier adds
 * to the domain of the tier below, the smallest between the outermost domains.
 */
double rk_flat_exchange_seconds(const rk_collective_query *q)
{
    const rk_group *group = q->group;
    const double n = (double)group->size;
    const int outermost = rk_group_outermost(q->system, group);
    const rk_tier *outer = &q->system->tiers[outermost];
    double longest = 0;
    if (q->op != RK_COLL_ALL_TO_ALL) {
        return HUGE_VAL;
    }
    for (int i = 0; i <= outermost; i++) {
        const rk_tier_span span = rk_tier_span_of(q->system, group, i);
        const double units = ceil(span.units);
        const double below = i > 0 ? (double)group->within[i - 1] : 1;
        const double least = i < outermost ? below : (double)rk_group_fewest(group, i - 1);
        double bandwidth = rk_tier_port(span.tier, true, units, span.links) * span.tier->efficiency;
        if (span.tier->kind == RK_TIER_TORUS) {
            return HUGE_VAL;
        }
        if (span.tier->kind == RK_TIER_MESH) { /* a link to each of the units */
            bandwidth *= units - 1;
        }
        /* NaN: one unit of a mesh */
        longest = rk_max(q->bytes * (span.ranks - least) / n / bandwidth, longest);
    }
    return outer->latency + outer->step_latency + (n - 1) * outer->message_start + longest;
}

/* The slowest hop crosses the outermost tier over one link, in one plane of several. */
double rk_neighbour_seconds(const rk_collective_query *q)
{
    const int outer = rk_group_outermost(q->system, q->group);
    const rk_tier_span span = rk_tier_span_of(q->system, q->group, outer);
    const rk_tier *tier = span.tier;
    const double port = rk_tier_port(tier, false, 2, span.links);
    const double plane = port / (double)(tier->planes > 1 ? tier->planes : 1);
    return tier->latency + tier->step_latency + rk_transfer_seconds(tier, q->bytes, plane, 1);
}

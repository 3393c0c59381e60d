/* SPDX-License-Identifier: Apache-2.0 */
/* Time of traffic on a tier by topology: rings, chains, trees, direct, switch, torus axes. */
#include "system/transport.h"

#include "base/extremes.h"

#include <assert.h>
#include <math.h>

/* ---- links --------------------------------------------------------------------------------- */

bool rk_tier_is_switch(const rk_tier *tier)
{
    return tier->kind == RK_TIER_SWITCH || tier->kind == RK_TIER_CUBE_MESH;
}

bool rk_tier_is_fabric(const rk_tier *tier)
{
    return tier->kind == RK_TIER_FABRIC || tier->kind == RK_TIER_DRAGONFLY;
}

/*
 * Of six links of a unit of a cube mesh, by the units that take part: edge-disjoint rings among
 * them (five have none without a detour, and take two), and links that an all-to-all keeps busy
 * whose messages go straight or over the partner (topology.h; the tests count both).  NCCL reaches
 * 0.9 of the rings: 23, 45, 86, 37, 46, 88 and 137 of 25, 50, 100, 50, 50, 100 and 150 GB/s
 * (vTrain).
 */
static double cube_mesh_reach(bool exchange, double units)
{
    static const double rings[] = {0, 0, 1, 2, 4, 2, 2, 4, 6},
                        busy[] = {0, 0, 1, 2, 3, 2, 2.5, 1.5, 1.75};
    const int n = (int)rk_max(rk_min(units, RK_CUBE_MESH_UNITS), 2);
    return (exchange ? busy : rings)[n] / 6;
}

/*
 * Share of a tier's bandwidth that `units` of its `links` units reach: 1 but in a cube mesh and a
 * dragonfly.  A group of a dragonfly reaches u - 1 of the others straight; over a third group,
 * packets take two global links, so half of the bandwidth leads anywhere (Kim, Dally, Scott and
 * Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008: minimal and Valiant
 * routing).
 */
static double reach_of(const rk_tier *tier, bool exchange, double units, double links)
{
    const double detour = 0.5;
    switch (tier->kind) {
    case RK_TIER_CUBE_MESH:
        return cube_mesh_reach(exchange, units);
    case RK_TIER_DRAGONFLY:
        return rk_max(exchange ? (units - 1) / (links - 1) : 0, detour);
    default:
        return 1;
    }
}

double rk_tier_port(const rk_tier *tier, bool exchange, double units, double links)
{
    switch (tier->kind) {
    case RK_TIER_MESH:
        return tier->bandwidth / (links - 1);
    case RK_TIER_TORUS:
        return tier->bandwidth / (2 * (double)tier->axes);
    default:
        return tier->bandwidth * reach_of(tier, exchange, units, links);
    }
}

/* ---- seconds ------------------------------------------------------------------------------- */

/* The ramp of measured collectives by size; `ramp` lengthens it. */
double rk_transfer_seconds(const rk_tier *tier, double bytes, double bandwidth, double ramp)
{
    return (bytes + ramp * sqrt(tier->half_bytes * bytes)) / (bandwidth * tier->efficiency);
}

/*
 * Inside a switch, NCCL sends small messages with a flag in every line, at a share of the bandwidth
 * and without waiting (LL, LL128), and large ones in chunks that each rank waits for (Simple); the
 * better of the two.  The share is the same on A100, H100 and B200.
 */
static double switch_seconds(const rk_tier *tier, const rk_traffic *t)
{
    static const double flagged_share = 0.45;
    const double flagged = t->bytes / (flagged_share * t->bandwidth * tier->efficiency);
    const double moving = rk_transfer_seconds(tier, t->bytes, t->bandwidth, t->ramp);
    const double waiting = (t->rounds + 1) * tier->chunk_wait;
    return rk_min(t->small_rounds * tier->step_latency + flagged,
                  t->rounds * tier->step_latency + sqrt(moving * moving + waiting * waiting));
}

double rk_traffic_seconds(const rk_tier *tier, const rk_traffic *t)
{
    const double seconds = rk_tier_is_switch(tier)
                               ? switch_seconds(tier, t)
                               : t->rounds * tier->step_latency +
                                     rk_transfer_seconds(tier, t->bytes, t->bandwidth, t->ramp);
    return tier->latency + t->start_s + seconds;
}

/* ---- rings --------------------------------------------------------------------------------- */

/*
 * Share of the bandwidth that a ring reaches in a switch, by its steps: short rings do not fill the
 * links.  1 - 1/(steps + 1)^2 is 0.75 for a gather of 2 ranks, 0.94 of 4, 0.98 of 8, 0.89 for an
 * all-reduce of 2 (single-node tables of A100, H100 and B200).
 */
static double ring_fill(double steps)
{
    return 1 - 1 / ((steps + 1) * (steps + 1));
}

/*
 * Steps of a pass over a small tensor in a switch.  The tables end at 8 ranks, where NCCL runs
 * rings.  Beyond, the rounds of an algorithm with a logarithm (NHR, PAT, trees) add one step per
 * doubling.
 */
static double small_pass(double ranks)
{
    return ranks <= 8 ? ranks - 1 : 7 + log2(ranks / 8);
}

/*
 * The steps of a ring go through all ranks of the group and each waits for the slowest link (H100
 * across nodes: latency in proportion to ranks).
 */
static void make_ring(const rk_tier *tier, rk_collective op, double ranks, rk_traffic *t)
{
    assert(ranks > 1);
    const double passes = op == RK_COLL_ALL_REDUCE ? 2 : 1;
    t->bandwidth *= rk_tier_is_switch(tier) ? ring_fill(t->rounds) : 1;
    t->rounds = passes * (ranks - 1);
    t->small_rounds = passes * small_pass(ranks);
}

/*
 * A chain passes on many chunks, each much smaller than the tensor: a step per rank and the tensor
 * once.
 */
static void make_chain(const rk_collective_job *job, double ranks, rk_traffic *t)
{
    t->rounds = ranks - 1;
    t->small_rounds = small_pass(ranks);
    t->bytes = job->bytes;
}

/* ---- algorithms ---------------------------------------------------------------------------- */

/*
 * A sum in the switch is two passages for any number of ranks, as long on 72 ranks as the tables'
 * values on 8.  Its ramp is twice as long as the ramp of rings (H100, B200).
 */
static void make_in_network(const rk_tier *tier, double ranks, rk_traffic *t)
{
    t->rounds = t->small_rounds = t->rounds * (rk_min(ranks, 8) - 1);
    t->bandwidth = tier->bandwidth * tier->reduce_share;
    t->ramp = 2;
}

/*
 * Measured all-reduces between nodes have the rounds of trees and the bytes of rings: NCCL changes
 * from one to the other, and pipelines.  (4 GiB over 4 x 8 B200 take 22.05 ms, where the rounds of
 * a ring would make it 24.7: ml-engineering; 0.4 ms of a bucket of gradients over 16 nodes where a
 * step takes 53 us: H100 with EFA; data/collectives.)
 */
static void make_tree(const rk_tier *tier, const rk_collective_job *job, rk_traffic *t)
{
    if (rk_tier_is_fabric(tier)) {
        t->bytes = rk_algorithm_ring.cost(job).bytes;
    }
}

/*
 * Messages to all peers are under way together; of measured all-to-alls the start grows with the
 * doublings of peers.
 */
static void make_direct(const rk_tier *tier, rk_collective op, double messages, double ranks,
                        rk_traffic *t)
{
    assert(messages >= 0 && ranks > 1);
    if (op != RK_COLL_ALL_TO_ALL) {
        t->start_s = tier->message_start * messages;
        return;
    }
    const double fill = rk_tier_is_switch(tier) ? ring_fill(messages) : 1;
    t->rounds = t->small_rounds = 3 + log2(ranks) / 2;
    t->bandwidth *= tier->exchange_share * fill;
}

rk_traffic rk_traffic_of(const rk_tier *tier, const rk_algorithm *algorithm,
                         const rk_collective_job *job, double links, double ranks)
{
    const rk_collective_cost cost = algorithm->cost(job);
    const bool exchange = job->op == RK_COLL_ALL_TO_ALL;
    rk_traffic t = {
        .rounds = cost.rounds,
        .small_rounds = cost.rounds,
        .bytes = cost.bytes,
        .bandwidth = rk_tier_port(tier, exchange, (double)job->ranks, links),
        .ramp = 1,
    };
    if (algorithm == &rk_algorithm_mesh) { /* the ramp depends on all bytes of a rank */
        t.bytes *= (double)job->ranks - 1;
        t.bandwidth *= (double)job->ranks - 1;
    } else if (algorithm == &rk_algorithm_ring) {
        make_ring(tier, job->op, ranks, &t);
    } else if (algorithm == &rk_algorithm_chain) {
        make_chain(job, ranks, &t);
    } else if (algorithm == &rk_algorithm_tree) {
        make_tree(tier, job, &t);
    } else if (algorithm == &rk_algorithm_in_network) {
        make_in_network(tier, ranks, &t);
    } else if (algorithm == &rk_algorithm_direct) {
        make_direct(tier, job->op, cost.messages, ranks, &t);
    }
    return t;
}

/* ---- torus --------------------------------------------------------------------------------- */

/* A broadcast scatters and gathers, a reduction reduces and gathers. */
static double passes_of(rk_collective op)
{
    return op == RK_COLL_ALL_REDUCE || op == RK_COLL_BROADCAST || op == RK_COLL_REDUCE ? 2 : 1;
}

/*
 * The units of a group along each axis that it uses: the shape of a slice if the tier has one of
 * this size, else as many axes of equal size as it can with 4 units along each.
 */
static int axes_of(const rk_tier *tier, double units, double along[RK_TORUS_AXES])
{
    double product = 1;
    int count = 0;
    for (int i = 0; i < RK_TORUS_AXES; i++) {
        product *= (double)tier->slice[i];
        if (tier->slice[i] > 1) {
            along[count++] = (double)tier->slice[i];
        }
    }
    if (product == units) {
        return count;
    }
    const double axes = rk_min(rk_max(floor(log2(units) / 2), 1), (double)tier->axes);
    for (count = 0; count < (int)axes; count++) {
        along[count] = pow(units, 1 / axes);
    }
    return count;
}

/*
 * The group works on all its axes at once: parts of the tensor take them in different orders, so
 * that all links end together.  On an axis of X units whose ends are joined data travels both ways,
 * X/2 hops, over two links of a unit; where they are not, the units at the ends have one, X-1 hops.
 * A unit of a gather lacks (n-1)/n of the tensor; where an axis is closed the textbook counts the
 * whole tensor, V / (two links).  All-to-all is bound by the links across the middle of the longest
 * axis: X/8 of the buffer each, twice that if not closed.  (JAX scaling book, sharding.)
 */
rk_traffic rk_traffic_on_axes(const rk_tier *tier, rk_collective op, double units, double bytes)
{
    double along[RK_TORUS_AXES], hops = 0, links = 0, middle = 0;
    const int axes = axes_of(tier, units, along);
    for (int i = 0; i < axes; i++) {
        const bool closed = along[i] >= (double)tier->ring * (1 - 1e-9);
        hops += closed ? along[i] / 2 : along[i] - 1;
        links += closed ? 2 : 1; /* of the unit that has fewest */
        middle = rk_max(middle, along[i] * (closed ? 1 : 2) / 8);
    }
    const double lacks = links > axes ? 1 : (units - 1) / units;
    const double link = rk_tier_port(tier, false, units, units); /* one way */
    const double passes = passes_of(op);
    rk_traffic t = {
        .rounds = passes * hops,
        .bytes = passes * lacks * axes / links * bytes,
        .bandwidth = link * axes,
        .ramp = 1,
    };
    if (op == RK_COLL_ALL_TO_ALL) {
        t.bytes = middle * bytes;
        t.bandwidth = link * tier->exchange_share;
    }
    return t;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a collective on a group of ranks that stands in one or several tiers: the algorithms
 * of lib/collective that training software runs there, over the links of transport.c.
 *
 * A group that spans tiers works in phases, one per tier, and each phase moves the part of the
 * tensor that the tiers below leave to one rank (reduce-scatter inside, all-reduce of the shards
 * between, all-gather inside).  Every rank uses its own NIC.  Phases overlap in part:
 * t = longest + serial * (sum - longest), where `serial` is 0 when chunks are pipelined perfectly
 * and 1 when phases follow each other.  On switches and fabrics a single ring through all ranks
 * competes: it moves more between the tiers, but all tiers at once.  Where no switch reduces (A100
 * and before), NCCL has no all-reduce of large tensors but that ring.
 */
#include "base/extremes.h"
#include "collective/comm_curve.h"
#include "collective/hierarchical.h"
#include "system/measured.h"
#include "system/transport.h"

#include <math.h>

/* The part of a collective inside one tier. */
typedef struct phase {
    const rk_tier *tier;
    rk_collective op;
    double units; /* domains of the tier below, or ranks, that exchange data */
    double links; /* units that the domain has in all */
    double ranks; /* of the group, in this domain */
    double bytes; /* of the tensor that one rank handles here, as rk_collective_seconds counts */
} phase;

const char rk_axes_name[] = "axes", rk_flat_ring_name[] = "flat-ring", rk_fit_name[] = "fit",
           rk_concurrent_name[] = "concurrent";

/* What an algorithm takes. */
typedef struct priced {
    const char *name;
    double seconds;
} priced;

static priced cheaper(priced a, priced b)
{
    return b.seconds < a.seconds ? b : a;
}

/* ---- one tier ------------------------------------------------------------------------------ */

/*
 * What training software runs in switches and fabrics whatever the size.  (NCCL's broadcasts are
 * chains; it sends the parts of the others straight to each peer.)
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

static rk_collective_job job_of(const phase *p)
{
    return (rk_collective_job){
        .op = p->op, .ranks = (int32_t)ceil(p->units), .bytes = p->bytes, .chunks = 1};
}

static priced price(const phase *p, const rk_algorithm *algorithm)
{
    const rk_collective_job job = job_of(p);
    const rk_traffic t = rk_traffic_of(p->tier, algorithm, &job, p->links, p->ranks);
    return (priced){algorithm->name, rk_traffic_seconds(p->tier, &t)};
}

/* The cheapest of what the links of the tier allow. */
static priced price_phase(const phase *p)
{
    const rk_tier *tier = p->tier;
    const bool sums = p->op == RK_COLL_ALL_REDUCE;
    if (tier->kind == RK_TIER_TORUS) {
        const rk_traffic t = rk_traffic_on_axes(tier, p->op, p->units, p->bytes);
        return (priced){rk_axes_name, rk_traffic_seconds(tier, &t)};
    }
    priced best =
        price(p, tier->kind == RK_TIER_MESH ? &rk_algorithm_mesh : usual_algorithm(p->op));
    if (sums && rk_tier_is_fabric(tier)) {
        best = cheaper(best, price(p, &rk_algorithm_tree));
    }
    if (sums && tier->in_network_reduce) {
        best = cheaper(best, price(p, &rk_algorithm_in_network));
    }
    return best;
}

/* ---- side links ---------------------------------------------------------------------------- */

/*
 * A phase of which side links take a part: each moves of its part what a ring would, and all end
 * together.  Time over the tier's own links bends with the bytes, so the part is found by halving.
 * Side links that end with all of the bytes before the tier begins take them all.
 */
static priced price_with_sides(const phase *p)
{
    const rk_tier *tier = p->tier;
    const rk_collective_job job = job_of(p); /* of which a link moves so much per byte: */
    const double moved =
        rk_traffic_of(p->tier, usual_algorithm(p->op), &job, p->links, p->ranks).bytes / p->bytes;
    const size_t count = (size_t)tier->side_count;
    rk_link links[RK_SIDE_LINK_MAX];
    for (size_t i = 0; i < count; i++) {
        const rk_side_link *side = &tier->sides[i];
        links[i] = (rk_link){side->bandwidth * side->efficiency / moved, side->latency};
    }
    phase own = *p;
    priced best = price_phase(&own);
    double least = 0, most = sqrt(p->bytes); /* over the tier */
    own.bytes = 0;
    const priced empty = price_phase(&own);
    if (rk_split_seconds(links, count, p->bytes, NULL) <= empty.seconds) {
        return empty;
    }
    for (int i = 0; i < 64; i++) {
        const double root = (least + most) / 2; /* in which the ramp is straight */
        own.bytes = root * root;
        const double rest = price_phase(&own).seconds;
        const double sides = rk_split_seconds(links, count, p->bytes - own.bytes, NULL);
        if (sides < rest) {
            most = root;
        } else {
            least = root;
        }
        /* never too short, and exact to the last digits where one of the two is flat */
        best.seconds = rk_min(best.seconds, rk_max(sides, rest)); /* NaN: nothing for sides */
    }
    return best;
}

/* ---- all tiers ----------------------------------------------------------------------------- */

/*
 * One ring through all n ranks: every rank passes (n-1)/n of the tensor on; in a tier, what leaves
 * a domain of the tier below, the one with fewest ranks, is shared by the links of its ranks (a
 * ring for each, which leave the domain from rank to rank in turn).  Of the u edges of a ring in an
 * inner domain of u units, one leaves it by other links; what leaves a fabric for one above still
 * takes the NIC.  All links work at once and the slowest tier decides.  (NCCL across nodes: 377 of
 * 400 GB/s on 4 nodes of 8 B200 and 350 to 390 on H100 with 8 NICs of 50 GB/s.)
 */
static double ring_seconds(const rk_system *system, rk_collective op, double bytes,
                           const rk_group *group, double *latency_seconds)
{
    const double n = (double)group->size;
    const double passes = op == RK_COLL_ALL_REDUCE ? 2 : 1;
    double transfer = 0, latency = 0;
    int64_t below = 1;
    for (int i = 0; i < system->tier_count; i++) {
        const rk_tier *tier = &system->tiers[i];
        if (group->within[i] > below) {
            if (tier->kind == RK_TIER_MESH || tier->kind == RK_TIER_TORUS) {
                *latency_seconds = 0;
                return HUGE_VAL;
            }
            const double u = ceil((double)group->within[i] / (double)below);
            const bool leaves = group->within[i] < group->size && !rk_tier_is_fabric(tier);
            const double inside = leaves ? (u - 1) / u : 1;
            const double links = (double)rk_group_fewest(group, i - 1); /* out of a domain below */
            const double moved = inside * passes * (n - 1) / n * bytes / links;
            const int64_t domain = i > 0 ? system->tiers[i - 1].size : 1;
            const double reach = rk_tier_reach(tier, false, u, (double)(tier->size / domain));
            transfer =
                rk_max(transfer, rk_transfer_seconds(tier, moved, tier->bandwidth * reach, 1));
            latency = tier->latency + passes * (n - 1) * tier->step_latency;
        }
        below = group->within[i];
    }
    *latency_seconds = latency;
    return latency + transfer;
}

/* The outermost tier whose domains the group leaves. */
static int outermost(const rk_system *system, const rk_group *group)
{
    int outer = 0;
    for (int i = 1; i < system->tier_count; i++) {
        outer = group->within[i] > group->within[i - 1] ? i : outer;
    }
    return outer;
}

double rk_concurrent_ring_seconds(const rk_system *system, rk_collective op, double bytes,
                                  const rk_group *group)
{
    const rk_tier *inside = &system->tiers[0], *between = &system->tiers[1];
    const int64_t local = group->within[0];
    if (outermost(system, group) != 1 || local < 2 || inside->kind != RK_TIER_MESH ||
        !rk_algorithm_runs(&rk_algorithm_ring, op, 2)) {
        return HUGE_VAL;
    }
    const rk_link nic = {between->bandwidth * between->efficiency, between->step_latency};
    const rk_link pair = {inside->bandwidth * inside->efficiency / ((double)inside->size - 1),
                          inside->step_latency};
    const int32_t servers = (int32_t)((group->size + local - 1) / local);
    const int64_t fewest = rk_group_fewest(group, 0); /* whose NICs carry most */
    const double passes = op == RK_COLL_ALL_REDUCE ? 2 : 1, n = (double)servers * (double)fewest;
    const double sent = passes * ((double)servers - 1) * bytes / n; /* by a NIC */
    const double ramp = sqrt(between->half_bytes * sent) / nic.bandwidth +
                        sqrt(inside->half_bytes * passes * bytes) / inside->bandwidth;
    return between->latency + ramp +
           rk_concurrent_seconds(op, bytes, servers, (int32_t)fewest, &nic, &pair);
}

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
 * Between neighbours of the group: the slowest hop crosses the outermost tier, in a mesh, a cube
 * mesh and on a torus over one link of many, in one plane of several, between two groups of a
 * dragonfly.
 */
static double send_seconds(const rk_system *system, int outer, double bytes)
{
    const rk_tier *tier = &system->tiers[outer];
    const int64_t domain = outer > 0 ? system->tiers[outer - 1].size : 1;
    double bandwidth = tier->bandwidth;
    if (tier->kind == RK_TIER_MESH) {
        bandwidth /= (double)(tier->size / domain) - 1;
    } else if (tier->kind == RK_TIER_TORUS) {
        bandwidth /= 2 * (double)tier->axes;
    } else {
        bandwidth *= rk_tier_reach(tier, false, 2, (double)(tier->size / domain));
    }
    bandwidth /= (double)(tier->planes > 1 ? tier->planes : 1);
    return tier->latency + tier->step_latency + rk_transfer_seconds(tier, bytes, bandwidth, 1);
}

/* Phases in all tiers. */
static priced price_levels(const rk_system *system, rk_collective op, double bytes,
                           const rk_group *group)
{
    double sum = 0, longest = 0, serial = 0;
    priced outer = {0};
    int64_t below = 1, domain = 1;
    for (int i = 0; i < system->tier_count; i++) {
        const rk_tier *tier = &system->tiers[i];
        const int64_t within = group->within[i];
        if (within > below) {
            /* Of an all-to-all, what stays in the domain; tiers below have sent their part of it.
             * Where domains differ, the ranks of the smallest carry most. */
            const double share = op == RK_COLL_ALL_TO_ALL
                                     ? (double)within / (double)group->size
                                     : 1 / (double)rk_group_fewest(group, i - 1);
            const double lack = within == group->size ? rk_group_lack(group, i - 1, op) : 1;
            const phase p = {
                .tier = tier,
                .op = op,
                .units = (double)within / (double)below,
                .links = (double)(tier->size / domain),
                .ranks = (double)within,
                .bytes = bytes * share * lack,
            };
            /* side links may be what carries data to the next tier: they help within one only */
            const bool sides = tier->side_count > 0 && within == group->size && below == 1;
            outer = sides && p.bytes > 0 ? price_with_sides(&p) : price_phase(&p);
            sum += outer.seconds;
            longest = rk_max(longest, outer.seconds);
            serial = op == RK_COLL_ALL_TO_ALL ? 0 : tier->serial;
        }
        below = within;
        domain = tier->size;
    }
    return (priced){outer.name, longest + serial * (sum - longest)};
}

/* By the constants that were fitted to the collective on the tier; share 0: there are none. */
static priced price_fit(const rk_system *system, int outer, rk_collective op, double bytes,
                        const rk_group *group)
{
    const rk_tier *tier = &system->tiers[outer];
    const rk_tier_fit *fit = &tier->fits[op];
    const rk_comm_curve curve = {fit->step, fit->chunk_step, fit->share * tier->bandwidth};
    const double n = (double)group->size;
    const rk_comm_row row = {.op = op,
                             .ranks = n,
                             .domains = outer > 0 ? ceil(n / (double)group->within[0]) : 1,
                             .bytes = bytes,
                             .inject_bytes = fit->inject_bytes};
    return (priced){rk_fit_name, rk_comm_curve_seconds(&curve, &row)};
}

/* By the physical model, in a group of two ranks and more. */
static priced modelled(const rk_system *system, rk_collective op, double bytes,
                       const rk_group *group)
{
    const int outer = outermost(system, group);
    if (system->tiers[outer].fits[op].share > 0) {
        return price_fit(system, outer, op, bytes, group);
    }
    if (op == RK_COLL_SEND) {
        return (priced){rk_algorithm_direct.name, send_seconds(system, outer, bytes)};
    }
    priced levels = price_levels(system, op, bytes, group);
    levels = cheaper(
        levels, (priced){rk_concurrent_name, rk_concurrent_ring_seconds(system, op, bytes, group)});
    const bool spans = outer > 0 && group->within[outer - 1] > 1;
    if (!spans || !rk_algorithm_runs(&rk_algorithm_ring, op, 2)) {
        return levels;
    }
    double latency;
    const double ring = ring_seconds(system, op, bytes, group, &latency);
    if (op == RK_COLL_ALL_REDUCE && isfinite(ring) && !switch_reduces(system, outer)) {
        levels.seconds = rk_max(levels.seconds, ring - latency); /* trees save latency alone */
    }
    return cheaper(levels, (priced){rk_flat_ring_name, ring});
}

double rk_flat_ring_seconds(const rk_system *system, rk_collective op, double bytes,
                            const rk_group *group)
{
    double latency;
    return ring_seconds(system, op, bytes, group, &latency);
}

double rk_collective_choose(const rk_system *system, rk_collective op, double bytes,
                            const rk_group *group, const char **algorithm)
{
    const rk_measured *measured = system->accelerator.measured;
    const priced chosen = modelled(system, op, bytes, group);
    *algorithm = chosen.name;
    return measured ? chosen.seconds * rk_measured_collective(measured, op, bytes, group)
                    : chosen.seconds;
}

double rk_collective_sent(rk_collective op, double bytes, double ranks)
{
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
    const char *algorithm;
    return group->size > 1 ? rk_collective_choose(system, op, bytes, group, &algorithm) : 0;
}

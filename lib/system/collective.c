/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a collective on a group of ranks that stands in one or several tiers.
 *
 * A group that spans tiers works in phases, one per tier, and each phase moves the part of the
 * tensor that the tiers below leave to one rank (reduce-scatter inside, all-reduce of the shards
 * between, all-gather inside).  Every rank uses its own NIC.  Phases overlap in part:
 * t = longest + serial * (sum - longest), where `serial` is 0 when chunks are pipelined perfectly
 * and 1 when phases follow each other.  On switches and fabrics a single ring through all ranks
 * competes: it moves more between the tiers, but all tiers at once.  Where no switch reduces (A100
 * and before), NCCL has no all-reduce of large tensors but that ring.
 */
#include "system/measured.h"

#include <math.h>

const char *const rk_collective_names[] = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
    "send",       "scatter",        "gather",     "reduce",     NULL};

/* The part of a collective inside one tier. */
typedef struct phase {
    const rk_tier *tier;
    rk_collective op;
    double units; /* domains of the tier below, or ranks, that exchange data */
    double links; /* units that the domain has in all */
    double ranks; /* of the group, in this domain */
    double bytes; /* of the tensor that one rank handles here; send and all-to-all: sent */
} phase;

/* What a phase costs: latency of steps, and bytes over the links of one rank. */
typedef struct traffic {
    double steps, bytes, bandwidth;
    double ramp;      /* of the tier's ramp, 1 or more */
    double few_steps; /* of the algorithm for small tensors, in a switch */
} traffic;

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
 * rings and chains.  Beyond, the rounds of an algorithm with a logarithm (NHR, PAT, trees) add one
 * step per doubling.
 */
static double few_steps(double ranks)
{
    return ranks <= 8 ? ranks - 1 : 7 + log2(ranks / 8);
}

/*
 * Switch and fabric: rings; each rank sends (n-1)/n of the tensor per direction of travel.  The
 * steps of a ring go through all ranks of the group and each waits for the slowest link (H100
 * across nodes: latency in proportion to ranks).  Fabrics all-reduce small tensors along a tree, up
 * and down, a step per doubling, as NCCL counts them: 0.4 ms of a bucket of gradients over 16 nodes
 * where a step takes 53 us (H100 with EFA).
 */
static traffic ring_traffic(const phase *p)
{
    const rk_tier *tier = p->tier;
    const double n = p->units;
    const bool fabric = tier->kind == RK_TIER_FABRIC;
    traffic t = {
        .steps = p->ranks - 1,
        .bytes = (n - 1) / n * p->bytes,
        .bandwidth = tier->bandwidth,
        .ramp = 1,
        .few_steps = few_steps(p->ranks),
    };
    double fill = ring_fill(n - 1);
    switch (p->op) {
    case RK_COLL_ALL_REDUCE:
        t.steps = fabric ? fmin(2 * t.steps, 2 * log2(n)) : 2 * t.steps;
        t.few_steps *= 2;
        t.bytes *= 2;
        fill = ring_fill(2 * (n - 1));
        break;
    case RK_COLL_ALL_TO_ALL: /* messages to all peers are under way together */
        t.steps = t.few_steps = 3 + log2(p->ranks) / 2;
        t.bytes = p->bytes;
        t.bandwidth *= tier->exchange_share;
        break;
    case RK_COLL_BROADCAST:
    case RK_COLL_REDUCE:
        t.steps = t.few_steps = log2(p->ranks);
        t.bytes = p->bytes;
        fill = 1;
        break;
    default:
        break;
    }
    t.bandwidth *= fabric ? 1 : fill;
    return t;
}

/* Mesh and torus: a broadcast scatters and gathers, a reduction reduces and gathers. */
static double passes_of(rk_collective op)
{
    return op == RK_COLL_ALL_REDUCE || op == RK_COLL_BROADCAST || op == RK_COLL_REDUCE ? 2 : 1;
}

/*
 * Mesh: every rank has a link to every other of its domain and uses those that lead to its peers
 * at once, so a group of n out of `links` has (n-1)/(links-1) of the bandwidth; one step each way.
 */
static traffic mesh_traffic(const phase *p)
{
    const double n = p->units;
    const double passes = passes_of(p->op);
    return (traffic){
        .steps = passes,
        .bytes = p->op == RK_COLL_ALL_TO_ALL ? p->bytes : passes * (n - 1) / n * p->bytes,
        .bandwidth = p->tier->bandwidth * (n - 1) / (p->links - 1),
        .ramp = 1,
    };
}

/*
 * Torus: the group takes as many axes as it can with 4 units along each, X units along an axis,
 * and works on all its axes at once.  On an axis data travels both ways around the ring, X/2 hops;
 * where the ends are not joined, one way, X-1 hops.  All-to-all is bound by the links that cross
 * the middle of an axis: X/8 of the buffer each, twice that without the joining links.
 * (JAX scaling book, sharding; AG of V over a closed axis: V / (two links).)
 */
static traffic torus_traffic(const phase *p)
{
    const rk_tier *tier = p->tier;
    const double n = p->units;
    const double axes = fmin(fmax(floor(log2(n) / 2), 1), (double)tier->axes);
    const double along = pow(n, 1 / axes);
    const bool closed = along >= (double)tier->ring * (1 - 1e-9);
    const double link = tier->bandwidth / (2 * (double)tier->axes); /* one way */
    const double passes = passes_of(p->op);
    const double hops = closed ? along / 2 : along - 1;
    traffic t = {
        .steps = passes * hops * axes,
        .bytes = passes * hops / along * p->bytes,
        .bandwidth = link * axes,
        .ramp = 1,
    };
    if (p->op == RK_COLL_ALL_TO_ALL) {
        t.bytes = p->bytes * n / (n - 1) * along * (closed ? 1 : 2) / 8;
        t.bandwidth = link;
    }
    return t;
}

/*
 * Bytes over the links of one rank: t = (W + sqrt(h W)) / B, the ramp of measured collectives by
 * size; `ramp` lengthens it.
 */
static double transfer_seconds(const rk_tier *tier, double bytes, double bandwidth, double ramp)
{
    return (bytes + ramp * sqrt(tier->half_bytes * bytes)) / (bandwidth * tier->efficiency);
}

/*
 * Inside a switch, NCCL sends small messages with a flag in every line, at a share of the bandwidth
 * and without waiting (LL, LL128), and large ones in chunks that each rank waits for (Simple, whose
 * step takes 3.4 us on NVLink: NCCL's tuning model); the better of the two.  The share is the same
 * on A100, H100 and B200.
 */
static double switch_seconds(const rk_tier *tier, const traffic *t)
{
    static const double flagged_share = 0.45, chunk_seconds = 3.4e-6;
    const double flagged = t->bytes / (flagged_share * t->bandwidth * tier->efficiency);
    const double moving = transfer_seconds(tier, t->bytes, t->bandwidth, t->ramp);
    const double waiting = (t->steps + 1) * chunk_seconds;
    return fmin(t->few_steps * tier->step_latency + flagged,
                t->steps * tier->step_latency + sqrt(moving * moving + waiting * waiting));
}

static double traffic_seconds(const rk_tier *tier, const traffic *t)
{
    return tier->latency + (tier->kind == RK_TIER_SWITCH
                                ? switch_seconds(tier, t)
                                : t->steps * tier->step_latency +
                                      transfer_seconds(tier, t->bytes, t->bandwidth, t->ramp));
}

/*
 * An all-reduce in the switch: each rank sends its tensor once and receives the sum, of which it
 * adds a share 1/n itself: (1 + 1/n) S.  Its ramp is twice as long as that of rings (H100, B200).
 * Two passages through the switch take as long on 72 ranks as on the 8 of the tables.
 */
static traffic in_network_traffic(const phase *p)
{
    const double steps = 2 * (fmin(p->ranks, 8) - 1);
    return (traffic){
        .steps = steps,
        .bytes = (1 + 1 / p->units) * p->bytes,
        .bandwidth = p->tier->bandwidth * p->tier->reduce_share,
        .ramp = 2,
        .few_steps = steps,
    };
}

static double phase_seconds(const phase *p)
{
    const rk_tier *tier = p->tier;
    traffic t = tier->kind == RK_TIER_MESH    ? mesh_traffic(p)
                : tier->kind == RK_TIER_TORUS ? torus_traffic(p)
                                              : ring_traffic(p);
    const double seconds = traffic_seconds(tier, &t);
    if (p->op == RK_COLL_ALL_REDUCE && tier->in_network_reduce) {
        t = in_network_traffic(p);
        return fmin(seconds, traffic_seconds(tier, &t));
    }
    return seconds;
}

/*
 * A phase of which side links take a part: each moves of its part what a ring would, and all end
 * together.  Time over the tier's own links bends with the bytes, so the part is found by halving.
 * Side links that end with all of the bytes before the tier begins take them all.
 */
static double seconds_with_sides(const phase *p)
{
    const rk_tier *tier = p->tier;
    const double moved =
        ring_traffic(p).bytes / p->bytes; /* over a link, of a byte of the tensor */
    const size_t count = (size_t)tier->side_count;
    rk_link links[RK_SIDE_LINK_MAX];
    for (size_t i = 0; i < count; i++) {
        const rk_side_link *side = &tier->sides[i];
        links[i] = (rk_link){side->bandwidth * side->efficiency / moved, side->latency};
    }
    phase own = *p;
    double seconds = phase_seconds(&own), least = 0, most = sqrt(p->bytes); /* over the tier */
    own.bytes = 0;
    const double empty = phase_seconds(&own);
    if (rk_split_seconds(links, count, p->bytes, NULL) <= empty) {
        return empty;
    }
    for (int i = 0; i < 64; i++) {
        const double root = (least + most) / 2; /* in which the ramp is straight */
        own.bytes = root * root;
        const double rest = phase_seconds(&own);
        const double sides = rk_split_seconds(links, count, p->bytes - own.bytes, NULL);
        if (sides < rest) {
            most = root;
        } else {
            least = root;
        }
        /* never too short, and exact to the last digits where one of the two is flat */
        seconds = fmin(seconds, fmax(rest, sides));
    }
    return seconds;
}

/*
 * One ring through all n ranks: every rank passes (n-1)/n of the tensor on; in a tier, what leaves
 * a domain of the tier below is shared by the links of its ranks.  All links work at once and the
 * slowest tier decides.  (NCCL across nodes: 377 of 400 GB/s on 4 nodes of 8 B200 and 350 to 390 on
 * H100 with 8 NICs of 50 GB/s.)
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
            const double moved = passes * (n - 1) / n * bytes / (double)below;
            transfer = fmax(transfer, transfer_seconds(tier, moved, tier->bandwidth, 1));
            latency = tier->latency + passes * (n - 1) * tier->step_latency;
        }
        below = group->within[i];
    }
    *latency_seconds = latency;
    return latency + transfer;
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

/* The outermost tier whose domains the group leaves. */
static int outermost(const rk_system *system, const rk_group *group)
{
    int outer = 0;
    for (int i = 1; i < system->tier_count; i++) {
        outer = group->within[i] > group->within[i - 1] ? i : outer;
    }
    return outer;
}

/*
 * Between neighbours of the group: the slowest hop crosses the outermost tier, in a mesh and on a
 * torus over one link of many.
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
    }
    return tier->latency + tier->step_latency + transfer_seconds(tier, bytes, bandwidth, 1);
}

/* Phases in all tiers. */
static double hierarchy_seconds(const rk_system *system, rk_collective op, double bytes,
                                const rk_group *group)
{
    double sum = 0, longest = 0, serial = 0;
    int64_t below = 1, domain = 1;
    for (int i = 0; i < system->tier_count; i++) {
        const rk_tier *tier = &system->tiers[i];
        const int64_t within = group->within[i];
        if (within > below) {
            /* Of an all-to-all, what goes to the ranks that this tier adds. */
            const double share = op == RK_COLL_ALL_TO_ALL
                                     ? (double)(within - below) / (double)group->size
                                     : 1 / (double)below;
            const phase p = {
                .tier = tier,
                .op = op,
                .units = (double)within / (double)below,
                .links = (double)(tier->size / domain),
                .ranks = (double)within,
                .bytes = bytes * share,
            };
            /* side links may be what carries data to the next tier: they help within one only */
            const bool sides = tier->side_count > 0 && within == group->size && below == 1;
            const double seconds =
                sides && p.bytes > 0 ? seconds_with_sides(&p) : phase_seconds(&p);
            sum += seconds;
            longest = fmax(longest, seconds);
            serial = op == RK_COLL_ALL_TO_ALL ? 0 : tier->serial;
        }
        below = within;
        domain = tier->size;
    }
    return longest + serial * (sum - longest);
}

/* By the physical model, in a group of two ranks and more. */
static double modelled(const rk_system *system, rk_collective op, double bytes,
                       const rk_group *group)
{
    const int outer = outermost(system, group);
    if (op == RK_COLL_SEND) {
        return send_seconds(system, outer, bytes);
    }
    double seconds = hierarchy_seconds(system, op, bytes, group);
    const bool spans = outer > 0 && group->within[outer - 1] > 1;
    const bool rings =
        op == RK_COLL_ALL_REDUCE || op == RK_COLL_REDUCE_SCATTER || op == RK_COLL_ALL_GATHER;
    if (!spans || !rings) {
        return seconds;
    }
    double latency;
    const double ring = ring_seconds(system, op, bytes, group, &latency);
    if (op == RK_COLL_ALL_REDUCE && isfinite(ring) && !switch_reduces(system, outer)) {
        seconds = fmax(seconds, ring - latency); /* trees save latency alone */
    }
    return fmin(seconds, ring);
}

double rk_collective_seconds(const rk_system *system, rk_collective op, double bytes,
                             const rk_group *group)
{
    if (group->size <= 1) {
        return 0;
    }
    const rk_measured *measured = system->accelerator.measured;
    const double seconds = modelled(system, op, bytes, group);
    return measured ? seconds * rk_measured_collective(measured, op, bytes, group) : seconds;
}

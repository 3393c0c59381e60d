/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/way.h"

#include "base/error.h"
#include "base/extremes.h"
#include "system/transport.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char flat_exchange[] = "flat-exchange", ahc[] = "ahc";

const char *const rk_way_names[RK_WAY_NAME_COUNT + 1] = {
    rk_flat_ring_name, flat_exchange, rk_concurrent_name, rk_axes_name, ahc, NULL};

/*
 * To start one of many messages that are under way at once: 1 to 3 us a peer where accelerators
 * ring the NIC themselves (IBGDA, DeepEP's small messages).
 */
static const double message_seconds = 1e-6;

/* What all ways of a question share. */
typedef struct question {
    const rk_system *system;
    const rk_group *group;
    rk_collective op;
    double bytes;
    int outer; /* the outermost tier that the group spans */
    rk_way_options options;
} question;

/* ---- one tier ------------------------------------------------------------------------------ */

/* Ranks of the group in one domain of the tier below tier i. */
static int64_t below(const question *q, int i)
{
    return i > 0 ? q->group->within[i - 1] : 1;
}

static bool spans(const question *q, int i)
{
    return q->group->within[i] > below(q, i);
}

/* Domains of the tier below, or ranks, that exchange data in tier i; the last may be part filled.
 */
static int32_t units(const question *q, int i)
{
    return (int32_t)((q->group->within[i] + below(q, i) - 1) / below(q, i));
}

/*
 * The part of the tensor that a rank takes to tier i, the tiers below having spread it: of domains
 * with different numbers of ranks, in the one that has fewest.
 */
static double share_of(const question *q, int i)
{
    return 1 / (double)rk_group_fewest(q->group, i - 1);
}

/* The port of a unit; of mesh tiers the link of a pair, which rings have too. */
static rk_link link_of(const question *q, int i)
{
    const rk_tier *tier = &q->system->tiers[i];
    double bandwidth = tier->bandwidth * tier->efficiency;
    if (tier->kind == RK_TIER_MESH) {
        const int64_t domain = i > 0 ? q->system->tiers[i - 1].size : 1;
        bandwidth /= (double)(tier->size / domain) - 1;
    } else {
        const int64_t domain = i > 0 ? q->system->tiers[i - 1].size : 1;
        bandwidth *= rk_tier_reach(tier, q->op == RK_COLL_ALL_TO_ALL, units(q, i),
                                   (double)(tier->size / domain));
    }
    return (rk_link){.bandwidth = bandwidth, .latency = tier->step_latency};
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

/*
 * Of rings, tiers outside have one per rank of an inner domain, which each go from domain to
 * domain: a round per unit.
 */
static rk_way_phase phase_with(const question *q, int i, const rk_algorithm *algorithm,
                               rk_collective op, double bytes)
{
    const rk_tier *tier = &q->system->tiers[i];
    const int64_t domain = i > 0 ? q->system->tiers[i - 1].size : 1;
    rk_way_phase p = {
        .tier = tier,
        .algorithm = algorithm,
        .job = {.op = op, .ranks = units(q, i), .bytes = bytes, .chunks = 1},
        .link = link_of(q, i),
    };
    if (algorithm == &rk_algorithm_chain) {
        p.job.chunks = rk_chain_chunks(p.job.ranks, bytes, &p.link);
    }
    if (algorithm == &rk_algorithm_in_network) {
        p.link.bandwidth *= tier->reduce_share;
    }
    const rk_traffic t =
        rk_traffic_of(tier, algorithm, &p.job, (double)(tier->size / domain), (double)p.job.ranks);
    p.busy_s = t.bytes / (t.bandwidth * tier->efficiency);
    p.fixed_s = tier->latency + t.start_s;
    p.wire_s = p.fixed_s + rk_algorithm_seconds(algorithm, &p.job, &p.link, 0);
    p.seconds = rk_traffic_seconds(tier, &t);
    return p;
}

/* Rings along the axes of a torus. */
static rk_way_phase phase_on_torus(const question *q, int i, rk_collective op, double bytes)
{
    const rk_tier *tier = &q->system->tiers[i];
    const rk_traffic t = rk_traffic_on_axes(tier, op, (double)units(q, i), bytes);
    return (rk_way_phase){
        .tier = tier,
        .job = {.op = op, .ranks = units(q, i), .bytes = bytes, .chunks = 1},
        .link = {tier->bandwidth * tier->efficiency / (2 * (double)tier->axes), tier->step_latency},
        .busy_s = t.bytes / (t.bandwidth * tier->efficiency),
        .seconds = rk_traffic_seconds(tier, &t),
    };
}

/* The cheapest algorithm for one tier; of several alike the first of the table. */
static rk_way_phase cheapest_phase(const question *q, int i, rk_collective op, double bytes)
{
    rk_way_phase best = {.seconds = HUGE_VAL};
    if (q->system->tiers[i].kind == RK_TIER_TORUS) {
        return phase_on_torus(q, i, op, bytes);
    }
    for (size_t k = 0; rk_algorithms[k]; k++) {
        const rk_algorithm *algorithm = rk_algorithms[k];
        if (fits(algorithm, &q->system->tiers[i]) &&
            rk_algorithm_runs(algorithm, op, units(q, i))) {
            const rk_way_phase p = phase_with(q, i, algorithm, op, bytes);
            best = p.seconds < best.seconds ? p : best;
        }
    }
    return best;
}

/* ---- phases of all tiers ------------------------------------------------------------------- */

static void add_phase(rk_way *way, rk_way_phase phase)
{
    way->phases[way->phase_count++] = phase;
}

/* The phases inside the outermost tier, outwards or inwards. */
static void add_inner(const question *q, rk_way *way, rk_collective op, bool outwards)
{
    for (int k = 0; k < q->outer; k++) {
        const int i = outwards ? k : q->outer - 1 - k;
        const double share = op == RK_COLL_ALL_TO_ALL ? 1 : share_of(q, i);
        if (spans(q, i)) {
            add_phase(way, cheapest_phase(q, i, op, q->bytes * share));
        }
    }
}

/* What tiers inside do before (outwards) and after (inwards) the phase of the outermost. */
typedef struct sides {
    rk_collective before, after; /* RK_COLL_COUNT: nothing */
} sides;

static sides sides_of(rk_collective op)
{
    switch (op) {
    case RK_COLL_ALL_REDUCE:
        return (sides){RK_COLL_REDUCE_SCATTER, RK_COLL_ALL_GATHER};
    case RK_COLL_BROADCAST:
        return (sides){RK_COLL_SCATTER, RK_COLL_ALL_GATHER};
    case RK_COLL_REDUCE:
        return (sides){RK_COLL_REDUCE_SCATTER, RK_COLL_GATHER};
    case RK_COLL_REDUCE_SCATTER:
    case RK_COLL_SCATTER:
    case RK_COLL_ALL_TO_ALL:
        return (sides){op, RK_COLL_COUNT};
    default: /* all-gather and gather */
        return (sides){RK_COLL_COUNT, op};
    }
}

/* Phases overlap as the outermost tier says; all-to-all hands everything over in between. */
static double overlapped(const question *q, const rk_way *way)
{
    double sum = 0, longest = 0;
    for (int i = 0; i < way->phase_count; i++) {
        sum += way->phases[i].seconds;
        longest = rk_max(longest, way->phases[i].seconds);
    }
    const double serial = q->op == RK_COLL_ALL_TO_ALL ? 1 : q->system->tiers[q->outer].serial;
    return longest + serial * (sum - longest);
}

/* Chunks follow each other; phases are of one, and those in the same tier share its links. */
static double pipelined(const question *q, const rk_way *way)
{
    double sum = 0, longest = 0, of[RK_TIER_MAX] = {0};
    for (int i = 0; i < way->phase_count; i++) {
        double *tier = &of[way->phases[i].tier - q->system->tiers];
        sum += way->phases[i].seconds;
        *tier += way->phases[i].seconds;
        longest = rk_max(longest, *tier);
    }
    return sum + ((double)way->chunks - 1) * longest;
}

static void sum_phases(const question *q, rk_way *way)
{
    way->seconds = way->chunks > 0 ? pipelined(q, way) : overlapped(q, way);
}

/* An algorithm in the outermost tier, the cheapest inside; q->bytes are those of a chunk. */
static rk_way chunk_by_tiers(const question *q, const rk_algorithm *algorithm, int32_t chunks)
{
    const sides inner = sides_of(q->op);
    const double share = (q->op == RK_COLL_ALL_TO_ALL ? 1 : share_of(q, q->outer)) *
                         rk_group_lack(q->group, q->outer - 1, q->op);
    rk_way way = {.name = algorithm ? algorithm->name : rk_axes_name, .chunks = chunks};
    if (inner.before != RK_COLL_COUNT) {
        add_inner(q, &way, inner.before, true);
    }
    add_phase(&way, algorithm ? phase_with(q, q->outer, algorithm, q->op, q->bytes * share)
                              : phase_on_torus(q, q->outer, q->op, q->bytes * share));
    if (inner.after != RK_COLL_COUNT) {
        add_inner(q, &way, inner.after, false);
    }
    sum_phases(q, &way);
    return way;
}

/* In as many chunks as are asked for; the fastest of powers of two if that is asked for. */
static rk_way way_by_tiers(const question *q, const rk_algorithm *algorithm)
{
    const bool best = q->options.chunks == RK_WAY_BEST_CHUNKS;
    const int32_t first = best ? 1 : q->options.chunks;
    question part = *q;
    part.bytes = q->bytes / (double)(first > 0 ? first : 1);
    rk_way way = chunk_by_tiers(&part, algorithm, first);
    for (int32_t chunks = 2; best && chunks <= RK_WAY_CHUNKS_MAX; chunks *= 2) {
        part.bytes = q->bytes / (double)chunks;
        const rk_way other = chunk_by_tiers(&part, algorithm, chunks);
        way = other.seconds < way.seconds ? other : way;
    }
    return way;
}

/*
 * All-reduce where the last domain has fewer ranks than the others (ahc.c), by the fastest
 * algorithm between domains.
 */
static bool add_uneven(const question *q, rk_way *way)
{
    if (q->op != RK_COLL_ALL_REDUCE ||
        rk_group_fewest(q->group, q->outer - 1) == below(q, q->outer) ||
        q->system->tiers[q->outer].kind == RK_TIER_TORUS) {
        return false;
    }
    *way = (rk_way){.name = ahc};
    add_inner(q, way, RK_COLL_REDUCE_SCATTER, true);
    add_phase(way, cheapest_phase(q, q->outer, q->op, q->bytes * share_of(q, q->outer)));
    add_inner(q, way, RK_COLL_ALL_GATHER, false);
    sum_phases(q, way);
    return true;
}

/* ---- all tiers at once --------------------------------------------------------------------- */

/* One ring through all ranks. */
static bool add_flat_ring(const question *q, rk_way *way)
{
    const double seconds = rk_algorithm_runs(&rk_algorithm_ring, q->op, 2)
                               ? rk_flat_ring_seconds(q->system, q->op, q->bytes, q->group)
                               : HUGE_VAL;
    *way = (rk_way){.name = rk_flat_ring_name, .seconds = seconds};
    return seconds < HUGE_VAL;
}

/* All messages at once; of the buffer, what stays in a tier goes over the links of that tier. */
static bool add_flat_exchange(const question *q, rk_way *way)
{
    const double n = (double)q->group->size;
    double longest = 0;
    if (q->op != RK_COLL_ALL_TO_ALL) {
        return false;
    }
    for (int i = 0; i <= q->outer; i++) {
        const double added =
            (double)q->group->within[i] -
            (double)(i == q->outer ? rk_group_fewest(q->group, i - 1) : below(q, i));
        double bandwidth = link_of(q, i).bandwidth;
        if (q->system->tiers[i].kind == RK_TIER_TORUS) {
            return false;
        }
        if (q->system->tiers[i].kind == RK_TIER_MESH) { /* a link to each of the units */
            bandwidth *= (double)(units(q, i) - 1);
        }
        longest = rk_max(q->bytes * added / n / bandwidth, longest); /* NaN: one unit of a mesh */
    }
    const rk_tier *outer = &q->system->tiers[q->outer];
    *way = (rk_way){.name = flat_exchange,
                    .seconds =
                        outer->latency + outer->step_latency + (n - 1) * message_seconds + longest};
    return true;
}

/* Servers that are meshes, joined by a tier of their own. */
static bool add_concurrent(const question *q, rk_way *way)
{
    const double seconds = rk_concurrent_ring_seconds(q->system, q->op, q->bytes, q->group);
    *way = (rk_way){.name = rk_concurrent_name, .seconds = seconds};
    return seconds < HUGE_VAL;
}

/* ---- all ways ------------------------------------------------------------------------------ */

static int by_seconds(const void *a, const void *b)
{
    const rk_way *x = a, *y = b;
    const int order = (x->seconds > y->seconds) - (x->seconds < y->seconds);
    return order ? order : strcmp(x->name, y->name);
}

/* A message between neighbours, whose chunks follow each other: the fastest number is 1. */
static rk_way way_of_send(const question *q)
{
    const int32_t asked = q->options.chunks, chunks = asked == RK_WAY_BEST_CHUNKS ? 1 : asked;
    const double parts = chunks > 0 ? (double)chunks : 1;
    return (rk_way){.name = "direct",
                    .chunks = chunks,
                    .seconds = parts *
                               rk_collective_seconds(q->system, q->op, q->bytes / parts, q->group)};
}

int rk_ways_find(const rk_system *system, const rk_group *group, rk_collective op, double bytes,
                 rk_way ways[RK_WAY_MAX])
{
    return rk_ways_find_with(system, group, op, bytes, &(rk_way_options){0}, ways);
}

int rk_ways_find_with(const rk_system *system, const rk_group *group, rk_collective op,
                      double bytes, const rk_way_options *options, rk_way ways[RK_WAY_MAX])
{
    question q = {.system = system, .group = group, .op = op, .bytes = bytes, .options = *options};
    int count = 0;
    for (int i = 0; i < system->tier_count; i++) {
        q.outer = spans(&q, i) ? i : q.outer;
    }
    const rk_tier *outer = &system->tiers[q.outer];
    if (op == RK_COLL_SEND) {
        ways[count++] = way_of_send(&q);
        return count;
    }
    for (size_t k = 0; rk_algorithms[k]; k++) {
        if (fits(rk_algorithms[k], outer) &&
            rk_algorithm_runs(rk_algorithms[k], op, units(&q, q.outer))) {
            ways[count++] = way_by_tiers(&q, rk_algorithms[k]);
        }
    }
    if (outer->kind == RK_TIER_TORUS) {
        ways[count++] = way_by_tiers(&q, NULL);
    }
    /* else there is one tier, or one rank in each domain; and these ways know no chunks */
    if (group->within[0] < group->size && options->chunks == RK_WAY_AS_MEASURED) {
        count += add_flat_ring(&q, &ways[count]);
        count += add_flat_exchange(&q, &ways[count]);
        count += add_concurrent(&q, &ways[count]);
        count += add_uneven(&q, &ways[count]);
    }
    qsort(ways, (size_t)count, sizeof(ways[0]), by_seconds);
    return count;
}

/* ---- links --------------------------------------------------------------------------------- */

rk_wiring rk_way_wiring(const rk_way_phase *phase)
{
    return (rk_wiring){
        .kind = phase->algorithm && phase->tier->kind == RK_TIER_MESH ? RK_WIRING_MESH
                                                                      : RK_WIRING_SWITCH,
        .ranks = phase->job.ranks,
        .bandwidth = phase->link.bandwidth,
        .latency = phase->link.latency,
    };
}

rk_status rk_way_replay(const rk_way_phase *phase, double *loads, rk_replay *replay, rk_error *err)
{
    const rk_wiring wiring = rk_way_wiring(phase);
    if (!phase->algorithm) {
        return rk_fail(err, RK_ERR_INVALID,
                       "messages of rings along the axes of a torus are not listed");
    }
    if (phase->job.ranks > RK_WAY_REPLAY_UNITS) {
        return rk_fail(err, RK_ERR_INVALID,
                       "messages of %d units in %s are too many to list (at most %d units); lower "
                       "--ranks",
                       (int)phase->job.ranks, phase->tier->name, RK_WAY_REPLAY_UNITS);
    }
    double *own = loads ? NULL : calloc((size_t)rk_wiring_links(&wiring), sizeof(*own));
    if (!loads && !own) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the loads of links");
    }
    const rk_status status = rk_algorithm_replay(phase->algorithm, &phase->job, &wiring, 0,
                                                 loads ? loads : own, replay, err);
    replay->seconds += status ? 0 : phase->fixed_s;
    free(own);
    return status;
}

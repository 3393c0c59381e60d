/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All constants of this file: NCCL, src/graph/tuning.cc, 2026-06.  Times in us, rates in GB/s, as
 * there.
 */
#include "system/nccl.h"

#include "base/extremes.h"
#include "system/collective_plan.h"

#include <assert.h>
#include <math.h>

const char *const rk_nccl_algorithm_names[] = {"tree", "ring", "nvls", "nvls-tree", NULL};
const char *const rk_nccl_protocol_names[] = {"ll", "ll128", "simple", NULL};

typedef const double by_protocol[RK_NCCL_PROTOCOL_COUNT];

static by_protocol base_latency[RK_NCCL_ALGORITHM_COUNT] = {
    [RK_NCCL_TREE] = {6.8, 14, 8.4},
    [RK_NCCL_RING] = {6.6, 14, 8.4},
};

/* Of a step over NVLink, PCIe and the network; 0: the pair does not exist. */
static by_protocol nvlink_latency[RK_NCCL_ALGORITHM_COUNT] = {
    [RK_NCCL_TREE] = {0.6, 1.25, 4.0},
    [RK_NCCL_RING] = {0.6, 1.9, 3.4},
    [RK_NCCL_NVLS] = {0, 0, 25},
    [RK_NCCL_NVLS_TREE] = {0, 0, 25},
};
static by_protocol pcie_latency[RK_NCCL_ALGORITHM_COUNT] = {
    [RK_NCCL_TREE] = {1.0, 1.9, 4.0},
    [RK_NCCL_RING] = {1.0, 2.5, 5.7},
};
static by_protocol network_latency[RK_NCCL_ALGORITHM_COUNT] = {
    [RK_NCCL_TREE] = {5.0, 8.5, 14},
    [RK_NCCL_RING] = {2.7, 4.0, 14.0},
    [RK_NCCL_NVLS] = {0, 0, 18},
    [RK_NCCL_NVLS_TREE] = {0, 0, 20.9},
};

/* Rates by generation on 1, 2, and 4 nodes and more. */
typedef const double by_nodes[3];

/*
 * Most that LL moves; on several nodes NCCL looks up the row of the host's processor instead:
 * Intel the first, AMD the second.
 */
static by_nodes ll_most[] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};

/* Most that a channel moves. */
static const double ring_ll128_most[] = {20, 20, 36.7, 40};
static by_nodes tree_ll128_most[] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
static by_nodes tree_most[] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static by_nodes nvls_tree_most[] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
static const double nvls_share[] = {0, 0, 0.85, 0.74};

/* Of an all-reduce by trees, by the doublings of the size from 64 bytes on. */
#define CORRECTIONS 24
static const double tree_correction[RK_NCCL_PROTOCOL_COUNT][CORRECTIONS] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
};

/* ---- the machine --------------------------------------------------------------------------- */

/* A link of NVLink in GB/s, nominal and as NCCL counts it; by generation. */
static const double nvlink[][2] = {{25, 20}, {25, 20}, {25, 20.6}, {50, 40.1}};

bool rk_nccl_graph_of(const rk_system *system, const rk_group *group, rk_nccl_graph *graph)
{
    const rk_generation generation = system->accelerator.generation;
    const rk_tier *inside = &system->tiers[0];
    const rk_tier *outside = &system->tiers[system->tier_count - 1];
    const int64_t local = group->within[0];
    if (generation < RK_GENERATION_VOLTA || generation > RK_GENERATION_BLACKWELL ||
        group->size % local != 0) {
        return false;
    }
    const int index = (int)generation - (int)RK_GENERATION_VOLTA;
    const bool links = rk_tier_is_switch(inside);
    const double nominal = links ? nvlink[index][0] : 12;
    const double channels = rk_max(round(inside->bandwidth / 1e9 / nominal), 1);
    *graph = (rk_nccl_graph){
        .generation = (rk_nccl_generation)index,
        .ranks = (int32_t)group->size,
        .nodes = (int32_t)(group->size / local),
        .channels = channels,
        .intra_GBps = links ? nvlink[index][1] : 12,
        .inter_GBps = outside->bandwidth / 1e9 * (double)local / channels,
        .nvlink = links,
        .nvls = inside->in_network_reduce,
    };
    assert(graph->nodes >= 1 && graph->ranks % graph->nodes == 0);
    return true;
}

static int nodes_index(const rk_nccl_graph *g)
{
    return g->nodes <= 1 ? 0 : g->nodes == 2 ? 1 : 2;
}

static double local_ranks(const rk_nccl_graph *g)
{
    return (double)g->ranks / (double)g->nodes;
}

static double ring_steps(const rk_nccl_graph *g, rk_collective op)
{
    return (op == RK_COLL_ALL_REDUCE ? 2 : 1) * ((double)g->ranks - 1);
}

/* ---- latency ------------------------------------------------------------------------------- */

static double network_step(const rk_nccl_graph *g, rk_nccl_algorithm a, rk_nccl_protocol p)
{
    const rk_nccl_algorithm like = local_ranks(g) > 1 ? a : RK_NCCL_TREE;
    return network_latency[like][p] + (p == RK_NCCL_SIMPLE ? 2 : 1) * g->nic_latency_us;
}

static double ring_latency(const rk_nccl_graph *g, rk_collective op, rk_nccl_protocol p,
                           double local)
{
    const double steps = ring_steps(g, op);
    const double hops =
        g->nodes == 1 ? 0 : (op == RK_COLL_ALL_REDUCE ? 2 : 1) * ((double)g->nodes - 1);
    const double overhead = (g->nodes == 1 ? 0
                             : g->amd_host ? 2
                                           : 1) *
                            (p == RK_NCCL_SIMPLE ? 3 : 1);
    return base_latency[RK_NCCL_RING][p] + (steps - hops) * rk_max(local, overhead) +
           hops * network_step(g, RK_NCCL_RING, p);
}

double rk_nccl_latency(const rk_nccl_graph *g, rk_collective op, rk_nccl_algorithm a,
                       rk_nccl_protocol p)
{
    assert(a < RK_NCCL_ALGORITHM_COUNT && p < RK_NCCL_PROTOCOL_COUNT);
    const double local = (g->nvlink ? nvlink_latency : pcie_latency)[a][p];
    const double between = g->nodes > 1 ? network_step(g, a, p) : 0;
    const double doublings = log2((double)g->nodes);
    double us = 0;
    switch (a) {
    case RK_NCCL_RING:
        us = ring_latency(g, op, p, local);
        break;
    case RK_NCCL_TREE:
        us = base_latency[a][p] + 2 * ((local_ranks(g) - 1) * local + doublings * between);
        break;
    case RK_NCCL_NVLS:
        us = local + between;
        break;
    default:
        us = base_latency[a][p] + local + 2 * doublings * between;
        break;
    }
    return us * 1e-6;
}

/* ---- bandwidth ----------------------------------------------------------------------------- */

static double ring_rate(const rk_nccl_graph *g, rk_nccl_protocol p, double bus, double ll)
{
    switch (p) {
    case RK_NCCL_LL:
        return rk_min(ll, bus * 0.5);
    case RK_NCCL_LL128:
        return rk_min(bus * 0.92, g->channels * ring_ll128_most[g->generation]);
    default:
        return bus;
    }
}

static double tree_rate(const rk_nccl_graph *g, rk_nccl_protocol p, double bus, double ll)
{
    const int nodes = nodes_index(g);
    switch (p) {
    case RK_NCCL_LL:
        return rk_min(bus / 3.8, ll);
    case RK_NCCL_LL128:
        return rk_min(bus * (g->nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                      g->channels * tree_ll128_most[g->generation][nodes]);
    default:
        return rk_min(bus * 0.92, g->channels * tree_most[g->generation][nodes]);
    }
}

static double nvls_rate(const rk_nccl_graph *g, rk_collective op, rk_nccl_algorithm a)
{
    const double c = g->channels, local = local_ranks(g);
    const double both = op == RK_COLL_ALL_REDUCE ? 2 : (local - 1) / local;
    const double inside = g->intra_GBps * nvls_share[g->generation] * (c - 1) / c * both;
    if (g->nodes == 1) {
        return inside * c;
    }
    double between = g->inter_GBps;
    if (a == RK_NCCL_NVLS_TREE) {
        between *= g->nodes == 2 ? 2 : 1;
        between = rk_min(between, nvls_tree_most[g->generation][nodes_index(g)]);
    }
    return rk_min(inside, between) * c;
}

/* GB/s of the size of the collective. */
static double rate(const rk_nccl_graph *g, rk_collective op, rk_nccl_algorithm a,
                   rk_nccl_protocol p)
{
    const double bus = g->channels * (g->nodes <= 2 ? g->intra_GBps : g->inter_GBps);
    const int row = g->nodes == 1 ? (int)g->generation : g->amd_host;
    const double ll = ll_most[row][nodes_index(g)];
    switch (a) {
    case RK_NCCL_RING:
        return ring_rate(g, p, bus, ll) * (double)g->ranks / ring_steps(g, op);
    case RK_NCCL_TREE:
        return tree_rate(g, p, bus, ll) * 0.5;
    default:
        return nvls_rate(g, op, a) * (double)g->ranks / ring_steps(g, op);
    }
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* Whether the tuner considers a pair for a collective (all-reduce, reduce-scatter, all-gather). */
static bool nccl_runs(const rk_nccl_graph *g, rk_collective op, rk_nccl_algorithm a,
                      rk_nccl_protocol p)
{
    const bool all_reduce = op == RK_COLL_ALL_REDUCE;
    switch (a) {
    case RK_NCCL_RING:
        return all_reduce || op == RK_COLL_REDUCE_SCATTER || op == RK_COLL_ALL_GATHER;
    case RK_NCCL_TREE:
        return all_reduce;
    case RK_NCCL_NVLS:
        return g->nvls && p == RK_NCCL_SIMPLE && local_ranks(g) > 2 &&
               (all_reduce || g->nodes == 1) && op != RK_COLL_ALL_TO_ALL;
    default:
        return g->nvls && p == RK_NCCL_SIMPLE && all_reduce && g->nodes > 1 && local_ranks(g) > 2;
    }
}

double rk_nccl_seconds(const rk_nccl_graph *g, rk_collective op, rk_nccl_algorithm a,
                       rk_nccl_protocol p, double bytes)
{
    double latency = rk_nccl_latency(g, op, a, p), GBps = rate(g, op, a, p);
    const double doublings = floor(log2(bytes / 64));
    if (a == RK_NCCL_TREE && doublings >= 0 && doublings < CORRECTIONS) {
        GBps *= tree_correction[p][(int)doublings];
    }
    if (a == RK_NCCL_RING && p == RK_NCCL_SIMPLE && g->nodes > 1 && op == RK_COLL_ALL_REDUCE &&
        bytes / (g->channels * (double)g->ranks) >= 64) {
        latency *= g->generation < RK_NCCL_AMPERE ? 1.9 : 1.4;
    }
    return latency + bytes / (GBps * 1e9);
}

rk_nccl_choice rk_nccl_choose(const rk_nccl_graph *g, rk_collective op, double bytes)
{
    rk_nccl_choice best = {.seconds = HUGE_VAL};
    for (int a = 0; a < RK_NCCL_ALGORITHM_COUNT; a++) {
        for (int p = 0; p < RK_NCCL_PROTOCOL_COUNT; p++) {
            const rk_nccl_algorithm algorithm = (rk_nccl_algorithm)a;
            const rk_nccl_protocol protocol = (rk_nccl_protocol)p;
            if (!nccl_runs(g, op, algorithm, protocol)) {
                continue;
            }
            const double seconds = rk_nccl_seconds(g, op, algorithm, protocol, bytes);
            if (seconds < best.seconds) {
                best = (rk_nccl_choice){.algorithm = algorithm,
                                        .protocol = protocol,
                                        .seconds = seconds,
                                        .latency_s = rk_nccl_latency(g, op, algorithm, protocol)};
            }
        }
    }
    return best;
}

void rk_name_plan_by_nccl(const rk_collective_query *query, rk_collective_plan *plan)
{
    rk_nccl_graph graph;
    if (rk_algorithm_runs(&rk_algorithm_ring, query->op, 2) &&
        rk_nccl_graph_of(query->system, query->group, &graph)) {
        const rk_nccl_choice choice = rk_nccl_choose(&graph, query->op, query->bytes);
        plan->name = rk_nccl_algorithm_names[choice.algorithm];
        plan->protocol = rk_nccl_protocol_names[choice.protocol];
    }
}

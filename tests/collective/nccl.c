/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's cost model: latencies of the model specification (UT-35), and choices that are known. */
#include "system/nccl.h"

#include "check.h"

/* 8 H100 behind an NVLink switch: 16 channels of 20.6 GB/s. */
static const rk_nccl_graph node = {
    .generation = RK_NCCL_HOPPER,
    .ranks = 8,
    .nodes = 1,
    .channels = 16,
    .intra_GBps = 20.6,
    .inter_GBps = 20.6,
    .nvlink = true,
    .nvls = true,
};

static double latency_us(const rk_nccl_graph *graph, rk_collective op, rk_nccl_algorithm algorithm,
                         rk_nccl_protocol protocol)
{
    return 1e6 * rk_nccl_latency(graph, op, algorithm, protocol);
}

static void test_latency(void **state)
{
    rk_nccl_graph four = node;
    (void)state;
    assert_close(latency_us(&node, RK_COLL_ALL_REDUCE, RK_NCCL_RING, RK_NCCL_SIMPLE), 56.0, 1e-12);
    assert_close(latency_us(&node, RK_COLL_ALL_REDUCE, RK_NCCL_RING, RK_NCCL_LL), 15.0, 1e-12);
    assert_close(latency_us(&node, RK_COLL_ALL_REDUCE, RK_NCCL_RING, RK_NCCL_LL128), 40.6, 1e-12);
    assert_close(latency_us(&node, RK_COLL_ALL_REDUCE, RK_NCCL_TREE, RK_NCCL_SIMPLE), 64.4, 1e-12);
    assert_close(latency_us(&node, RK_COLL_ALL_GATHER, RK_NCCL_RING, RK_NCCL_SIMPLE), 32.2, 1e-12);
    assert_close(latency_us(&node, RK_COLL_ALL_REDUCE, RK_NCCL_NVLS, RK_NCCL_SIMPLE), 25, 1e-12);
    four.ranks = 32;
    four.nodes = 4;
    assert_close(latency_us(&four, RK_COLL_ALL_REDUCE, RK_NCCL_RING, RK_NCCL_SIMPLE), 282.8, 1e-12);
    assert_close(latency_us(&four, RK_COLL_ALL_REDUCE, RK_NCCL_TREE, RK_NCCL_SIMPLE), 120.4, 1e-12);
    /* large messages of a ring across nodes wait 1.4 times as long */
    const double long_s =
        rk_nccl_seconds(&four, RK_COLL_ALL_REDUCE, RK_NCCL_RING, RK_NCCL_SIMPLE, 64.0 * 16 * 32);
    const double rate = 16 * 20.6e9 * 32 / 62;
    assert_close(long_s - 64.0 * 16 * 32 / rate, 395.9e-6, 1e-3);
}

/* Small messages go with flags, large ones through the switch, gathers around a ring or NVLS. */
static void test_choice(void **state)
{
    (void)state;
    const rk_nccl_choice small = rk_nccl_choose(&node, RK_COLL_ALL_REDUCE, 1024);
    assert_int_equal(small.protocol, RK_NCCL_LL);
    const rk_nccl_choice large = rk_nccl_choose(&node, RK_COLL_ALL_REDUCE, 0x1p30);
    assert_int_equal(large.algorithm, RK_NCCL_NVLS);
    rk_nccl_graph no_switch = node;
    no_switch.nvls = false;
    assert_int_equal(rk_nccl_choose(&no_switch, RK_COLL_ALL_REDUCE, 0x1p30).algorithm,
                     RK_NCCL_RING);
    assert_int_equal(rk_nccl_choose(&no_switch, RK_COLL_ALL_REDUCE, 0x1p30).protocol,
                     RK_NCCL_SIMPLE);
    /* on many nodes a small all-reduce takes the tree: its latency grows with their logarithm */
    rk_nccl_graph many = no_switch;
    many.ranks = 2048;
    many.nodes = 256;
    assert_int_equal(rk_nccl_choose(&many, RK_COLL_ALL_REDUCE, 1024).algorithm, RK_NCCL_TREE);
    assert_int_equal(rk_nccl_choose(&many, RK_COLL_ALL_GATHER, 1024).algorithm, RK_NCCL_RING);
}

/* Trees of switches of two nodes send both ways at once; of four, up and down share a network. */
static void test_switch_trees(void **state)
{
    double seconds[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        rk_nccl_graph graph = node;
        graph.nodes = i ? 4 : 2;
        graph.ranks = 8 * graph.nodes;
        graph.inter_GBps = 3; /* far slower than NVLink */
        seconds[i] =
            rk_nccl_seconds(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_NVLS_TREE, RK_NCCL_SIMPLE, 0x1p40);
    }
    assert_close(seconds[1] / seconds[0], 2 * (31.0 / 32) / (15.0 / 16),
                 1e-3); /* of bytes on a bus */
}

/* The choice is the least of all pairs, and never slower for fewer bytes. */
static void test_least(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= 64; nodes *= 2) {
        rk_nccl_graph graph = node;
        graph.nodes = nodes;
        graph.ranks = 8 * nodes;
        double before = 0;
        for (double bytes = 1024; bytes < 0x1p34; bytes *= 4) {
            const rk_nccl_choice best = rk_nccl_choose(&graph, RK_COLL_REDUCE_SCATTER, bytes);
            assert_true(best.seconds > before);
            before = best.seconds;
            for (int p = 0; p < RK_NCCL_PROTOCOL_COUNT; p++) {
                assert_true(best.seconds <= rk_nccl_seconds(&graph, RK_COLL_REDUCE_SCATTER,
                                                            RK_NCCL_RING, (rk_nccl_protocol)p,
                                                            bytes));
            }
        }
    }
}

/* The switch reduces large messages where a node has three ranks or more, and only in Simple. */
static void test_switch_needs_three(void **state)
{
    (void)state;
    for (int32_t local = 1; local <= 8; local++) {
        for (int32_t nodes = local > 1 ? 1 : 2; nodes <= 4; nodes *= 2) {
            rk_nccl_graph graph = node;
            graph.ranks = local * nodes;
            graph.nodes = nodes;
            const rk_nccl_choice best = rk_nccl_choose(&graph, RK_COLL_ALL_REDUCE, 0x1p34);
            const rk_nccl_choice half = rk_nccl_choose(&graph, RK_COLL_ALL_GATHER, 0x1p34);
            assert_int_equal(best.algorithm >= RK_NCCL_NVLS, local > 2);
            assert_true(best.algorithm != RK_NCCL_NVLS_TREE || nodes > 1);
            assert_true(best.algorithm < RK_NCCL_NVLS || best.protocol == RK_NCCL_SIMPLE);
            assert_true(half.algorithm == RK_NCCL_RING || (nodes == 1 && local > 2));
        }
    }
}

/* ---- the constants of the model specification, 5.2 ---------------------------------------------
 */

/*
 * Latencies of every pair, LL, LL128 and Simple, us: two ranks of a node, by NVLink and by PCIe;
 * two of each of two nodes with a NIC of 1 us, on an Intel host and on one of AMD; one on each.
 */
static void test_latencies(void **state)
{
    static const struct {
        rk_nccl_algorithm algorithm;
        int32_t ranks, nodes;
        bool nvlink, amd;
        double us[RK_NCCL_PROTOCOL_COUNT]; /* of an all-reduce */
    } cases[] = {
        /* base + 2 (n - 1) local */
        {RK_NCCL_RING, 2, 1, true, false, {6.6 + 2 * 0.6, 14 + 2 * 1.9, 8.4 + 2 * 3.4}},
        {RK_NCCL_RING, 2, 1, false, false, {6.6 + 2 * 1.0, 14 + 2 * 2.5, 8.4 + 2 * 5.7}},
        {RK_NCCL_RING, 2, 1, false, true, {6.6 + 2 * 1.0, 14 + 2 * 2.5, 8.4 + 2 * 5.7}},
        /* base + 4 max(local, overhead) + 2 between */
        {RK_NCCL_RING,
         4,
         2,
         true,
         false,
         {6.6 + 4 * 1 + 2 * 3.7, 14 + 4 * 1.9 + 2 * 5, 8.4 + 4 * 3.4 + 2 * 16}},
        {RK_NCCL_RING,
         4,
         2,
         true,
         true,
         {6.6 + 4 * 2 + 2 * 3.7, 14 + 4 * 2 + 2 * 5, 8.4 + 4 * 6 + 2 * 16}},
        {RK_NCCL_RING, 2, 2, true, false, {6.6 + 2 * 6, 14 + 2 * 9.5, 8.4 + 2 * 16}},
        /* base + 2 ((n - 1) local + log2(nodes) between) */
        {RK_NCCL_TREE, 2, 1, true, false, {6.8 + 2 * 0.6, 14 + 2 * 1.25, 8.4 + 2 * 4}},
        {RK_NCCL_TREE, 2, 1, false, false, {6.8 + 2 * 1.0, 14 + 2 * 1.9, 8.4 + 2 * 4}},
        {RK_NCCL_TREE,
         4,
         2,
         true,
         false,
         {6.8 + 2 * (0.6 + 6), 14 + 2 * (1.25 + 9.5), 8.4 + 2 * (4 + 16)}},
        {RK_NCCL_NVLS, 2, 1, true, false, {0, 0, 25}},
        {RK_NCCL_NVLS, 4, 2, true, false, {-1, -1, 25 + 20}}, /* Simple alone exists */
        {RK_NCCL_NVLS_TREE, 4, 2, true, false, {-1, -1, 25 + 2 * 22.9}},
        {RK_NCCL_NVLS_TREE, 8, 4, true, false, {-1, -1, 25 + 4 * 22.9}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_nccl_graph graph = node;
        graph.ranks = cases[i].ranks;
        graph.nodes = cases[i].nodes;
        graph.nvlink = cases[i].nvlink;
        graph.amd_host = cases[i].amd;
        graph.nic_latency_us = 1;
        for (int p = 0; p < RK_NCCL_PROTOCOL_COUNT; p++) {
            const double us =
                latency_us(&graph, RK_COLL_ALL_REDUCE, cases[i].algorithm, (rk_nccl_protocol)p);
            if (cases[i].us[p] >= 0 && fabs(us - cases[i].us[p]) > 1e-9) {
                fail_msg("case %zu, protocol %d: %g, not %g", i, p, us, cases[i].us[p]);
            }
        }
    }
    rk_nccl_graph two = node; /* a gather takes half of the steps */
    two.ranks = 4;
    two.nodes = 2;
    assert_close(latency_us(&two, RK_COLL_ALL_GATHER, RK_NCCL_RING, RK_NCCL_LL), 6.6 + 2 * 1 + 2.7,
                 1e-12);
}

/* GB/s of a pair, of the size of the collective, from where no latency is left. */
static double rate_of(const rk_nccl_graph *graph, rk_collective op, rk_nccl_algorithm algorithm,
                      rk_nccl_protocol protocol)
{
    const double bytes = 0x1p50;
    const double once = rk_nccl_seconds(graph, op, algorithm, protocol, bytes);
    const double twice = rk_nccl_seconds(graph, op, algorithm, protocol, 2 * bytes);
    return bytes / (twice - once) / 1e9;
}

/* What LL and a channel move at most, by generation and on 1, 2 and 4 nodes; links are faster. */
static void test_limits(void **state)
{
    static const double ll[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
    static const double ring_ll128[4] = {20, 20, 36.7, 40};
    static const double tree_ll128[4][3] = {
        {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
    static const double tree_simple[4][3] = {
        {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
    static const double nvls_tree[4][3] = {
        {26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
    (void)state;
    for (int generation = 0; generation < 4; generation++) {
        for (int i = 0; i < 6; i++) {
            const int at = i % 3, row = at > 0 ? i / 3 : generation; /* of LL: the host's */
            const rk_nccl_graph graph = {.generation = (rk_nccl_generation)generation,
                                         .ranks = 8 << at,
                                         .nodes = 1 << at,
                                         .channels = 2,
                                         .intra_GBps = 1e6,
                                         .inter_GBps = 1e6,
                                         .amd_host = i >= 3,
                                         .nvlink = true,
                                         .nvls = true};
            const double n = graph.ranks, gather = n / (n - 1), reduce = gather / 2;
            const rk_collective op = RK_COLL_ALL_REDUCE;
            assert_close(rate_of(&graph, op, RK_NCCL_RING, RK_NCCL_LL), ll[row][at] * reduce, 1e-9);
            assert_close(rate_of(&graph, RK_COLL_ALL_GATHER, RK_NCCL_RING, RK_NCCL_LL),
                         ll[row][at] * gather, 1e-9);
            assert_close(rate_of(&graph, op, RK_NCCL_RING, RK_NCCL_LL128),
                         2 * ring_ll128[generation] * reduce, 1e-9);
            assert_close(rate_of(&graph, op, RK_NCCL_TREE, RK_NCCL_LL), ll[row][at] / 2, 1e-9);
            assert_close(rate_of(&graph, op, RK_NCCL_TREE, RK_NCCL_LL128),
                         tree_ll128[generation][at], 1e-9);
            assert_close(rate_of(&graph, op, RK_NCCL_TREE, RK_NCCL_SIMPLE),
                         tree_simple[generation][at], 1e-9);
            if (at > 0 && generation >= 2) {
                assert_close(rate_of(&graph, op, RK_NCCL_NVLS_TREE, RK_NCCL_SIMPLE),
                             2 * nvls_tree[generation][at] * reduce, 1e-9);
            }
        }
    }
}

/* Where the links decide: shares of them, those inside on one and two nodes, else those between. */
static void test_links(void **state)
{
    static const double efficiency[] = {0, 0, 0.85, 0.74};
    (void)state;
    for (int at = 0; at < 3; at++) {
        for (int generation = 2; generation < 4; generation++) {
            const rk_nccl_graph graph = {.generation = (rk_nccl_generation)generation,
                                         .ranks = 8 << at,
                                         .nodes = 1 << at,
                                         .channels = 4,
                                         .intra_GBps = 0.5,
                                         .inter_GBps = 0.25,
                                         .nvlink = true,
                                         .nvls = true};
            const double n = graph.ranks, gather = n / (n - 1), reduce = gather / 2;
            const double bus = at < 2 ? 2 : 1;
            const double rings[] = {0.5 * bus, 0.92 * bus, bus};
            const double trees[] = {bus / 3.8, bus * (at == 0 ? 7.0 / 9 : 120.0 / 128), 0.92 * bus};
            for (int p = 0; p < RK_NCCL_PROTOCOL_COUNT; p++) {
                const rk_nccl_protocol protocol = (rk_nccl_protocol)p;
                assert_close(rate_of(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_RING, protocol),
                             rings[p] * reduce, 1e-9);
                assert_close(rate_of(&graph, RK_COLL_REDUCE_SCATTER, RK_NCCL_RING, protocol),
                             rings[p] * gather, 1e-9);
                assert_close(rate_of(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_TREE, protocol),
                             trees[p] / 2, 1e-9);
            }
            /* a share of the links inside but for one channel, or the links between */
            const double inside = 4 * 0.5 * efficiency[generation] * 3 / 4;
            const double between = 4 * 0.25;
            assert_close(rate_of(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_NVLS, RK_NCCL_SIMPLE),
                         (at == 0 ? 2 * inside : between) * reduce, 1e-9);
            assert_close(rate_of(&graph, RK_COLL_ALL_GATHER, RK_NCCL_NVLS, RK_NCCL_SIMPLE),
                         (at == 0 ? inside * 7 / 8 : fmin(inside * 7 / 8, between)) * gather, 1e-9);
            if (at > 0) {
                assert_close(rate_of(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_NVLS_TREE, RK_NCCL_SIMPLE),
                             fmin(2 * inside, at == 1 ? 2 * between : between) * reduce, 1e-9);
            }
        }
    }
}

/* Trees reach a share of their rate by size, from 64 bytes to 512 MiB, and all of it elsewhere. */
static void test_corrections(void **state)
{
    enum { SIZES = 24 };
    static const double wanted[RK_NCCL_PROTOCOL_COUNT][SIZES] = {
        {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
        {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
        {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
         .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};
    (void)state;
    for (int p = 0; p < RK_NCCL_PROTOCOL_COUNT; p++) {
        const rk_nccl_protocol protocol = (rk_nccl_protocol)p;
        const double rate = rate_of(&node, RK_COLL_ALL_REDUCE, RK_NCCL_TREE, protocol);
        const double latency = rk_nccl_latency(&node, RK_COLL_ALL_REDUCE, RK_NCCL_TREE, protocol);
        for (int i = -1; i <= SIZES; i++) {
            const double bytes = ldexp(64, i), share = i < 0 || i == SIZES ? 1 : wanted[p][i];
            for (int j = 0; j < 2; j++) { /* the size, and just below twice of it */
                const double size = j ? 1.99 * bytes : bytes;
                const double seconds =
                    rk_nccl_seconds(&node, RK_COLL_ALL_REDUCE, RK_NCCL_TREE, protocol, size);
                assert_true(fabs(seconds - latency - size / (rate * 1e9 * share)) < 1e-9 * seconds);
            }
        }
    }
}

/* Rings between nodes wait longer for large messages, before Ampere even more. */
static void test_waits(void **state)
{
    (void)state;
    for (int generation = 0; generation < 4; generation++) {
        rk_nccl_graph graph = node;
        graph.generation = (rk_nccl_generation)generation;
        graph.ranks = 16;
        graph.nodes = 2;
        const double least = 64 * graph.channels * graph.ranks;
        for (int i = 0; i < 2; i++) {
            const double bytes = i ? least : least - 1, factor = generation == 0 ? 1.9 : 1.4;
            const double rate = rate_of(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_RING, RK_NCCL_SIMPLE);
            const double us = latency_us(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_RING, RK_NCCL_SIMPLE);
            assert_close(1e6 * rk_nccl_seconds(&graph, RK_COLL_ALL_REDUCE, RK_NCCL_RING,
                                               RK_NCCL_SIMPLE, bytes) -
                             bytes / (1e3 * rate),
                         us * (i ? factor : 1), 1e-6);
        }
    }
}

/* The graph of a group: links of a generation are its channels. */
static void test_graph(void **state)
{
    static const struct {
        rk_generation generation;
        rk_tier_kind kind;
        double inside;
        bool found;
        rk_nccl_generation index;
        double channels, intra;
    } cases[] = {
        {RK_GENERATION_VOLTA, RK_TIER_SWITCH, 150e9, true, RK_NCCL_VOLTA, 6, 20},
        {RK_GENERATION_AMPERE, RK_TIER_SWITCH, 300e9, true, RK_NCCL_AMPERE, 12, 20},
        {RK_GENERATION_HOPPER, RK_TIER_SWITCH, 450e9, true, RK_NCCL_HOPPER, 18, 20.6},
        {RK_GENERATION_BLACKWELL, RK_TIER_SWITCH, 900e9, true, RK_NCCL_BLACKWELL, 18, 40.1},
        {RK_GENERATION_AMPERE, RK_TIER_FABRIC, 25e9, true, RK_NCCL_AMPERE, 2, 12}, /* PCIe */
        {RK_GENERATION_AMPERE, RK_TIER_FABRIC, 5e9, true, RK_NCCL_AMPERE, 1, 12},
        {RK_GENERATION_NONE, RK_TIER_SWITCH, 450e9, false, RK_NCCL_VOLTA, 0, 0},
        {RK_GENERATION_BLACKWELL + 1, RK_TIER_SWITCH, 450e9, false, RK_NCCL_VOLTA, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_system system = {
            .accelerator = {.generation = cases[i].generation},
            .tier_count = 2,
            .tiers = {{.kind = cases[i].kind,
                       .size = 8,
                       .bandwidth = cases[i].inside,
                       .in_network_reduce = i == 2},
                      {.kind = RK_TIER_FABRIC, .size = 1024, .bandwidth = 50e9}}};
        const rk_group group = {.size = 32, .within = {8, 32}};
        const rk_group uneven = {.size = 30, .within = {8, 30}};
        rk_nccl_graph graph;
        assert_int_equal(rk_nccl_graph_of(&system, &group, &graph), cases[i].found);
        assert_false(rk_nccl_graph_of(&system, &uneven, &graph));
        if (rk_nccl_graph_of(&system, &group, &graph)) {
            assert_int_equal(graph.generation, cases[i].index);
            assert_int_equal(graph.ranks, 32);
            assert_int_equal(graph.nodes, 4);
            assert_close(graph.channels, cases[i].channels, 0);
            assert_close(graph.intra_GBps, cases[i].intra, 0);
            assert_close(graph.inter_GBps, 50 * 8 / cases[i].channels, 1e-12);
            assert_int_equal(graph.nvlink, cases[i].kind == RK_TIER_SWITCH);
            assert_int_equal(graph.nvls, i == 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_switch_trees),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_switch_needs_three),
        cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_corrections),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

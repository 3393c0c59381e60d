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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_switch_trees),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_switch_needs_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

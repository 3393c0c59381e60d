/* SPDX-License-Identifier: Apache-2.0 */
/* Links, routes and what collectives take on topologies, against the textbook. */
#include "collective/topology.h"

#include "check.h"

#include <stdlib.h>

static rk_replay replay_on(const rk_algorithm *algorithm, rk_collective op, double bytes,
                           const rk_topology *topology)
{
    const rk_collective_job job = {.op = op, .ranks = topology->ranks, .bytes = bytes, .chunks = 1};
    double *loads = calloc((size_t)rk_topology_links(topology), sizeof(*loads));
    rk_replay replay = {.seconds = 0};
    rk_error err;
    assert_non_null(loads);
    assert_int_equal(rk_algorithm_replay(algorithm, &job, topology, 0, loads, &replay, &err),
                     RK_OK);
    free(loads);
    return replay;
}

/* ---- routes -------------------------------------------------------------------------------- */

static const rk_topology kinds[] = {
    {.kind = RK_TOPOLOGY_SWITCH, .ranks = 12, .bandwidth = 1e9},
    {.kind = RK_TOPOLOGY_MESH, .ranks = 9, .bandwidth = 1e9},
    {.kind = RK_TOPOLOGY_TORUS,
     .ranks = 24,
     .bandwidth = 1e9,
     .axis = {4, 3, 2},
     .closed = {true, false, true}},
    {.kind = RK_TOPOLOGY_SERVERS,
     .ranks = 12,
     .bandwidth = 1e9,
     .local = 4,
     .local_bandwidth = 9e9},
    {.kind = RK_TOPOLOGY_SERVERS,
     .ranks = 12,
     .bandwidth = 1e9,
     .local = 4,
     .local_mesh = true,
     .local_bandwidth = 9e9},
    {.kind = RK_TOPOLOGY_FAT_TREE,
     .ranks = 12,
     .bandwidth = 1e9,
     .local = 4,
     .oversubscription = 2},
    {.kind = RK_TOPOLOGY_RAILS,
     .ranks = 16,
     .bandwidth = 1e9,
     .local = 4,
     .local_bandwidth = 9e9,
     .leaf_servers = 2,
     .oversubscription = 3},
    {.kind = RK_TOPOLOGY_CUBE_MESH, .ranks = 8, .bandwidth = 25e9},
    {.kind = RK_TOPOLOGY_DRAGONFLY,
     .ranks = 12,
     .bandwidth = 1e9,
     .local = 4,
     .global_bandwidth = 2e9},
};

/* Routes stay among the links, use none twice, and every pair has one. */
static void test_routes(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const rk_topology *w = &kinds[k];
        for (int32_t i = 0; i < w->ranks; i++) {
            for (int32_t j = 0; j < w->ranks; j++) {
                int64_t links[RK_ROUTE_MAX];
                const int count = i == j ? 1 : rk_topology_route(w, i, j, links);
                assert_true(count >= 1);
                for (int a = 0; i != j && a < count; a++) {
                    assert_true(links[a] >= 0 && links[a] < rk_topology_links(w));
                    assert_true(rk_topology_link_at(w, links[a]).bandwidth > 0);
                    for (int b = 0; b < a; b++) {
                        assert_true(links[a] != links[b]);
                    }
                }
            }
        }
    }
}

/* On a torus the hops are the sum of the distances along the axes. */
static void test_torus_distance(void **state)
{
    const rk_topology *w = &kinds[2];
    (void)state;
    for (int32_t i = 0; i < w->ranks; i++) {
        for (int32_t j = 0; j < w->ranks; j++) {
            int64_t links[RK_ROUTE_MAX];
            const int32_t x = abs(i % 4 - j % 4), y = abs(i / 4 % 3 - j / 4 % 3);
            const int32_t z = abs(i / 12 - j / 12);
            const int32_t hops = (x < 4 - x ? x : 4 - x) + y + z; /* axis y is open */
            assert_int_equal(i == j ? 0 : rk_topology_route(w, i, j, links), hops);
        }
    }
}

/* Every GPU of a DGX-1 has six links, the same both ways, and at most two hops to any other. */
static void test_cube_mesh(void **state)
{
    const rk_topology w = {.kind = RK_TOPOLOGY_CUBE_MESH, .ranks = 8, .bandwidth = 25e9};
    (void)state;
    for (int32_t i = 0; i < 8; i++) {
        double sum = 0;
        int straight = 0;
        for (int32_t j = 0; j < 8; j++) {
            int64_t links[RK_ROUTE_MAX];
            const double there = rk_topology_link_at(&w, i * 8 + j).bandwidth;
            assert_close(rk_topology_link_at(&w, j * 8 + i).bandwidth, there, 0);
            sum += there;
            straight += i != j && rk_topology_route(&w, i, j, links) == 1;
        }
        assert_close(sum, 6 * 25e9, 0);
        assert_int_equal(straight, 4);
    }
    /* an all-to-all is bound by the single links that also carry what passes through */
    const rk_replay r = replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, 8e9, &w);
    const rk_topology all = {.kind = RK_TOPOLOGY_SWITCH, .ranks = 8, .bandwidth = 150e9};
    assert_true(r.seconds >=
                replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, 8e9, &all).seconds);
    assert_close(r.seconds, r.busiest_bytes / 25e9, 1e-9);
}

/* ---- collectives on topologies ------------------------------------------------------------- */

/* A ring that is placed contiguously crosses each leaf's uplinks once: 4:1 does not slow it. */
static void test_fat_tree(void **state)
{
    rk_topology w = {.kind = RK_TOPOLOGY_FAT_TREE,
                     .ranks = 64,
                     .bandwidth = 50e9,
                     .latency = 5e-6,
                     .local = 16,
                     .oversubscription = 1};
    const double S = 1e9, n = 64, leaf = 16;
    (void)state;
    const double ring = replay_on(&rk_algorithm_ring, RK_COLL_ALL_REDUCE, S, &w).seconds;
    const double exchange = replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, S, &w).seconds;
    assert_close(ring, 2 * (n - 1) * 5e-6 + 2 * (n - 1) / n * S / 50e9, 1e-12);
    assert_close(exchange, 5e-6 + (n - 1) / n * S / 50e9, 1e-12);
    w.oversubscription = 4;
    assert_close(replay_on(&rk_algorithm_ring, RK_COLL_ALL_REDUCE, S, &w).seconds, ring, 1e-12);
    /* B_eff = min(B, B / (o phi)) with phi the share that leaves the leaf; 4 phi = 3.05 */
    const double phi = (n - leaf) / (n - 1);
    const double slow = replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, S, &w).seconds;
    assert_close(slow, (n - 1) / n * S / fmin(50e9, 50e9 / (4 * phi)), 1e-12);
}

/* Rank i's NIC talks to NICs of its rail alone: rings per rail never leave their leaf. */
/* NHR sends half of the tensor to neighbours, NB half of it farthest: 4:1 leaves tell them apart.
 */
static void test_near_and_far(void **state)
{
    const rk_topology w = {.kind = RK_TOPOLOGY_FAT_TREE,
                           .ranks = 64,
                           .bandwidth = 50e9,
                           .local = 16,
                           .oversubscription = 4};
    const rk_collective_job job = {.op = RK_COLL_ALL_GATHER, .ranks = 64, .bytes = 1e9};
    rk_replay near, far;
    rk_error err;
    (void)state;
    assert_int_equal(rk_algorithm_replay(&rk_algorithm_nhr, &job, &w, 0, NULL, &near, &err), RK_OK);
    assert_int_equal(rk_algorithm_replay(&rk_algorithm_nb, &job, &w, 0, NULL, &far, &err), RK_OK);
    /* blocks over an uplink, in 64ths of the tensor and as if it had the NICs' bandwidth: distances
     * 1 to 16 and 32 leave a leaf with 1, 2, 4, 8, 16 and 16 ranks, which send 32 to 1 blocks (NHR)
     * or 1 to 32 (NB) and share a quarter of 16 NICs; a round has NIC or uplink as its slowest */
    assert_close(near.seconds, (32 + 16 + 8 + 8 + 8 + 4) / 64.0 * 1e9 / 50e9, 1e-9);
    assert_close(far.seconds, (1 + 2 + 4 + 16 + 64 + 128) / 64.0 * 1e9 / 50e9, 1e-9);
}

static void test_rails(void **state)
{
    const rk_topology w = {.kind = RK_TOPOLOGY_RAILS,
                           .ranks = 64,
                           .bandwidth = 50e9,
                           .local = 8,
                           .local_bandwidth = 450e9,
                           .leaf_servers = 8,
                           .oversubscription = 7};
    const double S = 1e9, n = 64, g = 8;
    (void)state;
    /* all-to-all reaches min(B_inside, NIC (n-1)/(n-g)) of its buffer */
    const rk_replay r = replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, S, &w);
    assert_close((n - 1) / n * S / r.seconds, 50e9 * (n - 1) / (n - g), 1e-12);
}

/* Between groups of a dragonfly, all traffic shares the links that join two groups. */
static void test_dragonfly(void **state)
{
    const rk_topology w = {.kind = RK_TOPOLOGY_DRAGONFLY,
                           .ranks = 64,
                           .bandwidth = 25e9,
                           .local = 16,
                           .global_bandwidth = 100e9};
    const double S = 1e9;
    (void)state;
    const rk_replay r = replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, S, &w);
    assert_close(r.seconds, 16 * 16 * S / 64 / 100e9, 1e-12);
    assert_close(r.busiest_bytes, 16 * 16 * S / 64, 1e-12);
}

/*
 * 16 TPU chips with links of 45 GB/s each way.  An all-gather of V over a ring of 16 takes
 * V / (two links); the neighbours of a ring that is laid into 4x4 do as well on one axis alone.
 */
static void test_torus(void **state)
{
    const rk_topology ring = {.kind = RK_TOPOLOGY_TORUS,
                              .ranks = 16,
                              .bandwidth = 45e9,
                              .axis = {16, 1, 1},
                              .closed = {true, true, true}};
    const rk_topology square = {.kind = RK_TOPOLOGY_TORUS,
                                .ranks = 16,
                                .bandwidth = 45e9,
                                .axis = {4, 4, 1},
                                .closed = {true, true, true}};
    const double V = 34e6, S = V / 16;
    (void)state;
    /* one direction of the ring: V (n-1)/n over one link */
    assert_close(replay_on(&rk_algorithm_ring, RK_COLL_ALL_GATHER, V, &ring).seconds,
                 V * 15 / 16 / 45e9, 1e-12);
    /*
     * All-to-all is bound by the middle of an axis: on one ring of X the mean distance X/4 loads
     * each of 2 X links with n^2 blocks X/4 / (2 X); on 4x4 the distance is 1 along each axis.
     * Distances of exactly X/2 all go one way round, which loads that way by (X/2)^2/2 + X/4
     * blocks.
     */
    const double line = replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, S * 16, &ring).seconds;
    const double plane =
        replay_on(&rk_algorithm_direct, RK_COLL_ALL_TO_ALL, S * 16, &square).seconds;
    assert_close(line, (8.0 * 9 / 2) * S / 45e9, 1e-12);
    assert_close(plane, 4 * (2.0 * 3 / 2) * S / 45e9, 1e-12);
    assert_true(plane < line / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),       cmocka_unit_test(test_torus_distance),
        cmocka_unit_test(test_cube_mesh),    cmocka_unit_test(test_fat_tree),
        cmocka_unit_test(test_near_and_far), cmocka_unit_test(test_rails),
        cmocka_unit_test(test_dragonfly),    cmocka_unit_test(test_torus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

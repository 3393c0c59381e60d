/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: published cases, bounds of the hierarchy, growth with bytes and ranks. */
#include "system/transport.h"

#include "machine.h"

static const double GiB = 0x1p30;

static const rk_collective ops[] = {
    RK_COLL_ALL_REDUCE, RK_COLL_REDUCE_SCATTER, RK_COLL_ALL_GATHER,
    RK_COLL_ALL_TO_ALL, RK_COLL_BROADCAST,      RK_COLL_SEND,
};
enum { OP_COUNT = sizeof(ops) / sizeof(ops[0]) };

/* A tier that reaches its bandwidth at any size. */
static rk_tier ideal(rk_tier_kind kind, int64_t size, double bandwidth)
{
    return (rk_tier){.kind = kind,
                     .size = size,
                     .bandwidth = bandwidth,
                     .efficiency = 1,
                     .chunk_wait = 3.4e-6,
                     .message_start = 1e-6,
                     .exchange_share = 1,
                     .axes = 1,
                     .ring = size};
}

static double seconds(const rk_system *system, rk_collective op, double bytes, int64_t size,
                      int64_t stride)
{
    const rk_group group = rk_group_of(system, size, stride);
    return rk_collective_seconds(system, op, bytes, &group);
}

/* UT-34: a ring all-reduce of 1 GiB on 8 ranks, 450 GB/s, 3 us a step: 4.2177 ms. */
static void test_ring(void **state)
{
    rk_system s = {.tier_count = 1, .tiers = {ideal(RK_TIER_FABRIC, 8, 450e9)}};
    (void)state;
    s.tiers[0].step_latency = 3e-6;
    assert_near(seconds(&s, RK_COLL_REDUCE_SCATTER, GiB, 8, 1) +
                    seconds(&s, RK_COLL_ALL_GATHER, GiB, 8, 1),
                4.2177e-3, 2e-5);
    /* As one operation it may climb a tree and come down: 6 steps instead of 14. */
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, GiB, 8, 1), 4.2177e-3 - 8 * 3e-6, 2e-5);
    s.tiers[0].kind = RK_TIER_SWITCH; /* no tree, and short rings do not fill its links */
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, GiB, 8, 1),
                14 * 3e-6 + (4.2177e-3 - 14 * 3e-6) / (1 - 1.0 / (15 * 15)), 1e-4);
}

/* Inside a switch: small messages at 0.45 of the bandwidth, large ones after waiting for chunks. */
static void test_protocols(void **state)
{
    const rk_system s = {.tier_count = 1, .tiers = {ideal(RK_TIER_SWITCH, 8, 450e9)}};
    const double fill = 1 - 1.0 / (8 * 8), waiting = 8 * 3.4e-6;
    (void)state;
    for (double bytes = 1e5; bytes < 1e10; bytes *= 1.5) {
        const double moving = bytes * 7 / 8 / (fill * 450e9);
        assert_near(seconds(&s, RK_COLL_ALL_GATHER, bytes, 8, 1),
                    fmin(moving / 0.45, hypot(moving, waiting)), 1e-9);
    }
}

/* UT-36: all-gather of 1 GiB on 4 servers of 8: mesh links of 56 GB/s, NICs of 50 GB/s. */
static void test_servers_of_meshes(void **state)
{
    rk_system s = {
        .tier_count = 2,
        .tiers = {ideal(RK_TIER_MESH, 8, 7 * 56e9), ideal(RK_TIER_FABRIC, 32, 50e9)},
    };
    (void)state;
    s.tiers[0].step_latency = 5e-6;
    s.tiers[1].step_latency = 10e-6;
    s.tiers[1].serial = 1;
    /* the published pipeline; one level after the other takes 4.445 ms (tests/collective/plan.c) */
    const double both = seconds(&s, RK_COLL_ALL_GATHER, GiB, 32, 1);
    assert_near(both, 2.647e-3, 1e-3);
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, GiB, 32, 1), 2 * both, 1e-9);
    assert_near(seconds(&s, RK_COLL_ALL_GATHER, GiB, 8, 1), GiB / 8 / 56e9 + 5e-6, 1e-9);
}

/* Two nodes of MI300X and MI355X: links inside and between at once (data/collectives). */
static void test_measured_meshes(void **state)
{
    const rk_system mi300x = load_system("mi300x"), mi355x = load_system("mi355x");
    (void)state;
    assert_near(seconds(&mi300x, RK_COLL_ALL_REDUCE, GiB, 16, 1), 5.753e-3, 0.08);
    assert_near(seconds(&mi300x, RK_COLL_ALL_REDUCE, 16 * GiB, 16, 1), 89.885e-3, 0.08);
    assert_near(seconds(&mi355x, RK_COLL_ALL_REDUCE, 16 * GiB, 16, 1), 83.457e-3, 0.08);
}

/* UT-37: all-reduce of 4 GiB on 4 x 8 B200: 16.1 ms between the nodes, 10.15 ms inside. */
static void test_partial_overlap(void **state)
{
    const double inside = 741e9; /* bus bandwidth of the node alone */
    rk_system s = {
        .tier_count = 2,
        .tiers = {ideal(RK_TIER_SWITCH, 8, inside / (1 - 1.0 / (15 * 15))),
                  ideal(RK_TIER_MESH, 32, 50e9)}, /* where no ring goes through */
    };
    (void)state;
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, 4 * GiB, 8, 1), 10.15e-3, 1e-3);
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, 4 * GiB / 8, 4, 8), 16.11e-3, 1e-3);
    s.tiers[1].serial = 0.585;
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, 4 * GiB, 32, 1), 22.05e-3, 1e-3);
}

/* The documents against what was measured on the machines themselves. */
static void test_measured_clusters(void **state)
{
    const rk_system p6 = load_system("b200-p6-efa"), h100 = load_system("dgx-h100-superpod");
    const double ranks = 32, factor = 2 * (ranks - 1) / ranks;
    /* Bus bandwidth of 4 nodes of B200 by GiB of tensor (ml-engineering). */
    static const double measured[][2] = {{0.5, 327e9}, {1, 362e9}, {4, 377e9}, {16, 382e9}};
    (void)state;
    for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
        const double bytes = measured[i][0] * GiB;
        const double bus = factor * bytes / seconds(&p6, RK_COLL_ALL_REDUCE, bytes, 32, 1);
        printf("4 x 8 B200, all-reduce of %4.1f GiB: %.0f GB/s, measured %.0f\n", measured[i][0],
               bus / 1e9, measured[i][1] / 1e9);
        assert_near(bus, measured[i][1], 0.12);
    }
    /* Nodes of 8 H100 with 8 x 400 Gb/s: 350 to 390 GB/s. */
    const double bus = factor * 4 * GiB / seconds(&h100, RK_COLL_ALL_REDUCE, 4 * GiB, 32, 1);
    printf("4 x 8 H100, all-reduce of 4 GiB: %.0f GB/s, measured 350 to 390\n", bus / 1e9);
    assert_near(bus, 370e9, 0.08);
}

/* UT-39: rings of TPU v5e (links of 45 GB/s each way) and v4. */
static void test_torus(void **state)
{
    rk_system v5e = {.tier_count = 1, .tiers = {ideal(RK_TIER_TORUS, 16, 90e9)}};
    const rk_system v4 = {.tier_count = 1, .tiers = {ideal(RK_TIER_TORUS, 4, 90e9)}};
    (void)state;
    v5e.tiers[0].ring = 4; /* 16 ranks of one axis */
    assert_near(seconds(&v5e, RK_COLL_ALL_GATHER, 34e6, 16, 1), 34e6 / 90e9, 1e-9);
    assert_near(seconds(&v5e, RK_COLL_ALL_REDUCE, 34e6, 16, 1), 2 * 34e6 / 90e9, 1e-9);
    v5e.tiers[0].ring = 16;
    assert_near(seconds(&v5e, RK_COLL_ALL_GATHER, 33.6e6, 4, 1), 3 * 8.4e6 / 45e9, 1e-9);
    assert_near(seconds(&v4, RK_COLL_ALL_GATHER, 1024 * 1024 * 2.0, 4, 1), 23.3e-6, 1e-3);
    /* All-to-all on a closed ring: an array of V over all ranks takes V / 4W. */
    assert_near(seconds(&v5e, RK_COLL_ALL_TO_ALL, 1e6, 16, 1), 16e6 / (4 * 90e9), 1e-9);
    /* Two closed axes carry twice as much. */
    v5e.tiers[0] = ideal(RK_TIER_TORUS, 256, 180e9);
    v5e.tiers[0].axes = 2;
    v5e.tiers[0].ring = 16;
    assert_near(seconds(&v5e, RK_COLL_ALL_GATHER, 34e6, 256, 1), 34e6 / 180e9, 1e-9);
}

/*
 * 16 chips with links of 45 GB/s: on one closed axis data passes over two links of a chip, as 4 x 4
 * over four, and messages of an all-to-all are half as far from their targets on each axis.
 */
static void test_axes(void **state)
{
    rk_system one = {.tier_count = 1, .tiers = {ideal(RK_TIER_TORUS, 16, 90e9)}};
    rk_system two = {.tier_count = 1, .tiers = {ideal(RK_TIER_TORUS, 16, 180e9)}};
    (void)state;
    two.tiers[0].axes = 2;
    two.tiers[0].ring = 4;
    one.tiers[0].step_latency = two.tiers[0].step_latency = 1e-6;
    assert_near(seconds(&one, RK_COLL_ALL_GATHER, 1e9, 16, 1), 8e-6 + 1e9 / 90e9, 1e-9);
    assert_near(seconds(&two, RK_COLL_ALL_GATHER, 1e9, 16, 1), 4e-6 + 1e9 / 180e9, 1e-9);
    assert_near(seconds(&one, RK_COLL_ALL_TO_ALL, 1e9, 16, 1), 8e-6 + 1e9 * 16 / 8 / 45e9, 1e-9);
    assert_near(seconds(&two, RK_COLL_ALL_TO_ALL, 1e9, 16, 1), 4e-6 + 1e9 * 4 / 8 / 45e9, 1e-9);
    /* where ends are not joined, a chip in a corner has two links for what 15 others have */
    two.tiers[0].ring = 16;
    assert_near(seconds(&two, RK_COLL_ALL_GATHER, 1e9, 16, 1), 6e-6 + 1e9 * 15 / 16 / 90e9, 1e-9);
    /* the same 16 chips as a slice of 16, of 4 x 4 and of 2 x 8, of which only 16 are a ring */
    const int64_t slices[][RK_TORUS_AXES] = {{16, 1, 1}, {4, 4, 1}, {2, 8, 1}};
    const double hops[] = {8, 6, 8}, links[] = {2, 2, 2}, lacks[] = {1, 15. / 16, 15. / 16},
                 middle[] = {16. / 8, 2 * 4. / 8, 2 * 8. / 8};
    for (int i = 0; i < 3; i++) {
        memcpy(two.tiers[0].slice, slices[i], sizeof(slices[i]));
        assert_near(seconds(&two, RK_COLL_ALL_GATHER, 34e6, 16, 1),
                    hops[i] * 1e-6 + lacks[i] * 34e6 / (links[i] * 45e9), 1e-9);
        assert_near(seconds(&two, RK_COLL_ALL_TO_ALL, 34e6, 16, 1),
                    hops[i] * 1e-6 + middle[i] * 34e6 / 45e9, 1e-9);
        /* groups of other sizes do not have this shape */
        assert_near(seconds(&two, RK_COLL_ALL_GATHER, 34e6, 4, 1), 3e-6 + 34e6 * 3 / 4 / 45e9,
                    1e-9);
    }
    /* a twisted torus (TPU v4, 4 x 4 x 8: 1.63) */
    const double straight = seconds(&one, RK_COLL_ALL_TO_ALL, 1e12, 16, 1);
    one.tiers[0].exchange_share = 1.63;
    assert_near(seconds(&one, RK_COLL_ALL_TO_ALL, 1e12, 16, 1), straight / 1.63, 1e-5);
}

/* A DGX-1 as its NVLinks are: all-to-all as its messages, all-reduce as the vTrain tables. */
static void test_cube_mesh(void **state)
{
    /* 2 to 8 ranks, 1 GiB (data/collectives) */
    static const double measured[] = {47.610e-3, 31.714e-3, 18.869e-3, 46.223e-3,
                                      39.121e-3, 21.156e-3, 13.969e-3};
    const rk_topology cube = {.kind = RK_TOPOLOGY_CUBE_MESH, .ranks = 8, .bandwidth = 25e9};
    const rk_system dgx = load_system("v100-sxm2-32gb");
    (void)state;
    for (int32_t n = 2; n <= 8; n++) {
        const rk_collective_job job = {.op = RK_COLL_ALL_TO_ALL, .ranks = n, .bytes = 1e9};
        const double share = rk_tier_port(&dgx.tiers[0], true, n, 8) / dgx.tiers[0].bandwidth;
        rk_replay replay;
        rk_error err;
        assert_int_equal(
            rk_algorithm_replay(&rk_algorithm_direct, &job, &cube, 0, NULL, &replay, &err), RK_OK);
        assert_near((n - 1.) / n * 1e9 / (share * 150e9), replay.seconds, 1e-9);
        assert_near(seconds(&dgx, RK_COLL_ALL_REDUCE, GiB, n, 1), measured[n - 2], 0.25);
    }
    assert_near(seconds(&dgx, RK_COLL_SEND, GiB, 8, 1), GiB / 25e9 / 0.9, 0.1);
}

/* All groups of a dragonfly reach its global links, two groups half of them by detours. */
static void test_dragonfly(void **state)
{
    rk_system s = {
        .tier_count = 2,
        .tiers = {ideal(RK_TIER_FABRIC, 128, 25e9), ideal(RK_TIER_DRAGONFLY, 1024, 10e9)}};
    (void)state;
    assert_near(seconds(&s, RK_COLL_ALL_TO_ALL, GiB, 1024, 1), GiB * 7 / 8 / 10e9, 1e-9);
    assert_near(seconds(&s, RK_COLL_ALL_TO_ALL, GiB, 256, 1), GiB / 2 / 5e9, 1e-9);
    assert_near(seconds(&s, RK_COLL_SEND, GiB, 2, 128), GiB / 5e9, 1e-9);
    /* a contiguous ring leaves a group once for all of its ranks */
    const double ring = seconds(&s, RK_COLL_ALL_GATHER, GiB, 1024, 1);
    s.tiers[1].bandwidth /= 2;
    assert_near(seconds(&s, RK_COLL_ALL_GATHER, GiB, 1024, 1), ring, 1e-9);
}

/* Of two planes a message has one and a collective both; colliding flows cost what they cost. */
static void test_planes_and_flows(void **state)
{
    static const char text[] =
        "{\"name\": \"s\", \"accelerator\": \"h100-sxm\", \"tiers\": [{\"as\": \"NVLink4\"}, "
        "{\"name\": \"N\", \"kind\": \"fabric\", \"bandwidth_GBps\": 50, \"efficiency\": 0.9%s}]}";
    char document[400];
    rk_system s[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        (void)snprintf(document, sizeof(document), text,
                       i == 0   ? ""
                       : i == 1 ? ", \"planes\": 2"
                                : ", \"flow_share\": 0.7");
        s[i] = load_system(document);
        rk_system_clear(&s[i]);
    }
    assert_near(seconds(&s[1], RK_COLL_SEND, GiB, 2, 8),
                2 * seconds(&s[0], RK_COLL_SEND, GiB, 2, 8), 1e-9);
    assert_near(seconds(&s[1], RK_COLL_ALL_GATHER, GiB, 4, 8),
                seconds(&s[0], RK_COLL_ALL_GATHER, GiB, 4, 8), 1e-9);
    assert_near(seconds(&s[2], RK_COLL_ALL_GATHER, GiB, 4, 8),
                seconds(&s[0], RK_COLL_ALL_GATHER, GiB, 4, 8) / 0.7, 1e-9);
}

/*
 * Large all-to-alls over rails reach 0.84 to 0.98 of NIC (n-1)/(n-g), as the tables have it.
 */
static void test_exchange_over_rails(void **state)
{
    rk_system s = load_system("dgx-h100-superpod");
    (void)state;
    rk_system_clear(&s);
    for (int64_t n = 16; n <= 512; n *= 2) {
        const double bus = 16 * GiB * (double)(n - 1) / (double)n /
                           seconds(&s, RK_COLL_ALL_TO_ALL, 16 * GiB, n, 1);
        const double share = bus / (s.tiers[1].bandwidth * (double)(n - 1) / (double)(n - 8));
        assert_true(share >= 0.84 && share <= 0.98);
    }
}

/* MI300X all-reduce: 47.7 GB/s on 2 ranks, 312.9 on 8: a pair has one link of seven. */
static void test_mesh(void **state)
{
    const rk_system s = load_system("mi300x");
    (void)state;
    const double pair = 4 * GiB / seconds(&s, RK_COLL_ALL_REDUCE, 4 * GiB, 2, 1);
    const double all = 1.75 * 4 * GiB / seconds(&s, RK_COLL_ALL_REDUCE, 4 * GiB, 8, 1);
    assert_near(pair, 47.7e9, 0.06);
    assert_near(all, 312.9e9, 0.06);
}

static void test_in_network_reduce(void **state)
{
    rk_system s = {.tier_count = 1, .tiers = {ideal(RK_TIER_FABRIC, 8, 450e9)}};
    (void)state;
    s.tiers[0].in_network_reduce = true;
    s.tiers[0].reduce_share = 1;
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, GiB, 8, 1), 1.125 * GiB / 450e9, 1e-9);
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, GiB, 2, 1), GiB / 450e9, 1e-9); /* the ring */
}

static void test_exchange_runs_side_by_side(void **state)
{
    const rk_system s = {
        .tier_count = 2,
        .tiers = {ideal(RK_TIER_SWITCH, 8, 400e9), ideal(RK_TIER_FABRIC, 64, 50e9)},
    };
    (void)state;
    assert_near(seconds(&s, RK_COLL_ALL_TO_ALL, GiB, 64, 1), GiB * 56 / 64 / 50e9, 1e-9);
    assert_near(seconds(&s, RK_COLL_ALL_TO_ALL, GiB, 8, 1), GiB * 7 / 8 / (400e9 * 63 / 64), 1e-4);
}

static void test_nics(void **state)
{
    const rk_system s = {
        .tier_count = 2,
        .tiers = {ideal(RK_TIER_SWITCH, 8, 1e15), ideal(RK_TIER_FABRIC, 64, 50e9)},
    };
    (void)state;
    /* Eight ranks of a node share the work of sending the tensor out. */
    assert_near(8 * seconds(&s, RK_COLL_ALL_GATHER, GiB, 64, 1),
                seconds(&s, RK_COLL_ALL_GATHER, GiB, 8, 8), 1e-6);
    /* A message between neighbours has one NIC; inside a node it does not leave it. */
    assert_near(seconds(&s, RK_COLL_SEND, GiB, 4, 8), GiB / 50e9, 1e-9);
    assert_near(seconds(&s, RK_COLL_SEND, GiB, 4, 2), GiB / 1e15, 1e-9);
}

/* H100 over EFA: 15 steps of a tensor group of 16 at about 53 us, whatever the size. */
static void test_latency_by_ranks(void **state)
{
    const rk_system s = load_system("h100-p5-efa");
    (void)state;
    const double t16 = seconds(&s, RK_COLL_ALL_GATHER, 1024, 16, 1);
    const double t32 = seconds(&s, RK_COLL_ALL_GATHER, 1024, 32, 1);
    assert_near(t16, 15 * 53e-6, 0.1);
    assert_near(t32 - t16, 16 * 53e-6, 0.1);
}

/* A small tensor in a switch of many ranks: a constant where the switch adds, else a logarithm. */
static void test_small_in_large_switches(void **state)
{
    const rk_system racks = load_system("gb200-nvl72-pod"),
                    supernode = load_system("cloudmatrix-384");
    (void)state;
    const double all_reduce = seconds(&racks, RK_COLL_ALL_REDUCE, 8, 72, 1);
    assert_near(all_reduce, seconds(&racks, RK_COLL_ALL_REDUCE, 8, 8, 1), 1e-6);
    assert_true(all_reduce <= 40e-6);
    const double gather = seconds(&supernode, RK_COLL_ALL_GATHER, 1024, 768, 1);
    assert_true(gather <= 40e-6);
    const double step = supernode.tiers[0].step_latency;
    assert_near(gather - seconds(&supernode, RK_COLL_ALL_GATHER, 1024, 384, 1), step, 1e-2);
    /* large tensors still go round all ranks */
    assert_true(seconds(&racks, RK_COLL_ALL_GATHER, 1e8, 72, 1) > 71 * 3.4e-6);
}

/* A message takes one link of a mesh and of a torus; a collective takes all that lead to peers. */
static void test_send_over_one_link(void **state)
{
    rk_system s = {.tier_count = 1, .tiers = {ideal(RK_TIER_MESH, 8, 350e9)}};
    (void)state;
    assert_near(seconds(&s, RK_COLL_SEND, GiB, 8, 1), GiB / 50e9, 1e-9);
    s.tiers[0] = ideal(RK_TIER_TORUS, 256, 180e9);
    s.tiers[0].axes = 2;
    assert_near(seconds(&s, RK_COLL_SEND, GiB, 16, 1), GiB / 45e9, 1e-9);
    s = (rk_system){.tier_count = 2,
                    .tiers = {ideal(RK_TIER_SWITCH, 4, 400e9), ideal(RK_TIER_MESH, 16, 30e9)}};
    assert_near(seconds(&s, RK_COLL_SEND, GiB, 16, 1), GiB / 10e9, 1e-9);
}

/* Constants that comm --fit found replace the model, and scale with the bandwidth of the tier. */
static void test_fits(void **state)
{
    rk_system s = load_system(
        "{\"name\": \"s\", \"accelerator\": \"h100-sxm\", \"tiers\": [{\"as\": \"NVLink4\"}, "
        "{\"name\": \"N\","
        " \"kind\": \"fabric\", \"bandwidth_GBps\": 50, \"efficiency\": 0.9, \"fits\": ["
        "{\"op\": \"all_reduce\", \"step_us\": 10, \"chunk_step_us\": 40, \"share\": 0.8}]}]}");
    const double steps = 2 * 2 + 2, bus = 40e9;
    (void)state;
    rk_system_clear(&s);
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, 1024, 32, 1), 60e-6, 1e-3);
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, 4 * GiB, 32, 1),
                steps * 40e-6 + 2 * 31. / 32 / 8 * 4 * GiB / bus, 1e-9);
    const double before = seconds(&s, RK_COLL_ALL_REDUCE, 100 * GiB, 32, 1);
    s.tiers[1].bandwidth *= 2;
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, 100 * GiB, 32, 1), before / 2, 1e-2);
    /* inside a node, and of other collectives, nothing is fitted */
    const rk_system plain = load_system("dgx-h100-superpod");
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, 1e6, 8, 1),
                seconds(&plain, RK_COLL_ALL_REDUCE, 1e6, 8, 1), 1e-12);
    assert_true(seconds(&s, RK_COLL_ALL_GATHER, 1024, 32, 1) < 10e-6 * 31);
}

/* Copies of small messages by the host, of all-to-all between nodes alone. */
static void test_injected(void **state)
{
    rk_system s = load_system("polaris");
    const double one = 1024; /* bytes that are one to a rank */
    (void)state;
    rk_system_clear(&s);
    assert_near(seconds(&s, RK_COLL_ALL_TO_ALL, 192 * one, 1024, 1), 1023 * 22.7e-6, 0.01);
    assert_near(seconds(&s, RK_COLL_ALL_TO_ALL, 193 * one, 1024, 1), 1023 * 9.58e-6, 0.01);
    assert_true(seconds(&s, RK_COLL_ALL_GATHER, 192 * one, 1024, 1) <=
                seconds(&s, RK_COLL_ALL_GATHER, 193 * one, 1024, 1));
}

/* 4:1 above leaves of 256: contiguous rings do not notice, what an all-to-all sends there does. */
static void test_oversubscription(void **state)
{
    rk_system s = {.tier_count = 3,
                   .tiers = {ideal(RK_TIER_SWITCH, 8, 450e9), ideal(RK_TIER_FABRIC, 256, 50e9),
                             ideal(RK_TIER_FABRIC, 4096, 50e9)}};
    (void)state;
    const double ring = seconds(&s, RK_COLL_ALL_REDUCE, GiB, 1024, 1);
    const double exchange = seconds(&s, RK_COLL_ALL_TO_ALL, GiB, 1024, 1);
    s.tiers[2].bandwidth /= 4;
    assert_near(seconds(&s, RK_COLL_ALL_REDUCE, GiB, 1024, 1), ring, 1e-9);
    assert_near(seconds(&s, RK_COLL_ALL_TO_ALL, GiB, 1024, 1), 4 * exchange, 1e-9);
    assert_near(4 * exchange, GiB * 768 / 1024 / 12.5e9, 1e-9);
}

/* A NIC carries all that leaves its node, also what goes on to other leaves. */
static void test_ring_over_leaves(void **state)
{
    rk_system s = {.tier_count = 2,
                   .tiers = {ideal(RK_TIER_SWITCH, 8, 450e9), ideal(RK_TIER_FABRIC, 4096, 50e9)}};
    (void)state;
    s.tiers[1].serial = 1; /* so that one ring beats phases that follow each other */
    const double flat = seconds(&s, RK_COLL_ALL_GATHER, 16. * GiB, 1024, 1);
    s.tiers[2] = s.tiers[1];
    s.tiers[1].size = 32; /* four nodes */
    s.tier_count = 3;
    assert_near(seconds(&s, RK_COLL_ALL_GATHER, 16. * GiB, 1024, 1), flat, 1e-12);
}

/*
 * 31 ranks in a row stand on four nodes of 8 and take between 30 and 32: less than 30, whose last
 * node has six NICs, where NICs decide, and more where steps do.  Where both count, the three are
 * alike.  Of 33, one has a node and a NIC of its own for the whole tensor.
 */
static void test_uneven_groups(void **state)
{
    const rk_system s = load_system("dgx-h100-superpod");
    (void)state;
    for (size_t i = 0; i < OP_COUNT; i++) {
        for (double bytes = 1e4; bytes < 1e10; bytes *= 100) {
            double took[3];
            for (int64_t n = 0; n < 3; n++) {
                const rk_group group = rk_group_packed(&s, 30 + n, 1);
                took[n] = rk_collective_seconds(&s, ops[i], bytes, &group);
            }
            assert_true(took[1] >= 0.995 * fmin(took[0], took[2]));
            assert_true(took[1] <= 1.005 * fmax(took[0], took[2]));
        }
    }
    const rk_group group = rk_group_packed(&s, 33, 1);
    assert_true(rk_collective_seconds(&s, RK_COLL_ALL_REDUCE, 1e9, &group) > 1e9 / 50e9);
    assert_true(rk_collective_seconds(&s, RK_COLL_ALL_GATHER, 1e9, &group) > 32. / 33 * 1e9 / 50e9);
}

static void test_one_rank(void **state)
{
    const rk_system s = load_system("h100-sxm");
    (void)state;
    for (int i = 0; i < OP_COUNT; i++) {
        assert_true(!(seconds(&s, ops[i], GiB, 1, 1) > 0));
    }
}

/* Two phases would move half as much between two nodes of A100 as the ring that NCCL has. */
static void test_rings_without_reducing_switches(void **state)
{
    const rk_system a100 = load_system("a100-4x200g");
    const double moved = 2 * 15. / 16 * GiB / 8;
    (void)state;
    assert_near(seconds(&a100, RK_COLL_ALL_REDUCE, GiB, 16, 1),
                moved / (a100.tiers[1].bandwidth * a100.tiers[1].efficiency), 0.1);
    /* The small ones still go up and down a tree. */
    assert_true(seconds(&a100, RK_COLL_ALL_REDUCE, 1024, 512, 1) <
                100 * a100.tiers[1].step_latency);
}

/* With `serial` 0 the longest phase, with 1 at most their sum; in between it moves evenly or the
 * single ring is faster. */
static void check_bounds(const rk_system *system)
{
    rk_system s = *system;
    uint64_t seed = 5;
    rk_tier *last = &s.tiers[s.tier_count - 1];
    for (int i = 0; i < 60; i++) {
        const rk_collective op = ops[i % OP_COUNT];
        const double bytes = random_size(&seed, 1, 1e10);
        const int64_t size = (int64_t)1 << (int)random_size(&seed, 1, 11);
        const int64_t stride = (int64_t)1 << (int)random_size(&seed, 1, 4);
        last->serial = 0;
        const double longest = seconds(&s, op, bytes, size, stride);
        last->serial = 1;
        const double most = seconds(&s, op, bytes, size, stride);
        last->serial = 0.25;
        const double between = seconds(&s, op, bytes, size, stride);
        assert_true(longest <= between * (1 + 1e-12) && between <= most * (1 + 1e-12));
        assert_true(most <= longest * s.tier_count * (1 + 1e-12));
        if (op != RK_COLL_ALL_REDUCE || s.tiers[0].in_network_reduce) { /* no floor below */
            assert_true(between >= (longest + 0.25 * (most - longest)) * (1 - 1e-12));
        }
    }
}

static void test_bounds(void **state)
{
    (void)state;
    each_system(check_bounds);
}

/* Meshes and tori bring links with every rank, and reducing switches spare ranks their share. */
static bool ranks_bring_links(const rk_system *s, rk_collective op)
{
    for (int i = 0; i < s->tier_count; i++) {
        const rk_tier *tier = &s->tiers[i];
        if (tier->kind == RK_TIER_MESH || tier->kind == RK_TIER_TORUS ||
            tier->kind == RK_TIER_CUBE_MESH ||
            (tier->in_network_reduce && op == RK_COLL_ALL_REDUCE)) {
            return true;
        }
    }
    return false;
}

/* Whether the host copies messages of a collective between domains, and not those of `more`. */
static bool spares_copies(const rk_system *s, rk_collective op, double bytes, double more,
                          int64_t ranks)
{
    const double inject = s->tiers[s->tier_count - 1].fits[op].inject_bytes * (double)ranks;
    return bytes <= inject && more > inject;
}

/*
 * More bytes never take less time, unless they spare copies; nor do more ranks of one domain, nor
 * more whole domains.  (Of a buffer exchanged among more domains, less stays inside each.)
 */
static void check_growth(const rk_system *s)
{
    uint64_t seed = 9;
    const int64_t domain = s->tier_count > 1 ? s->tiers[s->tier_count - 2].size : 1;
    for (int i = 0; i < 600; i++) {
        const rk_collective op = ops[i % OP_COUNT];
        const double bytes = random_size(&seed, 1, 1e10);
        const bool inside = i / OP_COUNT % 2;
        const int64_t size = inside ? (int64_t)random_size(&seed, 2, (double)s->tiers[0].size)
                                    : domain * (int64_t)random_size(&seed, 2, 40);
        const double t = seconds(s, op, bytes, size, 1);
        const double more_bytes = bytes * 1.01 + 1;
        assert_true(seconds(s, op, more_bytes, size, 1) >= t ||
                    (!inside && spares_copies(s, op, bytes, more_bytes, size)));
        if (!ranks_bring_links(s, op) && (inside || op != RK_COLL_ALL_TO_ALL)) {
            const int64_t more = size + (inside ? 1 : domain);
            assert_true((inside && more > s->tiers[0].size) ||
                        seconds(s, op, bytes, more, 1) >= t * (1 - 1e-12));
        }
    }
}

static void test_growth(void **state)
{
    (void)state;
    each_system(check_growth);
}

/*
 * An all-reduce does what a reduce-scatter does and more.  Across a fabric small ones climb a tree
 * and reduce-scatters cannot, so there the comparison leaves latency out.
 */
static void check_all_reduce(const rk_system *system)
{
    rk_system s = *system;
    uint64_t seed = 13;
    for (int i = 0; i < s.tier_count; i++) {
        if (rk_tier_is_fabric(&s.tiers[i])) {
            s.tiers[i].step_latency = 0;
        }
        s.tiers[i].fits[RK_COLL_ALL_REDUCE].share = 0; /* measured, each by itself */
        s.tiers[i].fits[RK_COLL_REDUCE_SCATTER].share = s.tiers[i].fits[RK_COLL_ALL_GATHER].share =
            0;
    }
    for (int i = 0; i < 100; i++) {
        const double bytes = random_size(&seed, 1, 1e10);
        const int64_t size = (int64_t)1 << (int)random_size(&seed, 1, 12);
        if (size > s.tiers[s.tier_count - 1].size) {
            continue;
        }
        const double reduce = seconds(&s, RK_COLL_REDUCE_SCATTER, bytes, size, 1);
        assert_true(seconds(&s, RK_COLL_ALL_REDUCE, bytes, size, 1) >= reduce);
        assert_near(seconds(&s, RK_COLL_ALL_GATHER, bytes, size, 1), reduce, 1e-12);
    }
}

static void test_all_reduce(void **state)
{
    (void)state;
    each_system(check_all_reduce);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_servers_of_meshes),
        cmocka_unit_test(test_partial_overlap),
        cmocka_unit_test(test_measured_clusters),
        cmocka_unit_test(test_torus),
        cmocka_unit_test(test_mesh),
        cmocka_unit_test(test_in_network_reduce),
        cmocka_unit_test(test_exchange_runs_side_by_side),
        cmocka_unit_test(test_nics),
        cmocka_unit_test(test_latency_by_ranks),
        cmocka_unit_test(test_small_in_large_switches),
        cmocka_unit_test(test_send_over_one_link),
        cmocka_unit_test(test_oversubscription),
        cmocka_unit_test(test_ring_over_leaves),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_injected),
        cmocka_unit_test(test_measured_meshes),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_cube_mesh),
        cmocka_unit_test(test_dragonfly),
        cmocka_unit_test(test_planes_and_flows),
        cmocka_unit_test(test_exchange_over_rails),
        cmocka_unit_test(test_uneven_groups),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_rings_without_reducing_switches),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_all_reduce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

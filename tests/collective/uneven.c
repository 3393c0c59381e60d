/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce of servers with different numbers of ranks: its closed form is what its messages take,
 * all of them sent over the ports of ranks and their NICs.
 */
#include "collective/hierarchical.h"
#include "comm/way.h"

#include "check.h"

#include <string.h>

#define SERVERS 6
#define LOCAL   8
#define ROUNDS  16
#define PARTS   840 /* the least multiple of 1 to 8: parts of the tensor that nobody cuts further */

static int32_t draw(uint64_t *seed, int32_t low, int32_t high)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int32_t)((*seed >> 33) % (uint64_t)(high - low + 1));
}

/* Between servers: bytes out of and into the NIC of every rank, by round. */
struct between {
    const int32_t *local;
    int32_t part; /* of the tensor that is all-reduced */
    double out[ROUNDS][SERVERS][LOCAL], in[ROUNDS][SERVERS][LOCAL];
    int32_t rounds;
};

/* The rank of a server that has a part after the scatter. */
static int32_t owner(const struct between *b, int32_t server)
{
    return b->part * b->local[server] / PARTS;
}

static void send(void *user, const rk_collective_message *m)
{
    struct between *b = user;
    assert_true(m->round < ROUNDS);
    b->out[m->round][m->source][owner(b, m->source)] += m->bytes;
    b->in[m->round][m->target][owner(b, m->target)] += m->bytes;
    b->rounds = m->round + 1 > b->rounds ? m->round + 1 : b->rounds;
}

/* All parts at once, round by round, or, of algorithms that stream, all rounds at once. */
static double between_seconds(const rk_two_levels *l, const int32_t *local, double bytes)
{
    static struct between b;
    double seconds = 0, busiest = 0;
    memset(&b, 0, sizeof(b));
    b.local = local;
    for (b.part = 0; b.part < PARTS; b.part++) {
        l->between->send(
            &(rk_collective_job){
                .op = RK_COLL_ALL_REDUCE, .ranks = l->servers, .bytes = bytes / PARTS, .chunks = 1},
            send, &b);
    }
    for (int32_t i = 0; i < l->servers * LOCAL; i++) {
        double *out = &b.out[0][i / LOCAL][i % LOCAL], *in = &b.in[0][i / LOCAL][i % LOCAL];
        double all_out = 0, all_in = 0;
        for (int32_t k = 0; k < b.rounds; k++) {
            all_out += out[k * SERVERS * LOCAL];
            all_in += in[k * SERVERS * LOCAL];
        }
        busiest = fmax(busiest, fmax(all_out, all_in));
    }
    for (int32_t k = 0; k < b.rounds; k++) {
        double most = 0;
        for (int32_t i = 0; i < l->servers * LOCAL; i++) {
            most = fmax(most, fmax(b.out[k][i / LOCAL][i % LOCAL], b.in[k][i / LOCAL][i % LOCAL]));
        }
        seconds += l->between_link.latency;
        seconds += l->between->streams ? 0 : most / l->between_link.bandwidth;
    }
    return seconds + (l->between->streams ? busiest / l->between_link.bandwidth : 0);
}

/* The slowest of the servers, each on a switch of its own. */
static double inside_seconds(const rk_two_levels *l, const int32_t *local, rk_collective op,
                             double bytes)
{
    double longest = 0;
    for (int32_t i = 0; i < l->servers; i++) {
        const rk_wiring wiring = {.kind = RK_WIRING_SWITCH,
                                  .ranks = local[i],
                                  .bandwidth = l->inside_link.bandwidth,
                                  .latency = l->inside_link.latency};
        const rk_collective_job job = {.op = op, .ranks = local[i], .bytes = bytes, .chunks = 1};
        rk_replay replay = {0};
        rk_error err;
        if (local[i] > 1) {
            assert_int_equal(rk_algorithm_replay(l->inside, &job, &wiring, 0, NULL, &replay, &err),
                             RK_OK);
        }
        longest = fmax(longest, replay.seconds);
    }
    return longest;
}

static void test_messages(void **state)
{
    static const rk_algorithm *const inside[] = {&rk_algorithm_ring, &rk_algorithm_nb,
                                                 &rk_algorithm_pairwise, &rk_algorithm_direct};
    static const rk_algorithm *const between[] = {&rk_algorithm_ring, &rk_algorithm_nb,
                                                  &rk_algorithm_nhr, &rk_algorithm_direct};
    uint64_t seed = 2026;
    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        const rk_two_levels l = {
            .servers = draw(&seed, 2, SERVERS),
            .inside = inside[draw(&seed, 0, 3)],
            .between = between[draw(&seed, 0, 3)],
            .inside_link = {draw(&seed, 20, 900) * 1e9, draw(&seed, 1, 9) * 1e-6},
            .between_link = {draw(&seed, 5, 100) * 1e9, draw(&seed, 1, 20) * 1e-6},
        };
        const double bytes = draw(&seed, 1, 1000000) * 1e3;
        int32_t local[SERVERS];
        double seconds[3];
        for (int32_t i = 0; i < l.servers; i++) {
            local[i] = draw(&seed, 1, LOCAL);
        }
        rk_uneven_servers_phases(&l, local, bytes, seconds);
        assert_close(seconds[0], inside_seconds(&l, local, RK_COLL_REDUCE_SCATTER, bytes), 1e-9);
        assert_close(seconds[1], between_seconds(&l, local, bytes), 1e-9);
        assert_close(seconds[2], inside_seconds(&l, local, RK_COLL_ALL_GATHER, bytes), 1e-9);
    }
}

/* Servers alike are the two levels of any all-reduce. */
static void test_alike(void **state)
{
    const rk_two_levels l = {.servers = 4,
                             .local = 8,
                             .inside = &rk_algorithm_ring,
                             .between = &rk_algorithm_nhr,
                             .inside_link = {200e9, 2e-6},
                             .between_link = {25e9, 7e-6}};
    const int32_t local[] = {8, 8, 8, 8};
    double uneven[3], phases[RK_PHASE_MAX];
    (void)state;
    rk_uneven_servers_phases(&l, local, 1e9, uneven);
    assert_int_equal(rk_two_levels_phases(&l, RK_COLL_ALL_REDUCE, 1e9, phases), 3);
    for (int i = 0; i < 3; i++) {
        assert_close(uneven[i], phases[i], 1e-12);
    }
}

/* On a system whose last server is not full, and only there. */
static void test_way(void **state)
{
    rk_system s;
    rk_error err;
    rk_way ways[RK_WAY_MAX];
    double seconds[33] = {0};
    (void)state;
    assert_int_equal(rk_system_load("atlas-800t-a2", &s, &err), RK_OK);
    for (int64_t ranks = 30; ranks <= 32; ranks++) {
        const rk_group group = rk_group_packed(&s, ranks, 1);
        const int count = rk_ways_find(&s, &group, RK_COLL_ALL_REDUCE, 0x1p30, ways);
        for (int i = 0; i < count; i++) {
            if (strcmp(ways[i].name, "ahc") == 0) {
                seconds[ranks] = ways[i].seconds;
                assert_int_equal(ways[i].phase_count, 3);
                /* between servers, the six or seven ranks of the last one */
                assert_close(ways[i].phases[1].job.bytes, 0x1p30 / (double)(ranks - 24), 1e-12);
            }
        }
    }
    assert_true(seconds[30] > seconds[31] && seconds[31] > 0); /* a NIC more */
    assert_true(seconds[32] == 0);
    rk_system_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce of servers with different numbers of ranks: its closed form is what its messages take,
 * all of them sent over the ports of ranks and their NICs.
 */
#include "system/collective_plan.h"

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

/* All parts at once, round by round. */
static double between_seconds(const rk_collective_phase *phase, const int32_t *local, double bytes)
{
    static struct between b;
    const int32_t servers = phase->job.ranks;
    const rk_link link = rk_phase_link(phase);
    double seconds = 0;
    memset(&b, 0, sizeof(b));
    b.local = local;
    for (b.part = 0; b.part < PARTS; b.part++) {
        phase->algorithm->send(
            &(rk_collective_job){
                .op = RK_COLL_ALL_REDUCE, .ranks = servers, .bytes = bytes / PARTS, .chunks = 1},
            send, &b);
    }
    for (int32_t k = 0; k < b.rounds; k++) {
        double most = 0;
        for (int32_t i = 0; i < servers * LOCAL; i++) {
            most = fmax(most, fmax(b.out[k][i / LOCAL][i % LOCAL], b.in[k][i / LOCAL][i % LOCAL]));
        }
        seconds += link.latency + most / link.bandwidth;
    }
    return seconds;
}

/* The slowest of the servers, each on a switch of its own. */
static double inside_seconds(const rk_collective_phase *phase, int32_t servers,
                             const int32_t *local, double bytes)
{
    double longest = 0;
    for (int32_t i = 0; i < servers; i++) {
        rk_topology topology = rk_phase_topology(phase);
        const rk_collective_job job = {
            .op = phase->job.op, .ranks = local[i], .bytes = bytes, .chunks = 1};
        rk_replay replay;
        rk_error err;
        topology.ranks = local[i];
        if (rk_algorithm_runs(phase->algorithm, job.op, job.ranks)) {
            assert_int_equal(
                rk_algorithm_replay(phase->algorithm, &job, &topology, 0, NULL, &replay, &err),
                RK_OK);
            longest = fmax(longest, replay.seconds);
        }
    }
    return longest;
}

/* By the closed form. */
static double wire_seconds(const rk_collective_phase *phase)
{
    const rk_link link = rk_phase_link(phase);
    return closed_seconds(phase->algorithm, &phase->job, &link, 0);
}

static rk_tier tier(rk_tier_kind kind, int64_t size, double bandwidth, double step)
{
    return (rk_tier){.kind = kind,
                     .size = size,
                     .bandwidth = bandwidth,
                     .efficiency = 1,
                     .step_latency = step,
                     .message_start = 1e-6};
}

static void test_messages(void **state)
{
    uint64_t seed = 2026;
    int checked = 0;
    (void)state;
    for (int trial = 0; trial < 600; trial++) {
        const int32_t full = draw(&seed, 2, LOCAL), servers = draw(&seed, 2, SERVERS);
        const rk_system s = {.tier_count = 2,
                             .tiers = {tier(RK_TIER_SWITCH, full, draw(&seed, 20, 900) * 1e9,
                                            draw(&seed, 1, 9) * 1e-6),
                                       tier(RK_TIER_FABRIC, (int64_t)full * SERVERS,
                                            draw(&seed, 5, 100) * 1e9, draw(&seed, 1, 20) * 1e-6)}};
        const int32_t last = draw(&seed, 1, full - 1);
        const rk_group group = rk_group_packed(&s, (int64_t)full * (servers - 1) + last, 1);
        const double bytes = draw(&seed, 1, 1000000) * 1e3;
        const rk_collective_query query = {&s, &group, RK_COLL_ALL_REDUCE, bytes,
                                           RK_CHUNKS_AS_MEASURED};
        int32_t local[SERVERS];
        rk_collective_plan plan;
        for (int32_t i = 0; i < servers; i++) {
            local[i] = i + 1 < servers ? full : last;
        }
        assert_true(rk_find_collective_plan(&query, RK_AHC_NAME, &plan));
        assert_int_equal(plan.phase_count, 3);
        for (int i = 0; i < 3; i += 2) {
            const rk_collective_phase *inside = &plan.phases[i];
            assert_close(wire_seconds(inside), inside_seconds(inside, servers, local, bytes), 1e-9);
        }
        const rk_collective_phase *between = &plan.phases[1];
        if (!between->algorithm->streams && !between->algorithm->powers_of_two) { /* ports alike */
            assert_close(wire_seconds(between), between_seconds(between, local, bytes), 1e-9);
            checked++;
        }
    }
    assert_true(checked > 100);
}

/* On a system whose last server is not full, and only there. */
static void test_plan(void **state)
{
    rk_system s;
    rk_error err;
    double seconds[33] = {0};
    (void)state;
    assert_int_equal(rk_system_load("atlas-800t-a2", &s, &err), RK_OK);
    for (int64_t ranks = 30; ranks <= 32; ranks++) {
        const rk_group group = rk_group_packed(&s, ranks, 1);
        const rk_collective_query query = {&s, &group, RK_COLL_ALL_REDUCE, 0x1p30,
                                           RK_CHUNKS_AS_MEASURED};
        rk_collective_plan plan;
        if (rk_find_collective_plan(&query, RK_AHC_NAME, &plan)) {
            seconds[ranks] = plan.seconds;
            assert_int_equal(plan.phase_count, 3);
            /* between servers, the six or seven ranks of the last one */
            assert_close(plan.phases[1].job.bytes, 0x1p30 / (double)(ranks - 24), 1e-12);
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
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

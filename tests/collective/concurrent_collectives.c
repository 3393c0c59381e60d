/* SPDX-License-Identifier: Apache-2.0 */
/* Two collectives at once: shares of links against packets that take turns, known cases, limits. */
#include "comm/concurrent_collectives.h"

#include "check.h"

#include <math.h>
#include <stdint.h>

#define TIERS 3

static double draw(uint64_t *seed, double low, double high)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(*seed >> 40) / (double)(1 << 24);
}

/* ---- packets ------------------------------------------------------------------------------- */

#define ROUNDS  200 /* of the shorter collective */
#define PACKETS 100 /* that a link sends in one of them */

/* A collective in rounds: each has packets for the links of every tier, and a time of its own. */
typedef struct flow {
    double round_s, round_end;
    double work[TIERS];    /* seconds of a tier's link in a round */
    double pending[TIERS]; /* of this round */
    double left;           /* rounds */
} flow;

static void start_round(flow *f, double now)
{
    f->round_end = now + f->round_s;
    for (int i = 0; i < TIERS; i++) {
        f->pending[i] += f->work[i];
    }
}

static flow flow_of(const rk_comm_flow *from, double round_s)
{
    flow f = {.round_s = round_s, .left = round(from->seconds / round_s)};
    for (int i = 0; i < TIERS; i++) {
        f.work[i] = from->busy_s[i] / f.left;
    }
    start_round(&f, 0);
    return f;
}

static bool has_packet(const flow *f, int tier, double packet)
{
    return f->left > 0 && f->pending[tier] > 0.5 * packet;
}

/* Each link sends a packet of one of both, in turns where both have some. */
static void send_packets(flow flows[2], bool turn[TIERS], double packet)
{
    for (int i = 0; i < TIERS; i++) {
        int k = turn[i];
        k = has_packet(&flows[k], i, packet) ? k : 1 - k;
        if (has_packet(&flows[k], i, packet)) {
            flows[k].pending[i] -= packet;
            turn[i] = 1 - k;
        }
    }
}

static bool is_round_done(const flow *f, double now, double packet)
{
    bool sent = true;
    for (int i = 0; i < TIERS; i++) {
        sent = sent && !has_packet(f, i, packet);
    }
    return sent && now >= f->round_end - 0.5 * packet;
}

/* Both from one start until each is done. */
static void simulate(const rk_comm_flow *a, const rk_comm_flow *b, double seconds[2])
{
    const double round_s = fmin(a->seconds, b->seconds) / ROUNDS, packet = round_s / PACKETS;
    flow flows[2] = {flow_of(a, round_s), flow_of(b, round_s)};
    bool turn[TIERS] = {false};
    for (int64_t step = 1; flows[0].left > 0 || flows[1].left > 0; step++) {
        const double now = (double)step * packet;
        send_packets(flows, turn, packet);
        for (int k = 0; k < 2; k++) {
            if (flows[k].left > 0 && is_round_done(&flows[k], now, packet)) {
                flows[k].left--;
                seconds[k] = now;
                start_round(&flows[k], now);
            }
        }
    }
}

static void test_packets(void **state)
{
    uint64_t seed = 5;
    double most = 0, sum = 0;
    (void)state;
    for (int i = 0; i < 400; i++) {
        rk_comm_flow of[2] = {{.seconds = 1}, {.seconds = draw(&seed, 1, 3)}};
        double seconds[2] = {0, 0};
        for (int t = 0; t < TIERS; t++) {
            for (int k = 0; k < 2; k++) {
                of[k].busy_s[t] = of[k].seconds * fmax(draw(&seed, -0.5, 1), 0);
            }
        }
        const rk_comm_pair pair = rk_comm_pair_of(&of[0], &of[1], TIERS);
        simulate(&of[0], &of[1], seconds);
        for (int k = 0; k < 2; k++) {
            const double difference = fabs(pair.seconds[k] / seconds[k] - 1);
            most = fmax(most, difference);
            sum += difference;
        }
    }
    assert_true(most < 0.05); /* rounds of both meet in links of several tiers */
    assert_true(sum / 800 < 0.005);
}

/* ---- known cases --------------------------------------------------------------------------- */

static void test_halves(void **state)
{
    const rk_comm_flow a = {.seconds = 1, .busy_s = {1}}, b = {.seconds = 2, .busy_s = {2}};
    const rk_comm_flow idle = {.seconds = 1, .busy_s = {0, 1}},
                       light = {.seconds = 1, .busy_s = {0.3}};
    (void)state;
    rk_comm_pair pair = rk_comm_pair_of(&a, &b, TIERS);
    assert_close(pair.seconds[0], 2, 1e-12);
    assert_close(pair.seconds[1], 3, 1e-12); /* half done at 2, then alone */
    assert_int_equal(pair.tier, 0);
    pair = rk_comm_pair_of(&a, &idle, TIERS); /* other links */
    assert_close(pair.seconds[0], 1, 1e-12);
    assert_close(pair.seconds[1], 1, 1e-12);
    assert_int_equal(pair.tier, -1);
    pair = rk_comm_pair_of(&a, &light, TIERS); /* wants less than half and gets it */
    assert_close(pair.seconds[1], 1, 1e-12);
    assert_close(pair.seconds[0], 1.3, 1e-12);
}

/* ---- collectives --------------------------------------------------------------------------- */

static rk_system machine(void)
{
    const rk_tier inside = {.kind = RK_TIER_SWITCH,
                            .size = 8,
                            .bandwidth = 450e9,
                            .efficiency = 1,
                            .step_latency = 1e-6,
                            .exchange_share = 1};
    rk_tier outside = inside;
    outside.kind = RK_TIER_FABRIC;
    outside.size = 512;
    outside.bandwidth = 50e9;
    return (rk_system){.tier_count = 2, .tiers = {inside, outside}};
}

static rk_comm_flow ring_flow(const rk_system *s, const rk_group *group, rk_collective op)
{
    const rk_collective_query query = {s, group, op, 4e9, RK_CHUNKS_AS_MEASURED};
    return rk_comm_flow_of(&query, "ring", rk_collective_seconds(s, op, 4e9, group));
}

/* Rings of large tensors between nodes fill the NIC; those inside a node do not touch it. */
static void test_flows(void **state)
{
    const rk_system s = machine();
    const rk_group rails = rk_group_packed(&s, 16, 8), node = rk_group_packed(&s, 8, 1);
    (void)state;
    const rk_comm_flow a = ring_flow(&s, &rails, RK_COLL_ALL_REDUCE);
    const rk_comm_flow b = ring_flow(&s, &node, RK_COLL_ALL_GATHER);
    assert_close(a.busy_s[1], 2 * 15 / 16.0 * 4e9 / 50e9, 1e-12);
    assert_close(a.busy_s[0], 0, 1e-12);
    assert_close(b.busy_s[1], 0, 1e-12);
    assert_true(a.busy_s[1] > 0.95 * a.seconds && a.busy_s[1] <= a.seconds);
    rk_comm_pair pair = rk_comm_pair_of(&a, &b, s.tier_count);
    assert_int_equal(pair.tier, -1);
    assert_close(pair.seconds[0], a.seconds, 1e-12);
    pair = rk_comm_pair_of(&a, &a, s.tier_count); /* two on one NIC: half of it each */
    assert_int_equal(pair.tier, 1);
    assert_close(pair.seconds[0], 2 * a.busy_s[1], 1e-9);
}

/*
 * A message is on the outermost tier that its group crosses alone; of an all-to-all what goes to
 * the ranks outside leaves a node, and a gather is a share of what its node has.
 */
static void test_whole(void **state)
{
    const rk_system s = machine();
    const rk_group group = rk_group_packed(&s, 16, 1), pair = rk_group_packed(&s, 2, 1);
    const struct {
        const rk_group *group;
        rk_collective op;
        double busy[2]; /* of the bytes on each tier */
    } cases[] = {{&group, RK_COLL_SEND, {0, 1}},
                 {&pair, RK_COLL_SEND, {1, 0}},
                 {&group, RK_COLL_GATHER, {7 / 8.0, 1 / 16.0}},
                 {&group, RK_COLL_SCATTER, {7 / 8.0, 1 / 16.0}},
                 {&group, RK_COLL_ALL_TO_ALL, {7 / 16.0, 8 / 16.0}}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_collective_query query = {&s, cases[i].group, cases[i].op, 4e9,
                                           RK_CHUNKS_AS_MEASURED};
        const rk_comm_flow found = rk_comm_flow_of(&query, "", 1e3);
        assert_close(found.busy_s[0], cases[i].busy[0] * 4e9 / 450e9, 1e-12);
        assert_close(found.busy_s[1], cases[i].busy[1] * 4e9 / 50e9, 1e-12);
    }
}

/* No link carries more than it can, and nothing is faster than alone or slower than in turns. */
static void test_limits(void **state)
{
    const rk_system s = machine();
    uint64_t seed = 9;
    (void)state;
    for (int i = 0; i < 300; i++) {
        const rk_collective ops[2] = {(rk_collective)draw(&seed, 0, RK_COLL_COUNT),
                                      (rk_collective)draw(&seed, 0, RK_COLL_COUNT)};
        rk_comm_flow of[2];
        for (int k = 0; k < 2; k++) {
            const rk_group group =
                rk_group_packed(&s, (int64_t)draw(&seed, 2, 65), (int64_t)draw(&seed, 1, 8));
            const rk_collective_query query = {&s, &group, ops[k], exp(draw(&seed, 7, 22)),
                                               RK_CHUNKS_AS_MEASURED};
            of[k] =
                rk_comm_flow_of(&query, "", rk_collective_seconds(&s, ops[k], query.bytes, &group));
            for (int t = 0; t < s.tier_count; t++) {
                assert_true(of[k].busy_s[t] >= 0 && of[k].busy_s[t] <= of[k].seconds);
            }
        }
        const rk_comm_pair pair = rk_comm_pair_of(&of[0], &of[1], s.tier_count);
        const double end = fmax(pair.seconds[0], pair.seconds[1]);
        for (int t = 0; t < s.tier_count; t++) {
            assert_true(of[0].busy_s[t] + of[1].busy_s[t] <= end * (1 + 1e-9));
        }
        for (int k = 0; k < 2; k++) {
            assert_true(pair.seconds[k] >= of[k].seconds * (1 - 1e-9));
            assert_true(pair.seconds[k] <= (of[0].seconds + of[1].seconds) * (1 + 1e-9));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets), cmocka_unit_test(test_halves), cmocka_unit_test(test_flows),
        cmocka_unit_test(test_whole),   cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

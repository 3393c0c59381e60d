/* SPDX-License-Identifier: Apache-2.0 */
/* One collective over several links: the published case, and what holds of any. */
#include "machine.h"

enum { MOST = 6 };

/* UT-38: 234.9 MB over 160 GB/s after 20 us, and 25 GB/s after 30 and 40 us. */
static void test_published(void **state)
{
    static const rk_link links[] = {{160e9, 20e-6}, {25e9, 30e-6}, {25e9, 40e-6}};
    double shares[3];
    (void)state;
    assert_near(rk_split_seconds(links, 1, 234.9e6, NULL), 1.488e-3, 1e-3);
    const double seconds = rk_split_seconds(links, 3, 234.9e6, shares);
    assert_near(seconds, 1.142e-3, 2e-4);
    assert_near(seconds, (234.9e6 + 160e9 * 20e-6 + 25e9 * 30e-6 + 25e9 * 40e-6) / 210e9, 1e-12);
    for (int i = 0; i < 3; i++) {
        assert_near(shares[i], links[i].bandwidth * (seconds - links[i].latency), 1e-9);
    }
}

/* Too late a link takes nothing, and then another may be too late as well. */
static void test_dropped(void **state)
{
    static const rk_link links[] = {{100e9, 10e-6}, {100e9, 22e-6}, {1e12, 25e-6}, {1e12, 0.5}};
    double shares[4];
    (void)state;
    assert_near(rk_split_seconds(links, 4, 1e6, shares), 20e-6, 1e-12);
    assert_near(shares[0], 1e6, 1e-12);
    for (int i = 1; i < 4; i++) {
        assert_true(shares[i] >= 0 && shares[i] <= 0);
    }
    assert_near(rk_split_seconds(links, 2, 2e6, NULL), 26e-6, 1e-12);
}

static void test_random(void **state)
{
    uint64_t seed = 11;
    size_t several = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        rk_link links[MOST], back[MOST];
        double shares[MOST], backward[MOST], sum = 0, best = HUGE_VAL;
        const size_t count = (size_t)random_size(&seed, 1, MOST + 1);
        const double bytes = random_size(&seed, 1e3, 1e10);
        size_t used = 0;
        for (size_t j = 0; j < count; j++) {
            links[j] = (rk_link){random_size(&seed, 1e6, 1e12), random_size(&seed, 1, 1e6) * 1e-9};
            back[count - 1 - j] = links[j];
            best = fmin(best, links[j].latency + bytes / links[j].bandwidth);
        }
        const double seconds = rk_split_seconds(links, count, bytes, shares);
        assert_true(seconds <= best * (1 + 1e-12));
        for (size_t j = 0; j < count; j++) {
            sum += shares[j];
            used += shares[j] > 0;
            if (shares[j] > 0) { /* all that are used end together */
                assert_near(links[j].latency + shares[j] / links[j].bandwidth, seconds, 1e-9);
            } else { /* and the others would have begun too late */
                assert_true(links[j].latency >= seconds * (1 - 1e-12));
            }
        }
        assert_near(sum, bytes, 1e-9);
        several += used > 1 && used < count;
        /* in any order */
        assert_near(rk_split_seconds(back, count, bytes, backward), seconds, 1e-9);
        for (size_t j = 0; j < count; j++) {
            assert_true(fabs(backward[count - 1 - j] - shares[j]) <= 1e-9 * bytes);
        }
    }
    assert_true(several > 1000);
}

/* ---- in a tier ----------------------------------------------------------------------------- */

/* Fabrics without a ramp are affine in bytes, as the links of a split are. */
static rk_system with_sides(int count)
{
    rk_system s = {.tier_count = 2,
                   .tiers = {{.kind = RK_TIER_FABRIC,
                              .size = 8,
                              .bandwidth = 160e9,
                              .efficiency = 1,
                              .latency = 20e-6,
                              .exchange_share = 1,
                              .side_count = count,
                              .sides = {{.bandwidth = 50e9, .efficiency = 0.5, .latency = 30e-6},
                                        {.bandwidth = 25e9, .efficiency = 1, .latency = 40e-6}}},
                             {.kind = RK_TIER_FABRIC,
                              .size = 64,
                              .bandwidth = 25e9,
                              .efficiency = 1,
                              .exchange_share = 1}}};
    return s;
}

/* UT-38 as a gather of 8 ranks, of which each moves 7/8 of the tensor, and as an all-reduce. */
static void test_tier(void **state)
{
    const rk_system one = with_sides(0), three = with_sides(2);
    const rk_group group = rk_group_of(&one, 8, 1);
    const double gathered = 234.9e6 * 8 / 7;
    (void)state;
    assert_near(rk_collective_seconds(&one, RK_COLL_ALL_GATHER, gathered, &group), 1.488e-3, 1e-3);
    assert_near(rk_collective_seconds(&three, RK_COLL_ALL_GATHER, gathered, &group), 1.142e-3,
                2e-4);
    assert_near(rk_collective_seconds(&three, RK_COLL_ALL_REDUCE, gathered / 2, &group),
                rk_collective_seconds(&three, RK_COLL_ALL_GATHER, gathered, &group), 1e-9);
}

/* Groups that leave the domain, and messages between two ranks, go over the tier's own links. */
static void test_tier_alone(void **state)
{
    const rk_system one = with_sides(0), three = with_sides(2);
    (void)state;
    for (int64_t size = 16; size <= 64; size *= 2) {
        const rk_group group = rk_group_of(&one, size, 1);
        assert_near(rk_collective_seconds(&three, RK_COLL_ALL_REDUCE, 1e9, &group),
                    rk_collective_seconds(&one, RK_COLL_ALL_REDUCE, 1e9, &group), 0);
    }
    const rk_group pair = rk_group_of(&one, 2, 1);
    assert_near(rk_collective_seconds(&three, RK_COLL_SEND, 1e9, &pair),
                rk_collective_seconds(&one, RK_COLL_SEND, 1e9, &pair), 0);
}

/* Whatever the tier: never slower than without, gained by large tensors, longer with bytes. */
static void test_tier_any(void **state)
{
    static const char *const names[] = {"h100-sxm", "b200-sxm", "mi300x", "ascend-910b2",
                                        "tpu-v5p"};
    static const rk_collective ops[] = {RK_COLL_ALL_REDUCE, RK_COLL_REDUCE_SCATTER,
                                        RK_COLL_ALL_GATHER, RK_COLL_ALL_TO_ALL, RK_COLL_BROADCAST};
    (void)state;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        const rk_system plain = load_system(names[n]);
        rk_system more = plain;
        more.tiers[0].side_count = 1;
        more.tiers[0].sides[0] = (rk_side_link){
            .bandwidth = plain.tiers[0].bandwidth / 4, .efficiency = 0.8, .latency = 30e-6};
        for (size_t op = 0; op < sizeof(ops) / sizeof(ops[0]); op++) {
            double before = 0;
            for (double bytes = 1e3; bytes < 1e11; bytes *= 3) {
                const rk_group group = rk_group_of(&plain, 8, 1);
                const double alone = rk_collective_seconds(&plain, ops[op], bytes, &group);
                const double split = rk_collective_seconds(&more, ops[op], bytes, &group);
                assert_true(split <= alone && split >= before);
                assert_true(bytes < 1e9 || split < alone);
                before = split;
            }
        }
    }
}

/*
 * Both ends of the range.  Side links that end with all of a tensor before the tier has begun leave
 * its latency and nothing else.  Of a tier that is far slower than they are, whose ramp is steep at
 * the few bytes that it takes, the time is known as exactly as theirs.
 */
static void test_tier_ends(void **state)
{
    rk_system s = with_sides(1);
    const rk_group group = rk_group_of(&s, 8, 1);
    (void)state;
    s.tiers[0].half_bytes = 1e6;
    s.tiers[0].latency = 1e-3;
    assert_near(rk_collective_seconds(&s, RK_COLL_ALL_GATHER, 1e6, &group), 1e-3, 1e-14);
    s.tiers[0].latency = 0;
    s.tiers[0].bandwidth = 1e6;
    const double seconds = rk_collective_seconds(&s, RK_COLL_ALL_GATHER, 8e7, &group);
    /* the tier moves W of 7e7 bytes: W + sqrt(half W) = seconds times its bandwidth */
    const double root = (sqrt(1e6 + 4 * 1e6 * seconds) - sqrt(1e6)) / 2;
    assert_near(seconds, 30e-6 + (7e7 - root * root) / 25e9, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),  cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_random),     cmocka_unit_test(test_tier),
        cmocka_unit_test(test_tier_alone), cmocka_unit_test(test_tier_any),
        cmocka_unit_test(test_tier_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

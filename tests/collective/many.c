/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of ways grows with that of the algorithms: built with twenty more of them, all of which
 * run everywhere that a ring does (algorithm.h of the build folder, made by meson.build).
 */
#include "comm/way.h"

#include "check.h"

#include <string.h>

static void test_many(void **state)
{
    enum { FENCE = 64 };
    struct {
        rk_way ways[RK_WAY_MAX];
        unsigned char fence[FENCE];
    } room;
    unsigned char fence[FENCE];
    rk_system system = {.tier_count = 2};
    (void)state;
    for (int i = 0; i < 2; i++) {
        system.tiers[i] = (rk_tier){.kind = i ? RK_TIER_FABRIC : RK_TIER_SWITCH,
                                    .size = i ? 512 : 8,
                                    .bandwidth = 1e11,
                                    .efficiency = 1,
                                    .exchange_share = 1};
    }
    const rk_group group = rk_group_packed(&system, 64, 1);
    memset(fence, 0xa5, sizeof(fence));
    memset(room.fence, 0xa5, sizeof(room.fence));
    const int count = rk_ways_find(&system, &group, RK_COLL_ALL_REDUCE, 1e9, room.ways);
    int rings = 0;
    for (int i = 0; i < count; i++) {
        rings += strcmp(room.ways[i].name, "ring") == 0;
    }
    assert_int_equal(rings, 21);
    assert_true(count > 21 && count <= RK_WAY_MAX);
    assert_memory_equal(room.fence, fence, sizeof(fence));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

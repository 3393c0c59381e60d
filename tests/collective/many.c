/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of plans grows with the list of algorithms: built with twenty more of them, all of which
 * run everywhere that a ring does (algorithm.h of the build folder, made by meson.build).
 */
#include "system/collective_plan.h"

#include "check.h"

#include <string.h>

static void test_many(void **state)
{
    rk_system system = {.tier_count = 2};
    rk_collective_plans plans;
    rk_error err;
    (void)state;
    for (int i = 0; i < 2; i++) {
        system.tiers[i] = (rk_tier){.kind = i ? RK_TIER_FABRIC : RK_TIER_SWITCH,
                                    .size = i ? 512 : 8,
                                    .bandwidth = 1e11,
                                    .efficiency = 1,
                                    .chunk_wait = 3.4e-6,
                                    .message_start = 1e-6,
                                    .exchange_share = 1};
    }
    const rk_group group = rk_group_packed(&system, 64, 1);
    const rk_collective_query query = {&system, &group, RK_COLL_ALL_REDUCE, 1e9,
                                       RK_CHUNKS_AS_MEASURED};
    assert_int_equal(rk_list_collective_plans(&query, &plans, &err), RK_OK);
    int rings = 0;
    for (size_t i = 0; i < plans.count; i++) {
        rings += strcmp(plans.plans[i].name, "ring") == 0;
        assert_true(i == 0 || plans.plans[i - 1].seconds <= plans.plans[i].seconds);
    }
    assert_int_equal(rings, 21);
    assert_true(plans.count > 21);
    rk_collective_plans_clear(&plans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

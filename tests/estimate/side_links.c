/* SPDX-License-Identifier: Apache-2.0 */
/* What links beside NVLink are worth to tensor parallelism in a node. */
#include "../layer/blocks.h"

#include "estimate/estimate.h"

static rk_estimate estimate_of(const rk_system *system, bool sp)
{
    const rk_model model = model_of("llama3-8b");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_estimate e;
    /* nothing hides */
    stack.tp_forward_exposed = stack.tp_backward_exposed = stack.tp_reduce_exposed = 1;
    stack.regather_exposed = 1;
    s.tp = 8;
    s.sp = sp;
    s.dp = 2;
    s.global_batch = 16;
    assert_legal(&model, system, &s);
    rk_estimate_step(&model, system, &stack, &s, RK_FLOPS_MEGATRON, &e);
    return e;
}

/*
 * 25 + 25 GB/s beside 160 GB/s, all of them from the first byte on: 210/160 of the bandwidth for
 * tensor parallelism, with and without sequence parallelism, and nothing else is faster.
 */
static void test_side_links(void **state)
{
    rk_system one = system_of("deepseek-v3-h800");
    (void)state;
    one.tiers[0] = (rk_tier){.kind = RK_TIER_FABRIC,
                             .size = 8,
                             .bandwidth = 160e9,
                             .efficiency = 1,
                             .exchange_share = 1};
    rk_system three = one;
    three.tiers[0].side_count = 2;
    three.tiers[0].sides[0] = (rk_side_link){"PCIe", 25e9, 1, 0, true};
    three.tiers[0].sides[1] = (rk_side_link){"NIC", 50e9, 0.5, 0, true};
    for (int sp = 0; sp < 2; sp++) {
        const rk_estimate slow = estimate_of(&one, sp), fast = estimate_of(&three, sp);
        assert_true(slow.times.part[RK_PART_TP] > 0.02 * slow.step);
        assert_near(slow.times.part[RK_PART_TP] / fast.times.part[RK_PART_TP], 210. / 160, 1e-6);
        for (int part = 0; part < RK_PART_COUNT; part++) {
            if (part != RK_PART_TP && part != RK_PART_FIXED) {
                const double more = fast.times.part[part] - slow.times.part[part];
                assert_true(fabs(more) <= 1e-6 * slow.step);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_side_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

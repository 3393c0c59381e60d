/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer by itself against measurement: GPT of 22 billion parameters, 4 sequences of 2048 tokens,
 * 8 tensor ranks of A100 (arXiv 2205.05198, table 4; forward and backward together).
 */
#include "../layer/blocks.h"

#include "estimate/estimate.h"

/* Seconds of a step with so many layers, without the optimizer. */
static double step_of(int layers, bool sp, rk_recompute_kind recompute)
{
    const rk_model model = gpt_of(layers, 6144, 64);
    const rk_system system = system_of("selene");
    const rk_stack stack = stack_of("megatron-2022");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 8;
    s.sp = sp;
    s.micro_batch = s.global_batch = 4;
    s.flash_attention = false;
    s.tp_overlap = false;
    s.recompute = recompute;
    s.recompute_modules = recompute == RK_REC_SELECTIVE ? RK_MODULE_CORE_ATTENTION : 0;
    assert_legal(&model, &system, &s);
    rk_estimate e;
    rk_estimate_step(&model, &system, &stack, &s, RK_FLOPS_MEGATRON, &e);
    return e.step - e.times.part[RK_PART_OPTIMIZER];
}

static void test_layer(void **state)
{
    static const struct {
        bool sp;
        rk_recompute_kind recompute;
        double seconds;
    } measured[] = {
        {false, RK_REC_NONE, 19.6e-3},      {true, RK_REC_NONE, 19.0e-3},
        {false, RK_REC_SELECTIVE, 20.9e-3}, {true, RK_REC_SELECTIVE, 20.3e-3},
        {false, RK_REC_FULL, 27.2e-3},
    };
    enum { COUNT = sizeof(measured) / sizeof(measured[0]) };
    double mean = 0;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        const double two = step_of(24, measured[i].sp, measured[i].recompute);
        const double one = step_of(12, measured[i].sp, measured[i].recompute);
        const double error = (two - one) / 12 / measured[i].seconds - 1;
        assert_true(fabs(error) < 0.03);
        mean += fabs(error) / COUNT;
    }
    assert_true(mean < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

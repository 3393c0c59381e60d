/* SPDX-License-Identifier: Apache-2.0 */
/* The risk of running out of memory: its distribution, its classes, and the limits of searches. */
#include "../layer/blocks.h"

#include "residual/risk.h"

#include <math.h>

/* Nine in ten runs need at most 1.2 times the prediction. */
static const rk_interval tenth = {.low = 1 / 1.2, .high = 1.2};

/* One half where need is what there is, a tenth where the 90th percentile is, symmetric, rising. */
static void test_distribution(void **state)
{
    (void)state;
    assert_near(rk_risk_of(&tenth, 80e9, 80e9), 0.5, 1e-12);
    assert_near(rk_risk_of(&tenth, 80e9 / 1.2, 80e9), 0.1, 1e-6);
    assert_near(rk_risk_of(&tenth, 80e9 * 1.2, 80e9), 0.9, 1e-6);
    double before = 0;
    for (double need = 40e9; need < 160e9; need += 1e9) {
        const double risk = rk_risk_of(&tenth, need, 80e9);
        assert_true(risk > before && risk < 1);
        before = risk;
    }
    const rk_interval exact = {.low = 1, .high = 1};
    assert_near(rk_risk_of(&exact, 79, 80), 0, 0);
    assert_near(rk_risk_of(&exact, 81, 80), 1, 0);
}

static void add(rk_residuals *r, const rk_similarity_key *key, double ratio, int times)
{
    rk_error err;
    for (int i = 0; i < times; i++) {
        assert_int_equal(rk_residuals_add(r, key, "a", "a", ratio, &err), RK_OK);
    }
}

/* Runs of the same sharding and place come first; unmeasured kinds are off by 28 % at least. */
static void test_classes(void **state)
{
    (void)state;
    rk_residuals r = {.of_memory = true};
    rk_similarity_key key = {.stack = "s", .family = "f", .product = "p", .stack_name = "s"};
    rk_interval i;
    rk_error err;
    key.sharding = RK_SHARD_ALL;
    add(&r, &key, 1.1, 12);
    key.sharding = RK_SHARD_OPTIMIZER;
    add(&r, &key, 1.01, 12);
    assert_int_equal(rk_memory_interval_of(&r, &key, NULL, &i, &err), RK_OK);
    assert_near(i.high, 1.01, 1e-9);
    assert_int_equal(i.runs, 12);
    key.sharding = RK_SHARD_ALL;
    assert_int_equal(rk_memory_interval_of(&r, &key, NULL, &i, &err), RK_OK);
    assert_near(i.high, 1.1, 1e-9);
    key.sharding = RK_SHARD_GRADIENTS; /* all runs of the stack */
    assert_int_equal(rk_memory_interval_of(&r, &key, NULL, &i, &err), RK_OK);
    assert_int_equal(i.runs, 24);
    key.moe = true;
    assert_int_equal(rk_memory_interval_of(&r, &key, NULL, &i, &err), RK_OK);
    assert_near(i.high, exp(0.25), 1e-9);
    assert_non_null(strstr(i.basis, "none is of its kind"));
    const rk_left_out all = {.source = "a"};
    key.moe = false;
    assert_int_equal(rk_memory_interval_of(&r, &key, &all, &i, &err), RK_OK);
    assert_int_equal(i.runs, 0);
    assert_near(i.high, exp(0.25), 1e-9);
    rk_residuals_clear(&r);
}

/* A strategy at the limit of a search has exactly the requested risk. */
static void test_limits(void **state)
{
    (void)state;
    const rk_model model = gpt_of(28, 3072, 32);
    rk_system system = system_of("h100-p5-efa");
    const rk_stack stack = stack_of("nanotron");
    const rk_setting setting = {.model = &model, .system = &system, .stack = &stack, .risk = 0.1};
    rk_strategy s = rk_strategy_defaults(&model);
    rk_risk_limits limits;
    rk_estimate e;
    rk_error err;
    for (int tp = 1; tp <= 16; tp *= 4) {
        for (int sharding = 0; sharding <= RK_SHARD_ALL; sharding++) {
            s.tp = tp;
            s.dp = 2;
            s.sharding = (rk_sharding)sharding;
            s.global_batch = 4;
            system.accelerator.memory_usable = 80e9;
            assert_int_equal(rk_risk_limits_of(&setting, &s, 0.1, &limits, &err), RK_OK);
            const double limit = rk_risk_limit(&limits, &s);
            assert_true(limit < 80e9 && limit > 40e9);
            assert_int_equal(rk_predict_estimate(&setting, &s, &e, NULL, &err), RK_OK);
            system.accelerator.memory_usable = rk_needed_bytes(&e.memory) * 80e9 / limit;
            assert_int_equal(rk_predict_estimate(&setting, &s, &e, NULL, &err), RK_OK);
            assert_near(e.risk, 0.1, 1e-9);
            assert_near(e.memory_high, e.usable, 1e-9);
            rk_estimate again = e;
            again.risk = 0;
            assert_int_equal(rk_risk_limits_of(&setting, &s, 0.1, &limits, &err), RK_OK);
            rk_set_class_risk(&limits, &s, &again);
            assert_near(again.risk, e.risk, 1e-12);
            assert_int_equal(rk_risk_limits_of(&setting, &s, 0, &limits, &err), RK_OK);
            assert_near(rk_risk_limit(&limits, &s), e.usable, 0);
        }
    }
}

/* Beyond host memory the risk is 1; the allowed risk decides what is within it. */
static void test_allowed(void **state)
{
    (void)state;
    const rk_model model = gpt_of(28, 3072, 32);
    rk_system system = system_of("h100-p5-efa");
    const rk_stack stack = stack_of("nanotron");
    rk_setting setting = {.model = &model, .system = &system, .stack = &stack};
    rk_strategy s = rk_strategy_defaults(&model);
    rk_estimate e;
    rk_error err;
    s.global_batch = 1;
    system.accelerator.memory_usable = 1e12;
    assert_int_equal(rk_predict_estimate(&setting, &s, &e, NULL, &err), RK_OK);
    assert_true(e.fits && e.risk < 1e-6);
    system.accelerator.memory_usable = rk_needed_bytes(&e.memory) * 1.01;
    assert_int_equal(rk_predict_estimate(&setting, &s, &e, NULL, &err), RK_OK);
    assert_true(e.fits && e.risk > 0.2 && e.risk < 0.5);
    assert_true(rk_is_within_risk(&setting, &e));
    setting.risk = 0.1;
    assert_false(rk_is_within_risk(&setting, &e));
    assert_true(rk_is_within_more(&setting, &e, 2));
    assert_false(rk_is_within_more(&setting, &e, 1));
    s.offload_optimizer = true;
    system.accelerator.memory_usable = 1e12;
    system.accelerator.host_capacity = 1e9;
    assert_int_equal(rk_predict_estimate(&setting, &s, &e, NULL, &err), RK_OK);
    assert_true(!e.fits && e.risk >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

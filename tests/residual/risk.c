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

/* What runs are compared by, of documents and strategies. */
static void test_key(void **state)
{
    static const struct {
        const char *system, *stack;
        int64_t tp, dp, batch;
        rk_precision precision;
        int adapter_rank;
        rk_sharding sharding;
        /* wanted */
        const char *software, *family, *product, *line, *accelerator;
        rk_tensor_place tensor;
        bool several, low, untuned, uncertain;
    } cases[] = {
        {"h100-p5-efa", "nanotron", 1, 8, 16, RK_BF16, 0, RK_SHARD_NONE, "nanotron-2024-hopper",
         "nanotron", "h100-sxm", "h100", "h100-sxm", RK_TENSOR_NONE, false, false, false, false},
        {"h100-p5-efa", "nemo-2024", 8, 2, 16, RK_FP8, 8, RK_SHARD_OPTIMIZER, "nemo-2024-hopper",
         "megatron", "h100-sxm", "h100", "h100-sxm", RK_TENSOR_INSIDE, true, true, false, false},
        {"b200-sxm", "torchtitan", 16, 1, 1, RK_FP16, 0, RK_SHARD_ALL,
         "torchtitan-2025-ampere-hopper", "torchtitan", "b200-sxm", "b200", "b200-sxm",
         RK_TENSOR_ACROSS, true, false, true, false}, /* one microbatch */
        {"tpu-v5p", "huggingface-hopper", 1, 2, 16, RK_FP4, 0, RK_SHARD_GRADIENTS,
         "huggingface-2026-hopper", "huggingface", "tpu-v5p", "tpu", "tpu-v5p", RK_TENSOR_NONE,
         false, true, true, true}, /* general software; no efficiency was measured */
    };
    const rk_model model = gpt_of(4, 3072, 32);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_system system = system_of(cases[i].system);
        const rk_stack stack = stack_of(cases[i].stack);
        rk_strategy s = rk_strategy_defaults(&model);
        s.tp = cases[i].tp;
        s.dp = cases[i].dp;
        s.global_batch = cases[i].batch;
        s.precision = cases[i].precision;
        s.adapter_rank = cases[i].adapter_rank;
        s.sharding = cases[i].sharding;
        const rk_similarity_key key = rk_similarity_key_of(&system, &stack, &model, &s, NULL);
        assert_string_equal(key.stack, cases[i].software);
        assert_string_equal(key.family, cases[i].family);
        assert_string_equal(key.product, cases[i].product);
        assert_string_equal(key.line, cases[i].line);
        assert_string_equal(key.stack_name, cases[i].stack);
        assert_string_equal(key.accelerator_name, cases[i].accelerator);
        assert_int_equal(key.tensor, cases[i].tensor);
        assert_int_equal(key.sharding, cases[i].sharding);
        assert_int_equal(key.several, cases[i].several);
        assert_int_equal(key.low, cases[i].low);
        assert_int_equal(key.frozen, cases[i].adapter_rank > 0);
        assert_int_equal(key.untuned, cases[i].untuned);
        assert_int_equal(key.uncertain, cases[i].uncertain);
        assert_false(key.moe || key.untimed || key.assumed);
        assert_near(key.kernel, 0, 0);
    }
    /* A stack of your own says no family, and is like no other. */
    rk_stack own = stack_of("nanotron");
    const rk_system system = system_of("h100-sxm");
    const rk_strategy s = rk_strategy_defaults(&model);
    own.family[0] = '\0';
    const rk_similarity_key key = rk_similarity_key_of(&system, &own, &model, &s, NULL);
    assert_string_equal(key.stack, "");
    assert_string_equal(key.family, "");
    assert_string_equal(key.stack_name, "nanotron");
}

/* Twice the memory, half the need: whether it is within the risk that is allowed. */
static void test_more_memory(void **state)
{
    static const struct {
        double need, size, risk;
        bool within;
    } cases[] = {
        {80e9, 1, 0, true},       {80.1e9, 1, 0, false},   {160e9, 2, 0, true},
        {80e9, 1.19, 0.1, false}, {80e9, 1.21, 0.1, true}, {80e9, 1.19, 0.2, true},
        {160e9, 2.3, 0.1, false}, {160e9, 2.5, 0.1, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_setting setting = {.risk = cases[i].risk};
        rk_estimate e = {.usable = 80e9, .memory_high = 1.2 * cases[i].need};
        e.memory.total = cases[i].need;
        assert_near(rk_needed_bytes(&e.memory), cases[i].need, 0);
        assert_int_equal(rk_is_within_more(&setting, &e, cases[i].size), cases[i].within);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key),          cmocka_unit_test(test_more_memory),
        cmocka_unit_test(test_distribution), cmocka_unit_test(test_classes),
        cmocka_unit_test(test_limits),       cmocka_unit_test(test_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

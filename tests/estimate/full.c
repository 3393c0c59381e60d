/* SPDX-License-Identifier: Apache-2.0 */
/* Training in fp32 and TF32: bytes of tensors, messages and states, rates of products. */
#include "../layer/blocks.h"

#include "estimate/estimate.h"
#include "framework/framework.h"
#include "layer/precision.h"

static const rk_precision full[] = {RK_FP32, RK_TF32};
enum { FULL_COUNT = sizeof(full) / sizeof(full[0]) };

static rk_cost layer_cost(const rk_model *model, const rk_stack *stack, const rk_strategy *s)
{
    const rk_system system = system_of("a100-sxm-80gb");
    assert_legal(model, &system, s);
    const rk_block_context context = rk_block_context_of(model, &system, stack, s);
    rk_cost cost[2];
    layer_costs(&context, &model->types[0], cost);
    return cost[0];
}

static rk_estimate estimate_of(const rk_model *model, const rk_stack *stack, const rk_strategy *s)
{
    const rk_system system = system_of("a100-sxm-80gb");
    rk_estimate e;
    assert_legal(model, &system, s);
    rk_estimate_step(model, &system, stack, s, RK_FLOPS_MEGATRON, &e);
    return e;
}

/* ---- tensors -------------------------------------------------------------------------------- */

/*
 * A layer of Llama 3 8B keeps 139,392 bytes a token in bf16, 128 of them row sums of 32 heads,
 * which flash attention has in fp32 anyway: 2 * 139,264 + 128 = 278,656.  Of 70B, 2 * 274,432 +
 * 256.
 */
static void test_saved(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double half, full; /* bytes per token */
    } known[] = {{"llama3-8b", 139392, 278656}, {"llama3-70b", 274688, 549120}};
    const rk_stack stack = stack_of("megatron-2025");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const rk_model model = model_of(known[i].model);
        rk_strategy s = rk_strategy_defaults(&model);
        assert_near(layer_cost(&model, &stack, &s).saved / (double)s.seq, known[i].half, 1e-12);
        for (int j = 0; j < FULL_COUNT; j++) {
            s.precision = full[j];
            assert_near(layer_cost(&model, &stack, &s).saved / (double)s.seq, known[i].full, 1e-12);
        }
    }
}

/*
 * Without flash attention all that is saved doubles: of 32 heads of 2,048 x 2,048 scores 2 bytes
 * each, then 4.  With dropout the copy doubles and its mask does not: 5 and 9 bytes.
 */
static void test_scores(void **state)
{
    (void)state;
    rk_stack stack = stack_of("megatron-2025");
    const rk_model model = model_of("llama3-8b");
    const double scores = 32.0 * 2048 * 2048;
    for (int dropout = 0; dropout < 2; dropout++) {
        stack.dropout_bytes = dropout ? 12 : 0;
        rk_strategy s = rk_strategy_defaults(&model);
        s.seq = 2048;
        s.flash_attention = false;
        const double half = layer_cost(&model, &stack, &s).saved;
        s.precision = RK_FP32;
        const double masks = dropout ? scores + 2 * 2048.0 * (double)model.hidden : 0;
        assert_near(layer_cost(&model, &stack, &s).saved, 2 * half - masks, 1e-12);
        s.recompute = RK_REC_SELECTIVE;
        s.recompute_modules = RK_MODULE_CORE_ATTENTION;
        assert_near(layer_cost(&model, &stack, &s).unsaved, (dropout ? 9 : 4) * scores, 1e-12);
    }
}

/* Logits of a loss in one kernel take 4 bytes; one that copies them to fp32 needs no more. */
static void test_logits(void **state)
{
    (void)state;
    static const struct {
        double stated, full;
    } cases[] = {{2, 4}, {6, 6}, {12, 12}};
    rk_stack stack = stack_of("megatron-2025");
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("a100-sxm-80gb");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy s = rk_strategy_defaults(&model);
        stack.logit_bytes = cases[i].stated;
        for (int j = 0; j < 2; j++) {
            s.precision = j ? RK_TF32 : RK_BF16;
            const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
            const double T = (double)s.seq, each = j ? cases[i].full : cases[i].stated;
            const double norm = 2 * (j ? 4 : 2) * T * (double)model.hidden;
            assert_near(rk_block_head(&context).saved, norm + each * T * context.vocab, 1e-12);
        }
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

/*
 * Hidden states between ranks of tensor, context, expert and pipeline groups take twice the bytes.
 * A collective of Llama 3 70B on 8,192 tokens, t = 8: 4 * 8192 * 8192 * 7/8 = 234.9 MB.
 */
static void test_messages(void **state)
{
    (void)state;
    const rk_stack stack = stack_of("megatron-2025");
    const rk_model large = model_of("llama3-70b");
    rk_strategy s = rk_strategy_defaults(&large);
    s.seq = 8192;
    s.tp = 8;
    s.sp = true;
    s.precision = RK_FP32;
    assert_near(layer_cost(&large, &stack, &s).sent_forward.tensor, 4 * 234.881024e6, 1e-12);

    const rk_model model = model_of("mixtral-8x7b");
    s = rk_strategy_defaults(&model);
    s.tp = s.cp = s.pp = s.ep = 2;
    s.sp = true;
    s.global_batch = 4;
    const rk_estimate half = estimate_of(&model, &stack, &s);
    assert_true(half.volumes.context > 0 && half.volumes.pipeline > 0);
    for (int i = 0; i < FULL_COUNT; i++) {
        s.precision = full[i];
        const rk_estimate e = estimate_of(&model, &stack, &s);
        assert_near(e.volumes.context, 2 * half.volumes.context, 1e-12);
        assert_near(e.volumes.expert, 2 * half.volumes.expert, 1e-12);
        assert_near(e.volumes.pipeline, 2 * half.volumes.pipeline, 1e-12);
        /* three all-reduces of the loss, 4 T each, are in fp32 anyway */
        const double losses = 4 * 24 * (double)s.seq / 2 / 2;
        const double most = 2 * half.volumes.tensor;
        assert_true(e.volumes.tensor <= most && e.volumes.tensor >= most - losses);
    }
}

/* ---- states --------------------------------------------------------------------------------- */

/* 16 bytes a parameter: weights 4, which are the master copy, gradients 4, moments 8. */
static void test_states(void **state)
{
    (void)state;
    const rk_stack stack = stack_of("megatron-2025");
    const rk_model model = model_of("llama3.2-1b");
    const double params = (double)rk_model_params_of(&model).total;
    for (int i = 0; i < FULL_COUNT; i++) {
        rk_strategy s = rk_strategy_defaults(&model);
        s.precision = full[i];
        s.states = rk_framework_states(RK_FRAMEWORK_MEGATRON, full[i], &(rk_state_request){0});
        const rk_estimate e = estimate_of(&model, &stack, &s);
        assert_near(e.memory.part[RK_MEM_WEIGHTS], 4 * params, 1e-12);
        assert_near(e.memory.part[RK_MEM_GRADIENTS], 4 * params, 1e-12);
        assert_near(e.memory.part[RK_MEM_OPTIMIZER], 8 * params, 1e-12);
    }
}

/* ---- rates ---------------------------------------------------------------------------------- */

/* A product in TF32 is faster than in fp32 and moves the same bytes: 4 of every element. */
static void test_products(void **state)
{
    (void)state;
    const double n = 8192, elements = 3 * n * n;
    rk_accelerator a = system_of("a100-sxm-80gb").accelerator;
    const double fp32 = rk_gemm_seconds(&a, RK_FP32, 1, n, n, n, 0);
    const double tf32 = rk_gemm_seconds(&a, RK_TF32, 1, n, n, n, 0);
    const double bf16 = rk_gemm_seconds(&a, RK_BF16, 1, n, n, n, 0);
    assert_true(bf16 < tf32 && tf32 < fp32 / 4);
    for (int i = 0; i < FULL_COUNT; i++) {
        a.gemm[full[i]].peak = 1e30; /* as fast as its operands and results cross memory */
        const double seconds = 4 * elements / (a.memory_bandwidth * a.memory_efficiency);
        assert_near(rk_gemm_seconds(&a, full[i], 1, n, n, n, 0), seconds + a.kernel_seconds, 1e-9);
        /* a weight gradient added to one in fp32 is read besides */
        assert_near(rk_gemm_seconds(&a, full[i], 1, n, n, n, 4), seconds * 4 / 3 + a.kernel_seconds,
                    1e-9);
    }
}

/* On A100 the engine has 312 TFLOP/s in bf16, 156 in TF32 and 19.5 in fp32. */
static void test_attention(void **state)
{
    (void)state;
    static const double slower[] = {16, 2};
    const rk_stack stack = stack_of("megatron-2024-ampere");
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    const rk_cost half = layer_cost(&model, &stack, &s);
    for (int i = 0; i < FULL_COUNT; i++) {
        s.precision = full[i];
        const rk_cost cost = layer_cost(&model, &stack, &s);
        assert_near(cost.forward.part[RK_PART_ATTENTION],
                    slower[i] * half.forward.part[RK_PART_ATTENTION], 0.15);
        assert_near(cost.backward.part[RK_PART_ATTENTION],
                    slower[i] * half.backward.part[RK_PART_ATTENTION], 0.15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved),     cmocka_unit_test(test_scores),
        cmocka_unit_test(test_logits),    cmocka_unit_test(test_messages),
        cmocka_unit_test(test_states),    cmocka_unit_test(test_products),
        cmocka_unit_test(test_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

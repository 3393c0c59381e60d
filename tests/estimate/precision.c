/* SPDX-License-Identifier: Apache-2.0 */
/* Linears in 8 and 4 bits: bytes of weights, activations, casts and messages, recipe by recipe. */
#include "../layer/blocks.h"

#include "estimate/stage.h"
#include "layer/precision.h"

/* A recipe, and bytes per element on Hopper, which keeps transposed copies, and on Blackwell. */
static const struct recipe {
    rk_precision precision;
    rk_fp8_recipe recipe;
    double weights[2]; /* all copies that GEMMs read; 0: not there */
    double saved;      /* of an input, for its weight gradient */
    double casts[2];   /* read and written for one activation */
} recipes[] = {
    {RK_FP8, RK_FP8_TENSORWISE, {2, 1}, 1, {6, 5}},
    {RK_FP8, RK_FP8_DELAYED, {2, 1}, 1, {4, 3}},
    {RK_FP8, RK_FP8_BLOCKWISE, {2 + 8.0 / 16384, 1 + 4.0 / 16384}, 1 + 4.0 / 128, {4.0625, 4.0625}},
    {RK_FP8, RK_FP8_MX, {0, 2.0625}, 1 + 1.0 / 32, {0, 4.0625}},
    {RK_FP4, RK_FP8_TENSORWISE, {0, 1.125}, 0.5 + 1.0 / 16, {0, 5.125}},
};
static const char *const machines[] = {"h100-sxm", "b200-sxm"};

#define RECIPE_COUNT (sizeof(recipes) / sizeof(recipes[0]))

/* Calls `check` for every recipe on every machine that has it. */
static void each_recipe(void (*check)(const struct recipe *, int, const rk_system *))
{
    for (size_t i = 0; i < RECIPE_COUNT; i++) {
        for (int machine = 0; machine < 2; machine++) {
            const rk_system system = system_of(machines[machine]);
            if (recipes[i].weights[machine] > 0) {
                check(&recipes[i], machine, &system);
            }
        }
    }
}

static rk_strategy strategy_of(const rk_model *model, const struct recipe *recipe)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.precision = recipe->precision;
    s.fp8_recipe = recipe->recipe;
    return s;
}

static rk_estimate estimate_of(const rk_model *model, const rk_system *system,
                               const rk_stack *stack, const rk_strategy *s)
{
    rk_estimate e;
    assert_legal(model, system, s);
    rk_estimate_step(model, system, stack, s, RK_FLOPS_MEGATRON, &e);
    return e;
}

/* ---- weights -------------------------------------------------------------------------------- */

/* Parameters of the linears of all layers: everything in them but the norms. */
static double linear_params(const rk_model *model)
{
    const rk_layer_params p = rk_layer_params_of(model, &model->types[0]);
    return (double)model->layers * (double)(p.total - p.norms);
}

/*
 * The table of model specification 3.7, of a linear's parameter: 18 bytes on Hopper, 17 on
 * Blackwell, 18.0625 in MXFP8, of which 12 are sharded by ZeRO-1; everything else has 2 + 4 + 12.
 */
static void check_weights(const struct recipe *recipe, int machine, const rk_system *system)
{
    const rk_model model = model_of("llama3-8b");
    const rk_stack stack = stack_of("megatron-2025");
    const double all = (double)rk_model_params_of(&model).total, low = linear_params(&model);
    const double copies = recipe->weights[machine];
    rk_strategy s = strategy_of(&model, recipe);
    for (int d = 1; d <= 8; d *= 8) {
        s.dp = s.global_batch = d;
        s.sharding = RK_SHARD_OPTIMIZER;
        s.low_weights = true;
        rk_estimate e = estimate_of(&model, system, &stack, &s);
        assert_near(e.memory.part[RK_MEM_WEIGHTS], 2 * (all - low) + copies * low, 1e-12);
        assert_near(e.memory.part[RK_MEM_GRADIENTS], 4 * all, 1e-12);
        assert_near(e.memory.part[RK_MEM_OPTIMIZER], 12 * all / d, 1e-12);
        /* weights in bf16 stay besides the copies that are cached for the microbatches */
        s.low_weights = false;
        e = estimate_of(&model, system, &stack, &s);
        assert_near(e.memory.part[RK_MEM_WEIGHTS], 2 * all + copies * low, 1e-12);
        /* fully sharded ones are cast layer by layer: no copy stays */
        s.sharding = RK_SHARD_ALL;
        e = estimate_of(&model, system, &stack, &s);
        assert_near(e.memory.part[RK_MEM_WEIGHTS], 2 * all / d, 1e-12);
    }
}

static void test_weights(void **state)
{
    (void)state;
    each_recipe(check_weights);
}

/* Which parameters belong to linears in low precision: not those of router, norms and biases. */
static void test_low_params(void **state)
{
    static const char *const models[] = {"llama3-8b", "deepseek-v3", "qwen3-30b-a3b"};
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    (void)state;
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        const rk_model model = model_of(models[i]);
        rk_strategy s = rk_strategy_defaults(&model);
        s.precision = RK_FP8;
        const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
        for (int j = 0; j < model.type_count; j++) {
            const rk_attention_shape *a = &model.types[j].attention;
            const rk_layer_params p = rk_layer_params_of(&model, &model.types[j]);
            const double norms = rk_attention_is_latent(a)       ? (double)(a->q_rank + a->kv_rank)
                                 : a->qk_norm == RK_QK_NORM_HEAD ? 2 * (double)a->head_size
                                                                 : 0;
            rk_cost cost[2];
            layer_costs(&context, &model.types[j], cost);
            assert_near(cost[0].low_dense_params, (double)(p.attention + p.ffn + p.shared) - norms,
                        1e-12);
            assert_near(cost[0].low_expert_params, (double)p.experts, 1e-12);
        }
        assert_true(rk_block_head(&context).low_dense_params <= 0);
    }
}

/* ---- activations ---------------------------------------------------------------------------- */

/*
 * Of Llama-3-8B, 139,392 bytes a token in bf16: inputs of linears are kept in their precision, and
 * that of the output projection besides what attention needs.
 */
static void check_saved(const struct recipe *recipe, int machine, const rk_system *system)
{
    const rk_model model = model_of("llama3-8b");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_strategy s = strategy_of(&model, recipe);
    const rk_block_context context = rk_block_context_of(&model, system, &stack, &s);
    const double h = 4096, f = 14336, each = recipe->saved;
    rk_cost cost[2];
    (void)machine;
    layer_costs(&context, &model.types[0], cost);
    assert_near(cost[0].saved / (double)s.seq, 139392 - (2 - each) * (2 * h + f) + each * h, 1e-12);
}

static void test_saved(void **state)
{
    (void)state;
    each_recipe(check_saved);
}

/* A layer with experts keeps the input of its router in bf16, and one more for shared experts. */
static void test_router_input(void **state)
{
    const rk_system system = system_of("b200-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    (void)state;
    for (int shared = 0; shared <= 1; shared++) {
        rk_model model = model_of("qwen3-30b-a3b");
        rk_layer_type *type = &model.types[0];
        if (shared) {
            type->moe.shared_experts = 1;
            type->moe.shared_width = 768;
        }
        double saved[2];
        for (int low = 0; low <= 1; low++) {
            rk_strategy s = rk_strategy_defaults(&model);
            s.precision = low ? RK_FP8 : RK_BF16;
            const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
            rk_cost cost[2];
            layer_costs(&context, type, cost);
            saved[low] = cost[0].saved / (double)s.seq;
        }
        const double h = 2048, k = 8, fe = 768, out = 32 * 128, fs = shared ? 768 : 0;
        /* less: input of QKV, rows of experts, their activations, those of the shared expert */
        const double less = h + k * h + k * fe + fs;
        assert_near(saved[0] - saved[1], less - out - (shared ? h : 0), 1e-12);
    }
}

/* ---- casts ---------------------------------------------------------------------------------- */

static void check_casts(const struct recipe *recipe, int machine, const rk_system *system)
{
    const rk_model model = model_of("llama3-8b");
    rk_stack stack = stack_of("megatron-2025");
    rk_system plain = *system;
    const rk_strategy s = strategy_of(&model, recipe);
    stack.cast_passes = stack.mx_cast_passes = stack.fp4_cast_passes = stack.stream_share = 1;
    plain.accelerator.kernel_seconds = 0;
    const rk_block_context context = rk_block_context_of(&model, &plain, &stack, &s);
    const double h = 4096, f = 14336, qkv = h + 2 * 1024;
    const double bytes = (double)s.seq * recipe->casts[machine];
    rk_cost cost[2];
    layer_costs(&context, &model.types[0], cost);
    assert_near(cost[0].forward.part[RK_PART_CAST],
                rk_stream_seconds(&plain.accelerator, bytes * (3 * h + f)), 1e-12);
    assert_near(cost[0].backward.part[RK_PART_CAST],
                rk_stream_seconds(&plain.accelerator, bytes * (qkv + h + 2 * f + h)), 1e-12);
}

static void test_casts(void **state)
{
    (void)state;
    each_recipe(check_casts);
}

/* Weights are cast once a step, however many microbatches; fully sharded ones in every pass. */
static void test_weight_casts(void **state)
{
    const rk_model model = model_of("llama3-8b");
    rk_stack stack = stack_of("megatron-2025");
    rk_system system = system_of("h100-sxm");
    rk_strategy s = strategy_of(&model, &recipes[1]);
    double casts[3];
    (void)state;
    stack.cast_passes = stack.stream_share = 1;
    system.accelerator.kernel_seconds = 0;
    s.dp = 8;
    s.sharding = RK_SHARD_OPTIMIZER;
    const double low = linear_params(&model);
    for (int m = 1; m <= 3; m++) {
        s.global_batch = 8 * m;
        casts[m - 1] = estimate_of(&model, &system, &stack, &s).times.part[RK_PART_CAST];
    }
    /* read in bf16, written twice */
    const double once = rk_stream_seconds(&system.accelerator, 4 * low);
    assert_near(casts[1] - casts[0], casts[2] - casts[1], 1e-9);
    assert_near(casts[0] - (casts[1] - casts[0]), once, 1e-9);
    /* gathered in fp8: only transposed */
    s.low_weights = true;
    assert_near(estimate_of(&model, &system, &stack, &s).times.part[RK_PART_CAST],
                casts[2] - once / 2, 1e-9);
    s.low_weights = false;
    s.sharding = RK_SHARD_ALL; /* one copy in each pass of three microbatches */
    assert_near(estimate_of(&model, &system, &stack, &s).times.part[RK_PART_CAST],
                casts[2] - once + 3 * rk_stream_seconds(&system.accelerator, 6 * low), 1e-9);
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Per step: gradients in fp32, parameters in fp8 where they are kept so and yield both copies. */
static void check_gather(const struct recipe *recipe, int machine, const rk_system *system)
{
    const rk_model model = model_of("llama3-8b");
    const rk_stack stack = stack_of("megatron-2025");
    const double all = (double)rk_model_params_of(&model).total, low = linear_params(&model);
    const bool row_is_enough = recipe->precision == RK_FP8 && recipe->recipe != RK_FP8_MX;
    const double scale = recipe->recipe == RK_FP8_BLOCKWISE ? 4.0 / 16384 : 0;
    rk_strategy s = strategy_of(&model, recipe);
    (void)machine;
    s.dp = s.global_batch = 8;
    s.sharding = RK_SHARD_OPTIMIZER;
    assert_near(estimate_of(&model, system, &stack, &s).volumes.data, 7.0 / 8 * 6 * all, 1e-12);
    s.low_weights = true;
    assert_near(estimate_of(&model, system, &stack, &s).volumes.data,
                7.0 / 8 * (6 * all - (row_is_enough ? 1 - scale : 0) * low), 1e-12);
}

static void test_gather(void **state)
{
    (void)state;
    each_recipe(check_gather);
}

/* Wide linears ask nothing of recipes. */
static void test_wide(void **state)
{
    const rk_model model = model_of("deepseek-v3");
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    (void)state;
    const rk_estimate one = estimate_of(&model, &system, &stack, &s);
    s.fp8_recipe = RK_FP8_MX;
    const rk_estimate other = estimate_of(&model, &system, &stack, &s);
    assert_memory_equal(&one, &other, sizeof(one));
    assert_true(one.times.part[RK_PART_CAST] <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights), cmocka_unit_test(test_low_params),
        cmocka_unit_test(test_saved),   cmocka_unit_test(test_router_input),
        cmocka_unit_test(test_casts),   cmocka_unit_test(test_weight_casts),
        cmocka_unit_test(test_gather),  cmocka_unit_test(test_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What backward keeps where weights are frozen: only inputs that an adapter reads. */
#include "blocks.h"

#include "strategy/strategy.h"

/* Bytes per token that a layer of Llama 3 8B keeps, with adapters of rank 16 on `modules`. */
static double kept_of(rk_precision precision, unsigned modules)
{
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("b200-sxm");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    rk_strategy s = rk_strategy_defaults(&model);
    s.precision = precision;
    if (modules) {
        rk_strategy_freeze(&model, 16, modules, &s);
    }
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_cost cost[2];
    layer_costs(&context, &model.types[0], cost);
    return cost[0].saved / context.tokens;
}

enum { H = 4096, F = 14336, KV = 1024, RANK = 16 };

/* Outputs that adapters of rank r keep: 2 r bytes per linear. */
static const double down = 2 * RANK;

/*
 * In 16 bits all linears keep their inputs: outputs of both norms, of attention (which its own
 * backward needs) and of the activation.  The frozen FFN keeps neither of its two.
 */
static void test_wide(void **state)
{
    const double all = kept_of(RK_BF16, 0), ffn_inputs = 2 * (H + F);
    (void)state;
    assert_near(kept_of(RK_BF16, RK_ADAPTED_ATTENTION), all - ffn_inputs + 2 * down, 1e-12);
    assert_near(kept_of(RK_BF16, RK_ADAPTED_FFN), all - 2 * H + 2 * down, 1e-12);
    assert_near(kept_of(RK_BF16, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN), all + 4 * down, 1e-12);
}

/*
 * In FP8 learning linears keep their inputs cast, that of the projection beside the output of
 * attention; what adapters read is in 16 bits.
 */
static void test_low(void **state)
{
    const double all = kept_of(RK_FP8, 0), cast = 1 * (3 * H + F);
    (void)state;
    assert_near(kept_of(RK_FP8, RK_ADAPTED_ATTENTION), all - cast + 2 * H + 2 * down, 1e-12);
    assert_near(kept_of(RK_FP8, RK_ADAPTED_FFN), all - cast + 2 * (H + F) + 2 * down, 1e-12);
}

/* Routed experts, which have no adapters, keep no inputs; nor does their router. */
static void test_experts(void **state)
{
    const rk_model model = model_of("mixtral-8x7b");
    const rk_system system = system_of("b200-sxm");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context learns = rk_block_context_of(&model, &system, &stack, &s);
    rk_cost all[2], frozen[2];
    (void)state;
    layer_costs(&learns, &model.types[0], all);
    rk_strategy_freeze(&model, RANK, RK_ADAPTED_ATTENTION, &s);
    const rk_block_context adapts = rk_block_context_of(&model, &system, &stack, &s);
    layer_costs(&adapts, &model.types[0], frozen);
    /* two experts per token: their permuted inputs and activations; the output of the norm */
    const double gone = 2 * (2 * (H + F) + H);
    assert_near(frozen[0].saved / learns.tokens, all[0].saved / learns.tokens - gone + 2 * down,
                1e-12);
}

/* A frozen head needs the gradient of its input alone: the output of the last norm is not kept. */
static void test_head(void **state)
{
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("b200-sxm");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context learns = rk_block_context_of(&model, &system, &stack, &s);
    const double all = rk_block_head(&learns).saved;
    (void)state;
    rk_strategy_freeze(&model, RANK, RK_ADAPTED_ATTENTION, &s);
    const rk_block_context adapts = rk_block_context_of(&model, &system, &stack, &s);
    assert_near(rk_block_head(&adapts).saved, all - 2 * H * learns.tokens, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_low),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The attention kernel that a strategy names: its time, casts and messages. */
#include "blocks.h"
#include "system/flash_lent.h"

static rk_cost mixer_cost(const rk_model *model, const rk_system *system, const rk_stack *stack,
                          const rk_strategy *s)
{
    const rk_block_context context = rk_block_context_of(model, system, stack, s);
    return rk_block_mixer(&context, &model->types[0]);
}

/* A sequence of Llama 3 8B. */
static rk_flash_work work_of(rk_flash_library library, double tokens, bool backward)
{
    return (rk_flash_work){.library = library,
                           .heads = 32,
                           .group = 4,
                           .queries = tokens,
                           .keys = tokens,
                           .qk_size = 128,
                           .v_size = 128,
                           .causal = true,
                           .backward = backward,
                           .sustained = true};
}

static double ratio_of(const rk_cost *a, const rk_cost *b, bool backward)
{
    return backward ? a->backward.part[RK_PART_ATTENTION] / b->backward.part[RK_PART_ATTENTION]
                    : a->forward.part[RK_PART_ATTENTION] / b->forward.part[RK_PART_ATTENTION];
}

/* Against the kernel of the stack time changes as the kernels themselves differ, and no more. */
static void test_ratio(void **state)
{
    const rk_model model = model_of("llama3-8b");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    (void)state;
    assert_int_equal(stack.attention_kernel, RK_KERNEL_CUDNN);
    const rk_system system = system_of("gb200-nvl72");
    for (int64_t seq = 4096; seq <= 65536; seq *= 4) {
        rk_strategy s = rk_strategy_defaults(&model);
        s.seq = seq;
        const rk_cost usual = mixer_cost(&model, &system, &stack, &s);
        s.attention_kernel = RK_KERNEL_CUDNN;
        const rk_cost same = mixer_cost(&model, &system, &stack, &s);
        assert_memory_equal(&usual, &same, sizeof(usual));
        s.attention_kernel = RK_KERNEL_CUDNN_FP8;
        const rk_cost low = mixer_cost(&model, &system, &stack, &s);
        for (int backward = 0; backward < 2; backward++) {
            const rk_flash_work eight = work_of(RK_FLASH_CUDNN_FP8, (double)seq, backward == 1);
            const rk_flash_work sixteen = work_of(RK_FLASH_CUDNN, (double)seq, backward == 1);
            const double wanted = rk_flash_seconds(&system.accelerator, &eight) /
                                  rk_flash_seconds(&system.accelerator, &sixteen);
            assert_near(ratio_of(&low, &usual, backward == 1), wanted, 1e-4);
        }
    }
}

/* Under a stack that names no kernel, a kernel takes its own time. */
static void test_unnamed(void **state)
{
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("gb200-nvl72");
    rk_stack stack = stack_of("megatron-2025-blackwell");
    rk_strategy s = rk_strategy_defaults(&model);
    (void)state;
    stack.attention_kernel = RK_KERNEL_OF_STACK;
    stack.attention_share = stack.attention_backward_share = 0.5;
    s.seq = 8192;
    s.attention_kernel = RK_KERNEL_CUDNN_FP8;
    const rk_cost cost = mixer_cost(&model, &system, &stack, &s);
    for (int backward = 0; backward < 2; backward++) {
        const rk_flash_work w = work_of(RK_FLASH_CUDNN_FP8, 8192, backward == 1);
        const double found =
            backward ? cost.backward.part[RK_PART_ATTENTION] : cost.forward.part[RK_PART_ATTENTION];
        assert_near(found, rk_flash_seconds(&system.accelerator, &w), 1e-4);
    }
}

/* Queries, keys, values and the gradient of the output are cast; a ring sends casts. */
static void test_casts(void **state)
{
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("gb200-nvl72");
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    (void)state;
    for (int kind = RK_CP_RING; kind <= RK_CP_ULYSSES; kind++) {
        rk_strategy s = rk_strategy_defaults(&model);
        s.cp = 4;
        s.cp_kind = (rk_cp_kind)kind;
        const rk_cost wide = mixer_cost(&model, &system, &stack, &s);
        s.attention_kernel = RK_KERNEL_CUDNN_MXFP8;
        const rk_cost low = mixer_cost(&model, &system, &stack, &s);
        const double less = kind == RK_CP_RING ? 2 : 1;
        assert_near(less * low.sent_forward.context, wide.sent_forward.context, 1e-12);
        assert_near(less * low.sent_backward.context, wide.sent_backward.context, 1e-12);
        assert_true(low.forward.part[RK_PART_CAST] > wide.forward.part[RK_PART_CAST]);
        assert_true(low.backward.part[RK_PART_CAST] > low.forward.part[RK_PART_CAST]);
    }
}

/* A kernel that does not exist for the accelerator is refused, and the message names both. */
static void test_refused(void **state)
{
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("a100-sxm-80gb");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_legality violation = {.rule = NULL};
    (void)state;
    s.attention_kernel = RK_KERNEL_CUDNN_FP8;
    assert_false(rk_strategy_legal(&model, &system, &s, RK_FRAMEWORK_ANY, &violation));
    assert_non_null(strstr(violation.message, "a100-sxm-80gb"));
    assert_non_null(strstr(violation.message, "cudnn_fp8"));
    s.attention_kernel = RK_KERNEL_OF_STACK;
    assert_true(rk_strategy_legal(&model, &system, &s, RK_FRAMEWORK_ANY, &violation));
}

/* Times of the two passes with a kernel over those without. */
static void ratios_on(const char *accelerator, rk_attention_kernel kernel, double ratios[2])
{
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of(accelerator);
    const rk_stack stack = stack_of("megatron-2025-blackwell");
    rk_legality violation;
    rk_strategy s = rk_strategy_defaults(&model);
    s.seq = 8192;
    const rk_cost usual = mixer_cost(&model, &system, &stack, &s);
    s.attention_kernel = kernel;
    assert_true(rk_strategy_legal(&model, &system, &s, RK_FRAMEWORK_ANY, &violation));
    const rk_cost other = mixer_cost(&model, &system, &stack, &s);
    ratios[0] = ratio_of(&other, &usual, false);
    ratios[1] = ratio_of(&other, &usual, true);
}

/*
 * A kernel without rates on the accelerator has the ratio to cudnn of the nearest one: B300 that of
 * GB300, the same chip.  Of kernels that no accelerator of the generation has, the time is usual.
 */
static void test_lent(void **state)
{
    const rk_system ultra = system_of("gb300-nvl72"), hopper = system_of("h100-sxm");
    double found[2];
    (void)state;
    ratios_on("b300-sxm", RK_KERNEL_CUDNN_FP8, found);
    for (int backward = 0; backward < 2; backward++) {
        const rk_flash_work eight = work_of(RK_FLASH_CUDNN_FP8, 8192, backward == 1);
        const rk_flash_work sixteen = work_of(RK_FLASH_CUDNN, 8192, backward == 1);
        assert_near(found[backward],
                    rk_flash_seconds(&ultra.accelerator, &eight) /
                        rk_flash_seconds(&ultra.accelerator, &sixteen),
                    1e-4);
        assert_true(found[backward] < 0.95);
    }
    ratios_on("h100-sxm", RK_KERNEL_FLASH_3, found);
    assert_near(found[0], 1, 1e-12);
    assert_near(found[1], 1, 1e-12);
    ratios_on("h100-sxm", RK_KERNEL_FLASH_2, found); /* backward is not measured */
    const rk_flash_work two = work_of(RK_FLASH_2, 8192, false);
    const rk_flash_work cudnn = work_of(RK_FLASH_CUDNN, 8192, false);
    assert_near(found[0],
                rk_flash_seconds(&hopper.accelerator, &two) /
                    rk_flash_seconds(&hopper.accelerator, &cudnn),
                1e-4);
    assert_true(found[1] > 1.5 && found[1] < 2.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratio), cmocka_unit_test(test_unnamed),
        cmocka_unit_test(test_casts), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

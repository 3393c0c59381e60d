/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UT-L7: Mamba-1 against a layer of Jamba, whose 105,308,448 parameters are those of the released
 * weights.
 */
#include "blocks.h"

static rk_layer_type jamba_layer(void)
{
    return (rk_layer_type){
        .mixer = &rk_mixer_mamba1,
        .feed_forward = &rk_feed_forward_none,
        .recurrence = {.heads = 8192,
                       .key_heads = 1,
                       .key_size = 16,
                       .value_size = 1,
                       .conv_width = 4,
                       .conv_bias = true,
                       .chunk = 1,
                       .step_rank = 256,
                       .inner_norms = true},
    };
}

static rk_model model_with(const rk_layer_type *type)
{
    const uint8_t kinds[RK_LAYER_MAX] = {0};
    rk_model model = {.hidden = 4096, .vocab = 65536, .seq = 4096, .norms_per_layer = 2};
    rk_model_set_layers(&model, type, kinds, 8);
    assert_int_equal(rk_model_check(&model, NULL), RK_OK);
    return model;
}

static void test_layer(void **state)
{
    const rk_layer_type type = jamba_layer();
    const rk_model model = model_with(&type);
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost cost = rk_block_mixer(&context, &type);
    const double d = 8192, N = 16, r = 256, h = 4096, T = context.tokens;
    const double products = 2 * (3 * h * d + d * (2 * r + 2 * N));
    (void)state;
    assert_int_equal(rk_layer_params_of(&model, &type).attention, 105308448);
    assert_near(cost.flops_forward / T, products + 9 * d * N + 2 * 4 * d, 1e-12);
    /* the projection, x behind the convolution, dt with B and C before and after, y, its gate */
    assert_near(cost.saved / T, 2 * (5 * d + r + 2 * N) + 2 * d, 1e-12);
}

/* Channels split over tensor ranks, which sum the inputs of dt, B and C; context ranks cannot. */
static void test_splits(void **state)
{
    const rk_layer_type type = jamba_layer();
    const rk_model model = model_with(&type);
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_legality violation;
    (void)state;
    s.tp = 4;
    assert_legal(&model, &system, &s);
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost cost = rk_block_mixer(&context, &type);
    assert_near(cost.sent_forward.tensor, 2 * context.tokens * (256 + 32) * 2 * 3 / 4, 1e-12);
    s.tp = 1;
    s.cp = 2;
    assert_false(rk_strategy_legal(&model, &system, &s, RK_FRAMEWORK_ANY, &violation));
    assert_string_equal(violation.rule, "state_heads % (tp*cp)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer),
        cmocka_unit_test(test_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

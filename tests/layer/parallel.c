/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and Mamba-2 side by side: the released weights of Falcon-H1, and sums of both parts. */
#include "blocks.h"

/* Falcon-H1 0.5B; 521,411,104 parameters on the Hub. */
static const rk_attention_shape attention = {.query_heads = 8, .kv_heads = 2, .head_size = 64};
static const rk_recurrence_shape states = {.heads = 24,
                                           .key_heads = 1,
                                           .key_size = 128,
                                           .value_size = 64,
                                           .conv_width = 4,
                                           .conv_bias = true,
                                           .chunk = 128,
                                           .bare_output = true};

static rk_layer_type layer_of(const rk_mixer *mixer)
{
    return (rk_layer_type){.mixer = mixer,
                           .feed_forward = &rk_feed_forward_none,
                           .attention = attention,
                           .recurrence = states};
}

static rk_model model_with(const rk_layer_type *type)
{
    const uint8_t kinds[RK_LAYER_MAX] = {0};
    rk_model model = {.name = "parallel",
                      .hidden = 1024,
                      .vocab = 32784,
                      .seq = 8192,
                      .norms_per_layer = 2,
                      .final_norm = true};
    rk_model_set_layers(&model, type, kinds, 8);
    return model;
}

static rk_cost cost_of(const rk_mixer *mixer)
{
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_layer_type type = layer_of(mixer);
    const rk_model model = model_with(&type);
    const rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_cost cost[2];
    layer_costs(&context, &type, cost);
    return cost[0];
}

static void test_parameters(void **state)
{
    const rk_layer_type type = layer_of(&rk_mixer_parallel);
    const rk_model model = model_with(&type);
    (void)state;
    const int64_t ends = 2 * 32784 * 1024 + 1024, network = 3 * 1024 * 2048 + 2 * 1024;
    assert_int_equal(36 * (rk_layer_params_of(&model, &type).attention + network) + ends,
                     521411104);
}

/* One norm, input and output serve both parts; sums of outputs are new. */
static void test_sums(void **state)
{
    const rk_cost both = cost_of(&rk_mixer_parallel), one = cost_of(&rk_mixer_grouped);
    const rk_cost other = cost_of(&rk_mixer_mamba2), neither = cost_of(&rk_mixer_none);
    (void)state;
    assert_near(both.flops_forward, one.flops_forward + other.flops_forward, 1e-12);
    assert_near(both.flops_backward, one.flops_backward + other.flops_backward, 1e-12);
    assert_near(both.saved, one.saved + other.saved - neither.saved, 1e-12);
    assert_near(both.dense_params, one.dense_params + other.dense_params - neither.dense_params,
                1e-12);
    assert_true(both.transient > 0);
    assert_near(both.transient, fmax(one.transient, other.transient), 1e-12);
    assert_true(other.transient > one.transient);
}

/* A bare output lacks d weights, their traffic and a copy of d elements. */
static void test_bare_output(void **state)
{
    rk_layer_type bare = layer_of(&rk_mixer_mamba2), normed = bare;
    const rk_model model = model_with(&bare);
    (void)state;
    normed.recurrence.bare_output = false;
    assert_int_equal(rk_layer_params_of(&model, &normed).attention -
                         rk_layer_params_of(&model, &bare).attention,
                     24 * 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_bare_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

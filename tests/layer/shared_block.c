/* SPDX-License-Identifier: Apache-2.0 */
/* A block that layers share beside Mamba-2: the sizes of Zamba2-1.2B, layer by layer. */
#include "blocks.h"

enum { HIDDEN = 2048, HEADS = 32, SIZE = 128, WIDTH = 8192, RANK = 128 };

static const rk_recurrence_shape states = {.heads = 64,
                                           .key_heads = 1,
                                           .key_size = 128,
                                           .value_size = 64,
                                           .conv_width = 4,
                                           .conv_bias = true,
                                           .chunk = 256};

static rk_layer_type layer_of(const rk_mixer *mixer, bool borrowed)
{
    rk_layer_type type = {
        .mixer = mixer, .feed_forward = &rk_feed_forward_none, .recurrence = states};
    if (mixer == &rk_mixer_shared) {
        type.attention =
            (rk_attention_shape){.query_heads = HEADS, .kv_heads = HEADS, .head_size = SIZE};
        type.ffn = (rk_ffn_shape){.width = WIDTH, .gated = true};
        type.shared = (rk_shared_shape){borrowed, RANK, true};
    }
    return type;
}

static rk_model model_with(const rk_layer_type *type)
{
    const uint8_t kinds[RK_LAYER_MAX] = {0};
    rk_model model = {.name = "shared",
                      .hidden = HIDDEN,
                      .vocab = 32000,
                      .seq = 4096,
                      .norms_per_layer = 2,
                      .tied = true,
                      .final_norm = true};
    rk_model_set_layers(&model, type, kinds, 4);
    return model;
}

static int64_t params_of(const rk_layer_type *type)
{
    const rk_model model = model_with(type);
    return rk_layer_params_of(&model, type).total;
}

static rk_cost cost_of(const rk_layer_type *type, int64_t tp)
{
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_model model = model_with(type);
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = tp;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_cost cost[2];
    layer_costs(&context, type, cost);
    return cost[0];
}

/* Of one block: attention 2 h -> 3 n d -> h, a gated network, norms of 2 h and h. */
static const int64_t block = (int64_t)2 * HIDDEN * 3 * HEADS * SIZE + HEADS * SIZE * HIDDEN +
                             3 * HIDDEN * WIDTH + 3 * HIDDEN;

/* Of one use: a projection, and adapters of queries, keys, values and of gate and up. */
static const int64_t use =
    (int64_t)HIDDEN * HIDDEN + RANK * (HIDDEN + 2 * WIDTH) + 3 * RANK * (2 * HIDDEN + HEADS * SIZE);

/* 38 layers, six uses of one block; 1,215,064,704 parameters on the Hub. */
static void test_parameters(void **state)
{
    const rk_layer_type own = layer_of(&rk_mixer_shared, false);
    const rk_layer_type borrowed = layer_of(&rk_mixer_shared, true);
    const rk_layer_type plain = layer_of(&rk_mixer_mamba2, false);
    (void)state;
    assert_int_equal(params_of(&own) - params_of(&borrowed), block);
    assert_int_equal(params_of(&borrowed) - params_of(&plain), use);
    assert_int_equal(32 * params_of(&plain) + params_of(&own) + 5 * params_of(&borrowed) +
                         (int64_t)32000 * HIDDEN + HIDDEN,
                     1215064704);
}

/* A layer computes with what it borrows as with what it owns: a product and an addition for each
 * weight and token, and core attention. */
static void test_work(void **state)
{
    const rk_layer_type own = layer_of(&rk_mixer_shared, false);
    const rk_layer_type borrowed = layer_of(&rk_mixer_shared, true);
    const rk_layer_type plain = layer_of(&rk_mixer_mamba2, false);
    const rk_cost owns = cost_of(&own, 1), borrows = cost_of(&borrowed, 1);
    const rk_cost alone = cost_of(&plain, 1);
    const double products = 2.0 * 4096 * (double)(block - 3 * HIDDEN + use);
    const double core = 2.0 * 4096 * 4096 * HEADS * SIZE; /* half of the scores, two products */
    (void)state;
    assert_near(owns.flops_forward, borrows.flops_forward, 1e-15);
    assert_near(owns.flops_forward - alone.flops_forward, products + core, 1e-12);
    assert_near(owns.saved, borrows.saved, 1e-15);
    assert_true(owns.saved > alone.saved);
    assert_near(owns.dense_params - borrows.dense_params, (double)block, 1e-12);
}

/* Of two tensor ranks each has the projection, both norms and the inputs of adapters whole. */
static void test_split(void **state)
{
    const rk_layer_type own = layer_of(&rk_mixer_shared, false);
    const rk_layer_type plain = layer_of(&rk_mixer_mamba2, false);
    const double whole = (double)HIDDEN * HIDDEN + 3 * HIDDEN + RANK * 7.0 * HIDDEN;
    const double split = (double)(block + use) - whole;
    (void)state;
    assert_near(cost_of(&own, 2).dense_params - cost_of(&plain, 2).dense_params, whole + split / 2,
                1e-12);
}

/* Inputs and outputs of all linears that adapters of rank 1 learn in one of four layers. */
static double adapted(bool borrowed, bool apart)
{
    const rk_layer_type type = layer_of(&rk_mixer_shared, borrowed);
    const rk_model model = model_with(&type);
    rk_strategy s = rk_strategy_defaults(&model);
    s.adapter_bytes = apart ? 4 : 0;
    rk_strategy_freeze(&model, 1, RK_ADAPTED_ATTENTION, &s);
    return s.learning * (double)rk_model_params_of(&model).total / 4;
}

/*
 * Megatron's linears of queries, keys and values together and of gate and up, and the input of the
 * state-space layer: gates and x of 64 x 64, B and C of 128, 64 steps.  On the Hub they are apart,
 * and that input has no adapter.  Every use has a projection; a borrowed block learns with its
 * owner.
 */
static void test_adapters(void **state)
{
    const double inner = 64 * 64, projection = 2 * HIDDEN, output = HEADS * SIZE + HIDDEN;
    const double states_in = HIDDEN + 2 * inner + 2 * 128 + 64, states_out = inner + HIDDEN;
    (void)state;
    assert_near(adapted(true, false), states_in + states_out + projection, 1e-12);
    assert_near(adapted(false, false) - adapted(true, false),
                2 * HIDDEN + 3 * HEADS * SIZE + output + 2 * HIDDEN + 3 * WIDTH, 1e-12);
    assert_near(adapted(true, true), states_out + projection, 1e-12);
    assert_near(adapted(false, true) - adapted(true, true),
                3 * (2 * HIDDEN + HEADS * SIZE) + output + 3 * (HIDDEN + WIDTH), 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_adapters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

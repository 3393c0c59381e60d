/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that borrow keys and values, values that are the keys, gates of heads, and embeddings of
 * another width than the layers: what such layers keep, hold and may not be split into.
 */
#include "blocks.h"

/* Hunyuan-Large: of two layers the first makes keys and values, the second borrows them. */
static void test_borrowed(void **state)
{
    const rk_model model = model_of("hunyuan-large");
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost own = rk_block_mixer(&context, &model.types[0]);
    const rk_cost borrowed = rk_block_mixer(&context, &model.types[1]);
    const double kv = 8 * 80, h = 6400, T = context.tokens;
    (void)state;
    assert_int_equal(model.type_count, 2);
    /* the projection of keys and values, 2 h (k + v) FLOPs per token */
    assert_near(own.flops_forward - borrowed.flops_forward, 2 * T * h * 2 * kv, 1e-12);
    /* keys and values in 16 bits, and keys before their norm */
    assert_near(own.saved - borrowed.saved, 2 * T * 3 * kv, 1e-12);
}

/* A pipeline stage cannot start with a layer whose keys and values lie on the stage before. */
static void test_stages(void **state)
{
    const rk_model model = model_of("hunyuan-large");
    const rk_system system = system_of("h100-sxm");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_legality violation;
    (void)state;
    s.pp = 4;
    s.global_batch = 8;
    assert_legal(&model, &system, &s);
    s.first_stage_layers = 13;
    s.last_stage_layers = 17;
    assert_false(rk_strategy_legal(&model, &system, &s, RK_FRAMEWORK_ANY, &violation));
    assert_string_equal(violation.rule, "borrowed keys and values");
}

/* Values that are the keys are not projected, but kept; a gate of heads has one output each. */
static void test_gates(void **state)
{
    rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_layer_type type = model.types[0];
    const rk_cost plain = rk_block_mixer(&context, &type);
    const double T = context.tokens;
    (void)state;
    type.attention.kv_source = RK_KV_KEYS;
    const rk_cost keys = rk_block_mixer(&context, &type);
    assert_near(plain.flops_forward - keys.flops_forward, 2 * T * 4096 * 1024, 1e-12);
    assert_near(plain.saved, keys.saved, 1e-12);
    type.attention.kv_source = RK_KV_OWN;
    type.attention.head_gate = true;
    const rk_cost gated = rk_block_mixer(&context, &type);
    assert_near(gated.flops_forward - plain.flops_forward, 2 * T * 4096 * 32, 1e-9);
    assert_near(gated.saved - plain.saved, 2 * T * 32, 1e-9);
}

/* OPT-350M: tables of half the width, and a projection at each end. */
static void test_narrow(void **state)
{
    rk_model model = gpt_of(4, 1024, 16);
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context wide = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost before = rk_block_head(&wide);
    (void)state;
    model.embedding_width = 512;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost head = rk_block_head(&context), embedding = rk_block_embedding(&context);
    const double T = context.tokens, V = context.vocab;
    assert_near(before.flops_forward - head.flops_forward, 2 * T * (V * 512 - 512 * 1024), 1e-12);
    assert_near(before.dense_params - head.dense_params, V * 512 - 512 * 1024, 1e-12);
    assert_near(embedding.flops_forward, 2 * T * 512 * 1024, 1e-12);
    assert_near(embedding.dense_params, V * 512 + 512 * 1024 + 2048 * 1024, 1e-12);
}

/* Gemma 4: a table of p columns for every layer, split over tensor ranks; its projections whole. */
static void test_layer_embedding(void **state)
{
    rk_model model = gpt_of(4, 1024, 16);
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 2;
    const rk_block_context plain = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost before = rk_block_embedding(&plain);
    rk_cost without[2], with[2];
    (void)state;
    layer_costs(&plain, &model.types[0], without);
    model.layer_embedding = 256;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost after = rk_block_embedding(&context);
    const double columns = 4 * 256, V = (double)model.vocab;
    layer_costs(&context, &model.types[0], with);
    assert_near(after.dense_params - before.dense_params, columns * (V / 2 + 1024) + 256, 1e-12);
    assert_near(with[0].dense_params - without[0].dense_params, 2 * 1024 * 256 + 2 * 1024, 1e-12);
    assert_near(with[0].flops_forward - without[0].flops_forward,
                4 * context.local_tokens * 1024 * 256, 1e-9);
}

/* Sequence shards project the embeddings of layers for their own tokens. */
static void test_embedding_shards(void **state)
{
    rk_model model = gpt_of(4, 1024, 16);
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    double flops[2];
    (void)state;
    model.layer_embedding = 256;
    s.tp = 2;
    for (int sp = 0; sp < 2; sp++) {
        s.sp = sp;
        const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
        flops[sp] = rk_block_embedding(&context).flops_forward;
    }
    assert_near(flops[0], 2.0 * (double)s.seq * 4 * 256 * 1024, 1e-12);
    assert_near(flops[1], flops[0] / 2, 1e-12);
}

/* LongCat-Flash: of 12 choices 8 reach one of 512 experts with weights, of 768. */
static void test_zero_experts(void **state)
{
    const rk_moe_shape moe = {.experts = 512, .top_k = 12, .zero_experts = 256};
    rk_model model = model_of("qwen3-30b-a3b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_layer_type type = model.types[0];
    rk_cost plain[2], beside[2];
    (void)state;
    assert_near(rk_moe_reached(&moe), 8, 1e-15);
    stack.deduplicates = false; /* a copy of a token for each expert */
    s.dp = s.ep = 8;
    s.global_batch = 8;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    layer_costs(&context, &type, plain);
    type.moe.shortcut = true; /* the exchange is far shorter than attention */
    layer_costs(&context, &type, beside);
    assert_true(plain[0].forward.part[RK_PART_EP] > beside[0].forward.part[RK_PART_EP]);
    assert_near(plain[0].sent_forward.expert, beside[0].sent_forward.expert, 1e-15);
    type.moe.zero_experts = type.moe.experts;
    layer_costs(&context, &type, beside);
    assert_near(plain[0].sent_forward.expert, 2 * beside[0].sent_forward.expert, 1e-12);
}

/* The most loaded rank computes as much as its capacity, however uneven the routing is. */
static void test_capacity(void **state)
{
    const rk_model model = model_of("mixtral-8x7b");
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    double flops[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        rk_strategy s = rk_strategy_defaults(&model);
        rk_cost cost[2];
        s.dp = s.ep = s.global_batch = 8;
        s.imbalance = i == 1 ? 1.25 : 2;
        s.capacity_factor = i == 2 ? 1.25 : 0;
        const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
        layer_costs(&context, &model.types[0], cost);
        flops[i] = cost[0].flops_forward;
    }
    assert_true(flops[0] > 1.2 * flops[1]);
    assert_near(flops[2], flops[1], 1e-12);
}

/* Factors on the input of the router and on each of 128 experts, which tensor ranks do not split.
 */
static void test_router_scales(void **state)
{
    const rk_model model = model_of("qwen3-30b-a3b");
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_layer_type type = model.types[0];
    int64_t router[2];
    rk_cost cost[2][2];
    (void)state;
    s.tp = 2;
    for (int scales = 0; scales < 2; scales++) {
        type.moe.router_scales = scales;
        const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
        router[scales] = rk_layer_params_of(&model, &type).router;
        layer_costs(&context, &type, cost[scales]);
    }
    assert_int_equal(router[1] - router[0], 2048 + 128);
    assert_near(cost[1][0].dense_params - cost[0][0].dense_params, 2048 + 128, 1e-9);
}

/*
 * A benchmark's gate gives token i experts 8 i to 8 i + 7 of 128: on 8 ranks of 16 experts all of
 * them lie on one rank, on 32 ranks of 4 on two; of 3 experts that begin anywhere among fours,
 * every second token has a place more (1.5).
 */
static void test_routes_in_turn(void **state)
{
    static const struct {
        int64_t ranks, top_k;
        double copies;
    } cases[] = {{8, 8, 1}, {32, 8, 2}, {32, 3, 1.5}};
    rk_model model = model_of("qwen3-30b-a3b");
    const rk_system system = system_of("gb200-nvl72-pod"); /* one domain */
    rk_stack stack = stack_of("megatron-2025-blackwell");
    rk_layer_type type = model.types[0];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        rk_strategy s = rk_strategy_defaults(&model);
        rk_cost each[2], merged[2];
        s.dp = s.ep = s.global_batch = cases[i].ranks;
        type.moe.top_k = cases[i].top_k;
        stack.deduplicates = stack.routes_in_turn = false;
        const rk_block_context all = rk_block_context_of(&model, &system, &stack, &s);
        layer_costs(&all, &type, each);
        stack.deduplicates = stack.routes_in_turn = true;
        const rk_block_context once = rk_block_context_of(&model, &system, &stack, &s);
        layer_costs(&once, &type, merged);
        assert_near(merged[0].sent_forward.expert * (double)cases[i].top_k,
                    each[0].sent_forward.expert * cases[i].copies, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_borrowed),        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_gates),           cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_layer_embedding), cmocka_unit_test(test_routes_in_turn),
        cmocka_unit_test(test_zero_experts),    cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_router_scales),   cmocka_unit_test(test_embedding_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

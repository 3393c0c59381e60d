/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delta rules, lightning attention and short convolutions, against parameters of released weights,
 * FLOPs as frameworks count them, and what kernels execute and keep.
 */
#include "blocks.h"

static rk_layer_type layer_of(const rk_mixer *mixer, rk_recurrence_shape shape)
{
    return (rk_layer_type){
        .mixer = mixer, .feed_forward = &rk_feed_forward_none, .recurrence = shape};
}

static rk_model model_with(const rk_layer_type *type, int64_t hidden)
{
    const uint8_t kinds[RK_LAYER_MAX] = {0};
    rk_model model = {.hidden = hidden, .vocab = 131072, .seq = 4096, .norms_per_layer = 2};
    rk_model_set_layers(&model, type, kinds, 8);
    assert_int_equal(rk_model_check(&model, NULL), RK_OK);
    return model;
}

static const rk_recurrence_shape qwen3_next = {16 * 2, 16,    128, 128,   4,     64,
                                               false,  false, 0,   false, false, false};
static const rk_recurrence_shape kimi_linear = {32,    32,    128, 128,   4,     64,
                                                false, false, 0,   false, false, false};
static const rk_recurrence_shape kimi_k3 = {96,    96,   128, 128,   4,     64,
                                            false, true, 0,   false, false, false};
static const rk_recurrence_shape minimax = {64,    64,    128, 128,   0,     256,
                                            false, false, 0,   false, false, false};
static const rk_recurrence_shape lfm2 = {1536,  1536,  1, 1,     3,     1,
                                         false, false, 0, false, false, false};

/* Hidden size, parameters without norms, forward MFLOPs as counted; kept bytes, executed FLOPs
 * without products with weights and the convolution, both passes; 0: no figure is known. */
struct figures {
    const rk_mixer *mixer;
    const rk_recurrence_shape *shape;
    int64_t hidden, parameters;
    double counted, saved, forward, backward;
};

/*
 * UT-L8, UT-L9, UT-L11 Qwen3-Next; UT-L10, UT-L14 the same and Kimi-Linear as counted; UT-L12 Kimi;
 * UT-L16, UT-L17 MiniMax-Text-01; UT-L23 a layer of LFM2 of hidden size 1536.
 */
static void test_figures(void **state)
{
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const struct figures known[] = {
        {&rk_mixer_gated_delta, &qwen3_next, 2048, 33718464, 71.631, 86464, 5898240, 16777216},
        {&rk_mixer_kimi_delta, &kimi_linear, 2304, 39514272, 100.450, 0, 5898240, 16777216},
        {&rk_mixer_kimi_delta, &kimi_k3, 7168, 443740384, 0, 0, 0, 0},
        {&rk_mixer_lightning, &minimax, 6144, 251666432, 0, 0, 4194304 + 8388608, 0},
        {&rk_mixer_convolution, &lfm2, 1536, 9441792, 0, 12 * 1536, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct figures *k = &known[i];
        const rk_recurrence_shape *r = k->shape;
        const rk_layer_type type = layer_of(k->mixer, *r);
        const rk_model model = model_with(&type, k->hidden);
        const rk_layer_params p = rk_layer_params_of(&model, &type);
        const rk_strategy s = rk_strategy_defaults(&model);
        const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
        const double convolved =
            2 * (double)(r->key_heads * r->key_size) + (double)(r->heads * r->value_size);
        const double conv = 2 * (double)r->conv_width * convolved, T = context.tokens;
        const double products = 2 * (double)p.gemm;
        rk_cost cost[2];
        layer_costs(&context, &type, cost);
        assert_int_equal(p.attention, k->parameters);
        if (k->counted > 0) {
            const double mixing = k->mixer->flops(&type, k->hidden, 4096, RK_REACH_HALF) / 3;
            assert_near((2 * (double)p.counted + mixing) / 1e6, k->counted, 1e-5);
        }
        if (k->saved > 0) {
            assert_near(cost[0].saved / T, k->saved, 1e-12);
        }
        if (k->forward > 0) {
            assert_near(cost[0].flops_forward / T - products - conv, k->forward, 1e-9);
        }
        if (k->backward > 0) {
            assert_near(cost[0].flops_backward / T - 2 * (products + conv), k->backward, 1e-9);
        }
    }
}

/*
 * The delta rule takes what flash-linear-attention measures on GB200, at lengths that fill it; its
 * constants come from other software's forward passes.
 */
static void test_measured(void **state)
{
    static const struct {
        double batch, tokens;
        int64_t heads;
        double forward_ms, both_ms;
    } rows[] = {
        {1, 8192, 96, 1.265, 4.738},
        {4, 4096, 64, 1.581, 5.964},
        {2, 16384, 16, 1.029, 3.616},
    };
    const rk_system system = system_of("gb200-nvl72");
    const rk_stack stack = stack_of("megatron-2026-blackwell");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const rk_recurrence_shape shape = {rows[i].heads, rows[i].heads, 128, 128,   0,     64,
                                           false,         false,         0,   false, false, false};
        const rk_layer_type type = layer_of(&rk_mixer_gated_delta, shape);
        const rk_model model = model_with(&type, 4096);
        rk_strategy s = rk_strategy_defaults(&model);
        s.micro_batch = s.global_batch = (int64_t)rows[i].batch;
        s.seq = (int64_t)rows[i].tokens;
        const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
        const rk_cost mixer = rk_block_mixer(&context, &type);
        const double forward = 1e3 * mixer.forward.part[RK_PART_ATTENTION];
        const double both = forward + 1e3 * mixer.backward.part[RK_PART_ATTENTION];
        /* 16 heads wait for chunks, 96 do not */
        assert_true(fabs(forward / rows[i].forward_ms - 1) < 0.06);
        assert_true(fabs(both / rows[i].both_ms - 1) < 0.06);
    }
}

static double mixer_seconds(const rk_system *system, const rk_layer_type *type,
                            const rk_strategy *s, double *bare)
{
    const rk_stack stack = stack_of("megatron-2026-blackwell");
    const rk_model model = model_with(type, 4096);
    rk_stack slow = stack;
    slow.delta_flop_share = stack.delta_flop_share / 4;
    slow.delta_stream_share = stack.delta_stream_share / 4;
    const rk_block_context context = rk_block_context_of(&model, system, &stack, s);
    const rk_block_context other = rk_block_context_of(&model, system, &slow, s);
    *bare = rk_block_mixer(&other, type).forward.part[RK_PART_ATTENTION];
    return rk_block_mixer(&context, type).forward.part[RK_PART_ATTENTION];
}

/*
 * Rates of the accelerator count in 16 bits and where it has them, the shares of the stack
 * elsewhere.  States are passed on along documents.
 */
static void test_rates(void **state)
{
    const rk_system measured = system_of("gb200-nvl72"), other = system_of("a100-sxm-80gb");
    const rk_layer_type type = layer_of(&rk_mixer_kimi_delta, kimi_linear);
    const rk_model model = model_with(&type, 4096);
    const rk_delta_rates *kimi = &measured.accelerator.delta[RK_DELTA_KIMI];
    rk_strategy s = rk_strategy_defaults(&model);
    double bare = 0;
    (void)state;
    s.seq = 16384;
    const double whole = mixer_seconds(&measured, &type, &s, &bare);
    assert_true(whole == bare);
    assert_true(mixer_seconds(&other, &type, &s, &bare) < bare);
    s.document = 4096;
    const double cut = mixer_seconds(&measured, &type, &s, &bare);
    assert_near(whole - cut, 12288 * kimi->token, 1e-9);
    s.precision = RK_TF32;
    mixer_seconds(&measured, &type, &s, &bare);
    assert_true(mixer_seconds(&measured, &type, &s, &bare) < bare);
}

/* UT-L10: Megatron-LM's count of Qwen3-Next without multi-token prediction, of 4,096 tokens. */
static void test_counted(void **state)
{
    const rk_model model = model_of("qwen3-next-80b-a3b");
    (void)state;
    assert_near(rk_model_flops_per_token(&model, 4096, RK_FLOPS_MEGATRON) / 1e9, 22.740, 1e-4);
}

/*
 * UT-L15: Kimi-Linear keeps about 116 kB of a token and layer: the lists of tensors of
 * flash-linear-attention's kernels, of norms and of projections.
 */
static void test_kept(void **state)
{
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_layer_type type = layer_of(&rk_mixer_kimi_delta, kimi_linear);
    const rk_model model = model_with(&type, 2304);
    const rk_strategy s = rk_strategy_defaults(&model);
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_cost cost[2];
    (void)state;
    layer_costs(&context, &type, cost);
    assert_near(cost[0].saved / context.tokens, 116e3, 0.01);
}

/* Heads split over tensor and context ranks, which exchange the whole projection; KDA has no
 * context parallelism. */
static void test_splits(void **state)
{
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    const rk_layer_type type = layer_of(&rk_mixer_gated_delta, qwen3_next);
    const rk_layer_type kimi = layer_of(&rk_mixer_kimi_delta, kimi_linear);
    const rk_model model = model_with(&type, 2048), other = model_with(&kimi, 2304);
    rk_strategy s = rk_strategy_defaults(&model);
    rk_legality violation;
    (void)state;
    s.tp = 4;
    s.cp = 2;
    assert_legal(&model, &system, &s);
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const rk_cost mixer = rk_block_mixer(&context, &type);
    const double made = (2 * 2048 + 2 * 4096 + 64) / 4.0, values = 4096 / 4.0;
    assert_near(mixer.sent_forward.context, 2 * context.tokens * (made + values) / 2, 1e-12);
    assert_false(rk_strategy_legal(&other, NULL, &s, RK_FRAMEWORK_ANY, &violation));
    assert_string_equal(violation.rule, "state_heads % (tp*cp)");
    s.tp = 32;
    s.cp = 1;
    assert_false(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, &violation));
    assert_string_equal(violation.rule, "state_heads % tp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures), cmocka_unit_test(test_measured),
        cmocka_unit_test(test_rates),   cmocka_unit_test(test_counted),
        cmocka_unit_test(test_kept),    cmocka_unit_test(test_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

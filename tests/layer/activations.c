/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a layer and the head keep for backward, per token. */
#include "blocks.h"

static rk_cost layer_cost(const rk_model *model, int type, const rk_strategy *s)
{
    const rk_system system = system_of("h100-sxm");
    const rk_stack stack = stack_of("megatron-2025");
    assert_legal(model, &system, s);
    const rk_block_context context = rk_block_context_of(model, &system, &stack, s);
    rk_cost cost[2];
    layer_costs(&context, &model->types[type], cost);
    return cost[0];
}

static void test_dense_layers(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double bytes; /* per token */
    } known[] = {{"llama3-8b", 139392}, {"llama3-70b", 274688}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const rk_model model = model_of(known[i].model);
        rk_strategy s = rk_strategy_defaults(&model);
        assert_near(layer_cost(&model, 0, &s).saved / (double)s.seq, known[i].bytes, 1e-12);
        /* everything but the residual stream and the norms splits over tensor ranks */
        const double replicated = 8 * (double)model.hidden;
        s.tp = 8;
        assert_near(layer_cost(&model, 0, &s).saved / (double)s.seq,
                    replicated + (known[i].bytes - replicated) / 8, 1e-12);
        s.sp = true;
        assert_near(layer_cost(&model, 0, &s).saved / (double)s.seq, known[i].bytes / 8, 1e-12);
    }
}

/* The attention of DeepSeek-V3 with its norm: 201,344 bytes a token. */
static void test_latent_attention(void **state)
{
    (void)state;
    const rk_model model = model_of("deepseek-v3");
    const rk_strategy s = rk_strategy_defaults(&model);
    const int dense = model.type_of[0];
    const double ffn = 6 * (double)model.types[dense].ffn.width + 4 * (double)model.hidden;
    assert_false(rk_layer_is_moe(&model.types[dense]));
    assert_near(layer_cost(&model, dense, &s).saved / (double)s.seq - ffn, 201344, 1e-12);
}

/* Inputs of a gated activation in 8 bits: of 4 bytes for each element of the width, 2 stay. */
static void test_low_activations(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    const double elements = (double)s.seq * (double)model.types[0].ffn.width;
    const rk_cost wide = layer_cost(&model, 0, &s);
    s.low_activations = true;
    const rk_cost low = layer_cost(&model, 0, &s);
    assert_near(wide.saved - low.saved, 2 * elements, 1e-12);
    assert_near(low.unsaved - wide.unsaved, 4 * elements, 1e-12);
    assert_true(low.forward.part[RK_PART_CAST] > 0);
}

static void test_recompute(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    const double T = (double)s.seq, h = (double)model.hidden;
    const double width = (double)model.types[0].ffn.width;
    const double all = layer_cost(&model, 0, &s).saved;
    s.recompute = RK_REC_SELECTIVE;
    static const struct {
        unsigned modules;
        double hidden, width; /* bytes per token that go, in h and in f */
    } gone[] = {
        {RK_MODULE_NORM, 4, 0},
        {RK_MODULE_ACTIVATION, 0, 2},
        {RK_MODULE_MLP, 0, 6},
        {RK_MODULE_NORM | RK_MODULE_ACTIVATION, 4, 2},
        {RK_MODULE_PROJECTION, 2, 0}, /* the input of the norm behind it */
        /* MaxText: kept are the layer's input, queries, keys, values and the output of attention */
        {RK_MODULE_NORM | RK_MODULE_MLP | RK_MODULE_PROJECTION, 6, 6},
    };
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
        s.recompute_modules = gone[i].modules;
        const rk_cost cost = layer_cost(&model, 0, &s);
        const double less = T * (gone[i].hidden * h + gone[i].width * width);
        assert_near(cost.saved, all - less, 1e-12);
        assert_near(cost.unsaved, less, 1e-12);
        assert_true(cost.backward.part[RK_PART_RECOMPUTE] > 0);
    }
    s.recompute_modules = RK_MODULE_CORE_ATTENTION; /* flash: output and row sums go */
    assert_near(layer_cost(&model, 0, &s).saved,
                all - T * (2 * h + 4 * (double)model.types[0].attention.query_heads), 1e-12);
}

/*
 * torchtitan's policy on Llama-3-8B: kept are the layer's input, queries, values, the output and
 * row sums of attention, gate and down; keys, output and up are multiplied again.
 */
static void test_operators(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    rk_strategy s = rk_strategy_defaults(&model);
    const double T = (double)s.seq, h = (double)model.hidden, kv = 1024;
    const double f = (double)model.types[0].ffn.width, heads = 32;
    const rk_cost plain = layer_cost(&model, 0, &s);
    s.recompute = RK_REC_SELECTIVE;
    s.recompute_modules = RK_MODULE_OPERATORS;
    const rk_cost cost = layer_cost(&model, 0, &s);
    assert_near(cost.saved, T * (8 * h + 2 * kv + 2 * f + 4 * heads), 1e-12);
    assert_near(cost.flops_recompute, 2 * T * h * (kv + h + f), 1e-12);
    assert_near(cost.flops_backward, plain.flops_backward, 0);
    const double again = cost.backward.part[RK_PART_RECOMPUTE];
    assert_true(again > plain.forward.part[RK_PART_STREAM]);
    assert_true(again <
                plain.forward.part[RK_PART_STREAM] + plain.forward.part[RK_PART_LINEAR] / 2);
}

/* Norms behind attention and FFN keep their inputs; their outputs are added, and nobody's input. */
static void test_sandwich_norms(void **state)
{
    (void)state;
    rk_model model = model_of("llama3-8b");
    const rk_strategy s = rk_strategy_defaults(&model);
    const double two = layer_cost(&model, 0, &s).saved;
    model.norms_per_layer = 4;
    assert_near(layer_cost(&model, 0, &s).saved - two, 2 * 2 * (double)(s.seq * model.hidden),
                1e-12);
}

/* A checkpointed layer keeps its input and runs its whole forward again. */
static void test_checkpoint(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = 4;
    s.sp = true;
    /* no floor: passes add up */
    stack.kernels_forward = stack.kernels_backward = stack.tp_kernels = 0;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    rk_cost cost[2];
    layer_costs(&context, &model.types[0], cost);
    const rk_cost plain = cost[0], full = cost[1];
    assert_near(full.saved, 2 * (double)s.seq * (double)model.hidden / 4, 1e-12);
    assert_near(full.unsaved, plain.saved, 1e-12);
    assert_near(full.flops_recompute, plain.flops_forward, 1e-12);
    assert_near(rk_times_sum(&full.backward),
                rk_times_sum(&plain.backward) + rk_times_sum(&plain.forward), 1e-12);
    assert_near(full.sent_backward.tensor, plain.sent_backward.tensor + plain.sent_forward.tensor,
                1e-12);
}

/*
 * 8,192 tokens of Llama-3-8B: 2.101 GB of bf16 logits, twice that in fp32, an eighth with t = 8 but
 * for the vocabulary, which is padded to a multiple of 1,024 there.
 */
static void test_logits(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3-8b");
    const rk_system system = system_of("h100-sxm");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.seq = 8192;
    for (int t = 1; t <= 8; t *= 8) {
        s.tp = t;
        for (int bytes = 2; bytes <= 4; bytes += 2) {
            double *const per_logit = t > 1 ? &stack.split_logit_bytes : &stack.logit_bytes;
            *per_logit = 0;
            rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
            const double without = rk_block_head(&context).saved;
            *per_logit = bytes;
            context = rk_block_context_of(&model, &system, &stack, &s);
            const double padding = t == 8 ? 129024.0 / 128256 : 1;
            assert_near(rk_block_head(&context).saved - without, 2.1013e9 * padding * bytes / 2 / t,
                        1e-4);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense_layers), cmocka_unit_test(test_latent_attention),
        cmocka_unit_test(test_recompute),    cmocka_unit_test(test_operators),
        cmocka_unit_test(test_checkpoint),   cmocka_unit_test(test_sandwich_norms),
        cmocka_unit_test(test_logits),       cmocka_unit_test(test_low_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

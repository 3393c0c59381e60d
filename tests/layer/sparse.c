/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention to keys that an indexer picks, against parameters of released weights, FLOPs as
 * Megatron-Bridge counts them, and the times of FlashMLA's kernel.
 */
#include "blocks.h"

/* The layer of a catalogue model that has an indexer of its own or, with `shared`, none. */
static rk_layer_type layer_of(const rk_model *model, bool shared)
{
    rk_layer_type type = model->types[model->type_count - 1];
    type.feed_forward = &rk_feed_forward_none;
    type.moe = (rk_moe_shape){0};
    type.ffn = (rk_ffn_shape){0};
    type.attention.index.shared = shared;
    return type;
}

/* UT-L18: DeepSeek-V3.2 has 851,524,864 parameters more than V3, in 61 layers. */
static void test_parameters(void **state)
{
    const rk_model dense = model_of("deepseek-v3"), sparse = model_of("deepseek-v3.2");
    const rk_layer_type own = layer_of(&sparse, false), shared = layer_of(&sparse, true);
    const int64_t with = rk_layer_params_of(&sparse, &own).attention;
    const int64_t without = rk_layer_params_of(&sparse, &shared).attention;
    (void)state;
    assert_int_equal(rk_model_params_of(&sparse).total - rk_model_params_of(&dense).total,
                     851524864);
    assert_int_equal(with - without, 13959424);
    /* layers that take the keys of others, and MTP with an indexer of its own */
    const rk_model glm = model_of("glm-5.2");
    assert_int_equal(rk_model_params_of(&glm).total, 743377019904);
    assert_int_equal(rk_model_params_of(&glm).mtp, 9952920576);
    /* 57 layers with four index heads and one index key of 128, and their norms */
    const rk_model minimax = model_of("minimax-m3");
    assert_int_equal(rk_model_params_of(&minimax).total, 426174558336 + 57 * 2 * 128);
}

/* UT-L19: forward MFLOPs per token of DeepSeek-V3.2's layer: scores, picked keys, dense MLA. */
static void test_counted_flops(void **state)
{
    static const struct {
        int64_t seq;
        double scores, core, dense;
    } rows[] = {
        {4096, 33.825, 427.889, 167.813},
        {32768, 270.541, 552.608, 1342.218},
        {131072, 1082.139, 565.971, 5368.750},
    };
    const rk_model model = model_of("deepseek-v3.2"), v3 = model_of("deepseek-v3");
    const rk_layer_type own = layer_of(&model, false), shared = layer_of(&model, true);
    const rk_layer_type dense = layer_of(&v3, false);
    const double weights = 1536 * 64 * 128 + 7168 * (128 + 64);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t s = rows[i].seq;
        const double core = own.mixer->flops(&shared, 7168, s, RK_REACH_WINDOW) / 3;
        const double picked = core / (2 * 128 * (576 + 512));
        /* scores of picked keys twice backward, scores of attention to learn from, and weights
         * whose inputs have no gradient */
        const double learning = picked * (4 * 64 * 129 + 2 * 128 * 576) - 2 * weights;
        const double all = own.mixer->flops(&own, 7168, s, RK_REACH_WINDOW);
        assert_near(core / 1e6, rows[i].core, 1e-5);
        assert_near((all - 3 * core - learning) / 1e6, rows[i].scores, 1e-5);
        assert_near(dense.mixer->flops(&dense, 7168, s, RK_REACH_WINDOW) / 3e6, rows[i].dense,
                    3e-4);
    }
}

/*
 * UT-L19: picked keys take more forward arithmetic than all keys up to about 17,000 tokens, with
 * the projections of the indexer.
 */
static void test_arithmetic(void **state)
{
    const rk_model model = model_of("deepseek-v3.2"), v3 = model_of("deepseek-v3");
    const rk_layer_type own = layer_of(&model, false), shared = layer_of(&model, true);
    const rk_layer_type dense = layer_of(&v3, false);
    const double weights = 1536 * 64 * 128 + 7168 * (128 + 64);
    (void)state;
    for (int64_t s = 4096; s <= 65536; s += 512) {
        const double core = own.mixer->flops(&shared, 7168, s, RK_REACH_WINDOW) / 3;
        const double picked = core / (2 * 128 * (576 + 512));
        const double learning = picked * (4 * 64 * 129 + 2 * 128 * 576) - 2 * weights;
        const double all = own.mixer->flops(&own, 7168, s, RK_REACH_WINDOW);
        const double sparse = all - 2 * core - learning + 2 * weights;
        const double naive = dense.mixer->flops(&dense, 7168, s, RK_REACH_WINDOW) / 3;
        if (s <= 16384 || s >= 17920) {
            assert_int_equal(sparse < naive, s >= 17920);
        }
    }
}

static rk_cost cost_of(const rk_model *model, const rk_system *system, const rk_strategy *s,
                       bool shared)
{
    const rk_stack stack = stack_of("megatron-2025");
    const rk_layer_type type = layer_of(model, shared);
    const rk_block_context context = rk_block_context_of(model, system, &stack, s);
    return rk_block_mixer(&context, &type);
}

/* flash_mla_sparse_fwd with the 64 heads of GLM-5: microseconds by sequences and their tokens. */
static void test_kernel_times(void **state)
{
    static const struct {
        const char *system;
        int64_t batch, seq;
        double us;
    } rows[] = {
        {"h100-sxm", 1, 2048, 956.9}, {"h100-sxm", 1, 4096, 1971}, {"h100-sxm", 2, 16384, 15810},
        {"h200-sxm", 1, 8192, 3958},  {"b200-sxm", 1, 4096, 1957}, {"b200-sxm", 4, 8192, 16120},
    };
    const rk_model model = model_of("glm-5.2");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const rk_system system = system_of(rows[i].system);
        rk_strategy s = rk_strategy_defaults(&model);
        s.micro_batch = s.global_batch = rows[i].batch;
        s.seq = rows[i].seq;
        const rk_cost cost = cost_of(&model, &system, &s, true);
        assert_near(1e6 * cost.forward.part[RK_PART_ATTENTION], rows[i].us, 0.12);
    }
}

/*
 * In absorbed form picked keys cost more than all keys in short sequences, and less in long ones:
 * with the indexer, which learns, in arithmetic from about 17k tokens on.
 */
static void test_crossover(void **state)
{
    const rk_model dense = model_of("deepseek-v3"), sparse = model_of("deepseek-v3.2");
    const rk_system system = system_of("h100-sxm");
    static const struct {
        int64_t seq;
        bool pays;
    } rows[] = {{4096, false}, {8192, false}, {32768, true}, {131072, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_strategy s = rk_strategy_defaults(&dense);
        s.seq = rows[i].seq;
        const rk_cost a = cost_of(&dense, &system, &s, false);
        const rk_cost b = cost_of(&sparse, &system, &s, false);
        const double all = rk_times_sum(&a.forward) + rk_times_sum(&a.backward);
        const double picked = rk_times_sum(&b.forward) + rk_times_sum(&b.backward);
        assert_int_equal(picked < all, rows[i].pays);
    }
}

/*
 * Kept per token, in bytes: input of the way up 2 (1536 + 512) twice and 64 of position, queries of
 * 192, those in the space of latents and the latent with its position, outputs of 512 and of 128
 * with a sum, positions of keys; index queries, key and weights.
 */
static void test_saved(void **state)
{
    const rk_model model = model_of("deepseek-v3.2");
    const rk_system system = system_of("h100-sxm");
    rk_strategy s = rk_strategy_defaults(&model);
    (void)state;
    s.tp = 2;
    s.seq = 4096;
    const double n = 64, T = 4096;
    const double latents = 2 * (2 * (1536 + 512) + 64), queries = 2 * n * 192;
    const double core = 2 * (n * 576 + 576) + 2 * n * (512 + 128) + 4 * n;
    const double index = 2 * (65 * 128) + 4 * 64;
    const rk_cost own = cost_of(&model, &system, &s, false);
    const rk_cost shared = cost_of(&model, &system, &s, true);
    assert_near(shared.saved / T, latents + queries + core + 4 * 2048, 1e-12);
    assert_near(own.saved - shared.saved, T * index, 1e-9);
    /* index scores are summed over the heads of both ranks */
    assert_near(own.sent_forward.tensor, 2 * 0.5 * 4 * T * 2048, 1e-12);
    s.tp = 1;
    s.cp = 4;
    const rk_cost split = cost_of(&model, &system, &s, false);
    assert_near(split.sent_forward.context, 3 * (T / 4) * 2 * (576 + 128), 1e-12);
    assert_near(split.sent_backward.context, 2 * split.sent_forward.context, 1e-12);
}

/* UT-L20: DeepSeek-V4, weights of the Hub, less 2,327,040 entries of tables of hash routing. */
static void test_compressed_parameters(void **state)
{
    static const struct {
        const char *name;
        int64_t total, active, mtp, hub;
    } rows[] = {
        {"deepseek-v4-flash", 284332240471, 13799632471, 6610048891, 290944616402},
        {"deepseek-v4-pro", 1572997201763, 49779081059, 25840145979, 1598839674782},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const rk_model model = model_of(rows[i].name);
        const rk_model_params p = rk_model_params_of(&model);
        assert_int_equal(p.total, rows[i].total);
        assert_int_equal(p.active, rows[i].active);
        assert_int_equal(p.mtp, rows[i].mtp);
        assert_int_equal(p.total + p.mtp + 2327040, rows[i].hub);
    }
}

/*
 * UT-L21: GFLOPs per token of DeepSeek-V4-Flash at 4,096 tokens, with MTP and without.  The rates
 * that Megatron-Bridge publishes, 748 TFLOP/s and 8224 tokens/s, make 90.95, 0.2 % more.
 */
static void test_compressed_flops(void **state)
{
    rk_model model = model_of("deepseek-v4-flash");
    double attention = 0, experts = 0;
    (void)state;
    for (int i = 0; i <= model.layers; i++) { /* the module of MTP is the last one */
        uint8_t mtp[RK_MTP_LAYERS_MAX];
        assert_int_equal(rk_model_mtp_types(&model, mtp), 1);
        const rk_layer_type *type = &model.types[i < model.layers ? model.type_of[i] : mtp[0]];
        const rk_layer_params p = rk_layer_params_of(&model, type);
        const double each = 6 * ((double)p.shared + 6 * (double)p.expert_each);
        experts += each;
        attention += type->mixer->flops(type, model.hidden, 4096, RK_REACH_WINDOW) +
                     6 * (double)p.counted - each;
    }
    assert_near(attention / 1e9, 36.54 + 1.18, 5e-4); /* both parts of it */
    assert_near(experts / 1e9, 46.51, 5e-4);
    assert_near(rk_model_flops_per_token(&model, 4096, RK_FLOPS_BRIDGE) / 1e9, 90.781, 1e-5);
    model.mtp_layers = 0;
    assert_near(rk_model_flops_per_token(&model, 4096, RK_FLOPS_BRIDGE) / 1e9, 85.654, 1e-5);
}

/* A residual of n streams: n times the messages between stages and the input of a checkpointed
 * layer. */
static void test_streams(void **state)
{
    rk_model model = model_of("deepseek-v4-flash");
    const rk_system system = system_of("gb200-nvl72");
    const rk_stack stack = stack_of("megatron-2026-blackwell");
    rk_strategy s = rk_strategy_defaults(&model);
    rk_cost with[2], without[2];
    (void)state;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    layer_costs(&context, &model.types[2], with);
    assert_near(with[1].saved, 4 * 2 * context.tokens * 4096, 1e-12);
    model.streams = 0;
    const rk_block_context plain = rk_block_context_of(&model, &system, &stack, &s);
    layer_costs(&plain, &model.types[2], without);
    assert_near(without[1].saved, 2 * plain.tokens * 4096, 1e-12);
    /* two sites of 24 outputs of four streams, a GEMM three times */
    assert_near(with[0].flops_forward - without[0].flops_forward,
                plain.tokens * 2 * 2 * 24 * 4 * 4096, 1e-6);
    assert_true(rk_times_sum(&with[0].forward) > rk_times_sum(&without[0].forward));
}

/*
 * Reading and writing the streams of both sites takes 15 to 23 % longer than kernels of SGLang, in
 * microseconds for 4 streams of 4096 elements (data/measured/layers/hyper_connections.csv): these
 * fuse the product that makes the weights.  No constant of estimates is fitted to them.
 */
static void test_stream_times(void **state)
{
    static const struct {
        const char *system;
        int64_t tokens;
        double pre, post;
    } rows[] = {
        {"h100-sxm", 8192, 435.4, 412.6},    {"h100-sxm", 32768, 1669, 1632},
        {"h200-sxm", 8192, 333.1, 294.2},    {"h200-sxm", 32768, 1269, 1156},
        {"b200-sxm", 8192, 222.4, 185},      {"b200-sxm", 32768, 851.2, 711.8},
        {"gb200-nvl72", 8192, 217.9, 177.8}, {"gb200-nvl72", 32768, 842.2, 681.5},
        {"b300-sxm", 8192, 218.8, 178.7},    {"b300-sxm", 32768, 847.5, 683.9},
    };
    const rk_stack stack = stack_of("megatron-2025");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_model model = model_of("deepseek-v4-flash");
        rk_system system = system_of(rows[i].system);
        rk_strategy s = rk_strategy_defaults(&model);
        rk_cost with[2], without[2];
        system.accelerator.launch_seconds = 0; /* kernels alone */
        s.seq = 4096;
        s.micro_batch = s.global_batch = rows[i].tokens / 4096;
        const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
        layer_costs(&context, &model.types[2], with);
        model.streams = 0;
        const rk_block_context plain = rk_block_context_of(&model, &system, &stack, &s);
        layer_costs(&plain, &model.types[2], without);
        const double us =
            1e6 * (rk_times_sum(&with[0].forward) - rk_times_sum(&without[0].forward));
        const double error = us / (rows[i].pre + rows[i].post) - 1;
        assert_true(error > 0.1 && error < 0.25);
    }
}

/*
 * Recomputed streams: of 8 copies of the hidden state a layer keeps one per site and, of a block of
 * round(sqrt(4 * 43 / 6)) = 5 layers, the 4 at its input; their FLOPs run again.
 */
static void test_streams_again(void **state)
{
    const rk_model model = model_of("deepseek-v4-flash");
    const rk_system system = system_of("gb200-nvl72");
    const rk_stack stack = stack_of("megatron-2026-blackwell");
    rk_strategy s = rk_strategy_defaults(&model), again = s;
    rk_cost kept[2], made[2];
    (void)state;
    again.recompute = RK_REC_SELECTIVE;
    again.recompute_modules = RK_MODULE_STREAMS;
    const rk_block_context context = rk_block_context_of(&model, &system, &stack, &s);
    const rk_block_context other = rk_block_context_of(&model, &system, &stack, &again);
    layer_costs(&context, &model.types[2], kept);
    layer_costs(&other, &model.types[2], made);
    const double state_bytes = 2 * context.tokens * 4096;
    assert_near(kept[0].saved - made[0].saved, (8 - 2 - 4.0 / 5) * state_bytes, 1e-9);
    assert_near(made[0].unsaved - kept[0].unsaved, 5 * 8 * state_bytes, 1e-9);
    assert_near(made[0].flops_recompute, context.tokens * 2 * 2 * 24 * 4 * 4096, 1e-9);
    assert_legal(&model, &system, &again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_counted_flops),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_kernel_times),
        cmocka_unit_test(test_crossover),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_compressed_parameters),
        cmocka_unit_test(test_compressed_flops),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_stream_times),
        cmocka_unit_test(test_streams_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FLOPs of training by convention, against published pairs of tokens/s and TFLOP/s, published
 * utilisations, and the programs that define the conventions.
 */
#include <math.h>

#include "models.h"

#define H100_PEAK 989e12 /* FLOP/s, dense bf16 */

static void assert_near(const char *what, double value, double wanted, double relative)
{
    if (!(fabs(value / wanted - 1) <= relative)) {
        fail_msg("%s: %.6g, expected %.6g within %g", what, value, wanted, relative);
    }
}

/* UT-13: FLOPs per token implied by NVIDIA's tables (TFLOP/s/GPU over tokens/s/GPU). */
static void test_published_pairs(void **state)
{
    static const struct {
        const char *name;
        int64_t seq;
        int mtp;
        double tflops, tokens; /* per second and GPU */
    } pairs[] = {
        {"llama3-8b", 8192, 0, 1933, 37556},    {"llama3-70b", 8192, 0, 2030, 4520},
        {"llama3.1-405b", 8192, 0, 822, 326},   {"llama3.1-405b", 8192, 0, 2646, 1048},
        {"deepseek-v3", 4096, 0, 961, 3848},    {"deepseek-v3", 4096, 1, 1635, 6288},
        {"qwen3-30b-a3b", 4096, 0, 666, 28934}, {"qwen3-235b-a22b", 4096, 0, 907, 6131},
        {"kimi-k2", 4096, 0, 1099, 5372},       {"gpt-oss-120b", 4096, 0, 1077, 33024},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        rk_model model = load_model(pairs[i].name);
        model.mtp_layers = pairs[i].mtp;
        assert_near(pairs[i].name, rk_model_flops_per_token(&model, pairs[i].seq, RK_FLOPS_BRIDGE),
                    pairs[i].tflops * 1e12 / pairs[i].tokens, 0.005);
    }
}

/* What the programs that define the conventions count for Llama 3.1 8B at 8192 tokens. */
static void test_conventions(void **state)
{
    static const double counts[RK_FLOP_CONVENTION_COUNT] = {
        [RK_FLOPS_MEGATRON] = 51470401536, [RK_FLOPS_FULL] = 57912852480,
        [RK_FLOPS_PALM] = 61066469376,     [RK_FLOPS_TORCHTITAN] = 57914449920,
        [RK_FLOPS_NANOTRON] = 57912852480, [RK_FLOPS_BRIDGE] = 51470401536,
    };
    const rk_model model = load_model("llama3-8b");
    (void)state;
    for (int c = 0; c < RK_FLOP_CONVENTION_COUNT; c++) {
        assert_non_null(rk_flop_convention_names[c]);
        assert_true(rk_model_flops_per_token(&model, 8192, (rk_flop_convention)c) == counts[c]);
    }
    assert_null(rk_flop_convention_names[RK_FLOP_CONVENTION_COUNT]);
}

/* Megatron pads the vocabulary (50257 -> 50304), nanotron does not. */
static void test_padding(void **state)
{
    const rk_model model = load_model("gpt2-small");
    (void)state;
    assert_true(rk_model_flops_per_token(&model, 1024, RK_FLOPS_FULL) -
                    rk_model_flops_per_token(&model, 1024, RK_FLOPS_NANOTRON) ==
                6.0 * 47 * 768);
}

/* UT-14, UT-15, UT-16: utilisations that others printed. */
static void test_utilisation(void **state)
{
    rk_model model = load_model("llama3-8b");
    (void)state;
    double flops = rk_model_flops_per_token(&model, 8192, RK_FLOPS_TORCHTITAN);
    assert_true(fabs(6667 * flops / H100_PEAK - 0.390) < 0.001);
    assert_true(fabs(5762 * flops / H100_PEAK - 0.337) < 0.001);

    model = load_model("nemotron-4-340b");
    const double rate = 2304 * 4096 / 8.0 / 6144; /* tokens/s/GPU */
    const struct {
        rk_flop_convention convention;
        double mfu;
    } printed[] = {{RK_FLOPS_MEGATRON, 0.400}, {RK_FLOPS_FULL, 0.409}, {RK_FLOPS_PALM, 0.414}};
    for (size_t i = 0; i < COUNT(printed); i++) {
        flops = rk_model_flops_per_token(&model, 4096, printed[i].convention);
        assert_true(fabs(rate * flops / H100_PEAK - printed[i].mfu) < 0.0006);
    }

    model = load_model("deepseek-v3");
    const double v3_rate = 1e12 / (180000 * 3600.0);
    assert_near("V3 with MTP", v3_rate * rk_model_flops_per_token(&model, 4096, RK_FLOPS_MEGATRON),
                402.2e12, 0.005);
    model.mtp_layers = 0;
    assert_near("V3", v3_rate * rk_model_flops_per_token(&model, 4096, RK_FLOPS_MEGATRON), 386.5e12,
                0.005);
}

/*
 * UT-17: Narayanan et al. 2021, equation 3, 96 B s L h^2 (1 + s/6h + V/16Lh), counts the layers
 * once more for recompute.  Their trillion-parameter run takes 84 days for 450e9 tokens on 3072
 * GPUs at 163 TFLOP/s.
 */
static void test_recompute_form(void **state)
{
    const double s = 2048, L = 128, h = 25600, V = 51200;
    const double closed = 96 * L * h * h * (1 + s / (6 * h) + V / (16 * L * h));
    const double head = 6 * h * V;
    const rk_model model = load_model("megatron-1008b");
    const double once = rk_model_flops_per_token(&model, 2048, RK_FLOPS_FULL);
    (void)state;
    assert_near("equation 3", (once - head) * 4 / 3 + head, closed, 1e-12);
    assert_near("days", closed * 450e9 / (3072 * 163e12) / 86400, 84, 0.015);
}

/* ---- core attention --------------------------------------------------------------------- */

/* UT-6: MLA of DeepSeek-V3 at 4096 tokens. */
static void test_latent_attention(void **state)
{
    const rk_model model = load_model("deepseek-v3");
    (void)state;
    assert_near("forward", rk_attention_flops(&model.types[0].attention, 4096), 687.2e9, 1e-4);
}

/* The average span by counting: key j of query i in the window; continuous, so off by <= 1/2. */
static double counted_span(const rk_attention_shape *a, int64_t seq)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < seq; i++) {
        const int64_t chunk = a->chunked ? i % a->window + 1 : i + 1;
        sum += a->window > 0 && !a->chunked && a->window < chunk ? a->window : chunk;
    }
    return (double)sum / (double)seq;
}

static void test_spans(void **state)
{
    static const rk_attention_shape shapes[] = {
        {.window = 0},
        {.window = 100},
        {.window = 1000},
        {.window = 4096},
        {.window = 100, .chunked = true},
        {.window = 1000, .chunked = true},
        {.window = 8192, .chunked = true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        for (int64_t seq = 1; seq < 6000; seq = seq * 3 + 1) {
            const double span = rk_attention_span(&shapes[i], seq);
            const double counted = counted_span(&shapes[i], seq);
            assert_true(span <= counted && span >= counted - 0.51);
        }
    }
    assert_true(rk_attention_span(&shapes[0], 4096) == 2048);
    assert_true(rk_attention_span(&shapes[3], 4096) == 2048); /* a window of s sees all */
    assert_true(rk_attention_span(&shapes[5], 4000) == 500);
}

/*
 * Megatron-LM's num_floating_point_operations worked out by hand for windows, latent attention,
 * experts and MTP: 6 [layers (h (n_q + 2 n_kv) d + n_q d h + 3 h F) + h V' (1 + MTP)] + 6 n_q d s
 * of every layer, whatever its window; with latent attention q (h + n d_qk + 1) + r (h + n (nope +
 * d_v) + 1) + h rope + n d_v h and 3 n (d_qk + d_v) s, 2 h^2 + 3 h for a module of MTP.
 */
static void test_megatron(void **state)
{
    static const struct {
        const char *name;
        int64_t seq;
        int mtp;
        double flops;
    } cases[] = {
        {"gpt-oss-120b", 4096, 0, 34330853376},
        {"deepseek-v3", 4096, 1, 259992950784},
        {"deepseek-v3", 4096, 0, 249812054016},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rk_model model = load_model(cases[i].name);
        model.mtp_layers = cases[i].mtp;
        assert_near(cases[i].name,
                    rk_model_flops_per_token(&model, cases[i].seq, RK_FLOPS_MEGATRON),
                    cases[i].flops, 1e-15);
    }
}

/* Windows lower what Megatron-Bridge counts; the others know none. */
static void test_windows(void **state)
{
    rk_model model = load_model("gemma3-27b"), full = model;
    (void)state;
    for (int i = 0; i < full.type_count; i++) {
        full.types[i].attention.window = 0;
    }
    const double saved = rk_model_flops_per_token(&full, 32768, RK_FLOPS_BRIDGE) -
                         rk_model_flops_per_token(&model, 32768, RK_FLOPS_BRIDGE);
    /* 52 of 62 layers, 32 heads of 128: 12 n d (s/2 - (w - w^2/2s)) each */
    assert_near("saved", saved, 52 * 12.0 * 32 * 128 * (16384 - (1024 - 16)), 1e-12);
    for (int c = 0; c < RK_FLOPS_BRIDGE; c++) {
        assert_true(rk_model_flops_per_token(&full, 32768, (rk_flop_convention)c) ==
                    rk_model_flops_per_token(&model, 32768, (rk_flop_convention)c));
    }
    assert_true(rk_model_flops_per_token(&full, 32768, RK_FLOPS_BRIDGE) ==
                rk_model_flops_per_token(&full, 32768, RK_FLOPS_MEGATRON));
}

/* torchtitan and nanotron have no multi-token prediction: its modules count nothing. */
static void test_mtp(void **state)
{
    rk_model with = load_model("deepseek-v3"), without = with;
    (void)state;
    with.mtp_layers = 1;
    without.mtp_layers = 0;
    for (int c = 0; c < RK_FLOP_CONVENTION_COUNT; c++) {
        const bool counted = c != RK_FLOPS_TORCHTITAN && c != RK_FLOPS_NANOTRON;
        const double more = rk_model_flops_per_token(&with, 4096, (rk_flop_convention)c) -
                            rk_model_flops_per_token(&without, 4096, (rk_flop_convention)c);
        assert_true(counted ? more > 0 : !(more > 0 || more < 0));
    }
    /* 6 (N - V h) + 6 L n (d_qk + d_v) s of the 61 layers */
    const double active = (double)rk_model_params_of(&without).active - 129280.0 * 7168;
    assert_near("torchtitan", rk_model_flops_per_token(&with, 4096, RK_FLOPS_TORCHTITAN),
                6 * active + 6.0 * 61 * 128 * (192 + 128) * 4096, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_pairs), cmocka_unit_test(test_conventions),
        cmocka_unit_test(test_padding),         cmocka_unit_test(test_utilisation),
        cmocka_unit_test(test_recompute_form),  cmocka_unit_test(test_latent_attention),
        cmocka_unit_test(test_spans),           cmocka_unit_test(test_windows),
        cmocka_unit_test(test_megatron),        cmocka_unit_test(test_mtp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

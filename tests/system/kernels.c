/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, streaming, host copies; accelerators under other clocks. */
#include "machine.h"

#include "system/flash_lent.h"

static void test_optimizer_bytes(void **state)
{
    const rk_accelerator a = {.memory_bandwidth = 2.039e12, .memory_efficiency = 0.85};
    (void)state;
    /* UT-43: Adam moves 30 bytes for each of 1e9 parameters. */
    assert_near(rk_stream_seconds(&a, 30e9), 17.3e-3, 0.001);
}

static void test_nothing_costs_nothing(void **state)
{
    const rk_accelerator a = load_system("h100-sxm").accelerator;
    (void)state;
    assert_true(!(rk_stream_seconds(&a, 0) > 0));
    assert_true(!(rk_host_copy_seconds(&a, 0) > 0));
    assert_near(rk_stream_seconds(&a, 1), a.kernel_seconds, 1e-4);
}

static void test_host_copy(void **state)
{
    const rk_accelerator a = load_system("h200-sxm").accelerator;
    (void)state;
    assert_near(1e10 / rk_host_copy_seconds(&a, 1e10), 55.4e9, 0.01); /* measured on H200 */
}

/* Causal forward of whole sequences. */
static rk_attention_work forward(double heads, double seq, double size)
{
    return (rk_attention_work){
        .flops = 2 * heads * seq * seq * size, .seq = seq, .heads = heads, .qk_size = size};
}

static double rate(const rk_accelerator *a, double heads, double seq, double size)
{
    const rk_attention_work work = forward(heads, seq, size);
    return work.flops / rk_attention_seconds(a, &work);
}

static void test_attention_rate(void **state)
{
    const rk_accelerator a = load_system("h100-sxm").accelerator;
    (void)state;
    assert_near(rate(&a, 256, 131072, 128), a.attention_forward, 0.01);
    assert_near(rate(&a, 65536, a.attention_ramp, 128), a.attention_forward / 2, 0.01);
    rk_attention_work work = forward(256, 131072, 128);
    work.backward = true;
    assert_near(work.flops / rk_attention_seconds(&a, &work), a.attention_backward, 0.01);
}

/* One head of 4K tokens has 32 blocks of queries for 132 cores. */
static void test_few_heads(void **state)
{
    rk_accelerator a = load_system("h100-sxm").accelerator;
    (void)state;
    a.kernel_seconds = 0;
    assert_true(rate(&a, 1, 4096, 128) < 0.2 * rate(&a, 64, 4096, 128));
    assert_near(rate(&a, 64, 4096, 128), rate(&a, 128, 4096, 128), 0.01);
    assert_near(rate(&a, 2, 4096, 128), 2 * rate(&a, 1, 4096, 128), 0.01);
}

/* FlashAttention-2 on A100, forward TFLOP/s: d 48 105, 64 178, 80 140, 96 188, 128 200, 160 181. */
static void test_head_sizes(void **state)
{
    const rk_accelerator a = load_system("a100-sxm-80gb").accelerator;
    (void)state;
    const double d48 = rate(&a, 256, 32768, 48), d64 = rate(&a, 256, 32768, 64);
    const double d80 = rate(&a, 256, 32768, 80), d96 = rate(&a, 256, 32768, 96);
    const double d128 = rate(&a, 256, 32768, 128), d160 = rate(&a, 256, 32768, 160);
    assert_near(d48 / d64, 48.0 / 64, 0.001); /* padded to the next size */
    assert_near(d64 / d128, 178.0 / 200, 0.05);
    assert_near(d80 / d128, 140.0 / 200, 0.2);
    assert_near(d96 / d128, 188.0 / 200, 0.05);
    assert_near(d160 / d128, 181.0 / 200, 0.1);
}

/*
 * A kernel that is slow at products hides the exponentials of small heads: half as fast for 128,
 * it loses less on 64 (Triton flash attention on A100: nothing).
 */
static void test_slow_kernel(void **state)
{
    const rk_accelerator a = load_system("a100-sxm-80gb").accelerator;
    double lost[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        rk_attention_work small = forward(256, 65536, 64), usual = forward(256, 32768, 128);
        small.share = usual.share = i ? 0.5 : 0;
        lost[i] = (small.flops / rk_attention_seconds(&a, &small)) /
                  (usual.flops / rk_attention_seconds(&a, &usual));
        assert_near(usual.flops / rk_attention_seconds(&a, &usual),
                    (i ? 0.5 : 1) * rate(&a, 256, 32768, 128), 1e-3);
    }
    assert_true(lost[0] < 0.92);
    assert_true(lost[1] > 0.97 && lost[1] < 1.01);
}

static void check_growth(const rk_system *system)
{
    const rk_accelerator *a = &system->accelerator;
    uint64_t seed = 11;
    for (int i = 0; i < 300; i++) {
        double size[3] = {random_size(&seed, 1, 256), random_size(&seed, 1, 65536),
                          random_size(&seed, 16, 512)};
        const rk_attention_work few = forward(size[0], size[1], size[2]);
        size[i % 3] += random_size(&seed, 1, 200);
        const rk_attention_work many = forward(size[0], size[1], size[2]);
        assert_true(rk_attention_seconds(a, &many) >= rk_attention_seconds(a, &few) * (1 - 1e-12));
        const double bytes = random_size(&seed, 1, 1e12);
        assert_true(rk_stream_seconds(a, bytes + 1e3) > rk_stream_seconds(a, bytes));
        assert_true(rk_host_copy_seconds(a, bytes + 1e3) > rk_host_copy_seconds(a, bytes));
    }
}

static void test_growth(void **state)
{
    (void)state;
    each_system(check_growth);
}

static void test_power_limit(void **state)
{
    const rk_accelerator a = load_system("h100-sxm").accelerator;
    const rk_accelerator b = rk_accelerator_at_power(&a, 500);
    const rk_accelerator same = rk_accelerator_at_power(&a, 900);
    (void)state;
    /* of 700 W, 196 stand: the clock is the cube root of 304 over 504 */
    const double clock = cbrt(304.0 / 504);
    assert_near(b.gemm[RK_FP8].efficiency / a.gemm[RK_FP8].efficiency, clock, 1e-12);
    assert_near(b.attention_backward / a.attention_backward, clock, 1e-12);
    for (int i = 0; i < RK_FLASH_LIBRARY_COUNT; i++) {
        assert_near(b.flash[i].forward, a.flash[i].forward * clock, 1e-12);
        assert_near(b.flash[i].backward, a.flash[i].backward * clock, 1e-12);
    }
    assert_true(b.flash[0].forward > 0);
    assert_near(clock, 0.845, 1e-3);
    assert_near(b.memory_bandwidth, a.memory_bandwidth, 0);
    assert_near(b.power, 500, 0);
    assert_memory_equal(&same, &a, sizeof(a));
}

static void test_burst(void **state)
{
    const rk_accelerator a = load_system("h100-sxm").accelerator;
    const rk_accelerator b = rk_accelerator_at_clock(&a, RK_CLOCK_BURST);
    (void)state;
    assert_near(b.gemm[RK_BF16].efficiency, a.gemm[RK_BF16].efficiency * a.burst, 1e-12);
    assert_near(b.attention_forward, a.attention_forward, 0);
}

/* ---- attention kernels of libraries --------------------------------------------------------- */

static rk_flash_work flash_of(rk_flash_library library, bool backward)
{
    return (rk_flash_work){.library = library,
                           .heads = 128,
                           .group = 1,
                           .queries = 32768,
                           .keys = 32768,
                           .qk_size = 64,
                           .v_size = 64,
                           .causal = true,
                           .backward = backward};
}

/* A window cuts the time to its share of keys, but not that of backward in 8 bits. */
static void test_flash_window(void **state)
{
    const rk_accelerator a = load_system("gb200-nvl72").accelerator;
    (void)state;
    for (int library = RK_FLASH_CUDNN; library <= RK_FLASH_CUDNN_MXFP8; library++) {
        for (int backward = 0; backward < 2; backward++) {
            const bool whole = backward == 1 && library != RK_FLASH_CUDNN;
            rk_flash_work w = flash_of((rk_flash_library)library, backward == 1);
            const double all = rk_flash_seconds(&a, &w);
            w.window = 128;
            const double few = rk_flash_seconds(&a, &w);
            assert_true(whole ? few == all : few < all / 10);
        }
    }
}

/* The clock of long work is lower than that of a benchmark, which sees it fall. */
static void test_flash_clock(void **state)
{
    const rk_accelerator a = load_system("gb200-nvl72").accelerator;
    rk_flash_work w = flash_of(RK_FLASH_CUDNN, false);
    (void)state;
    for (double keys = 512; keys <= 131072; keys *= 16) {
        w.queries = w.keys = keys;
        w.sustained = false;
        const double burst = rk_flash_seconds(&a, &w);
        w.sustained = true;
        const double lower = rk_flash_seconds(&a, &w) / burst;
        assert_true(keys < 1000 ? lower > 1.08 : keys > 1e5 ? lower < 1.03 : lower > 1.01);
    }
}

/* Shared keys and values cost backward a sum, and no library runs where nobody measured it. */
static void test_flash_groups(void **state)
{
    const rk_accelerator a = load_system("gb200-nvl72").accelerator;
    (void)state;
    for (int backward = 0; backward < 2; backward++) {
        rk_flash_work w = flash_of(RK_FLASH_CUDNN_FP8, backward == 1);
        const double alone = rk_flash_seconds(&a, &w);
        w.group = 8;
        assert_true((rk_flash_seconds(&a, &w) > alone) == (backward == 1));
        w.library = RK_FLASH_AITER;
        assert_true(!(rk_flash_seconds(&a, &w) < HUGE_VAL));
    }
}

/* Gradients in a fixed order cost 22 % backward, in 16 bits, of heads of up to 128. */
static void test_flash_order(void **state)
{
    static const struct {
        rk_flash_library library;
        bool backward;
        double size, factor;
    } cases[] = {
        {RK_FLASH_CUDNN, true, 64, 1.22},   {RK_FLASH_CUDNN, true, 128, 1.22},
        {RK_FLASH_CUDNN, true, 192, 1},     {RK_FLASH_CUDNN, false, 128, 1},
        {RK_FLASH_CUDNN_FP8, true, 128, 1}, {RK_FLASH_CUDNN_MXFP8, true, 128, 1},
    };
    const rk_accelerator a = load_system("gb200-nvl72").accelerator;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_flash_work w = flash_of(cases[i].library, cases[i].backward);
        w.qk_size = w.v_size = cases[i].size;
        w.sustained = true; /* at one clock, however long it takes */
        const double free = rk_flash_seconds(&a, &w);
        w.deterministic = true;
        assert_near(rk_flash_seconds(&a, &w) / free, cases[i].factor, 1e-12);
    }
}

/* Backward in 16 bits on Blackwell pads heads above 64 to tiles of 128; nothing else does. */
static void test_flash_padding(void **state)
{
    static const char *const names[] = {"gb200-nvl72", "h100-sxm"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const rk_accelerator a = load_system(names[i]).accelerator;
        for (int backward = 0; backward < 2; backward++) {
            rk_flash_work narrow = flash_of(RK_FLASH_CUDNN, backward), wide = narrow;
            narrow.qk_size = 192;
            wide.qk_size = 256;
            narrow.v_size = wide.v_size = 128;
            const double ratio = rk_flash_seconds(&a, &wide) / rk_flash_seconds(&a, &narrow);
            assert_int_equal(ratio < 1 + 1e-12, i == 0 && backward);
            narrow.qk_size = 64;
            wide.qk_size = 65; /* a tile of 128 each */
            assert_int_equal(rk_flash_seconds(&a, &wide) / rk_flash_seconds(&a, &narrow) > 1.2,
                             i == 0 && backward);
        }
    }
}

/* Block scales of 32 elements: where there is FP4, on Blackwell, and on CDNA 4. */
static void test_reads_mx(void **state)
{
    static const struct {
        const char *name;
        bool reads;
    } cases[] = {{"h100-sxm", false},
                 {"b200-sxm", true},
                 {"mi300x", false},
                 {"mi355x", true},
                 {"tpu-v5p", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_accelerator a = load_system(cases[i].name).accelerator;
        assert_int_equal(rk_accelerator_reads_mx(&a), cases[i].reads);
        a.gemm[RK_FP4].peak = 1e15;
        assert_true(rk_accelerator_reads_mx(&a));
    }
}

/* The clock does not fall below what a fiftieth of the power moves, and no limit is none. */
static void test_lowest_power(void **state)
{
    const rk_accelerator a = load_system("h100-sxm").accelerator;
    (void)state;
    for (double watts = 1; watts <= 210; watts += 209) { /* 196 W stand, and 14 are a fiftieth */
        const rk_accelerator b = rk_accelerator_at_power(&a, watts);
        assert_near(b.attention_forward / a.attention_forward, cbrt(14.0 / 504), 1e-12);
        assert_near(b.delta[0].rate, a.delta[0].rate * cbrt(14.0 / 504), 1e-12 * a.delta[0].rate);
    }
    const rk_accelerator same = rk_accelerator_at_power(&a, 0);
    assert_memory_equal(&same, &a, sizeof(a));
}

/* Which kernels there are for an accelerator, whether or not anybody measured them on it. */
static void test_flash_exists(void **state)
{
    static const struct {
        const char *accelerator, *kernels; /* of rk_flash_library, a letter each */
    } cases[] = {
        {"v100-sxm2-32gb", "y-----"}, {"a100-sxm-80gb", "y--y--"}, {"l40s", "y--y--"},
        {"h800-sxm", "yy-yy-"},       {"b300-sxm", "yyyy--"},      {"rtx-5090", "yyyy--"},
        {"mi300x", "---y-y"},         {"tpu-v5p", "------"},       {"ascend-910b3", "------"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_accelerator a = load_system(cases[i].accelerator).accelerator;
        for (int library = 0; library < RK_FLASH_LIBRARY_COUNT; library++) {
            if (rk_flash_exists(&a, (rk_flash_library)library) !=
                (cases[i].kernels[library] == 'y')) {
                fail_msg("%s on %s", rk_flash_library_names[library], a.name);
            }
        }
    }
}

/*
 * Rates come from the nearest accelerator of the generation, by its rates and not its name; how far
 * they may be off is what nearest accelerators that are measured differ by.
 */
static void test_flash_lender(void **state)
{
    rk_accelerator own = load_system("b300-sxm").accelerator;
    (void)state;
    assert_string_equal(rk_flash_lender(&own, RK_FLASH_CUDNN_FP8)->name, "gb300-nvl72");
    assert_true(rk_flash_error(&own, RK_FLASH_CUDNN_FP8) > 0.1);
    assert_true(rk_flash_error(&own, RK_FLASH_CUDNN_FP8) < 0.3);
    own = load_system("gb300-nvl72").accelerator;
    assert_near(rk_flash_error(&own, RK_FLASH_CUDNN_FP8), 0, 0);
    (void)strcpy(own.name, "mine");
    own.flash[RK_FLASH_CUDNN_FP8] = (rk_flash_rates){.forward = 0};
    assert_string_equal(rk_flash_lender(&own, RK_FLASH_CUDNN_FP8)->name, "gb300-nvl72");
    own = load_system("a100-sxm-80gb").accelerator;
    assert_null(rk_flash_lender(&own, RK_FLASH_CUDNN));
    assert_near(rk_flash_error(&own, RK_FLASH_CUDNN), log(761.0 / 375), 1e-9);
    own.generation = RK_GENERATION_NONE;
    assert_null(rk_flash_lender(&own, RK_FLASH_CUDNN_FP8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flash_order),     cmocka_unit_test(test_flash_padding),
        cmocka_unit_test(test_reads_mx),        cmocka_unit_test(test_lowest_power),
        cmocka_unit_test(test_optimizer_bytes), cmocka_unit_test(test_nothing_costs_nothing),
        cmocka_unit_test(test_host_copy),       cmocka_unit_test(test_attention_rate),
        cmocka_unit_test(test_few_heads),       cmocka_unit_test(test_head_sizes),
        cmocka_unit_test(test_slow_kernel),     cmocka_unit_test(test_growth),
        cmocka_unit_test(test_power_limit),     cmocka_unit_test(test_burst),
        cmocka_unit_test(test_flash_window),    cmocka_unit_test(test_flash_clock),
        cmocka_unit_test(test_flash_groups),    cmocka_unit_test(test_flash_exists),
        cmocka_unit_test(test_flash_lender),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

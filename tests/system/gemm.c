/* SPDX-License-Identifier: Apache-2.0 */
/* GEMM prices: limits known in closed form, a readable twin, and growth with every size. */
#include "machine.h"

/* 108 cores of an A100 without anything but tiles and waves. */
static rk_accelerator bare_a100(void)
{
    rk_accelerator a = {
        .cores = 108, .memory_bandwidth = 1e24, .memory_efficiency = 1, .split_seconds = 1e-6};
    a.gemm[RK_BF16] = (rk_gemm_engine){.peak = 312e12, .efficiency = 1};
    return a;
}

static void test_peak(void **state)
{
    const rk_accelerator a = bare_a100();
    (void)state;
    assert_near(rk_gemm_seconds(&a, RK_BF16, 1, 4096, 4096, 4096, 0),
                2 * 4096.0 * 4096 * 4096 / 312e12, 1e-12);
    assert_near(rk_gemm_seconds(&a, RK_BF16, 3, 4096, 4096, 4096, 0),
                3 * 2 * 4096.0 * 4096 * 4096 / 312e12, 1e-12);
}

/*
 * UT-41: M 4096, N 4608 in 576 tiles of 256 x 128: 5.33 waves of 108 cores take as long as 6.
 * (Grouped GEMMs do not split K, which would fill the last wave.)
 */
static void test_waves(void **state)
{
    rk_accelerator a = bare_a100();
    (void)state;
    a.gemm[RK_BF16].feed = 22; /* makes large tiles the best, as they are on A100 */
    const double smooth = rk_grouped_gemm_seconds(&a, RK_BF16, 1, 4096, 4608, 8192, 0);
    a.gemm[RK_BF16].wave_share = 1;
    const double whole = rk_grouped_gemm_seconds(&a, RK_BF16, 1, 4096, 4608, 8192, 0);
    assert_near(smooth / whole, 576.0 / 108 / 6, 1e-12); /* 89% */
    a.gemm[RK_BF16].wave_share = 0.5;
    assert_near(rk_grouped_gemm_seconds(&a, RK_BF16, 1, 4096, 4608, 8192, 0), (smooth + whole) / 2,
                1e-12);
    assert_true(rk_gemm_seconds(&a, RK_BF16, 1, 4096, 4608, 8192, 0) < (smooth + whole) / 2);
}

/*
 * A whole number of waves is no more than that, however 1 / cores is rounded (7 waves of 150 cores
 * were 8).
 */
static void test_whole_waves(void **state)
{
    rk_accelerator a = bare_a100();
    (void)state;
    a.gemm[RK_BF16].wave_share = 1;
    for (int64_t cores = 1; cores <= 512; cores++) {
        a.cores = cores;
        const double one = rk_grouped_gemm_seconds(&a, RK_BF16, (double)cores, 128, 256, 4096, 0);
        for (int waves = 2; waves <= 40; waves++) {
            const double tiles = (double)(waves * cores);
            assert_near(rk_grouped_gemm_seconds(&a, RK_BF16, tiles, 128, 256, 4096, 0), waves * one,
                        1e-12);
        }
    }
}

static void test_prologue(void **state)
{
    rk_accelerator a = bare_a100();
    (void)state;
    const double plain = rk_gemm_seconds(&a, RK_BF16, 1, 8192, 8192, 1024, 0);
    a.gemm[RK_BF16].prologue = 256;
    assert_near(rk_gemm_seconds(&a, RK_BF16, 1, 8192, 8192, 1024, 0), plain * 1.25, 1e-12);
}

static void test_memory_bound(void **state)
{
    rk_accelerator a = bare_a100();
    (void)state;
    a.memory_bandwidth = 2e12;
    a.memory_efficiency = 0.8;
    a.kernel_seconds = 3e-6;
    const double elements = 16 * 8192.0 + 8192.0 * 8192;
    const double bytes = 2 * elements + 2 * 16 * 8192.0;
    const double t = rk_gemm_seconds(&a, RK_BF16, 1, 16, 8192, 8192, 0);
    assert_true(t >= bytes / 1.6e12 + 3e-6);
    assert_near(t, bytes / 1.6e12 + 3e-6, 0.01);
    const double accumulated = rk_gemm_seconds(&a, RK_BF16, 1, 8192, 8192, 16, 8);
    assert_near(accumulated, (2 * (2 * 16 * 8192.0) + 10 * 8192.0 * 8192) / 1.6e12 + 3e-6, 0.01);
}

static void test_split_of_k(void **state)
{
    const rk_accelerator a = bare_a100();
    const double one_core = 2 * 128.0 * 128 * 65536 / (312e12 / 108);
    (void)state;
    const double t = rk_gemm_seconds(&a, RK_BF16, 1, 128, 128, 65536, 0);
    assert_near(t, one_core / 108 + 1e-6, 0.01); /* 128 parts keep all cores busy */
    assert_true(rk_grouped_gemm_seconds(&a, RK_BF16, 1, 128, 128, 65536, 0) > 5 * t);
}

static void test_missing_precision(void **state)
{
    const rk_accelerator a = bare_a100();
    (void)state;
    assert_true(isinf(rk_gemm_seconds(&a, RK_FP8, 1, 64, 64, 64, 0)));
    assert_true(isinf(rk_grouped_gemm_seconds(&a, RK_FP4, 8, 64, 64, 64, 0)));
}

/* The same model without short cuts. */
static double twin(const rk_accelerator *a, rk_precision precision, double batch, double M,
                   double N, double K, double accumulate_bytes, bool split)
{
    static const double tiles[9][3] = {{256, 256, 2}, {256, 128, 1}, {128, 256, 1},
                                       {128, 128, 1}, {128, 64, 1},  {64, 128, 1},
                                       {64, 64, 1},   {32, 64, 1},   {16, 64, 1}};
    const rk_gemm_engine *e = &a->gemm[precision];
    const double q = e->wave_share, core_rate = e->peak * e->efficiency / (double)a->cores;
    double math = HUGE_VAL;
    for (int i = split && batch > 1 ? 3 : 0; i < 9; i++) { /* batched ones take small tiles */
        for (double s = 1; s <= (split ? 8 : 1); s *= 2) {
            const double tm = tiles[i][0], tn = tiles[i][1], shared = tiles[i][2];
            const double count = batch * ceil(M / tm) * ceil(N / tn) * s;
            const double w = count * shared / (double)a->cores;
            const double waves = fmax(1, (1 - q) * w + q * ceil(w));
            const double k = s > 1 ? fmax(K / s, 256) : K;
            const double tile = 2 * tm * tn * (k + e->prologue) *
                                (1 + e->feed * (1 / tm + 1 / tn)) / shared / core_rate;
            const double merge =
                s > 1 ? 1e-6 + s * batch * M * N * 8 / (3 * a->memory_bandwidth) : 0;
            math = fmin(math, waves * tile + merge);
        }
    }
    const double bytes =
        batch * (rk_precision_bytes(precision) * (M * K + N * K) + (2 + accumulate_bytes) * M * N);
    const double memory = bytes / (a->memory_bandwidth * a->memory_efficiency);
    return pow(pow(math, 4) + pow(memory, 4), 0.25) + a->kernel_seconds;
}

static void compare_with_twin(const rk_system *system)
{
    const rk_accelerator *a = &system->accelerator;
    uint64_t seed = 41;
    for (int i = 0; i < 400; i++) {
        const double step = i % 2 ? 256 : 1; /* whole tiles in every second GEMM */
        const double b = random_size(&seed, 1, 64), K = random_size(&seed, 1, 65536);
        const double M = step * ceil(random_size(&seed, 1, 65536) / step);
        const double N = step * ceil(random_size(&seed, 1, 65536) / step);
        const double more = i % 3 ? 0 : 8;
        assert_near(rk_gemm_seconds(a, RK_BF16, b, M, N, K, more),
                    twin(a, RK_BF16, b, M, N, K, more, true), 1e-11);
        assert_near(rk_grouped_gemm_seconds(a, RK_BF16, b, M, N, K, more),
                    twin(a, RK_BF16, b, M, N, K, more, false), 1e-11);
    }
}

static void test_twin(void **state)
{
    (void)state;
    each_system(compare_with_twin);
}

/* No size, batch or extra byte makes a GEMM faster; not even by one element. */
static void check_growth(const rk_system *system)
{
    const rk_accelerator *a = &system->accelerator;
    uint64_t seed = 7;
    for (int i = 0; i < 500; i++) {
        double size[4], larger[4];
        for (int j = 0; j < 4; j++) {
            size[j] = random_size(&seed, 1, j ? 20000 : 100);
            larger[j] = size[j];
        }
        larger[i % 4] += i % 8 < 4 ? 1 : random_size(&seed, 1, 3000);
        const double few = rk_gemm_seconds(a, RK_BF16, size[0], size[1], size[2], size[3], 0);
        const double many =
            rk_gemm_seconds(a, RK_BF16, larger[0], larger[1], larger[2], larger[3], 0);
        assert_true(many >= few * (1 - 1e-12));
        assert_true(rk_gemm_seconds(a, RK_BF16, size[0], size[1], size[2], size[3], 8) >= few);
        assert_true(
            rk_grouped_gemm_seconds(a, RK_BF16, larger[0], larger[1], larger[2], larger[3], 0) >=
            rk_grouped_gemm_seconds(a, RK_BF16, size[0], size[1], size[2], size[3], 0) *
                (1 - 1e-12));
    }
}

static void test_growth(void **state)
{
    (void)state;
    each_system(check_growth);
}

static void test_low_precision_is_faster(void **state)
{
    const rk_system h100 = load_system("h100-sxm"), b200 = load_system("b200-sxm");
    const double n = 8192;
    (void)state;
    assert_true(rk_gemm_seconds(&h100.accelerator, RK_FP8, 1, n, n, n, 0) <
                0.6 * rk_gemm_seconds(&h100.accelerator, RK_BF16, 1, n, n, n, 0));
    assert_true(rk_gemm_seconds(&b200.accelerator, RK_FP4, 1, n, n, n, 0) <
                rk_gemm_seconds(&b200.accelerator, RK_FP8, 1, n, n, n, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak),
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_whole_waves),
        cmocka_unit_test(test_prologue),
        cmocka_unit_test(test_memory_bound),
        cmocka_unit_test(test_split_of_k),
        cmocka_unit_test(test_missing_precision),
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_low_precision_is_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What measured tables are worth: tables of the rows to fit on, judged by the rows held out, beside
 * the model alone.  The model has the constants of the shipped documents, the tables whatever their
 * rows time, modules included.
 */
#include "formats/csv_in.h"
#include "formats/operator_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Rows of data/ops of one accelerator and library, and the largest median error of its tables. */
static const struct {
    rk_kernel_kind kind;
    const char *accelerator, *library, *clock;
    double median;
} promises[] = {
    {RK_KERNEL_ATTENTION, "a100-sxm-80gb", "trtllm-1.0.0", NULL, 0.03},
    {RK_KERNEL_ATTENTION, "h100-sxm", "trtllm-1.3.0rc20", NULL, 0.04},
    {RK_KERNEL_ATTENTION, "h200-sxm", "trtllm-1.3.0rc20", NULL, 0.04},
    {RK_KERNEL_ATTENTION, "b200-sxm", "trtllm-1.3.0rc20", NULL, 0.05},
    {RK_KERNEL_ATTENTION, "b300-sxm", "trtllm-1.3.0rc20", NULL, 0.05},
    {RK_KERNEL_ATTENTION, "gb200-nvl72", "trtllm-1.3.0rc20", NULL, 0.05},
    {RK_KERNEL_ATTENTION, "gh200", "FlashAttention-2", NULL, 0.05},
    {RK_KERNEL_ATTENTION, "h100-sxm", "sglang-0.5.14-fa3", NULL, 0.06},
    {RK_KERNEL_ATTENTION, "a100-sxm-80gb", "FlashAttention-2", NULL, 0.08},
    {RK_KERNEL_GEMM, "a100-sxm-80gb", "trtllm-1.0.0", "burst", 0.04},
    {RK_KERNEL_GEMM, "h100-sxm", "trtllm-1.3.0rc20", "burst", 0.05},
    {RK_KERNEL_GEMM, "h200-sxm", "vllm-0.22.0", "sustained", 0.04},
    {RK_KERNEL_GEMM, "b200-sxm", "vllm-0.22.0", "sustained", 0.06},
    {RK_KERNEL_GEMM, "gb200-nvl72", "trtllm-1.3.0rc17", "sustained", 0.05},
};

typedef struct sample {
    rk_measured_kernel *fit, *held; /* owned */
    size_t fit_count, held_count;
} sample;

static bool is(const rk_cells *table, size_t row, const char *column, const char *text)
{
    const char *cell = rk_cell(table, row, column);
    return !text || (cell && strcmp(cell, text) == 0);
}

/* GEMMs in 16 bits from 512 on, one by one; attention as it is. */
static bool counts(const rk_measured_kernel *k)
{
    const rk_gemm_work *g = &k->gemm;
    return k->kind == RK_KERNEL_ATTENTION || (g->precision == RK_BF16 && !g->grouped &&
                                              g->batch == 1 && fmin(fmin(g->M, g->N), g->K) >= 512);
}

static sample read_sample(const rk_cells *table, size_t promise)
{
    sample s = {.fit = calloc(table->rows, sizeof(*s.fit)),
                .held = calloc(table->rows, sizeof(*s.held))};
    rk_error err;
    assert_true(s.fit && s.held);
    for (size_t row = 0; row < table->rows; row++) {
        rk_operator_row read;
        if (!is(table, row, "accelerator", promises[promise].accelerator) ||
            !is(table, row, "library", promises[promise].library) ||
            !is(table, row, "clock", promises[promise].clock)) {
            continue;
        }
        assert_int_equal(rk_operator_row_read(promises[promise].kind, table, row, &read, &err),
                         RK_OK);
        if (!counts(&read.kernel)) {
            continue;
        }
        if (is(table, row, "split", "fit")) {
            s.fit[s.fit_count++] = read.kernel;
        } else {
            s.held[s.held_count++] = read.kernel;
        }
    }
    return s;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median error of the rows held out; `tables`: whether those of the accelerator count. */
static double median_error(const rk_accelerator *a, const sample *s, bool tables)
{
    double *errors = calloc(s->held_count, sizeof(*errors));
    assert_non_null(errors);
    for (size_t i = 0; i < s->held_count; i++) {
        const rk_measured_kernel *k = &s->held[i];
        const rk_gemm_work *g = &k->gemm;
        const double change =
            !tables ? 1
            : k->kind == RK_KERNEL_GEMM
                ? rk_measured_gemm(a->measured, g->precision, false, g->M, g->N, g->K)
                : rk_measured_attention(a->measured, &k->attention);
        errors[i] = fabs(change / rk_measured_ratio(a, k) - 1);
    }
    qsort(errors, s->held_count, sizeof(*errors), compare_doubles);
    const double median = errors[s->held_count / 2];
    free(errors);
    return median;
}

static void judge(const rk_cells *table, size_t promise)
{
    sample s = read_sample(table, promise);
    rk_system machine;
    rk_error err;
    assert_true(s.fit_count >= 50 && s.held_count >= 50);
    assert_int_equal(rk_system_load(promises[promise].accelerator, &machine, &err), RK_OK);
    assert_int_equal(rk_measured_set(&machine.accelerator, s.fit, s.fit_count, &err), RK_OK);
    const double alone = median_error(&machine.accelerator, &s, false);
    const double median = median_error(&machine.accelerator, &s, true);
    printf(
        "%-14s %-18s %-10s %4zu rows, %4zu held out: median %4.1f%%, by the model alone %4.1f%%\n",
        promises[promise].accelerator, promises[promise].library,
        promises[promise].kind == RK_KERNEL_GEMM ? "GEMM" : "attention", s.fit_count, s.held_count,
        100 * median, 100 * alone);
    assert_true(median <= promises[promise].median && median < alone + 0.005);
    rk_system_clear(&machine);
    free(s.fit);
    free(s.held);
}

static void test_held_out(void **state)
{
    static const char *const files[] = {[RK_KERNEL_GEMM] = DATA_FOLDER "/ops/gemm.csv",
                                        [RK_KERNEL_ATTENTION] = DATA_FOLDER "/ops/attention.csv"};
    rk_csv_in csv[2];
    rk_error err;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rk_csv_load(files[i], &csv[i], &err), RK_OK);
    }
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
        const rk_csv_in *from = &csv[promises[i].kind];
        const rk_cells table = {from->name, from->cells, from->rows, from->columns};
        judge(&table, i);
    }
    for (int i = 0; i < 2; i++) {
        rk_csv_in_clear(&csv[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_held_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

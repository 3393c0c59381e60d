/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What measured tables are worth: tables of the rows to fit on, judged by the rows held out, beside
 * the model alone.  The model has the constants of the shipped documents, the tables whatever their
 * rows time, modules included.
 */
#include "io/csv_in.h"
#include "system/operator_rows.h"

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
    {RK_KERNEL_ATTENTION, "h100-sxm", "sglang-0.5.14-fa3", NULL, 0.05},
    {RK_KERNEL_ATTENTION, "a100-sxm-80gb", "FlashAttention-2", NULL, 0.08},
    {RK_KERNEL_GEMM, "a100-sxm-80gb", "trtllm-1.0.0", "burst", 0.04},
    {RK_KERNEL_GEMM, "h100-sxm", "trtllm-1.3.0rc20", "burst", 0.05},
    {RK_KERNEL_GEMM, "h200-sxm", "vllm-0.22.0", "sustained", 0.04},
    {RK_KERNEL_GEMM, "b200-sxm", "vllm-0.22.0", "sustained", 0.06},
    {RK_KERNEL_GEMM, "gb200-nvl72", "trtllm-1.3.0rc17", "sustained", 0.05},
    {RK_KERNEL_COLLECTIVE, "a100-sxm-80gb", "nccl-2.27.3", NULL, 0.06},
    {RK_KERNEL_COLLECTIVE, "h100-sxm", "nccl-2.29.2", NULL, 0.06},
    {RK_KERNEL_COLLECTIVE, "h200-sxm", "nccl-2.29.2", NULL, 0.06},
    {RK_KERNEL_COLLECTIVE, "b200-sxm", "nccl-2.29.2", NULL, 0.06},
    {RK_KERNEL_COLLECTIVE, "b300-sxm", "nccl-2.29.2", NULL, 0.06},
    {RK_KERNEL_COLLECTIVE, "gb200-nvl72", "nccl-2.29.2", NULL, 0.06},
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
    return k->kind != RK_KERNEL_GEMM || (g->precision == RK_BF16 && !g->grouped && g->batch == 1 &&
                                         fmin(fmin(g->M, g->N), g->K) >= 512);
}

static rk_measured_kernel read_kernel(const rk_system *m, rk_kernel_kind kind,
                                      const rk_cells *table, size_t row)
{
    rk_operator_row read;
    rk_collective_row c;
    rk_error err;
    if (kind != RK_KERNEL_COLLECTIVE) {
        assert_int_equal(rk_operator_row_read(kind, table, row, &read, &err), RK_OK);
        return read.kernel;
    }
    assert_int_equal(rk_collective_row_read(table, row, &c, &err), RK_OK);
    return (rk_measured_kernel){.kind = kind,
                                .seconds = c.seconds,
                                .collective = {c.op, c.bytes, rk_group_of(m, c.ranks, 1)}};
}

static sample read_sample(const rk_system *m, const rk_cells *table, size_t promise)
{
    sample s = {.fit = calloc(table->rows, sizeof(*s.fit)),
                .held = calloc(table->rows, sizeof(*s.held))};
    assert_true(s.fit && s.held);
    for (size_t row = 0; row < table->rows; row++) {
        if (!is(table, row, "accelerator", promises[promise].accelerator) ||
            !is(table, row, "library", promises[promise].library) ||
            !is(table, row, "clock", promises[promise].clock)) {
            continue;
        }
        const rk_measured_kernel k = read_kernel(m, promises[promise].kind, table, row);
        if (counts(&k) && is(table, row, "split", "fit")) {
            s.fit[s.fit_count++] = k;
        } else if (counts(&k)) {
            s.held[s.held_count++] = k;
        }
    }
    return s;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ratio_of(const rk_measured *tables, const rk_measured_kernel *k)
{
    const rk_gemm_work *g = &k->gemm;
    const rk_collective_work *c = &k->collective;
    return k->kind == RK_KERNEL_GEMM
               ? rk_measured_gemm(tables, g->precision, false, g->M, g->N, g->K)
           : k->kind == RK_KERNEL_ATTENTION
               ? rk_measured_attention(tables, &k->attention)
               : rk_measured_collective(tables, c->op, c->bytes, &c->group);
}

/* Median error of the rows held out; `tables`: whether those of the accelerator count. */
static double median_error(const rk_system *m, const sample *s, bool tables)
{
    double *errors = calloc(s->held_count, sizeof(*errors));
    assert_non_null(errors);
    for (size_t i = 0; i < s->held_count; i++) {
        const double change = tables ? ratio_of(m->accelerator.measured, &s->held[i]) : 1;
        errors[i] = fabs(change / rk_measured_ratio(m, &s->held[i]) - 1);
    }
    qsort(errors, s->held_count, sizeof(*errors), compare_doubles);
    const double median = errors[s->held_count / 2];
    free(errors);
    return median;
}

static void judge(const rk_cells *table, size_t promise)
{
    static const char *const kinds[RK_KERNEL_KINDS] = {"GEMM", "attention", "collective"};
    rk_system machine;
    rk_error err;
    assert_int_equal(rk_system_load(promises[promise].accelerator, &machine, &err), RK_OK);
    sample s = read_sample(&machine, table, promise);
    assert_true(s.fit_count >= 50 && s.held_count >= 50);
    assert_int_equal(rk_measured_set(&machine, s.fit, s.fit_count, &err), RK_OK);
    const double alone = median_error(&machine, &s, false);
    const double median = median_error(&machine, &s, true);
    printf(
        "%-14s %-18s %-10s %4zu rows, %4zu held out: median %4.1f%%, by the model alone %4.1f%%\n",
        promises[promise].accelerator, promises[promise].library, kinds[promises[promise].kind],
        s.fit_count, s.held_count, 100 * median, 100 * alone);
    assert_true(median <= promises[promise].median && median < alone + 0.005);
    rk_system_clear(&machine);
    free(s.fit);
    free(s.held);
}

static void test_held_out(void **state)
{
    static const char *const files[] = {[RK_KERNEL_GEMM] = DATA_FOLDER "/ops/gemm.csv",
                                        [RK_KERNEL_ATTENTION] = DATA_FOLDER "/ops/attention.csv",
                                        [RK_KERNEL_COLLECTIVE] = DATA_FOLDER "/ops/collective.csv"};
    rk_csv_in csv[RK_KERNEL_KINDS];
    rk_error err;
    (void)state;
    for (int i = 0; i < RK_KERNEL_KINDS; i++) {
        assert_int_equal(rk_csv_load(files[i], &csv[i], &err), RK_OK);
    }
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
        const rk_csv_in *from = &csv[promises[i].kind];
        const rk_cells table = {from->name, from->cells, from->rows, from->columns};
        judge(&table, i);
    }
    for (int i = 0; i < RK_KERNEL_KINDS; i++) {
        rk_csv_in_clear(&csv[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_held_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

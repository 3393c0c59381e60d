/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batched products of attention on A100 (data/ops, PyTorch), to which nothing is fitted, by the
 * shipped document.
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

enum { ROWS = 400 };

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_batched(void **state)
{
    static const char *const libraries[] = {"PyTorch-baddbmm", "PyTorch-bmm"};
    rk_csv_in csv;
    rk_system a100;
    rk_error err;
    (void)state;
    assert_int_equal(rk_csv_load(DATA_FOLDER "/ops/gemm.csv", &csv, &err), RK_OK);
    assert_int_equal(rk_system_load("a100-sxm-80gb", &a100, &err), RK_OK);
    const rk_cells table = {csv.name, csv.cells, csv.rows, csv.columns};
    for (int i = 0; i < 2; i++) {
        double errors[ROWS], bias = 0;
        size_t count = 0;
        for (size_t row = 0; row < table.rows; row++) {
            rk_operator_row read;
            if (strcmp(rk_cell(&table, row, "library"), libraries[i]) == 0) {
                assert_int_equal(rk_operator_row_read(RK_KERNEL_GEMM, &table, row, &read, &err),
                                 RK_OK);
                const double ratio = rk_measured_ratio(&a100, &read.kernel);
                assert_true(ratio > 0 && count < ROWS);
                bias += 1 / ratio - 1;
                errors[count++] = fabs(1 / ratio - 1);
            }
        }
        assert_true(count >= 100);
        qsort(errors, count, sizeof(errors[0]), compare_doubles);
        printf("%-16s %zu rows: median %.1f%%, bias %+.1f%%\n", libraries[i], count,
               100 * errors[count / 2], 100 * bias / (double)count);
        /* The library has three kernels for the first, 80, 97 and 117 TFLOP/s at one head size. */
        assert_true(errors[count / 2] < 0.15 && fabs(bias) / (double)count < 0.07);
    }
    rk_csv_in_clear(&csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batched)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a table of kernels: a faulty one has a place, a good one prices soundly. */
#include "io/csv_in.h"
#include "system/measured_doc.h"

#include <math.h>

#include "target.h"

static double price(const rk_system *s, const rk_measured_kernel *k)
{
    const rk_gemm_work *g = &k->gemm;
    const rk_accelerator *a = &s->accelerator;
    switch (k->kind) {
    case RK_KERNEL_ATTENTION:
        return rk_attention_seconds(a, &k->attention);
    case RK_KERNEL_COLLECTIVE:
        return rk_collective_seconds(s, k->collective.op, k->collective.bytes,
                                     &k->collective.group);
    default:
        return (g->grouped ? rk_grouped_gemm_seconds : rk_gemm_seconds)(
            a, g->precision, g->batch, g->M, g->N, g->K, g->accumulate_bytes);
    }
}

static void use(const rk_system *chip, const rk_measured_kernels *list)
{
    rk_system s = *chip;
    rk_error err;
    const rk_status status = rk_measured_set(&s, list->rows, list->count, &err);
    if (status) {
        REQUIRE(status == RK_ERR_LIMIT);
        require_sound_error(&err, status);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const double change = price(&s, &list->rows[i]) / price(chip, &list->rows[i]);
        REQUIRE(change > 0.99 / RK_MEASURED_RATIO_MOST && change < 1.01 * RK_MEASURED_RATIO_MOST);
    }
    rk_system_clear(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rk_system chip;
    rk_measured_kernels list = {.count = 0};
    rk_csv_in csv;
    rk_error err;
    if (!chip.name[0]) {
        REQUIRE(rk_system_load("dgx-h100-superpod", &chip, &err) == RK_OK);
    }
    rk_status status = rk_csv_parse((const char *)data, size, "input", &csv, &err);
    if (status) {
        require_sound_error(&err, status);
        return 0;
    }
    const rk_cells cells = {csv.name, csv.cells, csv.rows, csv.columns};
    const rk_kernel_kind kind = rk_cell_column(&cells, "op") >= 0     ? RK_KERNEL_COLLECTIVE
                                : rk_cell_column(&cells, "pass") >= 0 ? RK_KERNEL_ATTENTION
                                                                      : RK_KERNEL_GEMM;
    status = rk_measured_kernels_read(&cells, kind, NULL, &chip, &list, &err);
    if (status) {
        require_sound_error(&err, status);
    } else {
        use(&chip, &list);
    }
    free(list.rows);
    rk_csv_in_clear(&csv);
    return 0;
}

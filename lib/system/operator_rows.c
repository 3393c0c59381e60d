/* SPDX-License-Identifier: Apache-2.0 */
/* Parses GEMM, attention and collective rows of operator tables, with errors by cell. */
#include "system/operator_rows.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells --------------------------------------------------------------------------------- */

int rk_cell_column(const rk_cells *table, const char *column)
{
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->cells[i], column) == 0) {
            return (int)i;
        }
    }
    return -1;
}

const char *rk_cell(const rk_cells *table, size_t row, const char *column)
{
    const int at = rk_cell_column(table, column);
    return at < 0 ? NULL : table->cells[(row + 1) * table->columns + (size_t)at];
}

static rk_status fail_cell(const rk_cells *table, size_t row, const char *column,
                           const char *expected, rk_error *err)
{
    const char *cell = rk_cell(table, row, column);
    if (cell) {
        (void)rk_fail(err, RK_ERR_INVALID, "row %zu, column %s: expected %s, found \"%.60s\"",
                      row + 1, column, expected, cell);
    } else {
        (void)rk_fail(err, RK_ERR_INVALID, "the column %s is missing", column);
    }
    rk_error_set_file(err, table->name);
    return RK_ERR_INVALID;
}

rk_status rk_cell_number(const rk_cells *table, size_t row, const char *column, double low,
                         bool optional, double *value, rk_error *err)
{
    const char *cell = rk_cell(table, row, column);
    char *end = NULL;
    if (!cell && optional) {
        return RK_OK;
    }
    *value = cell ? strtod(cell, &end) : -1;
    const double most = 1e18, bound = *value > most ? most : low < 1 ? 0 : low;
    if (!cell || end == cell || *end || !isfinite(*value) || *value < low || *value > most) {
        char range[64];
        const bool above = bound < low; /* low is the least of all numbers */
        (void)snprintf(range, sizeof(range), "a number %s %g",
                       *value > most ? "of at most"
                       : above       ? "above"
                                     : "of at least",
                       bound);
        return fail_cell(table, row, column, range, err);
    }
    return RK_OK;
}

/* Refuses a name, with all that there are and the nearest. */
static rk_status fail_choice(const rk_cells *table, size_t row, const char *column,
                             const char *const *names, rk_error *err)
{
    char list[200] = "";
    size_t count = 0, used = 0;
    for (; names[count] && used < sizeof(list); count++) {
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", count ? ", " : "",
                                 names[count]);
    }
    const char *cell = rk_cell(table, row, column);
    const char *nearest = rk_nearest_name(cell, names, count);
    (void)rk_fail(err, RK_ERR_INVALID,
                  "row %zu, column %s: expected one of %s, found \"%.60s\"%s%s%s", row + 1, column,
                  list, cell, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                  nearest ? "\"?" : "");
    rk_error_set_file(err, table->name);
    return RK_ERR_INVALID;
}

/* The same for an index into `names` (NULL-terminated) of the text of a cell. */
static rk_status cell_choice(const rk_cells *table, size_t row, const char *column,
                             const char *const *names, bool optional, int *index, rk_error *err)
{
    const char *cell = rk_cell(table, row, column);
    if (!cell && optional) {
        return RK_OK;
    }
    for (int i = 0; cell && names[i]; i++) {
        if (strcmp(names[i], cell) == 0) {
            *index = i;
            return RK_OK;
        }
    }
    if (cell) {
        return fail_choice(table, row, column, names, err);
    }
    return fail_cell(table, row, column, names[0], err);
}

/* ---- operators ----------------------------------------------------------------------------- */

static const double least = 1e-12, ranks_most = 1e6;
static const char *const flags[] = {"0", "1", NULL};

static rk_status read_gemm(const rk_cells *t, size_t row, rk_operator_row *out, rk_error *err)
{
    static const char *const clocks[] = {"training", "sustained", "burst", NULL};
    int precision = 0, clock = 0, module = 0, grouped = 0;
    rk_gemm_work g = {.batch = 1};
    rk_status status = cell_choice(t, row, "precision", rk_precision_names, false, &precision, err);
    status = status ? status : cell_choice(t, row, "clock", clocks, true, &clock, err);
    status = status ? status : cell_choice(t, row, "module", flags, true, &module, err);
    status = status ? status : cell_choice(t, row, "grouped", flags, true, &grouped, err);
    status = status ? status : rk_cell_number(t, row, "batch", least, true, &g.batch, err);
    status = status ? status : rk_cell_number(t, row, "m", least, false, &g.M, err);
    status = status ? status : rk_cell_number(t, row, "n", least, false, &g.N, err);
    status = status ? status : rk_cell_number(t, row, "k", least, false, &g.K, err);
    status = status ? status
                    : rk_cell_number(t, row, "accumulate_bytes", 0, true, &g.accumulate_bytes, err);
    g.precision = (rk_precision)precision;
    g.grouped = grouped == 1;
    g.clock = (rk_clock)clock;
    out->kernel.gemm = g;
    out->module_bytes = module ? 2 * g.batch * g.M * g.K : 0;
    return status;
}

static rk_status read_attention(const rk_cells *t, size_t row, rk_operator_row *out, rk_error *err)
{
    static const char *const passes[] = {"forward", "backward", NULL};
    double size = 0, heads = 0, batch = 0, seq = 0;
    int pass = 0, causal = 0, module = 0;
    rk_status status = cell_choice(t, row, "pass", passes, false, &pass, err);
    status = status ? status : cell_choice(t, row, "causal", flags, true, &causal, err);
    status = status ? status : cell_choice(t, row, "module", flags, true, &module, err);
    status = status ? status : rk_cell_number(t, row, "head_size", least, false, &size, err);
    status = status ? status : rk_cell_number(t, row, "heads", least, false, &heads, err);
    status = status ? status : rk_cell_number(t, row, "batch", least, false, &batch, err);
    status = status ? status : rk_cell_number(t, row, "seq", least, false, &seq, err);
    double kv_heads = heads;
    status = status ? status : rk_cell_number(t, row, "kv_heads", least, true, &kv_heads, err);
    out->kernel.attention = (rk_attention_work){
        .flops = 4 * batch * heads * seq * seq * size * (causal ? 0.5 : 1) * (pass ? 2.5 : 1),
        .seq = seq,
        .heads = batch * heads,
        .qk_size = size,
        .group = heads / kv_heads,
        .backward = pass == 1,
    };
    out->module_bytes = module ? 2 * batch * seq * (heads + 2 * kv_heads) * size : 0;
    return status;
}

rk_status rk_flash_row_read(const rk_cells *t, size_t row, rk_flash_row *out, rk_error *err)
{
    static const char *const passes[] = {"forward", "backward", NULL};
    static const char *const clocks[] = {"sustained", "burst", NULL};
    rk_flash_work w = {.library = RK_FLASH_CUDNN};
    int library = 0, pass = 0, clock = 0, causal = 0, deterministic = 0, module = 0;
    double batch = 0, kv_heads = 0;
    const struct {
        const char *column;
        double low, *value;
    } numbers[] = {
        {"batch", least, &batch},       {"heads", least, &w.heads},
        {"queries", 1, &w.queries},     {"keys", 1, &w.keys},
        {"kv_heads", least, &kv_heads}, {"qk_size", least, &w.qk_size},
        {"v_size", least, &w.v_size},   {"us", least, &out->seconds},
        {"window", 0, &w.window},
    };
    const struct {
        const char *column;
        const char *const *names;
        int *index;
    } choices[] = {
        {"library", rk_flash_library_names, &library},
        {"pass", passes, &pass},
        {"clock", clocks, &clock},
        {"causal", flags, &causal},
        {"deterministic", flags, &deterministic},
        {"module", flags, &module},
    };
    rk_status status = RK_OK;
    for (size_t i = 0; !status && i < COUNT(numbers); i++) {
        status =
            rk_cell_number(t, row, numbers[i].column, numbers[i].low, false, numbers[i].value, err);
    }
    for (size_t i = 0; !status && i < COUNT(choices); i++) {
        status =
            cell_choice(t, row, choices[i].column, choices[i].names, false, choices[i].index, err);
    }
    w.library = (rk_flash_library)library;
    w.group = w.heads / kv_heads;
    w.heads *= batch;
    w.backward = pass == 1;
    w.causal = causal == 1;
    w.sustained = clock == 0;
    w.deterministic = deterministic == 1;
    out->work = w;
    out->seconds *= 1e-6;
    out->expanded_bytes = module ? 2 * w.heads * w.keys * (w.qk_size + w.v_size) : 0;
    return status;
}

rk_status rk_collective_row_read(const rk_cells *table, size_t row, rk_collective_row *out,
                                 rk_error *err)
{
    double ranks = 2, per_node = 0;
    int op = 0;
    rk_status status = cell_choice(table, row, "op", rk_collective_names, false, &op, err);
    status = status ? status : rk_cell_number(table, row, "ranks", 2, false, &ranks, err);
    status =
        status ? status : rk_cell_number(table, row, "ranks_per_node", 1, true, &per_node, err);
    status = status ? status : rk_cell_number(table, row, "bytes", least, false, &out->bytes, err);
    status = status ? status : rk_cell_number(table, row, "us", least, false, &out->seconds, err);
    out->seconds *= 1e-6;
    out->op = (rk_collective)op;
    out->ranks = ranks <= ranks_most ? (int64_t)ranks : 2;
    out->per_node = per_node <= ranks ? (int64_t)per_node : 0;
    return status;
}

rk_status rk_operator_row_read(rk_kernel_kind kind, const rk_cells *table, size_t row,
                               rk_operator_row *out, rk_error *err)
{
    *out = (rk_operator_row){.kernel = {.kind = kind}};
    const rk_status status =
        rk_cell_number(table, row, "us", least, false, &out->kernel.seconds, err);
    out->kernel.seconds *= 1e-6;
    return status                   ? status
           : kind == RK_KERNEL_GEMM ? read_gemm(table, row, out, err)
                                    : read_attention(table, row, out, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tables that a "measured" member names, checks their rows, and fills ratios. */
#include "system/measured_doc.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "io/csv_in.h"
#include "io/fields.h"
#include "system/operator_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table_folder[] = "measured";

enum { PATH_SIZE = 1024 };

/* Of kernels. */
static const double size_least = 1, size_most = 0x1p40, head_most = 4096;

/* ---- the member ---------------------------------------------------------------------------- */

static rk_status check_name(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    (void)out;
    return json_is_string(value)
               ? RK_OK
               : rk_fail_at(err, RK_ERR_INVALID, path, "expected the name of a table, found %s",
                            rk_json_describe(value, found));
}

/* Only texts: cells are compared as they are written. */
static rk_status check_where(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE], member[RK_JSON_PATH_SIZE];
    json_t *where = (json_t *)(uintptr_t)value; /* jansson iterates over no const object */
    rk_status status =
        json_is_object(value)
            ? RK_OK
            : rk_fail_at(err, RK_ERR_INVALID, path, "expected columns and their texts, found %s",
                         rk_json_describe(value, found));
    (void)out;
    for (void *at = json_object_iter(where); at && !status; at = json_object_iter_next(where, at)) {
        const json_t *text = json_object_iter_value(at);
        if (!json_is_string(text)) {
            status = rk_fail_at(
                err, RK_ERR_INVALID, rk_json_path_member(path, json_object_iter_key(at), member),
                "expected the text of a cell, found %s", rk_json_describe(text, found));
        }
    }
    return status;
}

static const rk_field table_fields[] = {
    RK_FIELD("file", CUSTOM, 0, .read = check_name, .help = "a table"),
    RK_FIELD("where", CUSTOM, 0, .optional = true, .read = check_where,
             .help = "texts of cells of the rows that count, by column"),
};

/* One table: a name, or an object of a name and the rows that count. */
static rk_status check_table(const json_t *value, const char *path, void *out, rk_error *err)
{
    return json_is_object(value) ? rk_fields_read(value, path, table_fields, COUNT(table_fields),
                                                  RK_UNKNOWN_REFUSE, out, err)
                                 : check_name(value, path, out, err);
}

#define TABLE(key)                                                                                 \
    RK_FIELD(key, CUSTOM, 0, .optional = true, .read = check_table, .help = "a table")

static const rk_field kind_fields[RK_KERNEL_KINDS] = {
    [RK_KERNEL_GEMM] = TABLE("gemm"),
    [RK_KERNEL_ATTENTION] = TABLE("attention"),
    [RK_KERNEL_COLLECTIVE] = TABLE("collective"),
};

rk_status rk_measured_doc_check(const json_t *value, const char *path, rk_error *err)
{
    char nothing = 0; /* is filled */
    return rk_fields_read(value, path, kind_fields, COUNT(kind_fields), RK_UNKNOWN_REFUSE, &nothing,
                          err);
}

/* ---- tables -------------------------------------------------------------------------------- */

static rk_status fail_long(rk_error *err)
{
    return rk_fail(err, RK_ERR_INVALID, "the name of the table is too long");
}

static bool is_file(const char *name)
{
    return rk_ends_with(name, ".csv") || rk_ends_with(name, ".csv.gz");
}

/* Reads a file in the document's folder, or a table of the catalogue. */
static rk_status load_table(const char *name, const char *document, rk_csv_in *csv, rk_error *err)
{
    char path[PATH_SIZE], shown[RK_JSON_TEXT_SIZE];
    if (!is_file(name)) {
        const rk_catalogue_entry *entry = rk_catalogue_find(table_folder, name);
        (void)rk_json_printable(name, shown, sizeof(shown));
        return entry ? rk_csv_parse(entry->text, entry->size, name, csv, err)
                     : rk_fail(err, RK_ERR_INVALID,
                               "the catalogue has no measured table \"%s\"; a file's name ends in "
                               ".csv or .csv.gz",
                               shown);
    }
    return rk_path_beside(name, document, path, sizeof(path)) ? rk_csv_load(path, csv, err)
                                                              : fail_long(err);
}

static bool is_asked(json_t *where, const rk_cells *cells, size_t row)
{
    for (void *at = json_object_iter(where); at; at = json_object_iter_next(where, at)) {
        const char *cell = rk_cell(cells, row, json_object_iter_key(at));
        if (!cell || strcmp(cell, json_string_value(json_object_iter_value(at))) != 0) {
            return false;
        }
    }
    return true;
}

static bool fits(double size)
{
    return size >= size_least && size <= size_most;
}

static bool has_sizes(const rk_measured_kernel *k)
{
    const rk_gemm_work *g = &k->gemm;
    const rk_attention_work *a = &k->attention;
    switch (k->kind) {
    case RK_KERNEL_ATTENTION:
        return fits(a->seq) && fits(a->heads) && fits(a->qk_size) && a->qk_size <= head_most &&
               a->group <= head_most;
    case RK_KERNEL_COLLECTIVE:
        return fits(k->collective.bytes);
    default:
        return fits(g->M) && fits(g->N) && fits(g->K);
    }
}

/* Refuses sizes and times that no kernel of the machine has. */
static rk_status check_kernel(const rk_system *system, const rk_measured_kernel *k, size_t row,
                              rk_error *err)
{
    if (!has_sizes(k)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "row %zu: sizes are from 1 to 2^40, of heads and their groups to %.0f",
                       row + 1, head_most);
    }
    const double ratio = rk_measured_ratio(system, k);
    if (ratio < 0) {
        return rk_fail(err, RK_ERR_INVALID, "row %zu: the machine has no rate of %s", row + 1,
                       k->kind == RK_KERNEL_GEMM ? rk_precision_names[k->gemm.precision]
                                                 : kind_fields[k->kind].name);
    }
    if (ratio > RK_MEASURED_RATIO_MOST || ratio < 1 / RK_MEASURED_RATIO_MOST) {
        return rk_fail(err, RK_ERR_INVALID,
                       "row %zu: %g us is %.3g times what the model of this machine says: are "
                       "these microseconds?",
                       row + 1, k->seconds * 1e6, ratio);
    }
    return RK_OK;
}

static rk_status make_room(rk_measured_kernels *list, size_t rows, rk_error *err)
{
    rk_measured_kernel *more = realloc(list->rows, (list->count + rows) * sizeof(*more));
    if (!more) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for measured tables");
    }
    list->rows = more;
    return RK_OK;
}

/* The group of a row: ranks one after the other, or as many of each node as the row says. */
static rk_status read_collective(const rk_cells *cells, size_t row, const rk_system *system,
                                 rk_measured_kernel *k, rk_error *err)
{
    rk_collective_row read;
    rk_status status = rk_collective_row_read(cells, row, &read, err);
    const int64_t node = system->tier_count > 0 ? system->tiers[0].size : 1;
    if (!status && (read.per_node > node || (read.per_node > 0 && read.ranks % read.per_node))) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "row %zu: %" PRId64 " ranks are no whole number of nodes with %" PRId64
                         " of at most %" PRId64,
                         row + 1, read.ranks, read.per_node, node);
    }
    if (status) {
        return status;
    }
    const int64_t parts = read.per_node > 0 ? read.ranks / read.per_node : 1;
    *k = (rk_measured_kernel){
        .kind = RK_KERNEL_COLLECTIVE,
        .seconds = read.seconds,
        .collective = {.op = read.op,
                       .bytes = read.bytes,
                       .group = parts > 1 ? rk_group_of_parts(system, read.per_node, 1, parts, node)
                                          : rk_group_of(system, read.ranks, 1)},
    };
    return RK_OK;
}

/* Reads a row; *counts: whether it is a kernel by itself, no module and no batch of products. */
static rk_status read_kernel(const rk_cells *cells, rk_kernel_kind kind, size_t row,
                             const rk_system *system, rk_measured_kernel *k, bool *counts,
                             rk_error *err)
{
    rk_operator_row read;
    *counts = true;
    if (kind == RK_KERNEL_COLLECTIVE) {
        return read_collective(cells, row, system, k, err);
    }
    const rk_status status = rk_operator_row_read(kind, cells, row, &read, err);
    const rk_gemm_work *g = &read.kernel.gemm;
    *k = read.kernel;
    *counts = !(read.module_bytes > 0) &&
              (kind == RK_KERNEL_ATTENTION || g->grouped || !(fabs(g->batch - 1) > 0));
    return status;
}

rk_status rk_measured_kernels_read(const rk_cells *cells, rk_kernel_kind kind, json_t *where,
                                   const rk_system *system, rk_measured_kernels *list,
                                   rk_error *err)
{
    const size_t before = list->count;
    rk_status status = make_room(list, cells->rows + 1, err);
    for (size_t row = 0; row < cells->rows && !status; row++) {
        rk_measured_kernel *k = &list->rows[list->count];
        bool counts;
        if (!is_asked(where, cells, row)) {
            continue;
        }
        status = read_kernel(cells, kind, row, system, k, &counts, err);
        if (!status && counts) {
            status = check_kernel(system, k, row, err);
            list->count++;
        }
    }
    return status || list->count > before
               ? status
               : rk_fail(err, RK_ERR_INVALID, "no row of the table is a kernel that was asked for");
}

/* The name in a table that was checked. */
static json_t *name_of(const json_t *table)
{
    return json_is_string(table) ? (json_t *)(uintptr_t)table : json_object_get(table, "file");
}

static rk_status read_table(const json_t *table, rk_kernel_kind kind, const char *document,
                            const rk_system *system, rk_measured_kernels *list, rk_error *err)
{
    const char *name = json_string_value(name_of(table));
    rk_csv_in csv = {.rows = 0};
    rk_status status = load_table(name, document, &csv, err);
    if (!status) {
        const rk_cells cells = {csv.name, csv.cells, csv.rows, csv.columns};
        status = rk_measured_kernels_read(&cells, kind, json_object_get(table, "where"), system,
                                          list, err);
        rk_error_set_file(status ? err : NULL, csv.name);
    }
    rk_csv_in_clear(&csv);
    return status;
}

rk_status rk_measured_doc_read(const json_t *value, const char *document, rk_system *system,
                               rk_error *err)
{
    rk_measured_kernels list = {.count = 0};
    rk_status status = RK_OK;
    for (int kind = 0; kind < (int)COUNT(kind_fields) && !status; kind++) {
        const json_t *table = json_object_get(value, kind_fields[kind].name);
        status =
            table ? read_table(table, (rk_kernel_kind)kind, document, system, &list, err) : RK_OK;
    }
    if (!status && list.count > 0) {
        status = rk_measured_set(system, list.rows, list.count, err);
    }
    free(list.rows);
    return status;
}

rk_status rk_measured_doc_rebase(json_t *document, const char *file, rk_error *err)
{
    const json_t *measured = json_object_get(document, "measured");
    for (size_t kind = 0; kind < COUNT(kind_fields); kind++) {
        json_t *name = name_of(json_object_get(measured, kind_fields[kind].name));
        char path[PATH_SIZE];
        if (!json_is_string(name) || !is_file(json_string_value(name))) {
            continue;
        }
        if (!rk_path_beside(json_string_value(name), file, path, sizeof(path))) {
            return fail_long(err);
        }
        if (json_string_set(name, path)) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for measured tables");
        }
    }
    return RK_OK;
}

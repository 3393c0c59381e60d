/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/table.h"

#include "base/error.h"
#include "formats/calculon_docs.h"
#include "formats/calculon_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const rk_column count_columns[] = {
    {"executed", RK_VALUE_INT}, {"good", RK_VALUE_INT}, {"bad", RK_VALUE_INT}};
enum {
    COUNTS = sizeof(count_columns) / sizeof(count_columns[0]),
    GOOD = 1,
};

/* ---- columns --------------------------------------------------------------------------- */

/* The datatype is the one input of a search that is a field of the mapping too. */
static rk_column axis_column(const rk_sweep_doc *doc, size_t axis)
{
    rk_column column = rk_sweep_doc_axis_column(doc, axis);
    if (strcmp(column.name, "datatype") == 0) {
        column.name = "axis.datatype";
    }
    return column;
}

static rk_column exe_column(const rk_field *field)
{
    static const rk_value_type types[] = {
        [RK_FIELD_INT] = RK_VALUE_INT,     [RK_FIELD_NUMBER] = RK_VALUE_REAL,
        [RK_FIELD_BOOL] = RK_VALUE_BOOL,   [RK_FIELD_ENUM] = RK_VALUE_TEXT,
        [RK_FIELD_CUSTOM] = RK_VALUE_NULL,
    };
    return (rk_column){field->name, types[field->type]};
}

static rk_column stat_column(const rk_stat_field *field)
{
    /* A long double is stored as an integer where it is one. */
    static const rk_value_type types[] = {
        [RK_STAT_REAL] = RK_VALUE_REAL,
        [RK_STAT_LONG] = RK_VALUE_NULL,
    };
    return (rk_column){field->name, types[field->kind]};
}

rk_status rk_sweep_table_init(const rk_sweep_doc *doc, rk_sweep_table *table, rk_error *err)
{
    const size_t axes = rk_sweep_doc_axis_count(doc);
    *table = (rk_sweep_table){
        .count = 1 + axes + COUNTS + 1 + RK_CALCULON_EXE_FIELD_COUNT + RK_CALCULON_STATS_COUNT,
        .point_count = 1 + axes + COUNTS,
        .good = 1 + axes + GOOD,
    };
    table->columns = calloc(table->count, sizeof(*table->columns));
    table->row = calloc(table->count, sizeof(*table->row));
    if (!table->columns || !table->row) {
        rk_sweep_table_clear(table);
        return rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the table of a sweep");
    }
    rk_column *column = table->columns;
    *column++ = (rk_column){"point", RK_VALUE_INT};
    for (size_t i = 0; i < axes; i++) {
        *column++ = axis_column(doc, i);
    }
    for (size_t i = 0; i < COUNTS; i++) {
        *column++ = count_columns[i];
    }
    *column++ = (rk_column){"rank", RK_VALUE_INT};
    for (size_t i = 0; i < RK_CALCULON_EXE_FIELD_COUNT; i++) {
        *column++ = exe_column(&rk_calculon_exe_fields[i]);
    }
    for (size_t i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        *column++ = stat_column(&rk_calculon_stat_fields[i]);
    }
    return RK_OK;
}

void rk_sweep_table_clear(rk_sweep_table *table)
{
    free(table->columns);
    free(table->row);
    *table = (rk_sweep_table){0};
}

/* ---- values ---------------------------------------------------------------------------- */

static rk_value exe_value(const rk_calculon_exe *exe, const rk_field *field)
{
    const void *place = (const char *)exe + field->offset;
    switch (field->type) {
    case RK_FIELD_INT:
        return rk_value_int(*(const int64_t *)place);
    case RK_FIELD_NUMBER:
        return rk_value_real(*(const double *)place);
    case RK_FIELD_BOOL:
        return rk_value_bool(*(const bool *)place);
    case RK_FIELD_ENUM:
        return rk_value_text(field->names[*(const unsigned *)place]);
    case RK_FIELD_CUSTOM:
        break;
    }
    return (rk_value){0};
}

static rk_value real_value(double value)
{
    return isnan(value) ? (rk_value){0} : rk_value_real(value);
}

static rk_value stat_value(const rk_calculon_stats *stats, const rk_stat_field *field)
{
    const void *place = (const char *)stats + field->offset;
    if (field->kind == RK_STAT_LONG) {
        const long double value = *(const long double *)place;
        if (fabsl(value) < 0x1p63L && value == floorl(value)) {
            return rk_value_int((int64_t)value);
        }
    }
    return real_value(rk_calculon_stat_value(stats, field));
}

void rk_sweep_table_set_point(rk_sweep_table *table, const rk_sweep_doc *doc, uint64_t number,
                              const rk_search_counts *counts)
{
    const size_t axes = rk_sweep_doc_axis_count(doc);
    memset(table->row, 0, table->count * sizeof(*table->row));
    rk_value *value = table->row;
    *value++ = rk_value_int((int64_t)number);
    for (size_t i = 0; i < axes; i++) {
        *value++ = rk_sweep_doc_axis_value(doc, i, number);
    }
    *value++ = rk_value_int((int64_t)counts->executed);
    *value++ = rk_value_int((int64_t)counts->good);
    *value++ = rk_value_int((int64_t)counts->bad);
}

void rk_sweep_table_set_result(rk_sweep_table *table, uint64_t rank, const rk_calculon_exe *exe,
                               const rk_calculon_stats *stats)
{
    rk_value *value = table->row + table->point_count;
    *value++ = rk_value_int((int64_t)rank);
    for (size_t i = 0; i < RK_CALCULON_EXE_FIELD_COUNT; i++) {
        *value++ = exe_value(exe, &rk_calculon_exe_fields[i]);
    }
    for (size_t i = 0; i < RK_CALCULON_STATS_COUNT; i++) {
        *value++ = stat_value(stats, &rk_calculon_stat_fields[i]);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Loads run tables: columns by name, tidied names of frameworks and settings, cells as numbers. */
#include "evidence/run_table.h"

#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "evidence/fact_pairs.h"
#include "evidence/run_facts.h"
#include "io/csv_in.h"
#include "io/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_NAME(place, name, type, unit, meaning) name,
const char *const rk_run_column_names[] = {RK_RUN_COLUMN_LIST(COLUMN_NAME) NULL};

#define COLUMN_TEXT(place, name, type, unit, meaning) {name, type, unit, meaning},
const rk_run_column_text rk_run_column_texts[RK_RUN_COLUMN_COUNT] = {
    RK_RUN_COLUMN_LIST(COLUMN_TEXT)};

uint64_t rk_run_column_bit(int column)
{
    assert(column >= 0 && column < RK_RUN_COLUMN_COUNT);
    int place = 0;
    if (strcmp(rk_run_column_texts[column].type, "text") == 0) {
        return 0;
    }
    for (int i = 0; i < column; i++) {
        place += strcmp(rk_run_column_texts[i].type, "text") != 0;
    }
    return UINT64_C(1) << place;
}

/* ---- header -------------------------------------------------------------------------------- */

/* Columns by the names that answers give to the same fact, in JSON, CSV and Python. */
static void name_columns(rk_run_table *table)
{
    static const rk_named_count answers[] = {
        {"accelerators", RK_RUN_ACCELERATORS},
        {"micro_batch", RK_RUN_MICRO_BATCH},
        {"global_batch", RK_RUN_GLOBAL_BATCH},
        {"seq_tokens", RK_RUN_SEQ},
        {"vp", RK_RUN_VP},
        {"sp", RK_RUN_SP},
        {"step_measured_s", RK_RUN_STEP_SECONDS},
    };
    for (size_t i = 0; i < COUNT(answers); i++) {
        const char *column = rk_run_column_names[answers[i].value];
        char **cell = NULL;
        bool has = false;
        for (size_t at = 0; at < table->columns; at++) {
            cell = strcmp(table->cells[at], answers[i].name) == 0 ? &table->cells[at] : cell;
            has = has || strcmp(table->cells[at], column) == 0;
        }
        if (cell && !has) {
            *cell = (char *)(uintptr_t)column; /* nothing writes to the header */
        }
    }
}

/* Place of a column in the header; -1: the table lacks it. */
static rk_status find_column(const rk_run_table *table, const char *name, int *at, rk_error *err)
{
    *at = -1;
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->cells[i], name) != 0) {
            continue;
        }
        if (*at >= 0) {
            return rk_fail(err, RK_ERR_INVALID, "the header names the column %s twice", name);
        }
        *at = (int)i;
    }
    return RK_OK;
}

static rk_status read_header(rk_run_table *table, rk_error *err)
{
    rk_status status = RK_OK;
    name_columns(table);
    for (int column = 0; column < RK_RUN_COLUMN_COUNT && !status; column++) {
        status = find_column(table, rk_run_column_names[column], &table->at[column], err);
    }
    for (size_t fact = 0; fact < rk_run_fact_count && !status; fact++) {
        status = find_column(table, rk_run_fact_fields[fact].name, &table->fact_at[fact], err);
    }
    return status;
}

/* Frameworks by the names that rules have; an unknown one keeps its own. */
static void name_frameworks(rk_run_table *table)
{
    const int at = table->at[RK_RUN_FRAMEWORK];
    for (size_t row = 1; at >= 0 && row <= table->rows; row++) {
        char **cell = &table->cells[row * table->columns + (size_t)at];
        const char *framework = rk_run_framework(*cell);
        if (framework) {
            *cell = (char *)(uintptr_t)framework; /* nothing writes to cells */
        }
    }
}

/* Cuts a remark in parentheses off a name: "full (every block)" is full. */
static void cut_remarks(rk_run_table *table, int column)
{
    const int at = table->at[column];
    for (size_t row = 1; at >= 0 && row <= table->rows; row++) {
        char *cell = table->cells[row * table->columns + (size_t)at];
        size_t length = strcspn(cell, "(");
        if (cell[length] == '(' && length > 0) {
            while (length > 0 && cell[length - 1] == ' ') {
                length--;
            }
            cell[length] = '\0';
        }
    }
}

/* Names as rules have them. */
static void tidy_names(rk_run_table *table)
{
    name_frameworks(table);
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        if (column != RK_RUN_FRAMEWORK && strcmp(rk_run_column_texts[column].type, "name") == 0) {
            cut_remarks(table, column);
        }
    }
}

/* Takes ownership of what was read. */
static rk_status take(rk_status status, rk_csv_in *csv, rk_run_table *table, rk_error *err)
{
    memset(table, 0, sizeof(*table));
    memcpy(table->name, csv->name, sizeof(table->name));
    table->text = csv->text;
    table->cells = csv->cells;
    table->rows = csv->rows;
    table->columns = csv->columns;
    if (!status) {
        status = rk_run_spread_pairs(table, err);
        status = status ? status : read_header(table, err);
        if (status) {
            rk_error_set_file(err, table->name);
            rk_run_table_clear(table);
        } else {
            tidy_names(table);
        }
    }
    return status;
}

rk_status rk_run_table_parse(const char *text, size_t size, const char *name, rk_run_table *table,
                             rk_error *err)
{
    rk_csv_in csv;
    return take(rk_csv_parse(text, size, name, &csv, err), &csv, table, err);
}

rk_status rk_run_table_load(const char *name, rk_run_table *table, rk_error *err)
{
    rk_csv_in csv;
    if (strchr(name, '\n') && !rk_json_is_text(name)) {
        return rk_run_table_parse(name, strlen(name), "CSV text", table, err);
    }
    const rk_status status = rk_json_is_text(name)
                                 ? rk_csv_of_json(name, "rows", &csv, err)
                                 : rk_csv_load_named(name, "runs/tables", &csv, err);
    return take(status, &csv, table, err);
}

void rk_run_table_clear(rk_run_table *table)
{
    free(table->cells);
    free(table->text);
    memset(table, 0, sizeof(*table));
}

/* ---- reading ------------------------------------------------------------------------------- */

const char *rk_run_cell(const rk_run_table *table, size_t row, rk_run_column column)
{
    assert(row < table->rows && column < RK_RUN_COLUMN_COUNT);
    const int at = table->at[column];
    return at < 0 ? "" : table->cells[(row + 1) * table->columns + (size_t)at];
}

const char *rk_run_fact_cell(const rk_run_table *table, size_t row, size_t fact)
{
    assert(row < table->rows && fact < rk_run_fact_count);
    const int at = table->fact_at[fact];
    return at < 0 ? "" : table->cells[(row + 1) * table->columns + (size_t)at];
}

rk_status rk_run_number(const rk_run_table *table, size_t row, rk_run_column column, double *value,
                        rk_error *err)
{
    const char *cell = rk_run_cell(table, row, column);
    char shown[RK_JSON_TEXT_SIZE], *end = NULL;
    if (cell[0] == '\0') {
        return RK_OK;
    }
    const double number = strtod(cell, &end);
    if (end == cell || *end != '\0' || !isfinite(number) || number < 0) {
        (void)rk_fail(err, RK_ERR_INVALID,
                      "row %zu, column %s: expected a number of at least 0, "
                      "found \"%s\"",
                      row + 1, rk_run_column_names[column],
                      rk_json_printable(cell, shown, sizeof(shown)));
        rk_error_set_file(err, table->name);
        return RK_ERR_INVALID;
    }
    *value = number;
    return RK_OK;
}

bool rk_run_contains(const char *text, const char *part)
{
    const size_t length = strlen(part);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && rk_lower(text[i]) == rk_lower(part[i])) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return length == 0;
}

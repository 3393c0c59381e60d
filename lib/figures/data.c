/* SPDX-License-Identifier: Apache-2.0 */
/* Loads result tables from CSV or SQLite, evaluates expressions by row, filters and joins rows. */
#include "figures/data.h"

#include "base/error.h"
#include "base/text.h"
#include "io/csv_in.h"
#include "io/expression.h"
#include "io/sqlite_in.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 4096

double rk_value_number(const rk_value *value)
{
    return value->type == RK_VALUE_INT    ? (double)value->integer
           : value->type == RK_VALUE_REAL ? value->real
           : value->type == RK_VALUE_BOOL ? value->boolean
                                          : (double)NAN;
}

bool rk_value_same(const rk_value *a, const rk_value *b)
{
    if (a->type == RK_VALUE_TEXT || b->type == RK_VALUE_TEXT) {
        return a->type == b->type && strcmp(a->text, b->text) == 0;
    }
    if (a->type == RK_VALUE_NULL || b->type == RK_VALUE_NULL) {
        return a->type == b->type;
    }
    const double x = rk_value_number(a), y = rk_value_number(b);
    return x <= y && x >= y;
}

/* ---- loading --------------------------------------------------------------------------- */

/* The value of a cell's text, which is borrowed. */
static rk_value cell_value(const char *text)
{
    char *end;
    if (text[0] == '\0') {
        return (rk_value){.type = RK_VALUE_NULL};
    }
    const bool yes = strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
    if (yes || strcmp(text, "false") == 0 || strcmp(text, "False") == 0) {
        return rk_value_bool(yes);
    }
    if (strchr("+-.0123456789", text[0])) {
        errno = 0;
        const long long integer = strtoll(text, &end, 10);
        if (*end == '\0' && errno == 0) {
            return rk_value_int(integer);
        }
        const double real = strtod(text, &end);
        if (*end == '\0' && isfinite(real)) {
            return rk_value_real(real);
        }
    }
    if (strcmp(text, "NaN") == 0 || strcmp(text, "None") == 0 || strcmp(text, "Infinity") == 0) {
        return (rk_value){.type = RK_VALUE_NULL};
    }
    return rk_value_text(text);
}

static rk_status start_data(rk_data *data, size_t columns, size_t rows, rk_arena *arena,
                            rk_error *err)
{
    *data = (rk_data){.rows = rows, .room = columns + COLUMNS_MAX};
    rk_status status = rk_arena_get(arena, data->room, sizeof(*data->names), &data->names, err);
    return status ? status
                  : rk_arena_get(arena, data->room, sizeof(*data->cells), &data->cells, err);
}

static rk_status copy_csv(const rk_csv_in *csv, rk_arena *arena, rk_data *data, rk_error *err)
{
    rk_status status = start_data(data, csv->columns, csv->rows, arena, err);
    for (size_t column = 0; column < csv->columns && !status; column++) {
        const char *name = csv->cells[column];
        status = rk_arena_text(arena, name, strlen(name), &data->names[column], err);
        if (!status) {
            status = rk_arena_get(arena, csv->rows, sizeof(rk_value), &data->cells[column], err);
        }
        for (size_t row = 0; row < csv->rows && !status; row++) {
            rk_value value = cell_value(csv->cells[(row + 1) * csv->columns + column]);
            if (value.type == RK_VALUE_TEXT) {
                status = rk_arena_text(arena, value.text, strlen(value.text), &value.text, err);
            }
            data->cells[column][row] = value;
        }
        data->columns = column + 1;
    }
    return status;
}

static size_t find_column(const rk_data *data, const char *name)
{
    size_t i = 0;
    while (i < data->columns && strcmp(data->names[i], name) != 0) {
        i++;
    }
    return i;
}

/* Keeps only the best strategy of each point. */
static void keep_best(rk_data *data)
{
    const size_t rank = find_column(data, "rank");
    size_t kept = 0;
    for (size_t row = 0; row < data->rows && rank < data->columns; row++) {
        const double place = rk_value_number(&data->cells[rank][row]);
        if (place > 0) {
            continue;
        }
        for (size_t column = 0; column < data->columns; column++) {
            data->cells[column][kept] = data->cells[column][row];
        }
        kept++;
    }
    data->rows = rank < data->columns ? kept : data->rows;
}

rk_status rk_data_load(const char *path, bool all_ranks, rk_arena *arena, rk_data *data,
                       rk_error *err)
{
    rk_csv_in csv = {.text = NULL};
    rk_status status = rk_ends_with(path, ".db") || rk_ends_with(path, ".sqlite")
                           ? rk_sqlite_load(path, &csv, err)
                           : rk_csv_load(path, &csv, err);
    if (!status) {
        status = copy_csv(&csv, arena, data, err);
    }
    rk_csv_in_clear(&csv);
    if (!status && !all_ranks) {
        keep_best(data);
    }
    return status;
}

/* ---- expressions ----------------------------------------------------------------------- */

/* Prefixes the error of an expression with its path in the document. */
static rk_status fail_expression(const char *path, rk_error *err)
{
    if (err) {
        (void)snprintf(err->path, sizeof(err->path), "%s", path);
    }
    return err ? err->code : RK_ERR_INVALID;
}

static rk_status fail_name(const char *name, const char *const *names, size_t count,
                           const char *what, const char *path, rk_error *err)
{
    const char *nearest = rk_nearest_name(name, names, count);
    return nearest ? rk_fail_at(err, RK_ERR_INVALID, path,
                                "there is no %s \"%s\"; did you mean \"%s\"?", what, name, nearest)
                   : rk_fail_at(err, RK_ERR_INVALID, path, "there is no %s \"%s\"", what, name);
}

/* Texts of an expression's constants are freed with it: keeps a copy. */
static rk_status keep_text(rk_value *value, rk_arena *arena, rk_error *err)
{
    return value->type == RK_VALUE_TEXT
               ? rk_arena_text(arena, value->text, strlen(value->text), &value->text, err)
               : RK_OK;
}

/*
 * Evaluates row by row.  An expression that has no value anywhere for a reason of its own (text
 * where a number belongs) is an error; single rows may lack a value.
 */
static rk_status evaluate_rows(const rk_rows *rows, const rk_expression *parsed, const char *path,
                               rk_arena *arena, rk_value *values, rk_error *err)
{
    const size_t name_count = rk_expression_name_count(parsed);
    size_t *columns, valued = 0;
    rk_value *inputs;
    const char *reason = NULL;
    rk_status status = rk_arena_get(arena, name_count, sizeof(*columns), &columns, err);
    if (!status) {
        status = rk_arena_get(arena, name_count, sizeof(*inputs), &inputs, err);
    }
    for (size_t i = 0; i < name_count && !status; i++) {
        const char *name = rk_expression_name(parsed, i);
        columns[i] = find_column(rows->data, name);
        if (columns[i] == rows->data->columns) {
            status = fail_name(name, rows->data->names, rows->data->columns, "column", path, err);
        }
    }
    for (size_t row = 0; row < rows->count && !status; row++) {
        rk_expression_fault fault = {.reason = NULL};
        for (size_t i = 0; i < name_count; i++) {
            inputs[i] = rows->data->cells[columns[i]][rows->rows[row]];
        }
        values[row] = rk_expression_value(parsed, inputs, &fault);
        status = keep_text(&values[row], arena, err);
        valued += values[row].type != RK_VALUE_NULL;
        reason = fault.reason ? fault.reason : reason;
    }
    if (!status && valued == 0 && reason) {
        status = rk_fail_at(err, RK_ERR_INVALID, path, "\"%s\" has a value at no row: %s",
                            rk_expression_text(parsed), reason);
    }
    return status;
}

rk_status rk_data_evaluate(const rk_rows *rows, const char *expression, const char *path,
                           rk_arena *arena, rk_value **values, rk_error *err)
{
    rk_expression *parsed;
    rk_status status = rk_arena_get(arena, rows->count, sizeof(**values), values, err);
    if (status) {
        return status;
    }
    if (rk_expression_parse(expression, &parsed, err)) {
        return fail_expression(path, err);
    }
    status = evaluate_rows(rows, parsed, path, arena, *values, err);
    rk_expression_free(parsed);
    return status;
}

rk_status rk_data_select(const rk_data *data, const char *where, const char *path, rk_arena *arena,
                         rk_rows *rows, rk_error *err)
{
    rk_value *holds = NULL;
    rows->data = data;
    rows->count = data->rows;
    rk_status status = rk_arena_get(arena, data->rows, sizeof(*rows->rows), &rows->rows, err);
    for (size_t i = 0; i < data->rows && !status; i++) {
        rows->rows[i] = i;
    }
    if (status || !where) {
        return status;
    }
    status = rk_data_evaluate(rows, where, path, arena, &holds, err);
    rows->count = 0;
    for (size_t i = 0; i < data->rows && !status; i++) {
        if (holds[i].type != RK_VALUE_TEXT && rk_value_number(&holds[i]) > 0) {
            rows->rows[rows->count++] = i;
        }
    }
    return status;
}

static rk_status check_room(const rk_data *data, const char *name, const char *path, rk_error *err)
{
    if (data->columns == data->room) {
        return rk_fail_at(err, RK_ERR_LIMIT, path, "more than %d columns", COLUMNS_MAX);
    }
    return find_column(data, name) < data->columns
               ? rk_fail_at(err, RK_ERR_INVALID, path, "there is a column of that name already")
               : RK_OK;
}

rk_status rk_data_add_column(rk_data *data, const char *name, const char *expression,
                             const char *path, rk_arena *arena, rk_error *err)
{
    rk_rows rows;
    rk_status status = check_room(data, name, path, err);
    if (!status) {
        status = rk_data_select(data, NULL, path, arena, &rows, err);
    }
    if (!status) {
        status = rk_data_evaluate(&rows, expression, path, arena, &data->cells[data->columns], err);
    }
    if (!status) {
        data->names[data->columns++] = name;
    }
    return status;
}

/* The places of columns that a list names. */
static rk_status find_columns(const rk_data *data, const json_t *list, const char *path,
                              rk_arena *arena, size_t **places, rk_error *err)
{
    rk_status status =
        rk_arena_get(arena, json_array_size(list) + 1, sizeof(**places), places, err);
    for (size_t i = 0; i < json_array_size(list) && !status; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const size_t place = name ? find_column(data, name) : data->columns;
        (*places)[i] = place;
        if (!name) {
            status = rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of names of columns");
        } else if (place == data->columns) {
            status = fail_name(name, data->names, data->columns, "column", path, err);
        }
    }
    return status;
}

static bool rows_agree(const rk_data *data, const size_t *columns, size_t count, size_t a, size_t b)
{
    assert(a < data->rows && b < data->rows);
    size_t i = 0;
    while (i < count && rk_value_same(&data->cells[columns[i]][a], &data->cells[columns[i]][b])) {
        i++;
    }
    return i == count;
}

rk_status rk_data_add_beside(rk_data *data, const char *name, const rk_reference_value *beside,
                             const char *path, rk_arena *arena, rk_error *err)
{
    rk_rows rows;
    rk_value *found = NULL, *column = NULL;
    size_t *same;
    rk_status status = check_room(data, name, path, err);
    if (!status) {
        status = find_columns(data, beside->same, RK_PATH(path, "same"), arena, &same, err);
    }
    if (!status) {
        status = rk_data_select(data, beside->where, RK_PATH(path, "where"), arena, &rows, err);
    }
    if (!status) {
        status = rk_data_evaluate(&rows, beside->value, RK_PATH(path, "value"), arena, &found, err);
    }
    if (!status) {
        status = rk_arena_get(arena, data->rows, sizeof(*column), &column, err);
    }
    for (size_t row = 0; row < data->rows && !status; row++) {
        column[row] = (rk_value){.type = RK_VALUE_NULL};
        for (size_t i = rows.count; i-- > 0;) {
            if (rows_agree(data, same, json_array_size(beside->same), row, rows.rows[i])) {
                column[row] = found[i];
            }
        }
    }
    if (!status) {
        data->cells[data->columns] = column;
        data->names[data->columns++] = name;
    }
    return status;
}

rk_status rk_named_evaluate(const rk_named_values *values, const char *expression, const char *path,
                            rk_arena *arena, rk_value *value, rk_error *err)
{
    rk_expression *parsed;
    rk_value *inputs;
    if (rk_expression_parse(expression, &parsed, err)) {
        return fail_expression(path, err);
    }
    const size_t count = rk_expression_name_count(parsed);
    rk_status status = rk_arena_get(arena, count, sizeof(*inputs), &inputs, err);
    for (size_t i = 0; i < count && !status; i++) {
        const char *name = rk_expression_name(parsed, i);
        size_t place = 0;
        while (place < values->count && strcmp(values->names[place], name) != 0) {
            place++;
        }
        if (place == values->count) {
            status = fail_name(name, values->names, values->count, "value", path, err);
        } else {
            inputs[i] = values->values[place];
        }
    }
    if (!status) {
        *value = rk_expression_value(parsed, inputs, NULL);
        status = keep_text(value, arena, err);
    }
    rk_expression_free(parsed);
    return status;
}

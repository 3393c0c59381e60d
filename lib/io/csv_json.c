/* SPDX-License-Identifier: Apache-2.0 */
/* Converts rows of a JSON document to CSV text, so that one set of rules reads both. */
#include "base/bytes.h"
#include "base/error.h"
#include "io/csv_in.h"
#include "io/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A text as a cell: RFC 4180. */
static void add_text(rk_bytes *csv, const char *text)
{
    rk_bytes_add(csv, "\"", 1);
    for (; *text; text++) {
        rk_bytes_add(csv, text, 1);
        if (*text == '"') {
            rk_bytes_add(csv, text, 1);
        }
    }
    rk_bytes_add(csv, "\"", 1);
}

/* Numbers as they are, null as an empty cell.  False where a cell cannot hold it. */
static bool add_cell(rk_bytes *csv, const json_t *value)
{
    char number[32] = "";
    if (json_is_string(value)) {
        add_text(csv, json_string_value(value));
    } else if (json_is_integer(value)) {
        (void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)snprintf(number, sizeof(number), "%.17g", json_real_value(value));
    } else if (json_is_boolean(value)) {
        (void)snprintf(number, sizeof(number), "%s", json_is_true(value) ? "true" : "false");
    } else if (value && !json_is_null(value)) {
        return false;
    }
    rk_bytes_add(csv, number, strlen(number));
    return true;
}

/* The members of all rows, each once, in order of appearance; NULL: out of memory. */
static json_t *list_columns(const json_t *rows)
{
    json_t *columns = json_object(), *row, *value;
    const char *key;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        json_object_foreach(row, key, value)
        {
            if (columns && json_object_set_new(columns, key, json_null()) != 0) {
                json_decref(columns);
                columns = NULL;
            }
        }
    }
    return columns;
}

static rk_status fail_row(const char *what, size_t row, const char *key, rk_error *err)
{
    return rk_fail_at(err, RK_ERR_INVALID, key, "row %zu: %s", row + 1, what);
}

static rk_status add_rows(rk_bytes *csv, const json_t *rows, json_t *columns, rk_error *err)
{
    json_t *none;
    const char *key;
    bool first = true;
    json_object_foreach(columns, key, none)
    {
        rk_bytes_add(csv, ",", !first);
        add_text(csv, key);
        first = false;
    }
    rk_bytes_add(csv, "\n", 1);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        first = true;
        json_object_foreach(columns, key, none)
        {
            rk_bytes_add(csv, ",", !first);
            if (!add_cell(csv, json_object_get(row, key))) {
                return fail_row("a cell is a text, a number, true, false or null", i, key, err);
            }
            first = false;
        }
        rk_bytes_add(csv, "\n", 1);
    }
    return RK_OK;
}

static rk_status write_csv(const json_t *rows, const char *member, rk_bytes *csv, rk_error *err)
{
    if (!json_is_array(rows) || json_array_size(rows) == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, member, "expected a list of rows, at least one");
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_object(row) || json_object_size(row) == 0) {
            return fail_row("expected an object with a member for each column", i, member, err);
        }
    }
    json_t *columns = list_columns(rows);
    if (!columns) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a table");
    }
    const rk_status status = add_rows(csv, rows, columns, err);
    json_decref(columns);
    return status || !csv->failed ? status
                                  : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a table");
}

rk_status rk_csv_of_json(const char *text, const char *member, rk_csv_in *table, rk_error *err)
{
    rk_json_doc doc = {0};
    rk_bytes csv = {0};
    memset(table, 0, sizeof(*table));
    rk_status status = rk_json_load(text, NULL, &doc, err);
    if (!status) {
        status = write_csv(json_object_get(doc.root, member), member, &csv, err);
        rk_error_set_file(status ? err : NULL, doc.name);
    }
    if (!status) {
        status = rk_csv_parse((const char *)csv.data, csv.size, doc.name, table, err);
    }
    rk_bytes_clear(&csv);
    rk_json_clear(&doc);
    return status;
}

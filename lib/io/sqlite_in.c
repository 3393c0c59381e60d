/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the result rows of an SQLite file as CSV text, for the CSV reader. */
#include "io/sqlite_in.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "io/sqlite_library.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 30000 /* how long to wait for a sweep that is writing */

/* Adds a cell in quotes and what separates it from the next. */
static void add_cell(rk_bytes *to, const char *cell, bool last)
{
    rk_bytes_add(to, "\"", 1);
    for (; cell && *cell; cell++) {
        rk_bytes_add(to, cell, 1);
        rk_bytes_add(to, "\"", *cell == '"');
    }
    rk_bytes_add(to, last ? "\"\n" : "\",", 2);
}

/* The cell as in the CSV file: numbers that read back exactly, booleans as words. */
static const char *cell_text(const rk_sqlite *sqlite, sqlite3_stmt *rows, int column,
                             char out[RK_NUMBER_TEXT_SIZE])
{
    assert(column >= 0);
    const char *type = sqlite->column_decltype(rows, column);
    switch (sqlite->column_type(rows, column)) {
    case SQLITE_FLOAT:
        return rk_double_text(sqlite->column_double(rows, column), out);
    case SQLITE_INTEGER:
        if (type && strcmp(type, "BOOLEAN") == 0) {
            return sqlite->column_int(rows, column) ? "true" : "false";
        }
        break;
    default:
        break;
    }
    return (const char *)sqlite->column_text(rows, column);
}

static rk_status read_rows(const rk_sqlite *sqlite, sqlite3 *db, rk_bytes *csv, rk_error *err)
{
    sqlite3_stmt *rows = NULL;
    char number[RK_NUMBER_TEXT_SIZE];
    int code = sqlite->prepare_v2(
        db, "SELECT * FROM points LEFT JOIN results USING (point) ORDER BY point, rank", -1, &rows,
        NULL);
    const int columns = code == SQLITE_OK ? sqlite->column_count(rows) : 0;
    for (int i = 0; i < columns; i++) {
        add_cell(csv, sqlite->column_name(rows, i), i + 1 == columns);
    }
    while (!csv->failed && code != SQLITE_DONE && columns > 0) {
        code = sqlite->step(rows);
        if (code != SQLITE_ROW) {
            break;
        }
        for (int i = 0; i < columns; i++) {
            add_cell(csv, cell_text(sqlite, rows, i, number), i + 1 == columns);
        }
    }
    rk_status status = RK_OK;
    if (csv->failed) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the table");
    } else if (code != SQLITE_DONE) {
        status = rk_fail(err, RK_ERR_INVALID, "this is not a database of a sweep: %s",
                         sqlite->errmsg(db));
    }
    (void)sqlite->finalize(rows);
    return status;
}

rk_status rk_sqlite_load(const char *path, rk_csv_in *table, rk_error *err)
{
    sqlite3 *db = NULL;
    rk_bytes csv = {.data = NULL};
    rk_sqlite sqlite;
    memset(table, 0, sizeof(*table));
    rk_status status = rk_sqlite_library_open(&sqlite, err);
    if (status) {
        rk_error_set_file(err, path);
        return status;
    }
    if (sqlite.open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        status = rk_fail(err, RK_ERR_IO, "cannot open: %s", db ? sqlite.errmsg(db) : "no memory");
    } else {
        (void)sqlite.busy_timeout(db, BUSY_MS);
        status = read_rows(&sqlite, db, &csv, err);
    }
    (void)sqlite.close(db);
    if (status) {
        rk_error_set_file(err, path);
    } else {
        status = rk_csv_parse((const char *)csv.data, csv.size, path, table, err);
    }
    rk_bytes_clear(&csv);
    return status;
}

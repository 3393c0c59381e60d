/* SPDX-License-Identifier: Apache-2.0 */
/* Writes sweep results to SQLite: schema, prepared statements, transactions, resumption. */
#include "io/sqlite_out.h"

#include "base/error.h"
#include "io/file_lock.h"
#include "io/sqlite_library.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANK_BITS 20    /* low bits of a result's ID that hold the rank; the point is above */
#define BUSY_MS   30000 /* how long to wait for another program that reads or writes the file */

struct rk_sqlite_out {
    char name[256];
    const rk_sqlite_layout *layout;
    rk_file_lock lock;
    rk_sqlite sqlite;
    sqlite3 *db; /* owned, as are the statements */
    sqlite3_stmt *add_point, *add_result, *select;
};

/* ---- SQL ------------------------------------------------------------------------------- */

static rk_status fail_sqlite(const rk_sqlite_out *out, rk_error *err)
{
    const int code = out->sqlite.errcode(out->db);
    const bool full = code == SQLITE_FULL || out->sqlite.system_errno(out->db) == ENOSPC;
    const rk_status status = full ? rk_fail(err, RK_ERR_IO, "cannot write: %s", strerror(ENOSPC))
                                  : rk_fail(err, code == SQLITE_NOMEM ? RK_ERR_MEMORY : RK_ERR_IO,
                                            "SQLite cannot go on: %s", out->sqlite.errmsg(out->db));
    rk_error_set_file(err, out->name);
    return status;
}

static rk_status fail_file(const rk_sqlite_out *out, const char *message, rk_error *err)
{
    const rk_status status = rk_fail(err, RK_ERR_INVALID, "%s", message);
    rk_error_set_file(err, out->name);
    return status;
}

static rk_status execute(const rk_sqlite_out *out, const char *sql, rk_error *err)
{
    return out->sqlite.exec(out->db, sql, NULL, NULL, NULL) == SQLITE_OK ? RK_OK
                                                                         : fail_sqlite(out, err);
}

static rk_status prepare(const rk_sqlite_out *out, const char *sql, sqlite3_stmt **statement,
                         rk_error *err)
{
    return out->sqlite.prepare_v2(out->db, sql, -1, statement, NULL) == SQLITE_OK
               ? RK_OK
               : fail_sqlite(out, err);
}

/* Takes over the text of `sql`; the caller frees the result with sqlite3_free, NULL: no memory. */
static char *finish_sql(const rk_sqlite *sqlite, sqlite3_str *sql)
{
    const int code = sqlite->str_errcode(sql);
    char *text = sqlite->str_finish(sql);
    if (code != SQLITE_OK) {
        sqlite->free(text);
        return NULL;
    }
    return text;
}

static void append_columns(const rk_sqlite *sqlite, sqlite3_str *sql, const rk_column *columns,
                           size_t count)
{
    assert(count > 0);
    static const char *const types[] = {
        [RK_VALUE_NULL] = "",         [RK_VALUE_INT] = " INTEGER", [RK_VALUE_REAL] = " REAL",
        [RK_VALUE_BOOL] = " BOOLEAN", [RK_VALUE_TEXT] = " TEXT",
    };
    for (size_t i = 0; i < count; i++) {
        sqlite->str_appendf(sql, ", \"%w\"%s", columns[i].name, types[columns[i].type]);
    }
}

/*
 * An insertion into `points`, or into `results`, whose rows get the ID that their place in order
 * has: values 1 and 2 are point and rank.
 */
static void append_insert(const rk_sqlite *sqlite, sqlite3_str *sql, const rk_sqlite_layout *layout,
                          const rk_column *columns, size_t count, bool results)
{
    sqlite->str_appendf(sql, "INSERT INTO %s (", results ? "results" : "points");
    if (results) {
        sqlite->str_appendf(sql, "rowid, \"%w\"", layout->columns[0].name);
    }
    for (size_t i = 0; i < count; i++) {
        sqlite->str_appendf(sql, results || i > 0 ? ", \"%w\"" : "\"%w\"", columns[i].name);
    }
    sqlite->str_appendf(sql, results ? ") VALUES ((?1 << %d) + ?2, ?1, ?2" : ") VALUES (?1",
                        RANK_BITS);
    for (size_t i = results ? 3 : 2; i <= count + results; i++) {
        sqlite->str_appendf(sql, ", ?%d", (int)i);
    }
    sqlite->str_appendall(sql, ")");
}

/* ---- opening --------------------------------------------------------------------------- */

static rk_status create_tables(const rk_sqlite_out *out, rk_error *err)
{
    const rk_sqlite_layout *layout = out->layout;
    const size_t points = layout->point_column_count;
    sqlite3_str *sql = out->sqlite.str_new(out->db);
    out->sqlite.str_appendf(sql,
                            "BEGIN;"
                            "CREATE TABLE sweep (reckon_version TEXT, point_count INTEGER,"
                            " document TEXT);"
                            "INSERT INTO sweep VALUES (%Q, %lld, %Q);"
                            "CREATE TABLE points (\"%w\" INTEGER PRIMARY KEY",
                            RK_VERSION, (sqlite3_int64)layout->point_count, layout->document,
                            layout->columns[0].name);
    append_columns(&out->sqlite, sql, layout->columns + 1, points - 1);
    out->sqlite.str_appendf(sql,
                            "); CREATE TABLE results (\"%w\" INTEGER NOT NULL REFERENCES points",
                            layout->columns[0].name);
    append_columns(&out->sqlite, sql, layout->columns + points, layout->column_count - points);
    out->sqlite.str_appendf(sql, ", PRIMARY KEY (\"%w\", \"%w\")); COMMIT;",
                            layout->columns[0].name, layout->columns[points].name);
    char *text = finish_sql(&out->sqlite, sql);
    const rk_status status = text ? execute(out, text, err)
                                  : rk_fail(err, RK_ERR_MEMORY, "no memory to create the tables");
    out->sqlite.free(text);
    return status;
}

/* Checks that the file holds results of this document and version. */
static rk_status check_tables(const rk_sqlite_out *out, rk_error *err)
{
    sqlite3_stmt *statement = NULL;
    rk_status status = RK_OK;
    if (out->sqlite.prepare_v2(out->db, "SELECT reckon_version, document FROM sweep", -1,
                               &statement, NULL) != SQLITE_OK ||
        out->sqlite.step(statement) != SQLITE_ROW) {
        status = fail_file(out, "this database was not written by a sweep", err);
    } else {
        const char *version = (const char *)out->sqlite.column_text(statement, 0);
        const char *document = (const char *)out->sqlite.column_text(statement, 1);
        if (!document || strcmp(document, out->layout->document) != 0) {
            status = fail_file(out,
                               "these are the results of another sweep (its document, or a model "
                               "or system that it names, has changed): choose another file",
                               err);
        } else if (!version || strcmp(version, RK_VERSION) != 0) {
            status = fail_file(out,
                               "these results were computed by another version of reckon: choose "
                               "another file",
                               err);
        }
    }
    (void)out->sqlite.finalize(statement);
    return status;
}

/* Makes the tables of a new file, checks the tables of an old one. */
static rk_status init_tables(const rk_sqlite_out *out, bool resume, rk_error *err)
{
    sqlite3_stmt *statement = NULL;
    rk_status status = prepare(out, "SELECT 1 FROM sqlite_master", &statement, err);
    if (status != RK_OK) {
        return status;
    }
    const int step = out->sqlite.step(statement);
    (void)out->sqlite.finalize(statement);
    if (step == SQLITE_DONE) {
        return create_tables(out, err);
    }
    if (step != SQLITE_ROW) {
        return fail_sqlite(out, err);
    }
    return resume
               ? check_tables(out, err)
               : fail_file(out,
                           "the file exists: resume its sweep, remove it, or choose another name",
                           err);
}

static rk_status prepare_statements(rk_sqlite_out *out, rk_error *err)
{
    const rk_sqlite_layout *layout = out->layout;
    const char *point = layout->columns[0].name;
    sqlite3_str *sql[] = {out->sqlite.str_new(out->db), out->sqlite.str_new(out->db),
                          out->sqlite.str_new(out->db)};
    sqlite3_stmt **statements[] = {&out->add_point, &out->add_result, &out->select};

    append_insert(&out->sqlite, sql[0], layout, layout->columns, layout->point_column_count, false);
    append_insert(&out->sqlite, sql[1], layout, layout->columns + layout->point_column_count,
                  layout->column_count - layout->point_column_count, true);
    out->sqlite.str_appendf(
        sql[2],
        "SELECT * FROM points LEFT JOIN results USING (\"%w\") WHERE \"%w\" = ? "
        "ORDER BY \"%w\"",
        point, point, layout->columns[layout->point_column_count].name);
    rk_status status = RK_OK;
    for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++) {
        char *text = finish_sql(&out->sqlite, sql[i]);
        if (status == RK_OK) {
            status = text ? prepare(out, text, statements[i], err)
                          : rk_fail(err, RK_ERR_MEMORY,
                                    "not enough memory for the statements of SQLite");
        }
        out->sqlite.free(text);
    }
    return status;
}

rk_status rk_sqlite_open(const char *path, bool resume, const rk_sqlite_layout *layout,
                         rk_sqlite_out **result, rk_error *err)
{
    *result = NULL;
    if (path[0] == '\0') {
        return rk_fail(err, RK_ERR_INVALID, "a database needs the name of a file");
    }
    rk_sqlite sqlite;
    rk_status status = rk_sqlite_library_open(&sqlite, err);
    if (status) {
        rk_error_set_file(err, path);
        return status;
    }
    rk_sqlite_out *out = calloc(1, sizeof(*out));
    if (!out) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to open a database");
    }
    out->sqlite = sqlite;
    (void)snprintf(out->name, sizeof(out->name), "%s", path);
    out->layout = layout;
    status = rk_file_lock_take(path, &out->lock, err);
    rk_error_set_file(status ? err : NULL, out->name);
    if (status == RK_OK &&
        out->sqlite.open_v2(path, &out->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
            SQLITE_OK) {
        status = fail_sqlite(out, err);
    }
    if (status == RK_OK) {
        (void)out->sqlite.busy_timeout(out->db, BUSY_MS);
        /* Survives the end of this process; a power cut may lose the last points, but no more. */
        status = execute(out, "PRAGMA synchronous = NORMAL", err);
    }
    if (status == RK_OK) {
        status = init_tables(out, resume, err);
    }
    if (status == RK_OK) {
        status = prepare_statements(out, err);
    }
    if (status == RK_OK) {
        *result = out;
    } else {
        rk_sqlite_close(out);
    }
    return status;
}

void rk_sqlite_close(rk_sqlite_out *out)
{
    if (out) {
        (void)out->sqlite.finalize(out->add_point);
        (void)out->sqlite.finalize(out->add_result);
        (void)out->sqlite.finalize(out->select);
        (void)out->sqlite.close(out->db);
        rk_file_lock_release(&out->lock);
        free(out);
    }
}

/* ---- rows ------------------------------------------------------------------------------ */

static int bind(const rk_sqlite *sqlite, sqlite3_stmt *statement, int place, const rk_value *value)
{
    assert(place >= 1);
    switch (value->type) {
    case RK_VALUE_INT:
        return sqlite->bind_int64(statement, place, value->integer);
    case RK_VALUE_REAL:
        return sqlite->bind_double(statement, place, value->real);
    case RK_VALUE_BOOL:
        return sqlite->bind_int(statement, place, value->boolean);
    case RK_VALUE_TEXT:
        return sqlite->bind_text(statement, place, value->text, -1, SQLITE_STATIC);
    case RK_VALUE_NULL:
        break;
    }
    return sqlite->bind_null(statement, place);
}

/* Inserts the number of the point, then `count` values. */
static rk_status insert(const rk_sqlite_out *out, sqlite3_stmt *statement, const rk_value *number,
                        const rk_value *values, size_t count, rk_error *err)
{
    int code = bind(&out->sqlite, statement, 1, number);
    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        code = bind(&out->sqlite, statement, (int)i + 2, &values[i]);
    }
    if (code == SQLITE_OK) {
        code = out->sqlite.step(statement);
    }
    const rk_status status = code == SQLITE_DONE ? RK_OK : fail_sqlite(out, err);
    (void)out->sqlite.reset(statement);
    return status;
}

static rk_status begin(const rk_sqlite_out *out, rk_error *err)
{
    return out->sqlite.get_autocommit(out->db) ? execute(out, "BEGIN IMMEDIATE", err) : RK_OK;
}

rk_status rk_sqlite_add_point(rk_sqlite_out *out, const rk_value *row, rk_error *err)
{
    const rk_status status = begin(out, err);
    return status == RK_OK
               ? insert(out, out->add_point, row, row + 1, out->layout->point_column_count - 1, err)
               : status;
}

rk_status rk_sqlite_add_result(rk_sqlite_out *out, const rk_value *row, rk_error *err)
{
    const size_t points = out->layout->point_column_count;
    const rk_status status = begin(out, err);
    return status == RK_OK ? insert(out, out->add_result, row, row + points,
                                    out->layout->column_count - points, err)
                           : status;
}

rk_status rk_sqlite_commit(rk_sqlite_out *out, rk_error *err)
{
    return out->sqlite.get_autocommit(out->db) ? RK_OK : execute(out, "COMMIT", err);
}

rk_status rk_sqlite_points(rk_sqlite_out *out,
                           void (*visit)(void *user, uint64_t number, bool has_results), void *user,
                           rk_error *err)
{
    const char *point = out->layout->columns[0].name;
    sqlite3_stmt *statement = NULL;
    char *sql =
        out->sqlite.mprintf("SELECT \"%w\", EXISTS (SELECT 1 FROM results WHERE results.\"%w\" ="
                            " points.\"%w\") FROM points ORDER BY \"%w\"",
                            point, point, point, point);
    rk_status status = sql ? prepare(out, sql, &statement, err)
                           : rk_fail(err, RK_ERR_MEMORY, "no memory to read the database");
    int code = SQLITE_DONE;
    while (status == RK_OK && (code = out->sqlite.step(statement)) == SQLITE_ROW) {
        visit(user, (uint64_t)out->sqlite.column_int64(statement, 0),
              out->sqlite.column_int(statement, 1) != 0);
    }
    if (code != SQLITE_DONE) {
        status = fail_sqlite(out, err);
    }
    (void)out->sqlite.finalize(statement);
    out->sqlite.free(sql);
    return status;
}

static rk_value read_value(const rk_sqlite *sqlite, sqlite3_stmt *statement, int place,
                           rk_value_type type)
{
    switch (sqlite->column_type(statement, place)) {
    case SQLITE_INTEGER:
        return type == RK_VALUE_BOOL ? rk_value_bool(sqlite->column_int(statement, place) != 0)
                                     : rk_value_int(sqlite->column_int64(statement, place));
    case SQLITE_FLOAT:
        return rk_value_real(sqlite->column_double(statement, place));
    case SQLITE_TEXT:
        return rk_value_text((const char *)sqlite->column_text(statement, place));
    default:
        return (rk_value){0};
    }
}

rk_status rk_sqlite_read(rk_sqlite_out *out, uint64_t number, rk_value *row,
                         rk_status (*visit)(void *user, uint64_t number, rk_error *err), void *user,
                         rk_error *err)
{
    const rk_sqlite_layout *layout = out->layout;
    rk_status status = RK_OK;
    int code = out->sqlite.bind_int64(out->select, 1, (sqlite3_int64)number);
    while (code == SQLITE_OK && (code = out->sqlite.step(out->select)) == SQLITE_ROW) {
        for (size_t i = 0; i < layout->column_count; i++) {
            row[i] = read_value(&out->sqlite, out->select, (int)i, layout->columns[i].type);
        }
        status = visit(user, number, err);
        code = status == RK_OK ? SQLITE_OK : SQLITE_DONE;
    }
    if (code != SQLITE_DONE) {
        status = fail_sqlite(out, err);
    }
    (void)out->sqlite.reset(out->select);
    return status;
}

rk_status rk_sqlite_write_pareto(rk_sqlite_out *out, const uint64_t *points, const uint64_t *ranks,
                                 size_t count, rk_error *err)
{
    sqlite3_stmt *statement = NULL;
    rk_status status = begin(out, err);
    if (status == RK_OK) {
        status = execute(out,
                         "DROP TABLE IF EXISTS pareto; CREATE TABLE pareto (point INTEGER,"
                         " rank INTEGER, PRIMARY KEY (point, rank))",
                         err);
    }
    if (status == RK_OK) {
        status = prepare(out, "INSERT INTO pareto VALUES (?, ?)", &statement, err);
    }
    for (size_t i = 0; i < count && status == RK_OK; i++) {
        const rk_value point = rk_value_int((int64_t)points[i]);
        const rk_value rank = rk_value_int((int64_t)ranks[i]);
        status = insert(out, statement, &point, &rank, 1, err);
    }
    (void)out->sqlite.finalize(statement);
    return status == RK_OK ? rk_sqlite_commit(out, err) : status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of sweeps: every kind of value written and read back, and files that are none. */
#include "io/sqlite_in.h"
#include "io/sqlite_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch.h"

enum { COLUMNS = 6, POINT_COLUMNS = 3 };

static const rk_column columns[COLUMNS] = {
    {"point", RK_VALUE_INT}, {"a \"name\"", RK_VALUE_TEXT}, {"good", RK_VALUE_BOOL},
    {"rank", RK_VALUE_INT},  {"step", RK_VALUE_REAL},       {"last,one", RK_VALUE_TEXT},
};
static const rk_sqlite_layout layout = {
    .document = "{}",
    .point_count = 3,
    .columns = columns,
    .column_count = COLUMNS,
    .point_column_count = POINT_COLUMNS,
};

/* A row, and its cells in CSV. */
static const struct {
    rk_value values[COLUMNS];
    const char *cells[COLUMNS];
} rows[] = {
    {{{.type = RK_VALUE_INT, .integer = 0},
      {.type = RK_VALUE_TEXT, .text = "it's \"so\",\nhere"},
      {.type = RK_VALUE_BOOL, .boolean = true},
      {.type = RK_VALUE_INT, .integer = 1},
      {.type = RK_VALUE_REAL, .real = 0.1},
      {.type = RK_VALUE_TEXT, .text = "\"\""}},
     {"0", "it's \"so\",\nhere", "true", "1", "0.1", "\"\""}},
    {{{.type = RK_VALUE_INT, .integer = 0},
      {.type = RK_VALUE_NULL},
      {.type = RK_VALUE_NULL},
      {.type = RK_VALUE_INT, .integer = 2},
      {.type = RK_VALUE_REAL, .real = 4},
      {.type = RK_VALUE_NULL}},
     {"0", "it's \"so\",\nhere", "true", "2", "4", ""}},
    {{{.type = RK_VALUE_INT, .integer = 2},
      {.type = RK_VALUE_TEXT, .text = ""},
      {.type = RK_VALUE_BOOL, .boolean = false},
      {.type = RK_VALUE_INT, .integer = 1},
      {.type = RK_VALUE_REAL, .real = -1.7976931348623157e308},
      {.type = RK_VALUE_TEXT, .text = "\xc3\xa9"}},
     {"2", "", "false", "1", "-1.7976931348623157e+308", "\xc3\xa9"}},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void write_rows(const char *path)
{
    rk_sqlite_out *out;
    rk_error err;
    assert_int_equal(rk_sqlite_open(path, false, &layout, &out, &err), RK_OK);
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].values[POINT_COLUMNS].integer == 1) {
            assert_int_equal(rk_sqlite_add_point(out, rows[i].values, &err), RK_OK);
        }
        assert_int_equal(rk_sqlite_add_result(out, rows[i].values, &err), RK_OK);
    }
    assert_int_equal(rk_sqlite_commit(out, &err), RK_OK);
    rk_sqlite_close(out);
}

static void test_written_and_read(void **state)
{
    scratch files;
    rk_csv_in table;
    rk_error err;
    (void)state;
    assert_true(scratch_make(&files));
    write_rows(scratch_path(&files, "a.db"));
    assert_int_equal(rk_sqlite_load(files.path, &table, &err), RK_OK);
    assert_int_equal(table.rows, ROWS);
    assert_int_equal(table.columns, COLUMNS);
    for (size_t j = 0; j < COLUMNS; j++) {
        assert_string_equal(table.cells[j], columns[j].name);
        for (size_t i = 0; i < ROWS; i++) {
            assert_string_equal(table.cells[(i + 1) * COLUMNS + j], rows[i].cells[j]);
        }
    }
    rk_csv_in_clear(&table);
    scratch_remove(&files);
}

/* What is refused leaves nothing to clear or close. */
static void test_refused(void **state)
{
    static const char *const paths[] = {"", "none.db", "none/a.db", "text.db"};
    scratch files;
    rk_error err;
    (void)state;
    assert_true(scratch_make(&files));
    assert_true(scratch_write(&files, "text.db", "point,rank\n", 11));
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        rk_csv_in table;
        memset(&table, 1, sizeof(table));
        assert_int_not_equal(rk_sqlite_load(scratch_path(&files, paths[i]), &table, &err), RK_OK);
        assert_string_equal(err.file, files.path);
        assert_true(!table.text && !table.cells && table.rows == 0 && table.columns == 0);
        rk_csv_in_clear(&table);
    }
    rk_sqlite_out *out;
    assert_int_equal(rk_sqlite_open("", false, &layout, &out, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "a database needs the name of a file");
    assert_null(out);
    assert_int_not_equal(
        rk_sqlite_open(scratch_path(&files, "none/a.db"), false, &layout, &out, &err), RK_OK);
    assert_null(out);
    scratch_remove(&files);
}

/* A file that is there is continued by its own sweep alone. */
static void test_resumed(void **state)
{
    rk_sqlite_layout other = layout;
    scratch files;
    rk_sqlite_out *out;
    rk_error err;
    (void)state;
    assert_true(scratch_make(&files));
    write_rows(scratch_path(&files, "a.db"));
    assert_int_equal(rk_sqlite_open(files.path, false, &layout, &out, &err), RK_ERR_INVALID);
    assert_string_equal(err.message,
                        "the file exists: resume its sweep, remove it, or choose another name");
    other.document = "{ }";
    assert_int_equal(rk_sqlite_open(files.path, true, &other, &out, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "these are the results of another sweep"));
    assert_int_equal(rk_sqlite_open(files.path, true, &layout, &out, &err), RK_OK);
    rk_sqlite_close(out);
    scratch_remove(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_and_read),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

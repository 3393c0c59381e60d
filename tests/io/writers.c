/* SPDX-License-Identifier: Apache-2.0 */
/* What tables and JSON say about numbers that they cannot hold, formulas, and a full disk. */
#include "io/csv_out.h"
#include "io/json_write.h"
#include "io/python_literal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends to a text of 4096 bytes. */
static void keep(void *user, const char *text, size_t size)
{
    char *kept = user;
    const size_t length = strlen(kept);
    assert_true(length + size < 4096);
    memcpy(kept + length, text, size);
    kept[length + size] = '\0';
}

static void test_numbers(void **state)
{
    char text[4096] = "";
    rk_out *out;
    rk_error err;
    (void)state;
    assert_int_equal(rk_out_open_writer(keep, text, &out, &err), RK_OK);
    rk_json_writer writer = {.out = out};
    static const char *const none[] = {"Infinity", "-Infinity", "NaN", "inf", "-inf", "nan", ""};
    static const char *const values[] = {"null", "-1", "1e+300", "\"Infinity\"", "true"};
    rk_json_open(&writer, "[");
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        rk_json_item(&writer);
        rk_json_value(&writer, none[i]);
    }
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        rk_json_item(&writer);
        rk_json_value(&writer, values[i]);
    }
    rk_json_close(&writer, "]");
    rk_json_open_member(&writer, "of", "{");
    rk_json_real(&writer, "a", (double)INFINITY);
    rk_json_real(&writer, "b", (double)NAN);
    rk_json_real(&writer, "c", -0.5);
    rk_json_close(&writer, "}");
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    assert_string_equal(text, "[null, null, null, null, null, null, null, "
                              "null, -1, 1e+300, \"Infinity\", true], "
                              "\"of\": {\"a\": null, \"b\": null, \"c\": -0.5}");
}

/* Counts the pieces of a text that must consist of "ab" over and over. */
/* JSON is UTF-8, whatever bytes a name from a file holds. */
static void test_characters(void **state)
{
    static const char *const texts[][2] = {
        {"a\xd9z\xc3\xa9", "\"a\xef\xbf\xbdz\xc3\xa9\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf0\x9f\x98\x80\xe2\x82", "\"\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\t\"\\\x7f", "\"\\u0009\\\"\\\\\x7f\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char text[64] = "";
        rk_out *out;
        rk_error err;
        assert_int_equal(rk_out_open_writer(keep, text, &out, &err), RK_OK);
        rk_json_writer writer = {.out = out};
        rk_json_text(&writer, texts[i][0]);
        assert_int_equal(rk_out_close(out, &err), RK_OK);
        assert_string_equal(text, texts[i][1]);
    }
}

struct pieces {
    size_t count, size;
};

static void count_piece(void *user, const char *text, size_t size)
{
    struct pieces *pieces = user;
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(text[i], (pieces->size + i) % 2 ? 'b' : 'a');
    }
    pieces->count++;
    pieces->size += size;
}

/* A writer gets all of a long text, in few pieces, whether it is written in small or large ones. */
static void test_pieces(void **state)
{
    enum { SMALL = 2, LARGE = 100000, TIMES = 50000 };
    static char large[LARGE];
    (void)state;
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = i % 2 ? 'b' : 'a';
    }
    struct pieces pieces = {0};
    rk_out *out;
    rk_error err;
    assert_int_equal(rk_out_open_writer(count_piece, &pieces, &out, &err), RK_OK);
    for (int i = 0; i < TIMES; i++) {
        rk_out_write(out, large, SMALL);
    }
    rk_out_write(out, large, LARGE);
    rk_out_write(out, large, SMALL);
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    assert_int_equal(pieces.size, SMALL * TIMES + LARGE + SMALL);
    assert_true(pieces.count < 20);
}

static void test_cells(void **state)
{
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"=1+2", "'=1+2"},
        {"+a", "'+a"},
        {"-", "'-"},
        {"@x", "'@x"},
        {"\ty", "'\ty"},
        {"\rz", "\"'\rz\""},
        {"=\"a\",1", "\"'=\"\"a\"\",1\""},
        {"-5.25e-3", "-5.25e-3"},
        {"+7", "+7"},
        {"a=b", "a=b"},
        {"a,\"b\"", "\"a,\"\"b\"\"\""},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char row[4096] = "", cell[4096] = "";
        rk_csv_out *csv;
        rk_out *out;
        rk_error err;
        const rk_value value = rk_value_text(cases[i].text);
        assert_int_equal(rk_csv_open_writer(keep, row, &csv, &err), RK_OK);
        rk_csv_row(csv, &value, 1);
        assert_int_equal(rk_csv_close(csv, &err), RK_OK);
        assert_int_equal(rk_out_open_writer(keep, cell, &out, &err), RK_OK);
        rk_csv_cell(out, cases[i].text);
        assert_int_equal(rk_out_close(out, &err), RK_OK);
        assert_string_equal(cell, cases[i].cell);
        assert_int_equal(strncmp(row, cell, strlen(cell)), 0);
        assert_string_equal(row + strlen(cell), "\n");
    }
}

/* The reason is that of the first failure, in rows shorter and longer than the buffer of stdio. */
static void test_full_disk(void **state)
{
    static char text[1 << 16];
    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    for (size_t length = 1; length < sizeof(text); length *= 4) {
        memset(text, 'a', length);
        for (int rows = 1; rows < 1000; rows *= 10) {
            const rk_value row[] = {rk_value_int(1), rk_value_text(text)};
            rk_csv_out *csv;
            rk_error err;
            assert_int_equal(rk_csv_open("/dev/full", &csv, &err), RK_OK);
            for (int i = 0; i < rows; i++) {
                rk_csv_row(csv, row, 2);
            }
            assert_int_equal(rk_csv_close(csv, &err), RK_ERR_IO);
            assert_string_equal(err.file, "/dev/full");
            assert_string_equal(err.message, "cannot write: No space left on device");
        }
    }
}

/* JSON as Python's repr() prints what json.loads() makes of it. */
static void test_python(void **state)
{
    static const struct {
        const char *json, *python;
    } cases[] = {
        {"null", "None"},
        {"[true, false, 7, -1, 1.0, 0.1, 1e22, 1e-7]",
         "[True, False, 7, -1, 1.0, 0.1, 1e+22, 1e-07]"},
        {"{}", "{}"},
        {"{\"a\": [], \"b\": {\"c\": null}}", "{'a': [], 'b': {'c': None}}"},
        {"\"it's\"", "\"it's\""},
        {"\"\\\"quoted\\\"\"", "'\"quoted\"'"},
        {"\"it's \\\"quoted\\\"\"", "'it\\'s \"quoted\"'"},
        {"\"\\\\ \\n\\r\\t\\u0001\\u007f\\u00e9\"", "'\\\\ \\n\\r\\t\\x01\\x7f\xc3\xa9'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *value = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        char *text = NULL;
        rk_error err;
        assert_non_null(value);
        assert_int_equal(rk_python_literal_of_value(value, &text, &err), RK_OK);
        assert_string_equal(text, cases[i].python);
        free(text);
        json_decref(value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_characters),
        cmocka_unit_test(test_pieces),    cmocka_unit_test(test_cells),
        cmocka_unit_test(test_full_disk), cmocka_unit_test(test_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

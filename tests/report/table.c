/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/text.h"
#include "io/table.h"
#include "io/wrap.h"

#include <stdlib.h>

static const rk_table_style plain = {.width = 80};
static const rk_table_column columns[] = {{"name", RK_ALIGN_LEFT}, {"n", RK_ALIGN_RIGHT}};

/* Writes the table, compares the text and releases both. */
static void expect(rk_table *table, rk_table_style style, const char *wanted)
{
    char *text;
    rk_error err;
    assert_int_equal(rk_table_text(table, style, &text, &err), RK_OK);
    assert_string_equal(text, wanted);
    free(text);
    rk_table_clear(table);
}

static void test_plain(void **state)
{
    (void)state;
    rk_table table;
    rk_table_init(&table, columns, 2);
    rk_table_cell(&table, "%s", "a");
    rk_table_cell(&table, "%d", 12345);
    rk_table_rule(&table);
    rk_table_cell(&table, "longer");
    rk_table_cell(&table, "%d", 7);
    expect(&table, plain,
           "name        n\n------  -----\na       12345\n------  -----\nlonger      7\n");
}

static void test_no_rows(void **state)
{
    (void)state;
    rk_table table;
    rk_table_init(&table, columns, 2);
    expect(&table, plain, "name  n\n----  -\n");
}

static void test_terminal_counts_characters(void **state)
{
    (void)state;
    rk_table table;
    rk_table_init(&table, columns, 2);
    rk_table_cell(&table, "\u00e9t\u00e9s\u2026");
    rk_table_cell(&table, "1");
    expect(&table, (rk_table_style){.drawn = true},
           "\033[1mname   n\033[0m\n\u2500\u2500\u2500\u2500\u2500  \u2500\n"
           "\u00e9t\u00e9s\u2026  1\n");
}

static void test_many_cells(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    rk_table table;
    char *text;
    rk_error err;
    rk_table_init(&table, columns, 2);
    for (int i = 0; i < ROWS; i++) {
        rk_table_cell(&table, "row");
        rk_table_cell(&table, "%d", i);
    }
    assert_int_equal(rk_table_text(&table, plain, &text, &err), RK_OK);
    int lines = 0;
    for (const char *c = text; *c; c++) {
        lines += *c == '\n';
    }
    assert_int_equal(lines, ROWS + 2);
    free(text);
    rk_table_clear(&table);
}

/* Rows that the first column does not tell apart: later parts begin with the first two. */
static void test_keys_of_parts(void **state)
{
    static const rk_table_column wide[] = {{"name", RK_ALIGN_LEFT},
                                           {"size", RK_ALIGN_RIGHT},
                                           {"first", RK_ALIGN_RIGHT},
                                           {"second", RK_ALIGN_RIGHT}};
    (void)state;
    rk_table table;
    rk_table_init(&table, wide, 4);
    for (int i = 0; i < 4; i++) {
        rk_table_cell(&table, i < 2 ? "a" : "b");
        rk_table_cell(&table, "%d", i % 2 + 1);
        rk_table_cell(&table, "%d", i);
        rk_table_cell(&table, "%d", 10 * i);
    }
    expect(&table, (rk_table_style){.width = 20},
           "name  size  first\n----  ----  -----\na        1      0\na        2      1\n"
           "b        1      2\nb        2      3\n\n"
           "name  size  second\n----  ----  ------\na        1       0\na        2      10\n"
           "b        1      20\nb        2      30\n");
}

static void test_keys_without_room(void **state)
{
    static const rk_table_column wide[] = {
        {"name", RK_ALIGN_LEFT}, {"size", RK_ALIGN_RIGHT}, {"value", RK_ALIGN_RIGHT}};
    (void)state;
    rk_table table;
    rk_table_init(&table, wide, 3);
    for (int i = 0; i < 2; i++) {
        rk_table_cell(&table, "a");
        rk_table_cell(&table, "%d", i);
        rk_table_cell(&table, "%d", i);
    }
    expect(&table, (rk_table_style){.width = 12},
           "name  size\n----  ----\na        0\na        1\n\n"
           "name  value\n----  -----\na         0\na         1\n");
}

static void test_parts(void **state)
{
    static const rk_table_column wide[] = {
        {"name", RK_ALIGN_LEFT}, {"first", RK_ALIGN_RIGHT}, {"second", RK_ALIGN_LEFT}};
    (void)state;
    rk_table table;
    rk_table_init(&table, wide, 3);
    rk_table_cell(&table, "a");
    rk_table_cell(&table, "1");
    rk_table_cell(&table, "%s", "");
    rk_table_rule(&table);
    rk_table_cell(&table, "b");
    rk_table_cell(&table, "22");
    rk_table_cell(&table, "x");
    expect(&table, (rk_table_style){.width = 12},
           "name  first\n----  -----\na         1\n----  -----\nb        22\n\n"
           "name  second\n----  ------\na\n----  ------\nb     x\n");
}

/* What a narrow page makes of a text. */
/* A column of words that is wider than the page goes on below itself. */
static void test_words(void **state)
{
    (void)state;
    static const rk_table_column wide[] = {{"name", RK_ALIGN_LEFT}, {"says", RK_ALIGN_LEFT}};
    rk_table table;
    rk_table_init(&table, wide, 2);
    rk_table_cell(&table, "a");
    rk_table_cell(&table, "one two three four five six");
    rk_table_cell(&table, "b");
    rk_table_cell(&table, "seven");
    expect(&table, (rk_table_style){.width = 28},
           "name  says\n"
           "----  ----------------------\n"
           "a     one two three four\n"
           "      five six\n"
           "b     seven\n");
}

static void expect_wrapped(const char *text, int width, const char *wanted)
{
    char got[256] = "";
    FILE *to = fmemopen(got, sizeof(got), "w");
    assert_non_null(to);
    rk_write_wrapped(to, text, width);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(got, wanted);
}

static void test_wrap(void **state)
{
    (void)state;
    expect_wrapped("one two three\n\nfour", 8, "one two\nthree\n\nfour");
    expect_wrapped("step      one two three\n", 18, "step      one two\n          three\n");
    expect_wrapped("  one two three\n", 9, "  one two\n  three\n");
    expect_wrapped("a  table of cells\n| a | b |\n", 5, "a  table of cells\n| a | b |\n");
    expect_wrapped("longest word", 3, "longest\nword");
    expect_wrapped("logits of 11.3 %, rest", 15, "logits of\n11.3 %, rest");
    expect_wrapped("one " RK_MARK_BEST "two" RK_MARK_END " three", 8,
                   "one " RK_MARK_BEST "two" RK_MARK_END "\nthree");
    expect_wrapped("\u00b5s \u00b5s", 5, "\u00b5s \u00b5s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_terminal_counts_characters),
        cmocka_unit_test(test_many_cells),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_keys_of_parts),
        cmocka_unit_test(test_keys_without_room),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

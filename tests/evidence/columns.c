/* SPDX-License-Identifier: Apache-2.0 */
/* docs/columns.md has a row for every column of a table of runs.  `test_runs_columns --print`
 * prints the rows. */
#include "runs_test.h"

#include "evidence/run_facts.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE_MAX = 1 << 16, ROW_MAX = 768 };

static void column_row(int column, char out[ROW_MAX])
{
    const rk_run_column_text *text = &rk_run_column_texts[column];
    (void)snprintf(out, ROW_MAX, "| `%s` | %s | %s | %s |\n", text->name, text->type, text->unit,
                   text->meaning);
}

static const char *type_of(const rk_field *field)
{
    switch (field->type) {
    case RK_FIELD_INT:
        return "count";
    case RK_FIELD_NUMBER:
        return "number";
    case RK_FIELD_BOOL:
        return "true or false";
    case RK_FIELD_ENUM:
        return "name";
    default:
        return strstr(field->name, "_modules") ? "list" : "text";
    }
}

/* Columns of both lists are described by the first, their values by the second. */
static void fact_row(size_t fact, char out[ROW_MAX])
{
    const rk_field *field = &rk_run_fact_fields[fact];
    const rk_run_column column = rk_run_fact_column(fact);
    const char *meaning =
        column < RK_RUN_COLUMN_COUNT ? rk_run_column_texts[column].meaning : field->help;
    int length = snprintf(out, ROW_MAX, "| `%s` | %s | %s | %s", field->name, type_of(field),
                          field->unit ? field->unit : "", meaning);
    for (size_t i = 0; field->names && field->names[i]; i++) {
        length += snprintf(out + length, ROW_MAX - (size_t)length, "%s %s", i ? "," : "; one of",
                           field->names[i]);
    }
    (void)snprintf(out + length, ROW_MAX - (size_t)length, " |\n");
}

static bool is_fact(int column)
{
    for (size_t fact = 0; fact < rk_run_fact_count; fact++) {
        if (rk_run_fact_column(fact) == (rk_run_column)column &&
            rk_run_fact_fields[fact].type == RK_FIELD_ENUM) {
            return true;
        }
    }
    return false;
}

/* Calls `use` with every row of the page. */
static void each_row(void (*use)(const char *row, const char *page), const char *page)
{
    char row[ROW_MAX];
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        if (!is_fact(column)) {
            column_row(column, row);
            use(row, page);
        }
    }
    for (size_t fact = 0; fact < rk_run_fact_count; fact++) {
        if (rk_run_fact_column(fact) == RK_RUN_COLUMN_COUNT ||
            rk_run_fact_fields[fact].type == RK_FIELD_ENUM) {
            fact_row(fact, row);
            use(row, page);
        }
    }
}

static void print_row(const char *row, const char *page)
{
    (void)page;
    (void)fputs(row, stdout);
}

static void find_row(const char *row, const char *page)
{
    if (!strstr(page, row)) {
        fail_msg("docs/columns.md lacks the row\n%s", row);
    }
}

static void test_page(void **state)
{
    static char page[PAGE_MAX];
    (void)state;
    FILE *file = fopen(COLUMNS_PAGE, "r");
    assert_non_null(file);
    const size_t size = fread(page, 1, sizeof(page) - 1, file);
    (void)fclose(file);
    assert_in_range(size, 1, sizeof(page) - 2);
    assert_true(rk_run_fact_count <= RK_RUN_FACT_MAX);
    each_row(find_row, page);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_page)};
    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        each_row(print_row, NULL);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

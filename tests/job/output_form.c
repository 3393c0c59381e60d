/* SPDX-License-Identifier: Apache-2.0 */
/* The format that the ending of an output file means. */
#include "job/output_form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *ending;
    rk_output_form form;
} cases[] = {
    {".txt", RK_OUTPUT_TEXT},
    {".md", RK_OUTPUT_TEXT},
    {".json", RK_OUTPUT_JSON},
    {".csv", RK_OUTPUT_CSV},
    {".svg", RK_OUTPUT_SVG},
    {".html", RK_OUTPUT_HTML},
    {".htm", RK_OUTPUT_HTML},
    {".png", RK_OUTPUT_UNKNOWN},
    {".jpg", RK_OUTPUT_UNKNOWN},
    {".jpeg", RK_OUTPUT_UNKNOWN},
    {".gif", RK_OUTPUT_UNKNOWN},
    {".webp", RK_OUTPUT_UNKNOWN},
    {".pdf", RK_OUTPUT_UNKNOWN},
    {".eps", RK_OUTPUT_UNKNOWN},
    {".ps", RK_OUTPUT_UNKNOWN},
    {".xlsx", RK_OUTPUT_UNKNOWN},
    {".xls", RK_OUTPUT_UNKNOWN},
    {".ods", RK_OUTPUT_UNKNOWN},
    {".tsv", RK_OUTPUT_UNKNOWN},
    {".yaml", RK_OUTPUT_UNKNOWN},
    {".yml", RK_OUTPUT_UNKNOWN},
    {".parquet", RK_OUTPUT_UNKNOWN},
    {".sqlite", RK_OUTPUT_UNKNOWN},
    {".db", RK_OUTPUT_UNKNOWN},
    {".zip", RK_OUTPUT_UNKNOWN},
    {".xz", RK_OUTPUT_UNKNOWN},
    {".zst", RK_OUTPUT_UNKNOWN},
    {".bz2", RK_OUTPUT_UNKNOWN},
    {".trace", RK_OUTPUT_UNKNOWN},
    {".perfetto-trace", RK_OUTPUT_UNKNOWN},
    {".pftrace", RK_OUTPUT_UNKNOWN},
    {".perfetto", RK_OUTPUT_UNKNOWN},
    {".xml", RK_OUTPUT_UNKNOWN},
    {".toml", RK_OUTPUT_UNKNOWN},
    {".docx", RK_OUTPUT_UNKNOWN},
    {".ipynb", RK_OUTPUT_UNKNOWN},
    {".jso", RK_OUTPUT_ANY},
    {"json", RK_OUTPUT_ANY},
    {"", RK_OUTPUT_ANY},
};

/* However long the name is, packed or not. */
static void test_endings(void **state)
{
    enum { LONGEST = 1100 };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t length = 1; length < LONGEST; length += i % 7 + 1) {
            char *name = malloc(length + 32);
            assert_non_null(name);
            memset(name, 'a', length);
            strcpy(name + length, cases[i].ending);
            assert_int_equal(rk_output_form_of(name), cases[i].form);
            strcat(name, ".gz");
            assert_int_equal(rk_output_form_of(name), cases[i].form);
            free(name);
        }
    }
    assert_int_equal(rk_output_form_of("-"), RK_OUTPUT_ANY);
    assert_int_equal(rk_output_form_of(".gz"), RK_OUTPUT_ANY);
}

/* An ending that says what the options say, or nothing, is taken; another is refused. */
static void test_settled(void **state)
{
    static const struct {
        const char *path;
        bool json, csv;
        const char *message; /* NULL: taken */
        bool json_after, csv_after;
    } answers[] = {
        {"-", false, false, NULL, false, false},
        {"a.json", false, false, NULL, true, false},
        {"a.json.gz", true, false, NULL, true, false},
        {"a.html", true, false, NULL, true, false},
        {"a.csv", false, false, NULL, false, true},
        {"a.csv", false, true, NULL, false, true},
        {"a", true, false, NULL, true, false},
        {"a.txt", false, false, NULL, false, false},
        {"a.txt", true, false, "--output a.txt: --json says otherwise; leave out one", 0, 0},
        {"a.csv", true, false, "--output a.csv: --json says otherwise; leave out one", 0, 0},
        {"a.json", false, true, "--output a.json: --csv says otherwise; leave out one", 0, 0},
        {"a.svg", false, false, "--output a.svg: " RK_OUTPUT_MESSAGE, 0, 0},
        {"a.png", false, false, "--output a.png: " RK_OUTPUT_MESSAGE, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        bool json = answers[i].json, csv = answers[i].csv;
        const rk_output output = {answers[i].path, &json, &csv, true, false, RK_OUTPUT_MESSAGE};
        rk_error err;
        const rk_status status = rk_output_settle(&output, &err);
        if (answers[i].message) {
            assert_int_equal(status, RK_ERR_INVALID);
            assert_string_equal(err.message, answers[i].message);
        } else {
            assert_int_equal(status, RK_OK);
            assert_int_equal(json, answers[i].json_after);
            assert_int_equal(csv, answers[i].csv_after);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endings),
        cmocka_unit_test(test_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* TOML 1.0 as JSON: values, tables, and what the specification refuses. */
#include "io/toml_in.h"

#include <stdio.h>

#include "forms.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void test_values(void **state)
{
    static const good_text cases[] = {
        {"", "{}"},
        {"# words only", "{}"},
        {"\xef\xbb\xbf"
         "a = 1",
         "{\"a\": 1}"},
        {"a = 1_000 # words\r\nb = -7", "{\"a\": 1000, \"b\": -7}"},
        {"a = 0xDEAD_beef\nb = 0o17\nc = 0b11\nd = +0", "{\"a\": 3735928559, \"b\": 15, \"c\": 3, "
                                                        "\"d\": 0}"},
        {"a = 9223372036854775807\nb = -9223372036854775808",
         "{\"a\": 9223372036854775807, \"b\": -9223372036854775808}"},
        {"a = 1.5\nb = 3e-4\nc = -1_0.2_5E+1", "{\"a\": 1.5, \"b\": 3e-4, \"c\": -102.5}"},
        {"a = inf\nb = -nan", "{\"a\": \"inf\", \"b\": \"-nan\"}"},
        {"a = \"\\u0041\\U00000042\"", "{\"a\": \"AB\"}"},
        {"a = \"\\U0010FFFF\"", "{\"a\": \"􏿿\"}"},
        {"a = \"\"\"\r\none\\  \r\n  two\"\"\"", "{\"a\": \"onetwo\"}"},
        {"a = \"\"\"\n\r\nx\"\"\"", "{\"a\": \"\\r\\nx\"}"},
        {"a = \"\"\"x\"\"\"\"", "{\"a\": \"x\\\"\"}"},
        {"a = '''x'''''", "{\"a\": \"x''\"}"},
        {"a = 1979-05-27t07:32:00z\nb = 1979-05-27T07:32:00.25",
         "{\"a\": \"1979-05-27t07:32:00z\", \"b\": \"1979-05-27T07:32:00.25\"}"},
        {"a = [1,\r\n2]", "{\"a\": [1, 2]}"},
        {"a = 23:59:59", "{\"a\": \"23:59:59\"}"},
        {"a = true\nb = false", "{\"a\": true, \"b\": false}"},
        {"a = 1979-05-27T07:32:00Z\nb = 1979-05-27\nc = 07:32:00.5\nd = 1979-05-27 07:32:00-07:00",
         "{\"a\": \"1979-05-27T07:32:00Z\", \"b\": \"1979-05-27\", \"c\": \"07:32:00.5\", "
         "\"d\": \"1979-05-27 07:32:00-07:00\"}"},
        {"a = \"x\\ty\\\"\\u00e9\\U0001F600\"", "{\"a\": \"x\\ty\\\"\xc3\xa9\xf0\x9f\x98\x80\"}"},
        {"a = 'x\\y'\nb = ''", "{\"a\": \"x\\\\y\", \"b\": \"\"}"},
        {"a = \"\"\"\none\ntwo \\\n   three\"\"\"\"\"", "{\"a\": \"one\\ntwo three\\\"\\\"\"}"},
        {"a = '''\none'two''\n'''", "{\"a\": \"one'two''\\n\"}"},
        {"a = [1, [2, \"x\"], # words\n {b = 3},\n]", "{\"a\": [1, [2, \"x\"], {\"b\": 3}]}"},
        {"a = { b = 1, c.d = 2 }\ne = {}", "{\"a\": {\"b\": 1, \"c\": {\"d\": 2}}, \"e\": {}}"},
        {"\"a b\" = 1\n'' = 2\n3.14 = 4\nc . d = 5",
         "{\"a b\": 1, \"\": 2, \"3\": {\"14\": 4}, \"c\": {\"d\": 5}}"},
    };
    (void)state;
    require_meaning(rk_toml_parse, cases, COUNT(cases));
}

static void test_tables(void **state)
{
    static const good_text cases[] = {
        {"[a]\nb = 1\n[ c . d ]\ne = 2\n[c]\nf = 3",
         "{\"a\": {\"b\": 1}, \"c\": {\"d\": {\"e\": 2}, \"f\": 3}}"},
        {"[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 2\n[[a.e]]\n[[a]]",
         "{\"a\": [{\"b\": 1}, {\"c\": {\"d\": 2}, \"e\": [{}]}, {}]}"},
        {"a.b = 1\na.c = 2\n[a.d]\ne = 3", "{\"a\": {\"b\": 1, \"c\": 2, \"d\": {\"e\": 3}}}"},
        {"[a]\nb.c = 1\nb.d = 2\n[a.b.e]\nf = 1",
         "{\"a\": {\"b\": {\"c\": 1, \"d\": 2, \"e\": {\"f\": 1}}}}"},
    };
    (void)state;
    require_meaning(rk_toml_parse, cases, COUNT(cases));
}

static void test_refusals(void **state)
{
    static const bad_text cases[] = {
        {TEXT("a = 1\na = 2"), 2, 1, "a is defined twice"},
        {TEXT("[a]\n[a]"), 2, 1, "defined twice"},
        {TEXT("a = 1\n[a]"), 2, 1, "defined twice"},
        {TEXT("a = 1\na.b = 2"), 2, 1, "cannot be extended"},
        {TEXT("a = {b = 1}\n[a.c]"), 2, 2, "cannot be extended"},
        {TEXT("a = {b = 1}\na.c = 1"), 2, 1, "cannot be extended"},
        {TEXT("a = {b.c = 1, b = 2}"), 1, 15, "defined twice"},
        {TEXT("a = [1]\n[[a]]"), 2, 1, "something else"},
        {TEXT("[[a]]\n[a]"), 2, 1, "defined twice"},
        {TEXT("[a]\n[[a]]"), 2, 1, "something else"},
        {TEXT("[a.b.c]\n[a]\nb.d = 1"), 3, 1, "cannot be extended"},
        {TEXT("[a]\nb.c = 1\n[a.b]"), 3, 1, "defined twice"},
        {TEXT("a = 1 b = 2"), 1, 7, "end of the line"},
        {TEXT("a 1"), 1, 3, "= expected"},
        {TEXT("= 1"), 1, 1, "a key expected"},
        {TEXT("[a"), 1, 3, "] expected"},
        {TEXT("[[a]"), 1, 4, "]] expected"},
        {TEXT("a = "), 1, 5, "no value of TOML"},
        {TEXT("a = True"), 1, 5, "no value of TOML"},
        {TEXT("a = bf16"), 1, 5, "no value of TOML"},
        {TEXT("a = 01"), 1, 5, "no value of TOML"},
        {TEXT("a = 1__0"), 1, 5, "no value of TOML"},
        {TEXT("a = 1._0"), 1, 5, "no value of TOML"},
        {TEXT("a = 1."), 1, 5, "no value of TOML"},
        {TEXT("a = .5"), 1, 5, "no value of TOML"},
        {TEXT("a = +0x1"), 1, 5, "no value of TOML"},
        {TEXT("a = 9223372036854775808"), 1, 5, "too large"},
        {TEXT("a = 1e999"), 1, 5, "too large"},
        {TEXT("a = 1979-13-01"), 1, 5, "no value of TOML"},
        {TEXT("a = 1979-12-32"), 1, 5, "no value of TOML"},
        {TEXT("a = 24:00:00"), 1, 5, "no value of TOML"},
        {TEXT("a = 0x"), 1, 5, "no value of TOML"},
        {TEXT("a = 0xG"), 1, 5, "no value of TOML"},
        {TEXT("a = 0b2"), 1, 5, "no value of TOML"},
        {TEXT("a = 0o8"), 1, 5, "no value of TOML"},
        {TEXT("a = +-1"), 1, 5, "no value of TOML"},
        {TEXT("a = 1e"), 1, 5, "no value of TOML"},
        {TEXT("a = _1"), 1, 5, "no value of TOML"},
        {TEXT("a = 1_"), 1, 5, "no value of TOML"},
        {TEXT("a = 23:60:00"), 1, 5, "no value of TOML"},
        {TEXT("a = 23:59:61"), 1, 5, "no value of TOML"},
        {TEXT("a = 1979-00-01"), 1, 5, "no value of TOML"},
        {TEXT("a = 1979-05-27T24:00:00"), 1, 15, "end of the line"},
        {TEXT("a = 1979-05-27T07:32:00+24:00"), 1, 24, "end of the line"},
        {TEXT("a = 1979-05-27T07:32:00-07:60"), 1, 24, "end of the line"},
        {TEXT("a = 1979-05-27T07:32:00."), 1, 24, "end of the line"},
        {TEXT("a = 1979-05-27T07:32:00+1:0"), 1, 24, "end of the line"},
        {TEXT("a = 1979-05-27x"), 1, 15, "end of the line"},
        {TEXT("a = '''x''''''"), 1, 14, "end of the line"},
        {TEXT("a = \"x\ry\""), 1, 7, "control character"},
        {TEXT("a = \"\x7f\""), 1, 6, "control character"},
        {TEXT("a = \"\\U00110000\""), 1, 6, "no character"},
        {TEXT("# \x7f"), 1, 3, "control character"},
        {TEXT("a = 1\r"), 1, 6, "end of the line"},
        {TEXT("a = \"x\nb = 1"), 1, 5, "not closed"},
        {TEXT("a = '''x"), 1, 7, "not closed"},
        {TEXT("a = \"x\\"), 1, 7, "not closed"},
        {TEXT("a = \"\\x\""), 1, 6, "no escape"},
        {TEXT("a = \"\\u12\""), 1, 6, "hexadecimal digits"},
        {TEXT("a = \"\\ud800\""), 1, 6, "no character"},
        {TEXT("a = \"\\u0000\""), 1, 6, "no character"},
        {TEXT("a = \"\x01\""), 1, 6, "control character"},
        {TEXT("# \x01"), 1, 3, "control character"},
        {TEXT("a = [1, 2\n"), 1, 5, "] of the array"},
        {TEXT("a = [1 2]"), 1, 8, "] of the array"},
        {TEXT("a = {b = 1,}"), 1, 12, "a key expected"},
        {TEXT("a = {b = True c"), 1, 10, "no value of TOML"},
        {TEXT("a = {b = , c = 1}"), 1, 10, "no value of TOML"},
        {TEXT("a = {b, c = 1}"), 1, 7, "= expected"},
        {TEXT("a = {b c"), 1, 8, "= expected"},
        {TEXT("a = {b = {c = 1, c = 2} d"), 1, 18, "c is defined twice"},
        {TEXT("a = {b = [1 2] c"), 1, 13, "] of the array"},
        {TEXT("a = [True c"), 1, 6, "no value of TOML"},
        {TEXT("a = {b = 1\n}"), 1, 11, "} of the table"},
        {TEXT("a = 1\n\xc3\xa9 = \xff"), 2, 5, "no UTF-8"},
        {TEXT("a = 1\0"), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xc3\""), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xe0\x80\x80\""), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xed\xa0\x80\""), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xf0\x80\x80\x80\""), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xf4\x90\x80\x80\""), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xc3x\""), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xf8\x80\x80\x80\x80\""), 1, 6, "no UTF-8"},
        {TEXT("a = \"\xe9\x80"), 1, 6, "no UTF-8"},
    };
    (void)state;
    require_refusal(rk_toml_parse, cases, COUNT(cases));
}

static void refuse_repeated(const char *start, const char *part, int count, const char *says)
{
    const size_t size = strlen(start) + (size_t)count * strlen(part);
    char *text = malloc(size + 1);
    json_t *root = NULL;
    rk_error err;
    assert_non_null(text);
    char *end = text + sprintf(text, "%s", start);
    for (int i = 0; i < count; i++) {
        end += sprintf(end, "%s", part);
    }
    assert_int_equal(rk_toml_parse(text, size, "x", &root, &err), RK_ERR_SYNTAX);
    assert_non_null(strstr(err.message, says));
    assert_null(root);
    free(text);
}

static void test_limits(void **state)
{
    (void)state;
    refuse_repeated("a = ", "[", 100000, "nested more than 64 deep");
    refuse_repeated("a = ", "{a=", 100000, "nested more than 64 deep");
    refuse_repeated("a", ".a", 100000, "nested more than 64 deep");
    refuse_repeated("[a", ".a", 100000, "nested more than 64 deep");
    refuse_repeated("", "[[a]]\n", 1001, "more than 1,000 tables");
}

/* Strings of every kind, with what looks like their end at the start, are as long as they are. */
static void test_long_strings(void **state)
{
    enum { LONG = 100000 };
    static const struct {
        const char *opened, *meant, *closed;
    } cases[] = {
        {"\"", "", "\""},
        {"\"\\\"", "\"", "\""},
        {"\"\\\\\\\"", "\\\"", "\""},
        {"'\\", "\\", "'"},
        {"\"\"\"\\\"\"\"", "\"\"\"", "\"\"\""},
        {"\"\"\"\"\"", "\"\"", "\"\"\""},
        {"\"\"\"\"\\\"\"", "\"\"\"", "\"\"\""},
        {"'''''", "''", "'''"},
        {"'''\\'", "\\'", "'''"},
    };
    char *text = malloc(LONG + 64), *meant = malloc(LONG + 64);
    (void)state;
    assert_true(text && meant);
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *root = NULL;
        rk_error err;
        const int size = sprintf(text, "a = %s%0*d%s", cases[i].opened, LONG, 7, cases[i].closed);
        (void)sprintf(meant, "%s%0*d", cases[i].meant, LONG, 7);
        assert_int_equal(rk_toml_parse(text, (size_t)size, "x", &root, &err), RK_OK);
        assert_string_equal(json_string_value(json_object_get(root, "a")), meant);
        json_decref(root);
    }
    free(text);
    free(meant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),       cmocka_unit_test(test_tables),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_long_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

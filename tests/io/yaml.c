/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as JSON: scalars as PyYAML's safe loader has them, anchors, merge keys, limits. */
#include "io/yaml_in.h"

#include <stdio.h>

#include "forms.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void test_scalars(void **state)
{
    static const good_text cases[] = {
        {"a: 1", "{\"a\": 1}"},
        {"a: -1_000", "{\"a\": -1000}"},
        {"a: +7", "{\"a\": 7}"},
        {"a: 0x1F", "{\"a\": 31}"},
        {"a: 0b101", "{\"a\": 5}"},
        {"a: 010", "{\"a\": 8}"},
        {"a: 0o10", "{\"a\": \"0o10\"}"},
        {"a: 08", "{\"a\": \"08\"}"},
        {"a: 1:30", "{\"a\": 90}"},
        {"a: 1:30:00.5", "{\"a\": 5400.5}"},
        {"a: 1:99", "{\"a\": \"1:99\"}"},
        {"a: 1.5", "{\"a\": 1.5}"},
        {"a: 1.", "{\"a\": 1.0}"},
        {"a: .5", "{\"a\": 0.5}"},
        {"a: 1.0e-5", "{\"a\": 1e-5}"},
        {"a: 1e-5", "{\"a\": \"1e-5\"}"},
        {"a: 1.5e3", "{\"a\": \"1.5e3\"}"},
        {"a: 3e+2", "{\"a\": \"3e+2\"}"},
        {"a: 1.0e10", "{\"a\": \"1.0e10\"}"},
        {"a: 1.0E10", "{\"a\": \"1.0E10\"}"},
        {"a: 1.e10", "{\"a\": \"1.e10\"}"},
        {"a: .5e30", "{\"a\": \".5e30\"}"},
        {"a: 1.0e+10", "{\"a\": 10000000000.0}"},
        {"a: 1.e+3", "{\"a\": 1000.0}"},
        {"a: .5e+3", "{\"a\": 500.0}"},
        {"a: 1_0.5e+12", "{\"a\": 10500000000000.0}"},
        {"a: -0x1F", "{\"a\": -31}"},
        {"a: 0x", "{\"a\": \"0x\"}"},
        {"a: 0b", "{\"a\": \"0b\"}"},
        {"a: 0xG1", "{\"a\": \"0xG1\"}"},
        {"a: 0b12", "{\"a\": \"0b12\"}"},
        {"a: 1_0:3_0", "{\"a\": \"1_0:3_0\"}"},
        {"a: 1_0:30", "{\"a\": 630}"},
        {"a: -1:30", "{\"a\": -90}"},
        {"a: +1:30.5", "{\"a\": 90.5}"},
        {"a: 01:30", "{\"a\": \"01:30\"}"},
        {"a: 01:30.5", "{\"a\": 90.5}"},
        {"a: 1:5:7", "{\"a\": 3907}"},
        {"a: 1:60.5", "{\"a\": \"1:60.5\"}"},
        {"a: 1:30.2_5", "{\"a\": 90.25}"},
        {"a: 1:3x", "{\"a\": \"1:3x\"}"},
        {"a: 1.5e+", "{\"a\": \"1.5e+\"}"},
        {"a: 1.5e+x", "{\"a\": \"1.5e+x\"}"},
        {"a: 1.0E+5", "{\"a\": 100000.0}"},
        {"a: -.5", "{\"a\": \"-.5\"}"},
        {"a: .x", "{\"a\": \".x\"}"},
        {"a: -08", "{\"a\": \"-08\"}"},
        {"a: 0_7", "{\"a\": 7}"},
        {"a: 1.5.1", "{\"a\": \"1.5.1\"}"},
        {"a: !!float 12", "{\"a\": 12}"},
        {"a: !!float 1x", "{\"a\": \"1x\"}"},
        {"a: ! x", "{\"a\": \"x\"}"},
        {"a: 0xFFFFFFFFFFFFFFFFFF", "{\"a\": \"0xFFFFFFFFFFFFFFFFFF\"}"},
        {"a: 1.0e+999", "{\"a\": \"1.0e+999\"}"},
        {"a: .inf", "{\"a\": \".inf\"}"},
        {"a: 99999999999999999999", "{\"a\": 1e20}"},
        {"a: yes", "{\"a\": true}"},
        {"a: Off", "{\"a\": false}"},
        {"a: y", "{\"a\": \"y\"}"},
        {"a: tRue", "{\"a\": \"tRue\"}"},
        {"a:", "{\"a\": null}"},
        {"a: ~", "{\"a\": null}"},
        {"a: Null", "{\"a\": null}"},
        {"a: None", "{\"a\": \"None\"}"},
        {"a: '1'", "{\"a\": \"1\"}"},
        {"a: \"true\\n\\u00e9\"", "{\"a\": \"true\\n\xc3\xa9\"}"},
        {"a: 2026-11-26", "{\"a\": \"2026-11-26\"}"},
        {"a: !!str 12", "{\"a\": \"12\"}"},
        {"a: !!float 1e-5", "{\"a\": 1e-5}"},
        {"a: !!int 12", "{\"a\": 12}"},
        {"a: ${b.c}", "{\"a\": \"${b.c}\"}"},
        {"a: |\n  one\n  two\n", "{\"a\": \"one\\ntwo\\n\"}"},
        {"a: >-\n  one\n  two\n", "{\"a\": \"one two\"}"},
        {"1: a\ntrue: b\n? c\n: d\n", "{\"1\": \"a\", \"true\": \"b\", \"c\": \"d\"}"},
    };
    (void)state;
    require_meaning(rk_yaml_parse, cases, COUNT(cases));
}

static void test_collections(void **state)
{
    static const good_text cases[] = {
        {"---\n# words\na: {b: [1, x, {c: null}], d: []}\n...\n",
         "{\"a\": {\"b\": [1, \"x\", {\"c\": null}], \"d\": []}}"},
        {"a:\n- 1\n- - 2\n  - 3\n", "{\"a\": [1, [2, 3]]}"},
        {"a: 1\na: 2\n", "{\"a\": 2}"},
        {"a: &x [1]\nb: *x\n", "{\"a\": [1], \"b\": [1]}"},
        {"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\": 1, \"b\": 2, \"c\": 2}"},
        {"&k a: b\nc: *k\n", "{\"a\": \"b\", \"c\": \"a\"}"},
        {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n",
         "{\"a\": {\"b\": 1, \"c\": 2}, \"d\": {\"b\": 1, \"c\": 3}}"},
        {"a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne:\n  b: 0\n  <<: [*x, *y]\n",
         "{\"a\": {\"b\": 1}, \"c\": {\"b\": 2, \"d\": 3}, \"e\": {\"b\": 0, \"d\": 3}}"},
        {"a: &x {b: 1}\nc: &y {b: 2}\nd: {<<: [*x, *y]}\n",
         "{\"a\": {\"b\": 1}, \"c\": {\"b\": 2}, \"d\": {\"b\": 1}}"},
        {"'<<': 1\n", "{\"<<\": 1}"},
        {"\xef\xbb\xbf"
         "a: 1",
         "{\"a\": 1}"},
    };
    (void)state;
    require_meaning(rk_yaml_parse, cases, COUNT(cases));
}

static void test_refusals(void **state)
{
    static const bad_text cases[] = {
        {TEXT("a: 1\n b: 2\n"), 2, 3, "not allowed"},
        {TEXT("a: [1, 2\n"), 2, 1, "no YAML"},
        {TEXT("a:\n\t- 1\n"), 2, 1, "no YAML"},
        {TEXT("a: *x\n"), 1, 4, "*x has no anchor"},
        {TEXT("a: &x [*x]\n"), 1, 8, "*x has no anchor"},
        {TEXT("a: 1\nb: !!python/object:os.system x\n"), 2, 4, "the tag tag:yaml.org,2002:python"},
        {TEXT("b: !include x.yaml\n"), 1, 4, "the tag !include"},
        {TEXT("[1, 2]: 3\n"), 1, 1, "a key is text"},
        {TEXT("a: 1\n---\nb: 2\n"), 2, 1, "second document"},
        {TEXT("[1]\n"), 1, 1, "not a list"},
        {TEXT("text\n"), 1, 1, "not a single value"},
        {TEXT("# nothing\n"), 2, 1, "empty"},
        {TEXT(""), 1, 1, "empty"},
        {TEXT("a: \"\\0\"\n"), 1, 4, "\\0"},
        {TEXT("\"a\\0\": 1\n"), 1, 1, "\\0"},
        {TEXT("a: {<<: 1}\n"), 1, 9, "merge key"},
        {TEXT("a: &x [1]\nb: {<<: *x}\n"), 2, 9, "merge key"},
        {TEXT("a: {<<: [{b: 1}, 1]}\n"), 1, 9, "merge key"},
        {TEXT("a: \xff\n"), 1, 4, "UTF-8"},
    };
    (void)state;
    require_refusal(rk_yaml_parse, cases, COUNT(cases));
}

static void refuse_long_text(const char *text, const char *says)
{
    const bad_text one = {text, strlen(text), 0, 0, says};
    json_t *root = NULL;
    rk_error err;
    assert_int_equal(rk_yaml_parse(one.text, one.size, "x", &root, &err), RK_ERR_SYNTAX);
    assert_non_null(strstr(err.message, says));
    assert_null(root);
}

/* Nine lists of nine aliases each would be 9^9 values; a chain of aliases nests. */
static void test_limits(void **state)
{
    char text[65536];
    size_t used = (size_t)snprintf(text, sizeof(text), "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    (void)state;
    for (int i = 1; i < 10; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++) {
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s*a%d", j ? "," : "", i - 1);
        }
        used += (size_t)snprintf(text + used, sizeof(text) - used, "]\n");
    }
    refuse_long_text(text, "more than 100,000 values");
    used = (size_t)snprintf(text, sizeof(text), "a0: &a0 [x]\n");
    for (int i = 1; i < 80; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    }
    refuse_long_text(text, "nested more than 64 deep");
    (void)snprintf(text, sizeof(text), "a: ");
    memset(text + 3, '[', 20000);
    text[20003] = '\0';
    refuse_long_text(text, "nested more than 64 deep");
    used = 0;
    for (int i = 0; i < 1001; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "a%d: &a%d x\n", i, i);
    }
    refuse_long_text(text, "at most 1,000 anchors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_collections),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: what they come to, against trees that are evaluated directly, and their errors. */
#include "io/expression.h"

#include "base/error.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Names that the expressions of the tests may use. */
static const struct {
    const char *name;
    rk_value value;
} known[] = {
    {"hidden", {.type = RK_VALUE_INT, .integer = 12288}},
    {"application.heads", {.type = RK_VALUE_INT, .integer = 96}},
    {"system.networks[1].size", {.type = RK_VALUE_REAL, .real = 0.5}},
    {"datatype", {.type = RK_VALUE_TEXT, .text = "float8"}},
    {"fused", {.type = RK_VALUE_BOOL, .boolean = true}},
    {"absent", {.type = RK_VALUE_NULL}},
};

static rk_expression *parse(const char *text)
{
    rk_expression *expression = NULL;
    rk_error err = {0};
    if (rk_expression_parse(text, &expression, &err) != RK_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return expression;
}

static rk_value evaluate(const rk_expression *expression, rk_expression_fault *fault)
{
    rk_value values[16] = {{0}};
    assert_true(rk_expression_name_count(expression) <= 16);
    for (size_t i = 0; i < rk_expression_name_count(expression); i++) {
        size_t k = 0;
        while (strcmp(known[k].name, rk_expression_name(expression, i)) != 0) {
            k++;
            assert_true(k < sizeof(known) / sizeof(known[0]));
        }
        values[i] = known[k].value;
    }
    return rk_expression_value(expression, values, fault);
}

static void test_values(void **state)
{
    static const struct {
        const char *text, *value;
    } cases[] = {
        {"4*hidden", "49152"},
        {" 1 + 2 * 3 ", "7"},
        {"(1 + 2) * 3", "9"},
        {"10 - 4 - 3", "3"},
        {"64 / 4 / 2", "8"},
        {"7 % 4", "3"},
        {"-7 % 4", "-3"},
        {"2^3^2", "512"},
        {"-2^2", "-4"},
        {"2^-1", "0.5"},
        {"2*-3", "-6"},
        {"1e3 + .5", "1000.5"},
        {"1.5e-3", "0.0015"},
        {"hidden / application.heads", "128"},
        {"system.networks[1].size * 2", "1"},
        {"max(1, 9, 3) - min(4, 2)", "7"},
        {"round(2.5) + floor(-1.5) + ceil(0.1)", "2"},
        {"round(1000, 128)", "1024"},
        {"round(6.3948, 0.01)", "6.39"},
        {"ceil(49.9701, 0.001)", "49.971"},
        {"floor(1.7, 0.4)", "1.6"},
        {"floor(1000, 128)", "896"},
        {"ceil(1000, 128)", "1024"},
        {"round ( 1000 , 128 )", "1024"},
        {"pow(2, 10) + abs(-1) + sqrt(16) + log2(8)", "1032"},
        {"if(hidden > 10000, 16, 8)", "16"},
        {"if(fused, 'a', 'b')", "a"},
        {"datatype == 'float8'", "true"},
        {"datatype != 'float8'", "false"},
        {"fused == true && !false", "true"},
        {"not fused or 1 < 2", "true"},
        {"1 < 2 and 2 <= 2 and 3 > 2 and 2 >= 3", "false"},
        {"1 == 1 || 1 == 2 && 1 == 3", "true"},
        {"1 / 0", ""},
        {"absent + 1", ""},
        {"absent > 1", ""},
        {"absent > 1 || true", "true"},
        {"absent > 1 && false", "false"},
        {"absent > 1 && true", ""},
        {"!(absent > 1)", ""},
        {"if(hidden > 1, 3, 1/0)", "3"},
        {"if(absent > 1, 3, 4)", ""},
        {"9007199254740992", "9007199254740992"},
        {"0.1 + 0.2", "0.30000000000000004"},
        {"(((((((((((((((((((((((((((1)))))))))))))))))))))))))))", "1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char buffer[RK_NUMBER_TEXT_SIZE];
        rk_expression *expression = parse(cases[i].text);
        const rk_value value = evaluate(expression, NULL);
        const char *found = rk_value_format(&value, buffer);
        if (strcmp(found, cases[i].value) != 0) {
            fail_msg("%s: %s instead of %s", cases[i].text, found, cases[i].value);
        }
        assert_string_equal(rk_expression_text(expression), cases[i].text);
        rk_expression_free(expression);
    }
}

static void test_names(void **state)
{
    (void)state;
    rk_expression *expression =
        parse("hidden*application.heads + hidden + system.networks[1].size");
    assert_int_equal(rk_expression_name_count(expression), 3);
    assert_string_equal(rk_expression_name(expression, 0), "hidden");
    assert_string_equal(rk_expression_name(expression, 1), "application.heads");
    assert_string_equal(rk_expression_name(expression, 2), "system.networks[1].size");
    rk_expression_free(expression);
    expression = parse("fused && hidden > 3");
    const rk_value values[] = {rk_value_bool(true), rk_value_int(4)};
    const rk_value others[] = {rk_value_bool(true), {0}};
    assert_true(rk_expression_value(expression, values, NULL).boolean);
    assert_int_not_equal(rk_expression_value(expression, others, NULL).type, RK_VALUE_BOOL);
    rk_expression_free(expression);
    rk_expression_free(NULL);
}

/* Why there is no value, and where. */
static void test_no_value(void **state)
{
    static const struct {
        const char *text, *reason;
        size_t position;
    } cases[] = {
        {"1 + 4 / (hidden - 12288)", "this divides by zero", 6},
        {"3 % 0", "this divides by zero", 2},
        {"sqrt(-1)", "this has no finite result", 0},
        {"2 * log2(0)", "this has no finite result", 4},
        {"1e308 * 10", "this has no finite result", 6},
        {"round(3, 0)", "this has no finite result", 0},
        {"1 + datatype", "this needs numbers", 2},
        {"-fused", "this needs numbers", 0},
        {"1 && fused", "this needs conditions, which are true or false", 2},
        {"!1", "this needs a condition, which is true or false", 0},
        {"if(1, 2, 3)", "this needs a condition, which is true or false", 0},
        {"1 == datatype", "this compares values of different types", 2},
        {"datatype < 'x'", "only numbers have an order", 9},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_expression_fault fault = {0};
        rk_expression *expression = parse(cases[i].text);
        assert_int_equal(evaluate(expression, &fault).type, RK_VALUE_NULL);
        if (!fault.reason || strcmp(fault.reason, cases[i].reason) != 0 ||
            fault.position != cases[i].position) {
            fail_msg("%s: %s at %zu", cases[i].text, fault.reason ? fault.reason : "no reason",
                     fault.position);
        }
        rk_expression_free(expression);
    }
    rk_expression_fault fault = {.reason = "old"};
    rk_expression *expression = parse("absent");
    assert_int_equal(evaluate(expression, &fault).type, RK_VALUE_NULL);
    assert_null(fault.reason);
    rk_expression_free(expression);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "character 1 of \"\": expected a number, a name or '(', found the end"},
        {"4*", "character 3 of \"4*\": expected a number, a name or '(', found the end"},
        {"4*application.",
         "character 14 of \"4*application.\": expected an operator or the end, found '.'"},
        {"4 hidden", "character 3 of \"4 hidden\": expected an operator or the end, found 'h'"},
        {"(1 + 2", "character 7 of \"(1 + 2\": expected an operator or ')', found the end"},
        {"1 + )", "character 5 of \"1 + )\": expected a number, a name or '(', found ')'"},
        {"1 < 2 < 3", "character 7 of \"1 < 2 < 3\": expected an operator or the end, found '<'"},
        {"'abc", "character 1 of \"'abc\": the text that starts here has no closing '"},
        {"0x10", "character 1 of \"0x10\": expected a number such as 8, 0.5 or 1e12"},
        {"1e", "character 1 of \"1e\": expected a number such as 8, 0.5 or 1e12"},
        {"1.2.3", "character 1 of \"1.2.3\": expected a number such as 8, 0.5 or 1e12"},
        {"1e999", "character 1 of \"1e999\": expected a number such as 8, 0.5 or 1e12"},
        {"12abc", "character 1 of \"12abc\": expected a number such as 8, 0.5 or 1e12"},
        {"mx(1, 2)", "character 1 of \"mx(1, 2)\": there is no function mx; did you mean max?"},
        {"cosine(1)", "character 1 of \"cosine(1)\": there is no function cosine; there are abs, "
                      "ceil, floor, if, log2, max, min, pow, round and sqrt"},
        {"pow(2)", "character 1 of \"pow(2)\": pow takes 2 to 2 values, not 1"},
        {"max()", "character 5 of \"max()\": expected a number, a name or '(', found ')'"},
        {"max(1, 2", "character 9 of \"max(1, 2\": expected ',' or ')', found the end"},
        {"a[x]", "character 2 of \"a[x]\": expected an operator or the end, found '['"},
        {"a = 3", "character 3 of \"a = 3\": expected an operator or the end, found '='"},
        {"a & b", "character 3 of \"a & b\": expected an operator or the end, found '&'"},
        {"\x01", "character 1 of \"?\": expected a number, a name or '('"},
        {"((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))",
         "character 33 of "
         "\"((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))\": "
         "more than 32 brackets and signs in one another"},
        {"----------------------------------------1",
         "character 33 of \"----------------------------------------1\": more than 32 brackets and "
         "signs in one another"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_expression *expression = NULL;
        rk_error err = {0};
        assert_int_equal(rk_expression_parse(cases[i].text, &expression, &err), RK_ERR_INVALID);
        assert_null(expression);
        if (strcmp(err.message, cases[i].says) != 0) {
            fail_msg("%s: %s", cases[i].text, err.message);
        }
    }
}

static void test_sizes(void **state)
{
    char text[RK_EXPRESSION_SIZE_MAX + 2];
    rk_expression *expression = NULL;
    rk_error err = {0};
    (void)state;
    memset(text, '1', sizeof(text));
    for (size_t i = 1; i < sizeof(text); i += 2) {
        text[i] = '+';
    }
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(rk_expression_parse(text, &expression, &err), RK_ERR_LIMIT);
    text[RK_EXPRESSION_SIZE_MAX - 1] = '\0';
    assert_int_equal(rk_expression_parse(text, &expression, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "too long"));
    text[511] = '\0'; /* 256 ones with 255 signs */
    expression = parse(text);
    const rk_value value = evaluate(expression, NULL);
    assert_int_equal(value.type, RK_VALUE_INT);
    assert_int_equal(value.integer, 256);
    rk_expression_free(expression);
}

/* ---- a readable twin ------------------------------------------------------------------------- */

static uint64_t seed = 20240229;

static unsigned draw(unsigned below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(seed >> 33) % below;
}

/* Writes a random expression of numbers behind `text` and returns what it comes to. */
static double write_random(char *text, size_t size, int depth)
{
    static const char operators[] = "+-*/";
    const size_t used = strlen(text);
    char *end = text + used;
    if (depth == 0) {
        const unsigned number = 1 + draw(9);
        (void)snprintf(end, size - used, "%u", number);
        return number;
    }
    const unsigned kind = draw(5);
    if (kind == 4) {
        (void)snprintf(end, size - used, "min(");
        const double a = write_random(text, size, depth - 1);
        (void)snprintf(text + strlen(text), size - strlen(text), ", -");
        const double b = -write_random(text, size, 0);
        (void)snprintf(text + strlen(text), size - strlen(text), ")");
        return isnan(a) ? a : fmin(a, b);
    }
    (void)snprintf(end, size - used, "(");
    const double a = write_random(text, size, depth - 1);
    (void)snprintf(text + strlen(text), size - strlen(text), " %c ", operators[kind]);
    const double b = write_random(text, size, (int)draw((unsigned)depth));
    (void)snprintf(text + strlen(text), size - strlen(text), ")");
    const double result = kind == 0 ? a + b : kind == 1 ? a - b : kind == 2 ? a * b : a / b;
    return isfinite(result) ? result : (double)NAN; /* what has no value spreads */
}

static void test_against_trees(void **state)
{
    (void)state;
    int finite = 0;
    for (int i = 0; i < 2000; i++) {
        char text[4096] = "";
        const double expected = write_random(text, sizeof(text), 5);
        rk_expression *expression = parse(text);
        const rk_value value = evaluate(expression, NULL);
        if (isfinite(expected)) {
            const double found = value.type == RK_VALUE_INT ? (double)value.integer : value.real;
            assert_int_not_equal(value.type, RK_VALUE_NULL);
            if (found != expected) {
                fail_msg("%s: %.17g instead of %.17g", text, found, expected);
            }
            finite++;
        } else {
            assert_int_equal(value.type, RK_VALUE_NULL);
        }
        rk_expression_free(expression);
    }
    assert_true(finite > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_value), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_against_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

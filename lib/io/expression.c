/* SPDX-License-Identifier: Apache-2.0 */
/* The parser: recursive descent, one function for each level of binding. */
#include "io/expression_code.h"

#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "io/json.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NESTING_MAX 32 /* of brackets and signs */
#define DIGITS      "0123456789"
#define LETTERS     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

struct parser {
    rk_expression *made;
    const char *at;
    int nesting;
    size_t stack; /* values on the stack of the evaluator */
    rk_error *err;
};

/* ---- errors ---------------------------------------------------------------------------------- */

static rk_status fail_here(const struct parser *p, const char *at, const char *format, ...)
    RK_PRINTF(3, 4);

static rk_status fail_here(const struct parser *p, const char *at, const char *format, ...)
{
    char what[160], shown[200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return rk_fail(p->err, RK_ERR_INVALID, "character %zu of \"%s\": %s",
                   (size_t)(at - p->made->text) + 1,
                   rk_json_printable(p->made->text, shown, sizeof(shown)), what);
}

static rk_status fail_expected(const struct parser *p, const char *wanted)
{
    if (*p->at == '\0') {
        return fail_here(p, p->at, "expected %s, found the end", wanted);
    }
    if (*p->at < ' ' || *p->at > '~') {
        return fail_here(p, p->at, "expected %s", wanted);
    }
    return fail_here(p, p->at, "expected %s, found '%c'", wanted, *p->at);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Appends a step that pops `taken` values off the stack and pushes one. */
static rk_status emit(struct parser *p, rk_step step, size_t taken, const char *at)
{
    assert(p->stack >= taken);
    rk_expression *e = p->made;
    p->stack = p->stack - taken + 1;
    if (e->step_count >= RK_EXPRESSION_STEPS_MAX || p->stack > RK_EXPRESSION_STACK_MAX) {
        return fail_here(p, at, "the expression is too long: cut it in parts");
    }
    step.position = (uint32_t)(at - e->text);
    e->steps[e->step_count++] = step;
    return RK_OK;
}

/* Keeps a copy of a piece of the text.  There is room: every piece occurs in the text once. */
static const char *keep(struct parser *p, const char *from, size_t length)
{
    char *to = p->made->strings + p->made->string_size;
    memcpy(to, from, length);
    to[length] = '\0';
    p->made->string_size += length + 1;
    return to;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void skip_blanks(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

/* Consumes an operator or a bracket if it comes next. */
static bool take(struct parser *p, const char *symbol)
{
    const size_t length = strlen(symbol);
    skip_blanks(p);
    if (strncmp(p->at, symbol, length) != 0) {
        return false;
    }
    p->at += length;
    return true;
}

/* Consumes a word such as "and" if it comes next as a whole. */
static bool take_word(struct parser *p, const char *word)
{
    const size_t length = strlen(word);
    skip_blanks(p);
    if (strncmp(p->at, word, length) != 0 || strspn(p->at + length, LETTERS DIGITS ".[") > 0) {
        return false;
    }
    p->at += length;
    return true;
}

/* The length of the key that starts here: name, then any of ".name" and "[digits]". */
static size_t key_length(const char *at)
{
    size_t length = strspn(at, LETTERS DIGITS);
    for (;;) {
        const char *next = at + length;
        const size_t name = *next == '.' ? strspn(next + 1, LETTERS DIGITS) : 0;
        const size_t digits = *next == '[' ? strspn(next + 1, DIGITS) : 0;
        if (name > 0) {
            length += 1 + name;
        } else if (digits > 0 && next[1 + digits] == ']') {
            length += 2 + digits;
        } else {
            return length;
        }
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static rk_status parse_or(struct parser *p);

static rk_status parse_number(struct parser *p)
{
    const char *at = p->at;
    char *end = NULL;
    size_t length = strspn(at, DIGITS ".");
    if (at[length] == 'e' || at[length] == 'E') {
        const size_t sign = at[length + 1] == '-' || at[length + 1] == '+';
        length += 1 + sign + strspn(at + length + 1 + sign, DIGITS);
    }
    /* strtod knows more forms of numbers than documents do: hexadecimals, "inf" */
    const bool hexadecimal = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    const double number = strtod(at, &end);
    if (hexadecimal || end != at + length || !isfinite(number) ||
        strspn(end, LETTERS DIGITS ".") > 0) {
        return fail_here(p, at, "expected a number such as 8, 0.5 or 1e12");
    }
    p->at = end;
    return emit(p, (rk_step){.operation = RK_OP_CONSTANT, .value = rk_value_real(number)}, 0, at);
}

static rk_status parse_text(struct parser *p)
{
    const char *at = p->at;
    const char *end = strchr(at + 1, '\'');
    if (!end) {
        return fail_here(p, at, "the text that starts here has no closing '");
    }
    p->at = end + 1;
    const char *text = keep(p, at + 1, (size_t)(end - at - 1));
    return emit(p, (rk_step){.operation = RK_OP_CONSTANT, .value = rk_value_text(text)}, 0, at);
}

static rk_status parse_name(struct parser *p, size_t length)
{
    assert(length > 0);
    rk_expression *e = p->made;
    const char *at = p->at;
    size_t index = 0;
    p->at += length;
    while (index < e->name_count &&
           (strncmp(e->names[index], at, length) != 0 || e->names[index][length] != '\0')) {
        index++;
    }
    if (index == e->name_count) {
        e->names[e->name_count++] = keep(p, at, length);
    }
    return emit(p, (rk_step){.operation = RK_OP_NAME, .index = (uint32_t)index}, 0, at);
}

static const struct {
    const char *name;
    rk_operation operation;
    unsigned least, most; /* values */
} functions[] = {
    {"abs", RK_OP_ABS, 1, 1},   {"ceil", RK_OP_CEIL, 1, 2}, {"floor", RK_OP_FLOOR, 1, 2},
    {"if", RK_OP_IF, 3, 3},     {"log2", RK_OP_LOG2, 1, 1}, {"max", RK_OP_MAX, 1, 16},
    {"min", RK_OP_MIN, 1, 16},  {"pow", RK_OP_POW, 2, 2},   {"round", RK_OP_ROUND, 1, 2},
    {"sqrt", RK_OP_SQRT, 1, 1},
};
enum { FUNCTION_COUNT = sizeof(functions) / sizeof(functions[0]) };

static rk_status fail_function(const struct parser *p, const char *at, size_t length)
{
    const char *names[FUNCTION_COUNT];
    char name[32];
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        names[i] = functions[i].name;
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)(length < 31 ? length : 31), at);
    const char *nearest = rk_nearest_name(name, names, FUNCTION_COUNT);
    return nearest ? fail_here(p, at, "there is no function %s; did you mean %s?", name, nearest)
                   : fail_here(p, at,
                               "there is no function %s; there are abs, ceil, floor, if, log2, "
                               "max, min, pow, round and sqrt",
                               name);
}

/* A function with its arguments; the opening bracket comes after `length` characters. */
static rk_status parse_function(struct parser *p, size_t length)
{
    const char *at = p->at;
    size_t f = 0;
    unsigned count = 0;
    while (f < FUNCTION_COUNT &&
           (strncmp(functions[f].name, at, length) != 0 || functions[f].name[length] != '\0')) {
        f++;
    }
    if (f == FUNCTION_COUNT) {
        return fail_function(p, at, length);
    }
    p->at += length;
    (void)take(p, "(");
    do {
        const rk_status status = parse_or(p);
        if (status) {
            return status;
        }
        count++;
    } while (take(p, ","));
    if (!take(p, ")")) {
        return fail_expected(p, "',' or ')'");
    }
    if (count < functions[f].least || count > functions[f].most) {
        return fail_here(p, at, "%s takes %u to %u values, not %u", functions[f].name,
                         functions[f].least, functions[f].most, count);
    }
    return emit(p, (rk_step){.operation = functions[f].operation, .index = count}, count, at);
}

static rk_status parse_word(struct parser *p)
{
    const char *at = p->at;
    const size_t length = key_length(at);
    const char *next = at + length + strspn(at + length, " \t\r\n");
    if (*next == '(') {
        return parse_function(p, length);
    }
    for (int i = 0; i < 2; i++) {
        if (take_word(p, i ? "true" : "false")) {
            const rk_value value = rk_value_bool(i);
            return emit(p, (rk_step){.operation = RK_OP_CONSTANT, .value = value}, 0, at);
        }
    }
    return parse_name(p, length);
}

static rk_status parse_value(struct parser *p)
{
    skip_blanks(p);
    if (strspn(p->at, DIGITS ".") > 0) {
        return parse_number(p);
    }
    if (*p->at == '\'') {
        return parse_text(p);
    }
    if (strspn(p->at, LETTERS) > 0) {
        return parse_word(p);
    }
    if (!take(p, "(")) {
        return fail_expected(p, "a number, a name or '('");
    }
    const rk_status status = parse_or(p);
    return status || take(p, ")") ? status : fail_expected(p, "an operator or ')'");
}

/* ---- operators ------------------------------------------------------------------------------- */

static rk_status parse_unary(struct parser *p);

static rk_status parse_power(struct parser *p)
{
    rk_status status = parse_value(p);
    skip_blanks(p);
    const char *at = p->at;
    if (status || !take(p, "^")) {
        return status;
    }
    status = parse_unary(p); /* to the right: 2^3^2 is 2^9, and 2^-1 is 0.5 */
    return status ? status : emit(p, (rk_step){.operation = RK_OP_POWER}, 2, at);
}

static rk_status parse_unary(struct parser *p)
{
    rk_status status;
    skip_blanks(p);
    const char *at = p->at;
    if (++p->nesting > NESTING_MAX) {
        return fail_here(p, at, "more than %d brackets and signs in one another", NESTING_MAX);
    }
    if (take(p, "-")) {
        status = parse_unary(p);
        status = status ? status : emit(p, (rk_step){.operation = RK_OP_NEGATE}, 1, at);
    } else if ((*at == '!' && at[1] != '=' && take(p, "!")) || take_word(p, "not")) {
        status = parse_unary(p);
        status = status ? status : emit(p, (rk_step){.operation = RK_OP_NOT}, 1, at);
    } else {
        status = take(p, "+") ? parse_unary(p) : parse_power(p);
    }
    p->nesting--;
    return status;
}

/* Consumes the first of `operators` (symbols of operations, which NULL ends) that comes next. */
static const rk_named_count *take_operator(struct parser *p, const rk_named_count *operators)
{
    for (; operators->name; operators++) {
        const bool word = strspn(operators->name, LETTERS) > 0;
        if (word ? take_word(p, operators->name) : take(p, operators->name)) {
            return operators;
        }
    }
    return NULL;
}

/* Values of the next tighter level joined by `operators`, from the left; once, unless `chain`. */
static rk_status parse_level(struct parser *p, rk_status (*parse_next)(struct parser *p),
                             const rk_named_count *operators, bool chain)
{
    rk_status status = parse_next(p);
    const rk_named_count *found = NULL;
    do {
        skip_blanks(p);
        const char *at = p->at;
        found = status ? NULL : take_operator(p, operators);
        status = found ? parse_next(p) : status;
        if (found && !status) {
            status = emit(p, (rk_step){.operation = (rk_operation)found->value}, 2, at);
        }
    } while (found && !status && chain);
    return status;
}

static rk_status parse_product(struct parser *p)
{
    static const rk_named_count operators[] = {
        {"*", RK_OP_MULTIPLY}, {"/", RK_OP_DIVIDE}, {"%", RK_OP_REMAINDER}, {NULL, RK_OP_ADD}};
    return parse_level(p, parse_unary, operators, true);
}

static rk_status parse_sum(struct parser *p)
{
    static const rk_named_count operators[] = {
        {"+", RK_OP_ADD}, {"-", RK_OP_SUBTRACT}, {NULL, RK_OP_ADD}};
    return parse_level(p, parse_product, operators, true);
}

static rk_status parse_comparison(struct parser *p)
{
    static const rk_named_count operators[] = {
        {"==", RK_OP_EQUAL},      {"!=", RK_OP_UNEQUAL},
        {"<=", RK_OP_LESS_EQUAL}, {">=", RK_OP_GREATER_EQUAL},
        {"<", RK_OP_LESS},        {">", RK_OP_GREATER},
        {NULL, RK_OP_ADD}};
    return parse_level(p, parse_sum, operators, false);
}

static rk_status parse_and(struct parser *p)
{
    static const rk_named_count operators[] = {
        {"&&", RK_OP_AND}, {"and", RK_OP_AND}, {NULL, RK_OP_ADD}};
    return parse_level(p, parse_comparison, operators, true);
}

static rk_status parse_or(struct parser *p)
{
    static const rk_named_count operators[] = {
        {"||", RK_OP_OR}, {"or", RK_OP_OR}, {NULL, RK_OP_ADD}};
    return parse_level(p, parse_and, operators, true);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static rk_expression *make_room(const char *text)
{
    const size_t size = strlen(text);
    const size_t most = size < RK_EXPRESSION_STEPS_MAX ? size + 1 : RK_EXPRESSION_STEPS_MAX;
    rk_expression *e = calloc(1, sizeof(*e));
    if (!e) {
        return NULL;
    }
    e->text = strdup(text);
    e->strings = malloc(2 * size + 2); /* every piece ends before the next starts */
    e->steps = calloc(most, sizeof(*e->steps));
    e->names = calloc(most + 1, sizeof(*e->names));
    if (!e->text || !e->strings || !e->steps || !e->names) {
        rk_expression_free(e);
        return NULL;
    }
    return e;
}

rk_status rk_expression_parse(const char *text, rk_expression **expression, rk_error *err)
{
    *expression = NULL;
    if (strlen(text) > RK_EXPRESSION_SIZE_MAX) {
        return rk_fail(err, RK_ERR_LIMIT, "an expression has at most %d characters",
                       RK_EXPRESSION_SIZE_MAX);
    }
    struct parser p = {.made = make_room(text), .err = err};
    if (!p.made) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an expression");
    }
    p.at = p.made->text;
    rk_status status = parse_or(&p);
    skip_blanks(&p);
    if (!status && *p.at) {
        status = fail_expected(&p, "an operator or the end");
    }
    if (status) {
        rk_expression_free(p.made);
        return status;
    }
    *expression = p.made;
    return RK_OK;
}

void rk_expression_free(rk_expression *expression)
{
    if (expression) {
        free(expression->text);
        free(expression->strings);
        free(expression->steps);
        free(expression->names);
        free(expression);
    }
}

const char *rk_expression_text(const rk_expression *expression)
{
    return expression->text;
}

size_t rk_expression_name_count(const rk_expression *expression)
{
    return expression->name_count;
}

const char *rk_expression_name(const rk_expression *expression, size_t index)
{
    return expression->names[index];
}

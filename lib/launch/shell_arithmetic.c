/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of the shell: integers, variables, assignments. */
#include "base/named.h"
#include "launch/shell_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sum {
    rk_shell *sh;
    const char *at;
    int depth;
    bool failed;
    bool dry; /* the other side of && || ?: changes nothing */
} sum;

static int64_t conditional(sum *s);

static void skip_blanks(sum *s)
{
    s->at += strspn(s->at, " \t\r\n");
}

static bool take(sum *s, const char *operator)
{
    skip_blanks(s);
    const size_t length = strlen(operator);
    if (strncmp(s->at, operator, length) != 0) {
        return false;
    }
    s->at += length;
    return true;
}

/* Numbers wrap around, as in the shell. */
static int64_t wrap(uint64_t value)
{
    int64_t out;
    memcpy(&out, &value, sizeof(out));
    return out;
}

static int64_t power(int64_t base, int64_t exponent)
{
    uint64_t value = 1;
    for (int64_t i = 0; i < exponent && i < 64; i++) {
        value *= (uint64_t)base;
    }
    return wrap(value);
}

static int64_t divide(sum *s, int64_t a, int64_t b, bool remainder)
{
    if (b == 0) {
        s->failed |= !s->dry;
        return 0;
    }
    if (b == -1) {
        return remainder ? 0 : wrap(0 - (uint64_t)a);
    }
    return remainder ? a % b : a / b;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The value of a variable, which may itself be an expression. */
static int64_t value_of(sum *s, const char *name)
{
    const char *text = rk_shell_value(s->sh, name);
    if (!text || !*text) {
        return 0;
    }
    sum inner = {.sh = s->sh, .at = text, .depth = s->depth + 8, .dry = s->dry};
    const int64_t value = conditional(&inner);
    skip_blanks(&inner);
    s->failed |= inner.failed || *inner.at != '\0';
    return value;
}

static void set_value(sum *s, const char *name, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    if (!s->dry && !s->failed) {
        rk_shell_set(s->sh, name, text, rk_shell_line(s->sh, s->sh->at));
    }
}

/* Whether "=" or such as "+=" follows, and not "==": the operation, '=' for none. */
static char assignment(sum *s)
{
    skip_blanks(s);
    if (s->at[0] == '=' && s->at[1] != '=') {
        s->at++;
        return '=';
    }
    if (s->at[0] && strchr("+-*/%", s->at[0]) && s->at[1] == '=') {
        s->at += 2;
        return s->at[-2];
    }
    return '\0';
}

static int64_t assign(sum *s, const char *name, char operation)
{
    const int64_t right = conditional(s), left = operation == '=' ? 0 : value_of(s, name);
    const int64_t value = operation == '+'   ? wrap((uint64_t)left + (uint64_t)right)
                          : operation == '-' ? wrap((uint64_t)left - (uint64_t)right)
                          : operation == '*' ? wrap((uint64_t)left * (uint64_t)right)
                          : operation == '=' ? right
                                             : divide(s, left, right, operation == '%');
    set_value(s, name, value);
    return value;
}

static int64_t element(sum *s, const char *name)
{
    const char *close = strchr(s->at, ']');
    const rk_shell_variable *variable = rk_shell_find(s->sh, name);
    int64_t index = 0, value = 0;
    if (!close) {
        s->failed = true;
        return 0;
    }
    const char *key = rk_shell_keep(s->sh, s->at + 1, (size_t)(close - s->at - 1));
    s->at = close + 1;
    if (!variable || s->depth > RK_SHELL_DEPTH_MAX) {
        return 0;
    }
    if (!variable->associative && !rk_shell_calculate(s->sh, key, &index)) {
        s->failed = true;
        return 0;
    }
    const rk_shell_element *found =
        rk_shell_element_of(variable, variable->associative ? key : NULL, index);
    s->failed |= found && found->text[0] && !rk_shell_calculate(s->sh, found->text, &value);
    return value;
}

static int64_t name_value(sum *s)
{
    const size_t length = rk_shell_name_length(s->at, strlen(s->at));
    const char *name = rk_shell_keep(s->sh, s->at, length);
    s->at += length;
    if (*s->at == '[') {
        return element(s, name);
    }
    if (take(s, "++") || take(s, "--")) {
        const int64_t before = value_of(s, name);
        set_value(s, name, wrap((uint64_t)before + (s->at[-1] == '+' ? 1 : UINT64_MAX)));
        return before;
    }
    const char operation = assignment(s);
    return operation ? assign(s, name, operation) : value_of(s, name);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static int64_t number(sum *s)
{
    char *end = NULL;
    const int64_t value = (int64_t)strtoll(s->at, &end, 0);
    if (*end == '#' && value >= 2 && value <= 36) { /* base#digits */
        const char *digits = end + 1;
        const int64_t based = (int64_t)strtoll(digits, &end, (int)value);
        s->failed |= end == digits;
        s->at = end;
        return based;
    }
    s->failed |= end == s->at || *end == '.';
    s->at = end;
    return value;
}

static int64_t unary(sum *s)
{
    int64_t value = 0;
    if (s->failed || ++s->depth > RK_SHELL_DEPTH_MAX) {
        s->failed = true;
        return 0;
    }
    if (take(s, "(")) {
        value = conditional(s);
        s->failed |= !take(s, ")");
    } else if (take(s, "++") || take(s, "--")) {
        const uint64_t change = s->at[-1] == '+' ? 1 : UINT64_MAX;
        skip_blanks(s);
        const size_t length = rk_shell_name_length(s->at, strlen(s->at));
        const char *name = rk_shell_keep(s->sh, s->at, length);
        s->at += length;
        value = wrap((uint64_t)value_of(s, name) + change);
        set_value(s, name, value);
    } else if (take(s, "!")) {
        value = !unary(s);
    } else if (take(s, "-")) {
        value = wrap(0 - (uint64_t)unary(s));
    } else if (take(s, "+")) {
        value = unary(s);
    } else if (take(s, "~")) {
        value = ~unary(s);
    } else if (isdigit((unsigned char)*s->at)) {
        value = number(s);
    } else if (rk_shell_name_length(s->at, 1) > 0) {
        value = name_value(s);
    } else {
        s->failed = true;
    }
    s->depth--;
    return value;
}

/* Operators of two sides, from those that bind least. */
static const rk_named_count operators[] = {
    {"||", 0}, {"&&", 1},  {"==", 5}, {"!=", 5}, {"<=", 6}, {">=", 6}, {"<<", 7},
    {">>", 7}, {"**", 10}, {"|", 2},  {"^", 3},  {"&", 4},  {"<", 6},  {">", 6},
    {"+", 8},  {"-", 8},   {"*", 9},  {"/", 9},  {"%", 9},
};

static int64_t apply(sum *s, const char *operator, int64_t a, int64_t b)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (operator[0]) {
    case '|':
        return operator[1] ? a || b : a | b;
    case '&':
        return operator[1] ? a && b : a & b;
    case '^':
        return a ^ b;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        return operator[1] == '<' ? wrap(x << (y & 63)) : operator[1] ? a <= b : a<b;
    case '>':
        return operator[1] == '>' ? a >> (y & 63) : operator[1] ? a >= b : a> b;
    case '+':
        return wrap(x + y);
    case '-':
        return wrap(x - y);
    case '*':
        return operator[1] ? power(a, b) : wrap(x *y);
    default:
        return divide(s, a, b, operator[0] == '%');
    }
}

/* The operator that follows, if it binds at least so much. */
static size_t find_operator(sum *s, int level)
{
    skip_blanks(s);
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        const size_t length = strlen(operators[i].name);
        if (strncmp(s->at, operators[i].name, length) == 0) {
            const bool assigns = s->at[length] == '=' && strchr("+-*/%", s->at[0]);
            return (int)operators[i].value >= level && !assigns ? i : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* Operators from the left to the right, but powers from the right: 2**3**2 is 2**9. */
static int64_t binary(sum *s, int level)
{
    if (++s->depth > RK_SHELL_DEPTH_MAX) {
        s->failed = true;
        return 0;
    }
    int64_t left = unary(s);
    for (size_t i; !s->failed && (i = find_operator(s, level)) != SIZE_MAX;) {
        const char *operator= operators[i].name;
        const bool dry = s->dry;
        s->at += strlen(operator);
        s->dry |= (strcmp(operator, "||") == 0 && left) || (strcmp(operator, "&&") == 0 && !left);
        const int64_t right = binary(s, (int)operators[i].value + (strcmp(operator, "**") != 0));
        s->dry = dry;
        left = apply(s, operator, left, right);
    }
    s->depth--;
    return left;
}

static int64_t conditional(sum *s)
{
    if (++s->depth > RK_SHELL_DEPTH_MAX) {
        s->failed = true;
        return 0;
    }
    int64_t value = binary(s, 0);
    if (!s->failed && take(s, "?")) {
        const bool dry = s->dry;
        s->dry = dry || !value;
        const int64_t first = conditional(s);
        s->failed |= !take(s, ":");
        s->dry = dry || value;
        const int64_t second = conditional(s);
        s->dry = dry;
        value = value ? first : second;
    }
    s->depth--;
    return value;
}

bool rk_shell_calculate(rk_shell *sh, const char *expression, int64_t *value)
{
    sum s = {.sh = sh, .at = expression};
    if (++sh->depth > RK_SHELL_DEPTH_MAX) {
        sh->depth--;
        return false;
    }
    skip_blanks(&s);
    *value = *s.at ? conditional(&s) : 0;
    while (!s.failed && take(&s, ",")) {
        *value = conditional(&s);
    }
    skip_blanks(&s);
    sh->depth--;
    return !s.failed && *s.at == '\0';
}

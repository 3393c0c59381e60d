/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain scalars of YAML 1.1.  Source of the patterns: yaml/resolver.py of PyYAML 6.0.
 */
#include "io/yaml_scalar.h"

#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define IS_ONE_OF(text, words) rk_is_among(text, words, sizeof(words) / sizeof((words)[0]))

static const char *skip_sign(const char *text)
{
    return text + (*text == '-' || *text == '+');
}

/* ---- integers -------------------------------------------------------------------------------- */

/* 0: no integer; else the base, and *digits the first digit. */
static int integer_base(const char *text, const char **digits)
{
    const char *start = skip_sign(text);
    *digits = start;
    if (start[0] == '0' && (start[1] == 'b' || start[1] == 'x') && start[2] != '\0') {
        const char *allowed = start[1] == 'b' ? "01_" : "0123456789abcdefABCDEF_";
        *digits = start + 2;
        return (*digits)[strspn(*digits, allowed)] == '\0' ? (start[1] == 'b' ? 2 : 16) : 0;
    }
    if (start[0] == '0' && start[1] != '\0') {
        return start[strspn(start, "01234567_")] == '\0' ? 8 : 0;
    }
    if (!isdigit((unsigned char)start[0])) {
        return 0;
    }
    return start[strspn(start, "0123456789_")] == '\0' ? 10 : 0;
}

/* ---- numbers in base 60 ---------------------------------------------------------------------- */

/* "1:30" is 90, "1:30.5" is 90.5; false: it is no such number. */
static bool read_base_60(const char *text, bool *is_real, double *value)
{
    const char *c = skip_sign(text);
    const bool negative = *text == '-';
    if (!isdigit((unsigned char)*c)) {
        return false;
    }
    const bool leading_zero = *c == '0';
    double sum = 0;
    for (; isdigit((unsigned char)*c) || *c == '_'; c++) {
        sum = *c == '_' ? sum : sum * 10 + (*c - '0');
    }
    if (*c != ':') {
        return false;
    }
    while (*c == ':' && isdigit((unsigned char)c[1])) {
        int part = *++c - '0';
        if (isdigit((unsigned char)c[1])) {
            part = part * 10 + (*++c - '0');
        }
        c++;
        if (part >= 60) {
            return false;
        }
        sum = sum * 60 + part;
    }
    *is_real = *c == '.';
    if (*is_real) {
        double unit = 0.1;
        for (c++; isdigit((unsigned char)*c) || *c == '_'; c++) {
            sum += *c == '_' ? 0 : (*c - '0') * unit;
            unit = *c == '_' ? unit : unit / 10;
        }
    }
    *value = negative ? -sum : sum;
    return *c == '\0' && (*is_real || !leading_zero) && sum < 9e15;
}

/* ---- reals ----------------------------------------------------------------------------------- */

/* "1.", "1.5", ".5", "1.0e-5": a point is required, and a sign in the exponent. */
static bool is_real(const char *text)
{
    const char *c = skip_sign(text);
    if (isdigit((unsigned char)*c)) {
        c += strspn(c, "0123456789_");
        if (*c != '.') {
            return false;
        }
        c++;
    } else if (c != text || *c != '.' || !isdigit((unsigned char)c[1])) {
        return false;
    } else {
        c++;
    }
    c += strspn(c, "0123456789_");
    if ((*c == 'e' || *c == 'E') && (c[1] == '-' || c[1] == '+') && isdigit((unsigned char)c[2])) {
        c += 2 + strspn(c + 2, "0123456789");
    }
    return *c == '\0';
}

static json_t *read_real(const char *text)
{
    char *digits = malloc(strlen(text) + 1);
    if (!digits) {
        return NULL;
    }
    size_t length = 0;
    for (const char *c = text; *c; c++) {
        digits[length] = *c;
        length += *c != '_';
    }
    digits[length] = '\0';
    const double value = strtod(digits, NULL);
    free(digits);
    return isfinite(value) ? json_real(value) : json_string(text);
}

/* One that no int64 holds is a real. */
static json_t *read_integer(const char *text, const char *digits, int base)
{
    assert(base == 2 || base == 8 || base == 10 || base == 16);
    uint64_t sum = 0;
    for (const char *c = digits; *c; c++) {
        if (*c == '_') {
            continue;
        }
        const int letter = tolower((unsigned char)*c);
        const int digit = isdigit(letter) ? letter - '0' : letter - 'a' + 10;
        if (sum > (uint64_t)(INT64_MAX - digit) / (uint64_t)base) {
            return base == 10 ? read_real(text) : json_string(text);
        }
        sum = sum * (uint64_t)base + (uint64_t)digit;
    }
    return json_integer(*text == '-' ? -(int64_t)sum : (int64_t)sum);
}

json_t *rk_yaml_scalar(const char *text)
{
    static const char *const on[] = {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
    static const char *const off[] = {"no",    "No",  "NO",  "false", "False",
                                      "FALSE", "off", "Off", "OFF"};
    static const char *const null[] = {"", "~", "null", "Null", "NULL"};
    if (IS_ONE_OF(text, null)) {
        return json_null();
    }
    if (IS_ONE_OF(text, on)) {
        return json_true();
    }
    if (IS_ONE_OF(text, off)) {
        return json_false();
    }
    if (is_real(text)) {
        return read_real(text);
    }
    const char *digits = NULL;
    const int base = integer_base(text, &digits);
    if (base > 0) {
        return read_integer(text, digits, base);
    }
    bool real = false;
    double value = 0;
    if (read_base_60(text, &real, &value)) {
        return real ? json_real(value) : json_integer((json_int_t)value);
    }
    return json_string(text);
}

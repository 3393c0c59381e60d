/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, numbers, dates and times of TOML. */
#include "io/json_write.h"
#include "io/toml_parts.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- strings --------------------------------------------------------------------------------- */

/* Writes a character as UTF-8; returns its bytes, 0 if it is no character. */
static size_t put_character(uint32_t code, char *out)
{
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return 0;
    }
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)((0xf00 >> size & 0xf0) | code);
    return size;
}

/* "\u00e9" and "\U0001f600": the digits behind the letter.  No text has the character \0. */
static rk_status read_code(rk_toml_reading *r, size_t digits, char *out, size_t *length)
{
    assert(digits == 4 || digits == 8);
    const char *place = r->at - 2;
    uint32_t code = 0;
    for (size_t i = 0; i < digits; i++, r->at++) {
        const int letter = tolower((unsigned char)*r->at);
        if (!isxdigit(letter)) {
            return rk_toml_fail(r, place, "\\u takes 4 and \\U 8 hexadecimal digits");
        }
        code = code << 4 | (uint32_t)(isdigit(letter) ? letter - '0' : letter - 'a' + 10);
    }
    const size_t size = put_character(code, out + *length);
    *length += size;
    return size > 0 ? RK_OK : rk_toml_fail(r, place, "no character has this number");
}

/* A line that ends in a backslash goes on at the next character that is no blank. */
static bool skip_line_end(rk_toml_reading *r)
{
    const char *c = r->at + strspn(r->at, " \t");
    if (*c != '\n' && (c[0] != '\r' || c[1] != '\n')) {
        return false;
    }
    r->at = c + strspn(c, " \t\r\n");
    return true;
}

/* The place is behind the backslash. */
static rk_status read_escape(rk_toml_reading *r, bool multi_line, char *out, size_t *length)
{
    static const char letters[] = "btnfr\"\\", meant[] = "\b\t\n\f\r\"\\";
    if (multi_line && skip_line_end(r)) {
        return RK_OK;
    }
    if (r->at == r->end) {
        return rk_toml_fail(r, r->at - 1, "the string is not closed on its line");
    }
    const char c = *r->at++;
    const char *found = strchr(letters, c);
    if (found) {
        out[(*length)++] = meant[found - letters];
        return RK_OK;
    }
    if (c == 'u' || c == 'U') {
        return read_code(r, c == 'u' ? 4 : 8, out, length);
    }
    return rk_toml_fail(r, r->at - 2, "no escape of TOML; write \\\\ for a backslash");
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* Whether the string ends here; a string in three quotes may end in one or two more. */
static bool ends_here(rk_toml_reading *r, char quote, bool three, char *out, size_t *length)
{
    if (*r->at != quote) {
        return false;
    }
    if (!three) {
        r->at++;
        return true;
    }
    if (r->at[1] != quote || r->at[2] != quote) {
        return false;
    }
    for (int i = 0; i < 2 && r->at[3] == quote; i++) {
        out[(*length)++] = quote;
        r->at++;
    }
    r->at += 3;
    return true;
}

static rk_status read_characters(rk_toml_reading *r, char quote, bool three, char *out)
{
    const char *opened = r->at - 1;
    size_t length = 0;
    while (!ends_here(r, quote, three, out, &length)) {
        const char c = *r->at;
        const bool line_end = c == '\n' || (c == '\r' && r->at[1] == '\n');
        if (r->at == r->end || (line_end && !three)) {
            return rk_toml_fail(r, opened, "the string is not closed on its line");
        }
        if (c == '\\' && quote == '"') {
            r->at++;
            const rk_status status = read_escape(r, three, out, &length);
            if (status) {
                return status;
            }
        } else if (is_control(c) && !line_end) {
            return rk_toml_fail(r, r->at, "a control character in a string; escape it");
        } else {
            out[length++] = c;
            r->at++;
        }
    }
    out[length] = '\0';
    return RK_OK;
}

/* Room for a string: what is left up to the quotes that close it, and for two quotes before them.
 */
static size_t text_room(const rk_toml_reading *r, char quote, bool three)
{
    const char *c = r->at;
    while (c < r->end && (three || *c != '\n') &&
           (*c != quote || (three && (c[1] != quote || c[2] != quote)))) {
        c += *c == '\\' && quote == '"' && c + 1 < r->end ? 2 : 1;
    }
    return (size_t)(c - r->at) + 3;
}

rk_status rk_toml_string(rk_toml_reading *r, bool multi_line, char **text)
{
    const char quote = *r->at;
    const bool three = multi_line && r->at[1] == quote && r->at[2] == quote;
    r->at += three ? 3 : 1;
    if (three) { /* the end of a line right after the quotes is left out */
        r->at += *r->at == '\n' ? 1 : *r->at == '\r' && r->at[1] == '\n' ? 2 : 0;
    }
    *text = malloc(text_room(r, quote, three)); /* an escape is longer than what it means */
    if (!*text) {
        return rk_toml_fail_memory(r);
    }
    const rk_status status = read_characters(r, quote, three, *text);
    if (status) {
        free(*text);
        *text = NULL;
    }
    return status;
}

/* ---- dates and times ------------------------------------------------------------------------- */

/* Skips what looks like `shape`, in which 0 is a digit; NULL: it does not. */
static const char *skip_shape(const char *text, const char *shape)
{
    for (; *shape; shape++, text++) {
        if (*shape == '0' ? !isdigit((unsigned char)*text) : *shape != *text) {
            return NULL;
        }
    }
    return text;
}

/* Whether two digits are a number from `least` to `most`. */
static bool is_below(const char *digits, int least, int most)
{
    const int value = (digits[0] - '0') * 10 + (digits[1] - '0');
    return value >= least && value <= most;
}

static const char *skip_time(const char *text)
{
    const char *c = skip_shape(text, "00:00:00");
    if (c && !(is_below(text, 0, 23) && is_below(text + 3, 0, 59) && is_below(text + 6, 0, 60))) {
        return NULL;
    }
    if (c && *c == '.' && isdigit((unsigned char)c[1])) {
        c += 1 + strspn(c + 1, "0123456789");
    }
    return c;
}

/* The end of a date, of a time, or of both; NULL: it is neither. */
static const char *skip_moment(const char *text)
{
    const char *date = skip_shape(text, "0000-00-00");
    if (date && !(is_below(text + 5, 1, 12) && is_below(text + 8, 1, 31))) {
        return NULL;
    }
    if (!date) {
        return skip_time(text);
    }
    const char *time = *date && strchr("Tt ", *date) ? skip_time(date + 1) : NULL;
    if (!time) {
        return date;
    }
    if (*time == 'Z' || *time == 'z') {
        return time + 1;
    }
    const char *zone = *time == '+' || *time == '-' ? skip_shape(time + 1, "00:00") : NULL;
    return zone && is_below(time + 1, 0, 23) && is_below(time + 4, 0, 59) ? zone : time;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Copies digits without the underscores between them; NULL: underscores are elsewhere. */
static char *copy_digits(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    size_t used = 0;
    for (size_t i = 0; copy && i < length; i++) {
        if (text[i] != '_') {
            copy[used++] = text[i];
        } else if (i == 0 || i + 1 == length || !isxdigit((unsigned char)text[i - 1]) ||
                   !isxdigit((unsigned char)text[i + 1])) {
            copy[0] = '\0';
            return copy;
        }
    }
    if (copy) {
        copy[used] = '\0';
    }
    return copy;
}

/* 0x, 0o and 0b without a sign, else decimal without zeros in front; 0: no integer. */
static int integer_base(const char *digits)
{
    static const char *const allowed[] = {"0123456789abcdefABCDEF", "01234567", "01"};
    static const int bases[] = {16, 8, 2};
    for (size_t i = 0; i < 3; i++) {
        if (digits[0] == '0' && digits[1] == "xob"[i]) {
            return digits[2] && digits[2 + strspn(digits + 2, allowed[i])] == '\0' ? bases[i] : 0;
        }
    }
    const char *c = digits + (*digits == '-' || *digits == '+');
    const bool zero_first = c[0] == '0' && c[1] != '\0';
    return *c && !zero_first && c[strspn(c, "0123456789")] == '\0' ? 10 : 0;
}

/* A number of JSON, which "+" may precede. */
static bool is_real(const char *digits)
{
    return rk_json_is_number(digits + (digits[0] == '+' && digits[1] != '-'));
}

static bool is_special(const char *digits)
{
    const char *c = digits + (*digits == '-' || *digits == '+');
    return strcmp(c, "inf") == 0 || strcmp(c, "nan") == 0;
}

static rk_status make_number(const rk_toml_reading *r, const char *place, const char *digits,
                             json_t **value)
{
    const int base = integer_base(digits);
    errno = 0;
    if (base > 0) {
        const long long number = strtoll(digits + (base == 10 ? 0 : 2), NULL, base);
        if (errno) {
            return rk_toml_fail(r, place, "the number %s is too large", digits);
        }
        *value = json_integer(number);
    } else if (is_real(digits)) {
        const double number = strtod(digits, NULL);
        if (!isfinite(number)) {
            return rk_toml_fail(r, place, "the number %s is too large", digits);
        }
        *value = json_real(number);
    } else if (is_special(digits)) {
        *value = json_string(digits);
    } else {
        return rk_toml_fail(r, place,
                            "no value of TOML; put text into quotes, and write true and false");
    }
    return *value ? RK_OK : rk_toml_fail_memory(r);
}

rk_status rk_toml_word(rk_toml_reading *r, json_t **value)
{
    const char *place = r->at, *moment = skip_moment(place);
    const size_t length = moment ? (size_t)(moment - place)
                                 : strspn(place, "0123456789abcdefghijklmnopqrstuvwxyz"
                                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ+-_.:");
    r->at += length;
    if (moment) {
        *value = json_stringn(place, length);
    } else if (length == 4 && memcmp(place, "true", 4) == 0) {
        *value = json_true();
    } else if (length == 5 && memcmp(place, "false", 5) == 0) {
        *value = json_false();
    } else {
        char *digits = copy_digits(place, length);
        const rk_status status =
            digits ? make_number(r, place, digits, value) : rk_toml_fail_memory(r);
        free(digits);
        return status;
    }
    return *value ? RK_OK : rk_toml_fail_memory(r);
}

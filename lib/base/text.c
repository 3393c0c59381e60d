/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers that read back exactly, suggests near names by edit distance, and joins paths. */
#include "base/text.h"
#include "base/named.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rk_integer_text(int64_t value, char *out)
{
    char digits[RK_INTEGER_TEXT_SIZE];
    char *first = digits + sizeof(digits), *at = out;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--first = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) {
        *at++ = '-';
    }
    const size_t count = (size_t)(digits + sizeof(digits) - first);
    memcpy(at, first, count);
    at[count] = '\0';
    return out;
}

const char *rk_double_text(double value, char out[RK_NUMBER_TEXT_SIZE])
{
    if (isnan(value)) {
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "NaN");
    } else if (isinf(value)) {
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, value > 0 ? "Infinity" : "-Infinity");
    } else if (value == floor(value) && fabs(value) < 1e16) {
        *out = '-';
        (void)rk_integer_text((int64_t)value, value == 0 && signbit(value) ? out + 1 : out);
    } else {
        char fewer[RK_NUMBER_TEXT_SIZE];
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "%.16g", value);
        if (strtod(out, NULL) != value) { /* nor would 15 digits be */
            (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "%.17g", value);
        } else if (strlen(out) >= 16) { /* else 15 digits are the same */
            (void)snprintf(fewer, sizeof(fewer), "%.15g", value);
            if (strtod(fewer, NULL) == value) {
                memcpy(out, fewer, sizeof(fewer));
            }
        }
    }
    return out;
}

const char *rk_python_float_text(double value, char out[RK_NUMBER_TEXT_SIZE])
{
    (void)rk_double_text(value, out);
    const size_t length = strlen(out);
    if (strspn(out, "-0123456789") == length) {
        (void)snprintf(out + length, RK_NUMBER_TEXT_SIZE - length, ".0");
    }
    return out;
}

const char *rk_human_text(double value, rk_human_style style, char out[RK_NUMBER_TEXT_SIZE])
{
    /* Suffixes, and the step from one letter to the next. */
    static const rk_named_real styles[] = {
        [RK_HUMAN_BASE10] = {"", 1000.0},   [RK_HUMAN_BASE2] = {"", 1024.0},
        [RK_HUMAN_BYTES] = {"iB", 1024.0},  [RK_HUMAN_BANDWIDTH] = {"B/s", 1000.0},
        [RK_HUMAN_FLOPS] = {"Ops", 1000.0}, [RK_HUMAN_THROUGHPUT] = {"Op/s", 1000.0},
    };
    static const char *const letters[] = {"", "k", "M", "G", "T", "P", "E"};
    const size_t last = sizeof(letters) / sizeof(letters[0]) - 1;

    assert((size_t)style < sizeof(styles) / sizeof(styles[0]));
    if (isnan(value)) {
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "n/a %s", styles[style].name);
        return out;
    }
    double x = fabs(value);
    size_t letter = 0;
    while (letter < last && x >= styles[style].value) {
        x /= styles[style].value;
        letter++;
    }
    (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "%s%.3f %s%s", value < 0 ? "-" : "", x,
                   letters[letter], styles[style].name);
    return out;
}

const char *rk_count_text(double value, char out[RK_NUMBER_TEXT_SIZE])
{
    static const char *const letters[] = {"", " k", " M", " B", " T"};
    size_t letter = 0;
    for (; value >= 1000 && letter + 1 < sizeof(letters) / sizeof(letters[0]); letter++) {
        value /= 1000;
    }
    (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "%.4g%s", value, letters[letter]);
    return out;
}

size_t rk_count_characters(const char *text, size_t size)
{
    size_t width = 0;
    for (size_t i = 0; i < size; i++) {
        const bool continues = ((unsigned char)text[i] & 0xC0) == 0x80;
        width += !continues && !(text[i] && strchr(RK_MARKS, text[i]));
    }
    return width;
}

/* Damerau-Levenshtein distance of two short names, ignoring case; large when either is long. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    const size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) {
        return LONGEST;
    }
    size_t row[3][LONGEST + 1]; /* three rows of the distance table, used in rotation */
    for (size_t j = 0; j <= m; j++) {
        row[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const char x = a[i - 1] | 32, y = b[j - 1] | 32;
            size_t best = last[j - 1] + (x != y);
            if (last[j] + 1 < best) {
                best = last[j] + 1;
            }
            if (now[j - 1] + 1 < best) {
                best = now[j - 1] + 1;
            }
            if (i > 1 && j > 1 && x == (b[j - 2] | 32) && (a[i - 2] | 32) == y &&
                before[j - 2] + 1 < best) {
                best = before[j - 2] + 1;
            }
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *rk_nearest_name(const char *given, const char *const *names, size_t count)
{
    const size_t length = strlen(given); /* in a short name only one letter may be wrong */
    return rk_nearest_name_within(given, names, count, length < 4 ? 1 : length / 3 + 1);
}

const char *rk_nearest_name_within(const char *given, const char *const *names, size_t count,
                                   size_t most)
{
    const char *nearest = NULL;
    size_t least = most;
    for (size_t i = 0; i < count; i++) {
        const size_t distance = edit_distance(given, names[i]);
        if (distance <= least && (!nearest || distance < least)) {
            nearest = names[i];
            least = distance;
        }
    }
    return nearest;
}

char rk_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool rk_is_among(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool rk_ends_with(const char *text, const char *suffix)
{
    const size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

bool rk_path_beside(const char *name, const char *document, char *out, size_t size)
{
    const char *slash = strrchr(document, '/');
    const size_t folder = slash && name[0] != '/' ? (size_t)(slash - document) + 1 : 0;
    const size_t length = strlen(name);
    if (length >= size || folder >= size - length) {
        return false;
    }
    memcpy(out, document, folder);
    memcpy(out + folder, name, length + 1);
    return true;
}

const char *rk_with_commas(uint64_t number, char out[RK_COMMAS_SIZE])
{
    char digits[RK_COMMAS_SIZE];
    size_t used = 0;
    const size_t count = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            out[used++] = ',';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *rk_counted(uint64_t number, const char *noun, char out[RK_COUNTED_SIZE])
{
    char digits[RK_COMMAS_SIZE];
    (void)snprintf(out, RK_COUNTED_SIZE, "%s %s%s", rk_with_commas(number, digits), noun,
                   number == 1 ? "" : "s");
    return out;
}

uint32_t rk_next_character(const unsigned char **text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *c = *text;
    const int more = c[0] < 0x80       ? 0
                     : c[0] >> 5 == 6  ? 1
                     : c[0] >> 4 == 14 ? 2
                     : c[0] >> 3 == 30 ? 3
                                       : -1;
    *text = c + 1;
    if (more < 0) {
        return 0xFFFD;
    }
    uint32_t code = more ? c[0] & (0x3Fu >> more) : c[0];
    for (int i = 1; i <= more; i++) {
        if (c[i] >> 6 != 2) {
            return 0xFFFD;
        }
        code = code << 6 | (c[i] & 0x3F);
    }
    if (code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ||
        (code & 0xFFFE) == 0xFFFE || (code < 0x20 && code != '\t' && code != '\n')) {
        return 0xFFFD;
    }
    *text = c + 1 + more;
    return code;
}

void rk_text_add(rk_growing_text *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (to->used < to->size) {
        const int added = vsnprintf(to->text + to->used, to->size - to->used, format, list);
        to->used += added > 0 ? (size_t)added : 0;
    }
    va_end(list);
}

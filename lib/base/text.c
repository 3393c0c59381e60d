/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers that read back exactly, suggests near names by edit distance, and joins paths. */
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits of a whole number; returns their end. */
static char *write_whole(uint64_t whole, char *out)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole > 0);
    while (count > 0) {
        *out++ = digits[--count];
    }
    *out = '\0';
    return out;
}

/* Product of two numbers of 64 bits: its upper half; *low gets the lower. */
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low)
{
    const uint64_t half = UINT32_MAX;
    const uint64_t both = (a & half) * (b & half), left = (a >> 32) * (b & half);
    const uint64_t middle = (a & half) * (b >> 32) + (both >> 32) + (left & half);
    *low = middle << 32 | (both & half);
    return (a >> 32) * (b >> 32) + (left >> 32) + (middle >> 32);
}

/* A number m 2^e as an integer of 17 digits: m 5^k / 2^shift = whole + rest / 2^shift. */
struct scaled {
    int k, shift;
    uint64_t m, five; /* five = 5^k */
    uint64_t whole, rest;
};

static bool scale(double value, struct scaled *out)
{
    enum { FIVES = 26 }; /* 5^25 leaves room for the comparisons below */
    const uint64_t least = UINT64_C(10000000000000000);
    int e;
    out->m = (uint64_t)ldexp(frexp(value, &e), 53);
    e -= 53;
    out->k = 16 - (int)floor((e + 52) * 0.30102999566398120);
    for (int tries = 0; tries < 2; tries++) {
        out->shift = -(e + out->k);
        if (out->k < 1 || out->k >= FIVES || out->shift < 0 || out->shift > 58) {
            return false;
        }
        uint64_t low;
        out->five = 1;
        for (int i = 0; i < out->k; i++) {
            out->five *= 5;
        }
        const uint64_t high = multiply(out->m, out->five, &low);
        out->whole = out->shift ? high << (64 - out->shift) | low >> out->shift : low;
        out->rest = low & ((UINT64_C(1) << out->shift) - 1);
        if (out->whole >= least && out->whole / 10 < least) {
            return true;
        }
        out->k += out->whole < least ? 1 : -1;
    }
    return false;
}

/* Rounds to a multiple of `unit` (1, 10, 100), as printf does; a tie goes to the even one. */
static uint64_t round_to(const struct scaled *s, uint64_t unit)
{
    const uint64_t down = s->whole / unit, over = s->whole % unit;
    const uint64_t half = unit == 1 ? s->rest << 1 : 2 * over;
    const uint64_t whole = unit == 1 ? UINT64_C(1) << s->shift : unit;
    const bool more = half > whole || (half == whole && unit > 1 && s->rest > 0);
    const bool tie = half == whole && !more;
    return (down + (more || (tie && (down & 1)))) * unit;
}

/* Whether a decimal reads back as the number: it is within half of what separates neighbours. */
static bool reads_back(const struct scaled *s, uint64_t decimal)
{
    const uint64_t apart = decimal > s->whole ? decimal - s->whole : s->whole - decimal;
    if (apart > 12) {
        return false;
    }
    const uint64_t units = apart << s->shift;
    const uint64_t off = decimal > s->whole ? units - s->rest : units + s->rest;
    return 2 * off < s->five || (2 * off == s->five && !(s->m & 1));
}

/* The digits of a decimal, whose first stands for 10^exponent, without zeros at their end. */
static void place_point(const char *digits, size_t count, int exponent, char *out)
{
    if (exponent < -4) {
        const size_t more = count > 1;
        *out++ = *digits;
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE - 2, "%s%.*se-%02d", more ? "." : "",
                       (int)(count - 1), digits + 1, -exponent);
        return;
    }
    for (int place = exponent < 0 ? exponent : 0; place < 0; place++) {
        *out++ = '0';
        if (place == exponent) {
            *out++ = '.';
        }
    }
    for (size_t i = 0; i < count; i++) {
        *out++ = digits[i];
        if ((int)i == exponent) {
            *out++ = '.';
        }
    }
    *out = '\0';
}

/*
 * As "%.15g", "%.16g" or "%.17g", the first that reads back, in exact integers: printf and strtod
 * take ten times as long.  Returns false for numbers below 1e-9, and at a power of two, where the
 * neighbour below is nearer.
 */
static bool write_fraction(double value, char out[RK_NUMBER_TEXT_SIZE])
{
    char digits[RK_NUMBER_TEXT_SIZE];
    struct scaled s;
    if (!scale(fabs(value), &s) || s.m == UINT64_C(1) << 52) {
        return false;
    }
    uint64_t decimal = 0;
    for (uint64_t unit = 100; unit >= 1; unit /= 10) {
        decimal = round_to(&s, unit);
        if (reads_back(&s, decimal)) {
            break;
        }
    }
    size_t count = (size_t)(write_whole(decimal, digits) - digits);
    const int exponent = (int)count - 1 - s.k;
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    if (exponent >= (int)count - 1) {
        return false; /* no digit behind the point */
    }
    if (value < 0) {
        *out++ = '-';
    }
    place_point(digits, count, exponent, out);
    return true;
}

const char *rk_double_text(double value, char out[RK_NUMBER_TEXT_SIZE])
{
    if (isnan(value)) {
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "NaN");
    } else if (isinf(value)) {
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, value > 0 ? "Infinity" : "-Infinity");
    } else if (value == floor(value) && fabs(value) < 1e16) {
        char *digits = out;
        if (signbit(value)) {
            *digits++ = '-';
        }
        (void)write_whole((uint64_t)fabs(value), digits);
    } else if (!write_fraction(value, out)) {
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "%.*g", digits, value);
            if (digits < 17 && strtod(out, NULL) == value) { /* 17 always do */
                break;
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
    static const struct {
        double step;
        const char *suffix;
    } styles[] = {
        [RK_HUMAN_BASE10] = {1000.0, ""},   [RK_HUMAN_BASE2] = {1024.0, ""},
        [RK_HUMAN_BYTES] = {1024.0, "iB"},  [RK_HUMAN_BANDWIDTH] = {1000.0, "B/s"},
        [RK_HUMAN_FLOPS] = {1000.0, "Ops"}, [RK_HUMAN_THROUGHPUT] = {1000.0, "Op/s"},
    };
    static const char *const letters[] = {"", "k", "M", "G", "T", "P", "E"};
    const size_t last = sizeof(letters) / sizeof(letters[0]) - 1;

    assert((size_t)style < sizeof(styles) / sizeof(styles[0]));
    if (isnan(value)) {
        (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "n/a %s", styles[style].suffix);
        return out;
    }
    double x = fabs(value);
    size_t letter = 0;
    while (letter < last && x >= styles[style].step) {
        x /= styles[style].step;
        letter++;
    }
    (void)snprintf(out, RK_NUMBER_TEXT_SIZE, "%s%.3f %s%s", value < 0 ? "-" : "", x,
                   letters[letter], styles[style].suffix);
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

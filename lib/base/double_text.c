/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as decimal text: doubles in integers too, but for sizes that are rare. */
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits that always read back, and the least integer that has more. */
enum { DIGITS = 17 };
#define DIGITS_END UINT64_C(100000000000000000)

/* 5^q of more is beyond 63 bits. */
enum { SCALE_MOST = 27 };

/*
 * A double times 10^q: `whole` of 17 digits and `rest` / 2^shift, exactly.  Half the distance to
 * the next doubles is `fives` / 2 / 2^shift, with fives = 5^q.
 */
struct scaled {
    uint64_t whole, rest, fives;
    int shift;
    int exponent; /* of the first digit */
};

/* Fills the product of mantissa and fives, shifted; false: the shift is out of range. */
static bool scale(uint64_t mantissa, int power, int q, struct scaled *out)
{
    uint64_t fives = 1;
    for (int i = 0; i < q; i++) {
        fives *= 5;
    }
    const uint64_t low = (mantissa & UINT32_MAX) * (fives & UINT32_MAX);
    const uint64_t middle = (mantissa >> 32) * (fives & UINT32_MAX) + (low >> 32);
    const uint64_t cross = (mantissa & UINT32_MAX) * (fives >> 32) + (middle & UINT32_MAX);
    const uint64_t high = (mantissa >> 32) * (fives >> 32) + (middle >> 32) + (cross >> 32);
    const uint64_t bits = cross << 32 | (low & UINT32_MAX);
    const int shift = -(power + q);
    if (shift < 1 || shift > 62 || high >> shift != 0) {
        return false;
    }
    *out = (struct scaled){.whole = high << (64 - shift) | bits >> shift,
                           .rest = bits & ((UINT64_C(1) << shift) - 1),
                           .fives = fives,
                           .shift = shift,
                           .exponent = DIGITS - 1 - q};
    return true;
}

/*
 * Scales a positive double that has a fraction; false: printf has to.  Doubles below a power of two
 * are closer than those above, which `fives` does not say.
 */
static bool scale_double(double value, struct scaled *out)
{
    int power;
    const uint64_t mantissa = (uint64_t)(frexp(value, &power) * 0x1p53);
    const int least = (int)floor((power - 1) * 0.30102999566398); /* exponent, or one below */
    int q = DIGITS - 1 - least;
    if (mantissa == UINT64_C(1) << 52 || q < 2 || q > SCALE_MOST) {
        return false;
    }
    const bool scaled = scale(mantissa, power - 53, q, out);
    return scaled && (out->whole < DIGITS_END || scale(mantissa, power - 53, q - 1, out));
}

/* To the nearest multiple of `unit`, to an even one where two are as near. */
static uint64_t round_to(const struct scaled *x, uint64_t unit)
{
    const uint64_t count = x->whole / unit, over = 2 * (x->whole % unit);
    const uint64_t half = UINT64_C(1) << (x->shift - 1);
    const uint64_t beyond = unit == 1 ? x->rest : over == unit ? half + x->rest : 0;
    const bool up = over > unit || beyond > half || (beyond == half && count % 2 == 1);
    return (count + up) * unit;
}

/* Whether an integer of 17 digits is nearer to the double than to any other. */
static bool reads_back(const struct scaled *x, uint64_t digits)
{
    const bool above = digits > x->whole;
    const uint64_t apart = above ? digits - x->whole : x->whole - digits;
    if (apart >> (63 - x->shift) != 0) { /* more than any distance */
        return false;
    }
    const uint64_t distance = (apart << x->shift) + (above ? -x->rest : x->rest);
    return distance <= x->fives / 2; /* which is odd */
}

/* Writes digits as %g does, but without zeros at the end. */
static void write_digits(uint64_t digits, int exponent, char *out)
{
    char text[DIGITS];
    int count = DIGITS;
    for (int i = DIGITS - 1; i >= 0; i--, digits /= 10) {
        text[i] = (char)('0' + digits % 10);
    }
    while (text[count - 1] == '0') {
        count--;
    }
    const bool small = exponent < -4;
    int whole = small ? 1 : exponent + 1; /* digits before the point */
    if (whole <= 0) {
        memcpy(out, "0.0000", 6);
        out += 2 - whole;
        whole = 0;
    } else {
        memcpy(out, text, (size_t)whole);
        out += whole;
        *out = '.';
        out += count > whole;
    }
    memcpy(out, text + whole, (size_t)(count - whole));
    out += count - whole;
    *out = '\0';
    if (small) {
        (void)snprintf(out, 14, "e-%02d", -exponent);
    }
}

static void write_shortest(double value, char *out)
{
    static const uint64_t units[] = {100, 10, 1}; /* of 15, 16 and 17 digits */
    struct scaled x;
    if (!scale_double(value, &x)) {
        for (int digits = DIGITS - 2; digits <= DIGITS; digits++) {
            (void)snprintf(out, RK_NUMBER_TEXT_SIZE - 1, "%.*g", digits, value);
            if (digits == DIGITS || strtod(out, NULL) == value) {
                return;
            }
        }
    }
    uint64_t digits = 0;
    for (int i = 0; i < 3 && (i == 0 || !reads_back(&x, digits)); i++) {
        digits = round_to(&x, units[i]);
    }
    const bool carried = digits >= DIGITS_END;
    write_digits(carried ? digits / 10 : digits, x.exponent + carried, out);
}

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
        *out = '-';
        write_shortest(fabs(value), value < 0 ? out + 1 : out);
    }
    return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* SVG primitives: escaped UTF-8 text and its width, decimals without locale, markers, colours. */
#include "figures/draw.h"

#include "base/text.h"
#include "figures/plot.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------ */

void rk_draw_escaped(rk_out *out, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    while (*c) {
        const unsigned char *const start = c;
        const uint32_t code = rk_next_character(&c);
        switch (code) {
        case '&':
            rk_out_text(out, "&amp;");
            break;
        case '<':
            rk_out_text(out, "&lt;");
            break;
        case '>':
            rk_out_text(out, "&gt;");
            break;
        case '"':
            rk_out_text(out, "&quot;");
            break;
        case '\'':
            rk_out_text(out, "&#39;");
            break;
        case 0xFFFD:
            rk_out_text(out, "\xEF\xBF\xBD");
            break;
        default:
            rk_out_write(out, (const char *)start, (size_t)(c - start));
        }
    }
}

double rk_text_width(const char *text, double size)
{
    /* Thousandths of the size, from the metrics published with the font; ' ' to '~'. */
    static const uint16_t widths[] = {
        278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
        556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
        1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
        667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
        333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
        556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};
    const unsigned char *c = (const unsigned char *)text;
    double width = 0;
    while (*c) {
        const uint32_t code = rk_next_character(&c);
        width += code >= ' ' && code <= '~' ? widths[code - ' '] : 584;
    }
    return width * size / 1000;
}

/* ---- numbers --------------------------------------------------------------------------- */

/* Writes n / 10^decimals, by hand because printf depends on the locale.  Returns the end. */
static char *put_decimal(char *to, uint64_t n, int decimals, bool grouped)
{
    assert(decimals >= 0 && decimals < 20);
    char digits[40];
    int count = 0;
    for (int place = 0; n > 0 || place <= decimals; place++) {
        if (place == decimals && decimals > 0) {
            digits[count++] = '.';
        }
        const int whole = place - decimals;
        if (grouped && whole > 0 && whole % 3 == 0) {
            digits[count++] = ',';
        }
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    }
    while (count > 0) {
        *to++ = digits[--count];
    }
    *to = '\0';
    return to;
}

static double power_of_ten(int n)
{
    assert(n >= 0);
    double power = 1;
    for (int i = 0; i < n; i++) {
        power *= 10;
    }
    return power;
}

void rk_draw_number(rk_out *out, double value)
{
    char text[48];
    const double most = 1e9;
    const double held = value > most ? most : value > -most ? value : -most;
    const int64_t hundredths = llround(held * 100);
    char *end = put_decimal(text + 1, (uint64_t)llabs(hundredths), 2, false);
    while (end[-1] == '0') {
        *--end = '\0';
    }
    if (end[-1] == '.') {
        *--end = '\0';
    }
    text[0] = '-';
    rk_out_text(out, hundredths < 0 ? text : text + 1);
}

#define MINUS "\xE2\x88\x92"

const char *rk_label_power(double value, int decimals, char out[RK_LABEL_SIZE])
{
    assert(!isnan(value));
    static const char *const raised[] = {
        "\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",     "\xE2\x81\xB4",
        "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7", "\xE2\x81\xB8", "\xE2\x81\xB9"};
    const int places = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    const double unit = power_of_ten(places);
    int power = (int)floor(log10(fabs(value)) + 1e-9);
    double scaled = fabs(value) / pow(10, power) * unit;
    if (round(scaled) >= 10 * unit) {
        scaled /= 10;
        power++;
    }
    char mantissa[24] = "", exponent[16] = "";
    const uint64_t digits = (uint64_t)llround(scaled);
    if (places > 0 || digits != 1) {
        (void)put_decimal(mantissa, digits, places, false);
        (void)strcat(mantissa, "\xC3\x97");
    }
    const int size = abs(power);
    for (int place = size >= 100 ? 100 : size >= 10 ? 10 : 1; place > 0; place /= 10) {
        (void)strcat(exponent, raised[size / place % 10]);
    }
    (void)snprintf(out, RK_LABEL_SIZE, "%s%s10%s%s", value < 0 ? MINUS : "", mantissa,
                   power < 0 ? "\xE2\x81\xBB" : "", exponent);
    return out;
}

const char *rk_label_fixed(double value, int decimals, char out[RK_LABEL_SIZE])
{
    const int places = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    if (!isfinite(value)) {
        (void)snprintf(out, RK_LABEL_SIZE, "%s",
                       isnan(value) ? ""
                       : value > 0  ? "\xE2\x88\x9E"
                                    : MINUS "\xE2\x88\x9E");
        return out;
    }
    if (fabs(value) >= 1e15) {
        return rk_label_power(value, 0, out);
    }
    const int exact = fabs(value) < 1e8 ? places : places > 2 ? 2 : places;
    const uint64_t units = (uint64_t)llround(fabs(value) * power_of_ten(exact));
    const size_t sign = value < 0 && units > 0 ? sizeof(MINUS) - 1 : 0;
    memcpy(out, MINUS, sign);
    (void)put_decimal(out + sign, units, exact, true);
    return out;
}

const char *rk_label_short(double value, char out[RK_LABEL_SIZE])
{
    static const char letters[] = {'M', 'G', 'T', 'P'};
    double size = fabs(value);
    if (!isfinite(value) || value == 0) {
        return rk_label_fixed(value, 0, out);
    }
    if (size >= 1e18 || size < 1e-4) {
        const double mantissa = size / pow(10, floor(log10(size) + 1e-9));
        return rk_label_power(value, fabs(mantissa - round(mantissa)) > 1e-6, out);
    }
    int letter = -1;
    if (size >= 1e6) {
        for (size /= 1e6, letter = 0; size >= 999.95 && letter < 3; letter++) {
            size /= 1000;
        }
    }
    int decimals = size >= 1000 ? 0 : 3 - (int)floor(log10(size) + 1e-9);
    decimals -= decimals > 0 && round(size * power_of_ten(decimals)) >= 1e4; /* 9.9996 is 10.00 */
    while (decimals > 0 && fabs(size * power_of_ten(decimals - 1) -
                                round(size * power_of_ten(decimals - 1))) < 1e-6) {
        decimals--;
    }
    (void)rk_label_fixed(value < 0 ? -size : size, decimals, out);
    if (letter >= 0) {
        const size_t length = strlen(out);
        out[length] = letters[letter];
        out[length + 1] = '\0';
    }
    return out;
}

bool rk_label_is_number(const char *text)
{
    static const char dash[] = "\xE2\x80\x93";
    const size_t sign =
        strncmp(text, MINUS, sizeof(MINUS) - 1) == 0 ? sizeof(MINUS) - 1 : text[0] == '-';
    const size_t digits = strspn(text + sign, "0123456789.,");
    const size_t letters = strspn(text + sign + digits, "MGTPe+-0123456789");
    return strcmp(text, dash) == 0 || (digits > 0 && text[sign + digits + letters] == '\0');
}

/* ---- shapes ---------------------------------------------------------------------------- */

static void attribute(rk_out *out, const char *name, double value)
{
    rk_out_printf(out, " %s=\"", name);
    rk_draw_number(out, value);
    rk_out_text(out, "\"");
}

void rk_draw_text(rk_out *out, double x, double y, const char *text, rk_text_style style)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    rk_out_text(out, "<text");
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "font-size", style.size);
    rk_out_text(out, anchors[style.anchor]);
    if (style.turn != 0) {
        rk_out_text(out, " transform=\"rotate(");
        rk_draw_number(out, style.turn);
        rk_out_text(out, " ");
        rk_draw_number(out, x);
        rk_out_text(out, " ");
        rk_draw_number(out, y);
        rk_out_text(out, ")\"");
    }
    if (style.color) {
        rk_out_printf(out, " fill=\"%s\"", style.color);
    }
    if (style.bold) {
        rk_out_text(out, " font-weight=\"bold\"");
    }
    if (style.halo) {
        rk_out_text(out, " stroke=\"#fff\" stroke-width=\"2\" stroke-linejoin=\"round\""
                         " paint-order=\"stroke\"");
    }
    rk_out_text(out, ">");
    rk_draw_escaped(out, text);
    rk_out_text(out, "</text>\n");
}

void rk_draw_line(rk_out *out, double x1, double y1, double x2, double y2, const char *color,
                  double width, bool dashed)
{
    rk_out_text(out, "<line");
    attribute(out, "x1", x1);
    attribute(out, "y1", y1);
    attribute(out, "x2", x2);
    attribute(out, "y2", y2);
    rk_out_printf(out, " stroke=\"%s\"", color);
    attribute(out, "stroke-width", width);
    rk_out_text(out, dashed ? " stroke-dasharray=\"4 2\"/>\n" : "/>\n");
}

void rk_draw_box(rk_out *out, double x, double y, double width, double height, const char *fill)
{
    rk_out_text(out, "<rect");
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", width > 0 ? width : 0);
    attribute(out, "height", height > 0 ? height : 0);
    rk_out_printf(out, " fill=\"%s\"/>\n", fill);
}

/* A closed figure of corners around x, y. */
static void polygon(rk_out *out, double x, double y, const double (*corners)[2], size_t count,
                    const char *color)
{
    assert(count >= 3);
    rk_out_text(out, "<path d=\"");
    for (size_t i = 0; i < count; i++) {
        rk_out_text(out, i ? "L" : "M");
        rk_draw_number(out, x + corners[i][0]);
        rk_out_text(out, " ");
        rk_draw_number(out, y + corners[i][1]);
    }
    rk_out_printf(out, "Z\" fill=\"%s\" stroke=\"#fff\" stroke-width=\"0.4\"/>\n", color);
}

void rk_draw_mark(rk_out *out, double x, double y, size_t shape, const char *color)
{
    static const double square[][2] = {{-2, -2}, {2, -2}, {2, 2}, {-2, 2}};
    static const double up[][2] = {{0, -2.7}, {2.6, 1.9}, {-2.6, 1.9}};
    static const double diamond[][2] = {{0, -2.9}, {2.9, 0}, {0, 2.9}, {-2.9, 0}};
    static const double down[][2] = {{0, 2.7}, {2.6, -1.9}, {-2.6, -1.9}};
    static const double hexagon[][2] = {{-1.3, -2.2}, {1.3, -2.2}, {2.6, 0},
                                        {1.3, 2.2},   {-1.3, 2.2}, {-2.6, 0}};
    static const struct {
        const double (*corners)[2];
        size_t count;
    } shapes[] = {{square, 4}, {up, 3}, {diamond, 4}, {down, 3}, {hexagon, 6}};
    const size_t kinds = sizeof(shapes) / sizeof(shapes[0]) + 1;
    if (shape % kinds == 0) {
        rk_out_text(out, "<circle");
        attribute(out, "cx", x);
        attribute(out, "cy", y);
        rk_out_printf(out, " r=\"2.2\" fill=\"%s\" stroke=\"#fff\" stroke-width=\"0.4\"/>\n",
                      color);
    } else {
        polygon(out, x, y, shapes[shape % kinds - 1].corners, shapes[shape % kinds - 1].count,
                color);
    }
}

/* ---- colours --------------------------------------------------------------------------- */

const char *rk_plot_color(size_t n)
{
    /* The palette of Okabe and Ito (2008) without its yellow, which is too light on white. */
    static const char *const colors[RK_PLOT_COLORS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                       "#E69F00", "#56B4E9", "#333333"};
    return colors[n % RK_PLOT_COLORS];
}

const char *rk_scale_color(double share, char out[RK_LABEL_SIZE], bool *light)
{
    /* Nine colours of the scale "viridis": even steps to the eye, also in grey. */
    static const uint8_t stops[][3] = {{68, 1, 84},    {71, 45, 123},  {59, 82, 139},
                                       {44, 114, 142}, {33, 145, 140}, {40, 174, 128},
                                       {94, 201, 98},  {173, 220, 48}, {253, 231, 37}};
    const int last = (int)(sizeof(stops) / sizeof(stops[0])) - 1;
    const double place = (share > 0 ? share < 1 ? share : 1 : 0) * last;
    const int below = place >= last ? last - 1 : (int)place;
    unsigned rgb[3];
    for (int i = 0; i < 3; i++) {
        rgb[i] = (unsigned)lround(stops[below][i] +
                                  (place - below) * (stops[below + 1][i] - stops[below][i]));
    }
    (void)snprintf(out, RK_LABEL_SIZE, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    *light = 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] > 125000;
    return out;
}

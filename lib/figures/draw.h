/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of an SVG: numbers, escaped text, lines, marks; and the width of text. */
#ifndef RK_FIGURES_DRAW_H
#define RK_FIGURES_DRAW_H

#include "io/out.h"

#include <stddef.h>

#define RK_LABEL_SIZE 48

/* Escapes for XML and HTML; what is not a legal character there becomes U+FFFD. */
void rk_draw_escaped(rk_out *out, const char *text);

/* Writes a length, rounded to 1/100. */
void rk_draw_number(rk_out *out, double value);

/* Width of the text in Helvetica (Arial, Liberation Sans) of that size. */
double rk_text_width(const char *text, double size);

/*
 * The value with 0 to 9 decimals, commas between thousands and a true minus sign: "12,288",
 * "-0.25". Values beyond 10^15 are written with a power of ten. Returns out.
 */
const char *rk_label_fixed(double value, int decimals, char out[RK_LABEL_SIZE]);

/*
 * The value in at most four significant digits; from 10^6 on with the letters M, G, T, P:
 * "4,096", "1.5T", "0.02".  Returns out.
 */
const char *rk_label_short(double value, char out[RK_LABEL_SIZE]);

/*
 * As a power of ten: "3.5x10^20" with a true multiplication sign and superscript digits; not for 0.
 * Returns out.
 */
const char *rk_label_power(double value, int decimals, char out[RK_LABEL_SIZE]);

/* Whether text is a number as the functions above write it, or a dash (no number). */
bool rk_label_is_number(const char *text);

typedef enum rk_anchor { RK_ANCHOR_START, RK_ANCHOR_MIDDLE, RK_ANCHOR_END } rk_anchor;

typedef struct rk_text_style {
    double size;
    rk_anchor anchor;
    double turn;       /* degrees, clockwise */
    const char *color; /* NULL: near black */
    bool bold;
    bool halo; /* a white border, for text on top of lines */
} rk_text_style;

/* Text whose baseline starts (or ends, or has its middle) at x, y. */
void rk_draw_text(rk_out *out, double x, double y, const char *text, rk_text_style style);

void rk_draw_line(rk_out *out, double x1, double y1, double x2, double y2, const char *color,
                  double width, bool dashed);
void rk_draw_box(rk_out *out, double x, double y, double width, double height, const char *fill);

/* The mark of the n-th series: its shape and its colour. */
void rk_draw_mark(rk_out *out, double x, double y, size_t shape, const char *color);

/* The n-th colour of the palette. */
const char *rk_plot_color(size_t n);

/* The colour of a scale from dark (0) to light (1), "#rrggbb"; *light: dark text is legible. */
const char *rk_scale_color(double share, char out[RK_LABEL_SIZE], bool *light);

#endif

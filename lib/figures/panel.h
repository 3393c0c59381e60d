/* SPDX-License-Identifier: Apache-2.0 */
/* One panel of a figure: how much room it needs around its plotting area, and drawing it. */
#ifndef RK_FIGURES_PANEL_H
#define RK_FIGURES_PANEL_H

#include "figures/scale.h"

/* Sizes of text. */
#define RK_SIZE_TICK   7.0
#define RK_SIZE_TITLE  8.0
#define RK_SIZE_PANEL  8.5
#define RK_SIZE_LEGEND 7.0
#define RK_SIZE_NOTE   6.5

#define RK_COLOR_FRAME "#444"
#define RK_COLOR_GRID  "#e2e2e2"
#define RK_COLOR_QUIET "#777"

typedef struct rk_panel {
    const rk_plot_panel *data;
    rk_scale x, y;
    double left, right, top,
        bottom;              /* width or height of margins: titles, labels, legend, colour scale */
    double width, height;    /* of the plotting area, at x.start and y.start + y.length */
    rk_scale heat;           /* the colour scale */
    size_t x_every, y_every; /* every so many labels are written */
    double turn;             /* of the labels of the x axis, in degrees; 0: none */
} rk_panel;

/* Finds the scales, for a plotting area of about that size, and the margins at the sides. */
void rk_panel_measure(rk_panel *panel, const rk_plot_panel *data, double width, double height);

/*
 * Once the width of the plotting area is known: how labels are set, and the margins at top and
 * bottom.
 */
void rk_panel_set_width(rk_panel *panel, double width, bool legend);

/* Draws it with the upper left corner of its plotting area at x, y. */
void rk_panel_draw(rk_panel *panel, double x, double y, bool legend, rk_out *out);

/* The rows of the legend when it is `width` wide, and drawing it with its top at x, y. */
size_t rk_legend_rows(const rk_plot_panel *data, double width);
void rk_legend_draw(const rk_plot_panel *data, double x, double y, double width, rk_out *out);
#define RK_LEGEND_ROW 10.0

/* Whether the line of a rule is dashed: any but the diagonal. */
bool rk_rule_dashed(rk_plot_rule_kind kind, double value);

/* The colour and the mark of a series. */
size_t rk_series_style(const rk_plot_panel *data, size_t series);

/* Draw what is within the plotting area (marks.c, heat.c, rules.c). */
void rk_marks_draw(const rk_panel *panel, rk_out *out);
void rk_points_draw(const rk_panel *panel, rk_out *out);
void rk_rules_draw(const rk_panel *panel, rk_out *out);
void rk_rule_labels_draw(const rk_panel *panel, rk_out *out);
void rk_notes_draw(const rk_panel *panel, rk_out *out);
void rk_heat_draw(const rk_panel *panel, rk_out *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures as SVG: plain data in, a picture of a paper's quality out.  All lengths are points
 * (1/72 inch).  Text stays text.  The same data give the same bytes on every machine.
 *
 * A zeroed struct is a legal default everywhere; strings and arrays are borrowed.
 */
#ifndef RK_FIGURES_PLOT_H
#define RK_FIGURES_PLOT_H

#include "io/out.h"

#define RK_PLOT_ONE_COLUMN  240.0 /* width of a figure in one column of a paper */
#define RK_PLOT_TWO_COLUMNS 504.0 /* and across both */
#define RK_PLOT_PANELS_MAX  16
#define RK_PLOT_SERIES_MAX  32 /* of a panel */
#define RK_PLOT_COLORS      7  /* distinguishable for the colour-blind too; then they repeat */

/*
 * An axis.  With categories the positions 0, 1, ... carry the names.  Values at or below 0 have no
 * place on a logarithmic axis and are left out, like NaN.
 */
typedef struct rk_plot_axis {
    const char *title; /* with the unit: "step time, s"; NULL: none */
    bool logarithmic;
    bool zero;           /* a linear range found from the data contains 0 */
    double from, to;     /* from < to: the range; otherwise it is found from the data */
    const double *ticks; /* where to put ticks; NULL: found from the range */
    size_t tick_count;
    const char *const *categories; /* NULL: numbers */
    size_t category_count;
} rk_plot_axis;

typedef enum rk_plot_kind {
    RK_PLOT_LINE, /* points joined by a line; a gap at each NaN */
    RK_PLOT_SCATTER,
    RK_PLOT_BAR, /* grouped with the bars of other series at the same x, a category */
} rk_plot_kind;

typedef struct rk_plot_series {
    const char *name; /* in the legend; NULL: not there */
    rk_plot_kind kind;
    const double *x, *y;      /* x NULL: 0, 1, ... */
    const double *low, *high; /* a band around a line, whiskers of points and bars; NULL: none */
    size_t count;
    int color;     /* 1 .. RK_PLOT_COLORS; 0: by the place in the panel */
    bool dashed;   /* of a line */
    bool unmarked; /* a line without marks at its points */
    bool labelled; /* the value is written at each bar */
    int decimals;  /* of the labels */
} rk_plot_series;

/* A thin line for comparison. */
typedef enum rk_plot_rule_kind {
    RK_PLOT_RULE_SLOPE, /* y = value * x; 1: the diagonal */
    RK_PLOT_RULE_X,     /* x = value */
    RK_PLOT_RULE_Y,     /* y = value */
} rk_plot_rule_kind;

typedef struct rk_plot_rule {
    rk_plot_rule_kind kind;
    double value;
    const char *label; /* in the legend for a slope, else at the line; NULL: none */
} rk_plot_rule;

/* Text at a point of the data. */
typedef enum rk_plot_side {
    RK_PLOT_ABOVE,
    RK_PLOT_BELOW,
    RK_PLOT_LEFT,
    RK_PLOT_RIGHT
} rk_plot_side;

typedef struct rk_plot_note {
    double x, y;
    rk_plot_side side; /* of the point */
    const char *text;
} rk_plot_note;

/*
 * A heat map: a value for each pair of categories of the two axes (row 0 at the bottom).  It
 * replaces the series.
 */
typedef struct rk_plot_heat {
    const double *values; /* [row * columns + column]; NaN: an empty cell; NULL: no heat map */
    size_t rows, columns;
    const char *title; /* of the colour scale, with the unit */
    double from, to;   /* of the scale; as in an axis */
    bool logarithmic;
    bool labelled; /* the value is written in each cell that is large enough */
    int decimals;  /* of the labels */
} rk_plot_heat;

typedef struct rk_plot_panel {
    const char *title; /* NULL: none */
    rk_plot_axis x, y;
    const rk_plot_series *series;
    size_t series_count;
    rk_plot_heat heat;
    const rk_plot_rule *rules;
    size_t rule_count;
    const rk_plot_note *notes;
    size_t note_count;
    const char *missing; /* written in place of a bar or cell that is NaN; NULL: nothing */
    bool no_legend;
} rk_plot_panel;

typedef struct rk_plot_figure {
    const char *title;  /* spoken by screen readers, not drawn; NULL: none */
    double width;       /* 0: RK_PLOT_TWO_COLUMNS, or one for a single panel */
    double plot_height; /* of the plotting area of each panel; 0: fit for the width */
    const rk_plot_panel *panels;
    size_t panel_count;
    size_t columns;  /* panels in a row; 0: 2, or 1 for a single panel */
    bool one_legend; /* the legend of the first panel, above all, serves every panel */
} rk_plot_figure;

/*
 * Writes the figure.  `inside` leaves out the XML declaration, for SVG within HTML.
 * RK_ERR_INVALID: too many panels or series, or a heat map of another size than its axes.
 */
rk_status rk_plot_svg(const rk_plot_figure *figure, bool inside, rk_out *out, rk_error *err);

#endif

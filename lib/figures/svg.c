/* SPDX-License-Identifier: Apache-2.0 */
/* A figure: panels in rows and columns, whose plotting areas have one size and are aligned. */
#include "figures/panel.h"

#include "base/error.h"
#include "base/extremes.h"

#include <math.h>
#include <stdlib.h>

#define EDGE       3.0  /* around the figure */
#define GAP        10.0 /* between panels */
#define MARGINS    50.0 /* of a panel, for a first guess */
#define HEIGHT_MIN 95.0
#define LEAST_PLOT 20.0

typedef struct layout {
    rk_panel panels[RK_PLOT_PANELS_MAX];
    size_t columns, rows;
    double left[RK_PLOT_PANELS_MAX]; /* the margins of each column */
    double right[RK_PLOT_PANELS_MAX];
    double top[RK_PLOT_PANELS_MAX]; /* and of each row */
    double bottom[RK_PLOT_PANELS_MAX];
    double width, height; /* of the figure */
    double legend;        /* height of the legend above all panels */
} layout;

static rk_status check(const rk_plot_figure *figure, rk_error *err)
{
    if (figure->panel_count < 1 || figure->panel_count > RK_PLOT_PANELS_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "a figure has 1 to %d panels, not %zu",
                       RK_PLOT_PANELS_MAX, figure->panel_count);
    }
    for (size_t i = 0; i < figure->panel_count; i++) {
        const rk_plot_panel *panel = &figure->panels[i];
        if (panel->series_count > RK_PLOT_SERIES_MAX) {
            return rk_fail(err, RK_ERR_INVALID, "panel %zu: at most %d series, not %zu", i + 1,
                           RK_PLOT_SERIES_MAX, panel->series_count);
        }
        if (panel->heat.values &&
            (!panel->x.categories || !panel->y.categories || panel->heat.rows < 1 ||
             panel->heat.columns < 1 || panel->heat.columns != panel->x.category_count ||
             panel->heat.rows != panel->y.category_count)) {
            return rk_fail(err, RK_ERR_INVALID,
                           "panel %zu: a heat map has as many rows and columns as its axes have "
                           "categories",
                           i + 1);
        }
    }
    return RK_OK;
}

static void grow(double *to, double value)
{
    *to = rk_max(*to, value);
}

/* Sets the margins of columns and rows from the panels' margins; returns the width of a panel. */
static double align(layout *l, size_t count)
{
    double room = l->width - 2 * EDGE - (double)(l->columns - 1) * GAP;
    for (size_t i = 0; i < count; i++) {
        grow(&l->left[i % l->columns], l->panels[i].left);
        grow(&l->right[i % l->columns], l->panels[i].right);
        grow(&l->top[i / l->columns], l->panels[i].top);
        grow(&l->bottom[i / l->columns], l->panels[i].bottom);
    }
    for (size_t column = 0; column < l->columns; column++) {
        room -= l->left[column] + l->right[column];
    }
    return rk_max(room / (double)l->columns, LEAST_PLOT);
}

static void arrange(const rk_plot_figure *figure, layout *l)
{
    const size_t count = figure->panel_count;
    l->columns = figure->columns ? figure->columns : 2;
    l->columns = l->columns < count ? l->columns : count;
    l->rows = (count + l->columns - 1) / l->columns;
    l->width = figure->width > 0 ? figure->width
               : l->columns == 1 ? RK_PLOT_ONE_COLUMN
                                 : RK_PLOT_TWO_COLUMNS;
    const double guess = rk_max(l->width / (double)l->columns - MARGINS, LEAST_PLOT);
    const double height =
        figure->plot_height > 0 ? figure->plot_height : rk_max(round(guess * 0.62), HEIGHT_MIN);
    for (size_t i = 0; i < count; i++) {
        rk_panel_measure(&l->panels[i], &figure->panels[i], guess, height);
    }
    /* Rotated labels may need more room on the left, which the second pass sees. */
    for (int pass = 0; pass < 2; pass++) {
        const double width = align(l, count);
        for (size_t i = 0; i < count; i++) {
            rk_panel_set_width(&l->panels[i], width, !figure->one_legend);
        }
    }
    (void)align(l, count);
    if (figure->one_legend) {
        const size_t rows = rk_legend_rows(&figure->panels[0], l->width - 2 * EDGE - l->left[0]);
        l->legend = rows > 0 ? (double)rows * RK_LEGEND_ROW + 4 : 0;
    }
    l->height = 2 * EDGE + l->legend + (double)(l->rows - 1) * GAP + (double)l->rows * height;
    for (size_t row = 0; row < l->rows; row++) {
        l->height += l->top[row] + l->bottom[row];
    }
}

static void open_figure(const rk_plot_figure *figure, const layout *l, bool inside, rk_out *out)
{
    if (!inside) {
        rk_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    }
    rk_out_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"");
    rk_draw_number(out, l->width);
    rk_out_text(out, "pt\" height=\"");
    rk_draw_number(out, l->height);
    rk_out_text(out, "pt\" viewBox=\"0 0 ");
    rk_draw_number(out, l->width);
    rk_out_text(out, " ");
    rk_draw_number(out, l->height);
    rk_out_text(out, "\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\""
                     " fill=\"#222\">\n");
    if (figure->title) {
        rk_out_text(out, "<title>");
        rk_draw_escaped(out, figure->title);
        rk_out_text(out, "</title>\n");
    }
    rk_draw_box(out, 0, 0, l->width, l->height, "#fff");
}

rk_status rk_plot_svg(const rk_plot_figure *figure, bool inside, rk_out *out, rk_error *err)
{
    const rk_status status = check(figure, err);
    layout *l = status ? NULL : calloc(1, sizeof(*l));
    if (!l) {
        return status ? status : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a figure");
    }
    arrange(figure, l);
    open_figure(figure, l, inside, out);
    if (figure->one_legend) {
        rk_legend_draw(&figure->panels[0], EDGE + l->left[0], EDGE,
                       l->width - 2 * EDGE - l->left[0], out);
    }
    double y = EDGE + l->legend;
    for (size_t row = 0; row < l->rows; row++) {
        double x = EDGE;
        for (size_t column = 0; column < l->columns; column++) {
            const size_t i = row * l->columns + column;
            if (i < figure->panel_count) {
                l->panels[i].top = l->top[row]; /* titles are in line */
                rk_panel_draw(&l->panels[i], x + l->left[column], y + l->top[row],
                              !figure->one_legend, out);
                x += l->left[column] + l->panels[i].width + l->right[column] + GAP;
            }
        }
        y += l->top[row] + l->panels[0].height + l->bottom[row] + GAP;
    }
    rk_out_text(out, "</svg>\n");
    free(l);
    return RK_OK;
}

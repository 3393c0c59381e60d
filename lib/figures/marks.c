/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the data: bands, bars, lines and marks, with the lines and notes next to them. */
#include "base/extremes.h"
#include "figures/panel.h"

#include <assert.h>
#include <math.h>

#define BAR_SHARE 0.8 /* share of a category's width that its bars take together */

static double x_of(const rk_panel *panel, const rk_plot_series *series, size_t i)
{
    return rk_scale_place(&panel->x, series->x ? series->x[i] : (double)i);
}

static void put_point(rk_out *out, char command, double x, double y)
{
    rk_out_write(out, &command, 1);
    rk_draw_number(out, x);
    rk_out_text(out, " ");
    rk_draw_number(out, y);
}

/* ---- lines and points ------------------------------------------------------------------ */

/* The band of the points begin .. end-1: along the lower edge, and back along the upper. */
static void draw_band_part(const rk_panel *panel, const rk_plot_series *series, size_t begin,
                           size_t end, const char *color, rk_out *out)
{
    assert(begin < end && end <= series->count);
    rk_out_text(out, "<path d=\"");
    for (size_t i = begin; i < end; i++) {
        put_point(out, i > begin ? 'L' : 'M', x_of(panel, series, i),
                  rk_scale_place(&panel->y, series->low[i]));
    }
    for (size_t i = end; i > begin; i--) {
        put_point(out, 'L', x_of(panel, series, i - 1),
                  rk_scale_place(&panel->y, series->high[i - 1]));
    }
    rk_out_printf(out, "Z\" fill=\"%s\" fill-opacity=\"0.2\"/>\n", color);
}

static void draw_band(const rk_panel *panel, const rk_plot_series *series, const char *color,
                      rk_out *out)
{
    size_t begin = 0;
    for (size_t i = 0; i <= series->count; i++) {
        const bool whole = i < series->count && !isnan(x_of(panel, series, i)) &&
                           !isnan(rk_scale_place(&panel->y, series->low[i])) &&
                           !isnan(rk_scale_place(&panel->y, series->high[i]));
        if (!whole) {
            if (i > begin) {
                draw_band_part(panel, series, begin, i, color, out);
            }
            begin = i + 1;
        }
    }
}

static void draw_whisker(const rk_panel *panel, double x, double low, double high, rk_out *out)
{
    const double cap = 1.8, y1 = rk_scale_place(&panel->y, low),
                 y2 = rk_scale_place(&panel->y, high);
    if (!isnan(x) && !isnan(y1) && !isnan(y2)) {
        rk_draw_line(out, x, y1, x, y2, RK_COLOR_FRAME, 0.7, false);
        rk_draw_line(out, x - cap, y1, x + cap, y1, RK_COLOR_FRAME, 0.7, false);
        rk_draw_line(out, x - cap, y2, x + cap, y2, RK_COLOR_FRAME, 0.7, false);
    }
}

static void draw_line(const rk_panel *panel, const rk_plot_series *series, const char *color,
                      rk_out *out)
{
    bool joined = false, any = false;
    for (size_t i = 0; i < series->count; i++) {
        const double x = x_of(panel, series, i), y = rk_scale_place(&panel->y, series->y[i]);
        if (isnan(x) || isnan(y)) {
            joined = false;
            continue;
        }
        if (!any) {
            rk_out_text(out, "<path d=\"");
        }
        put_point(out, joined ? 'L' : 'M', x, y);
        joined = any = true;
    }
    if (any) {
        rk_out_printf(out,
                      "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.3\""
                      " stroke-linejoin=\"round\"%s/>\n",
                      color, series->dashed ? " stroke-dasharray=\"4 2\"" : "");
    }
}

static void draw_points(const rk_panel *panel, const rk_plot_series *series, size_t style,
                        rk_out *out)
{
    for (size_t i = 0; i < series->count; i++) {
        const double value = series->x ? series->x[i] : (double)i;
        if (rk_scale_holds(&panel->x, value) && rk_scale_holds(&panel->y, series->y[i])) {
            rk_draw_mark(out, rk_scale_place(&panel->x, value),
                         rk_scale_place(&panel->y, series->y[i]), style, rk_plot_color(style));
        }
    }
}

/* ---- bars ------------------------------------------------------------------------------ */

/* Text on top of a bar, vertical if it is wider than the bar. */
static void draw_bar_text(double x, double y, double room, const char *text, const char *color,
                          rk_out *out)
{
    const bool upright = rk_text_width(text, RK_SIZE_NOTE) > room + 3;
    const double shift = RK_SIZE_NOTE * 0.35;
    rk_draw_text(out, upright ? x + shift : x, y - 2, text,
                 (rk_text_style){.size = RK_SIZE_NOTE,
                                 .color = color,
                                 .anchor = upright ? RK_ANCHOR_START : RK_ANCHOR_MIDDLE,
                                 .turn = upright ? -90 : 0});
}

static void draw_bars(const rk_panel *panel, size_t index, size_t place, size_t places, rk_out *out)
{
    assert(place < places && index < panel->data->series_count);
    const rk_plot_series *series = &panel->data->series[index];
    const char *color = rk_plot_color(rk_series_style(panel->data, index));
    const double unit = rk_scale_place(&panel->x, 1) - rk_scale_place(&panel->x, 0);
    const double width = fabs(unit) * BAR_SHARE / (double)places;
    const double base =
        rk_scale_place(&panel->y, panel->y.logarithmic || panel->y.from > 0 ? panel->y.from : 0);
    for (size_t i = 0; i < series->count; i++) {
        const double x =
            x_of(panel, series, i) + ((double)place - (double)(places - 1) / 2) * width;
        const double y = rk_scale_place(&panel->y, series->y[i]);
        if (isnan(x)) {
            continue;
        }
        if (isnan(y)) {
            if (panel->data->missing) {
                draw_bar_text(x, base, width, panel->data->missing, RK_COLOR_QUIET, out);
            }
            continue;
        }
        rk_draw_box(out, x - width / 2 + 0.25, rk_min(y, base), width - 0.5, fabs(base - y), color);
        if (series->low && series->high) {
            draw_whisker(panel, x, series->low[i], series->high[i], out);
        }
        if (series->labelled) {
            char label[RK_LABEL_SIZE];
            draw_bar_text(x, rk_min(y, base), width,
                          rk_label_fixed(series->y[i], series->decimals, label), NULL, out);
        }
    }
}

/* ---- all of a panel -------------------------------------------------------------------- */

size_t rk_series_style(const rk_plot_panel *data, size_t series)
{
    const int color = data->series[series].color;
    return color > 0 ? (size_t)color - 1 : series;
}

void rk_marks_draw(const rk_panel *panel, rk_out *out)
{
    const rk_plot_panel *data = panel->data;
    size_t bars = 0, bar = 0;
    for (size_t i = 0; i < data->series_count; i++) {
        bars += data->series[i].kind == RK_PLOT_BAR;
    }
    for (size_t i = 0; i < data->series_count; i++) {
        if (data->series[i].kind == RK_PLOT_BAR) {
            draw_bars(panel, i, bar++, bars, out);
        } else if (data->series[i].kind == RK_PLOT_LINE && data->series[i].low &&
                   data->series[i].high) {
            draw_band(panel, &data->series[i], rk_plot_color(rk_series_style(data, i)), out);
        }
    }
    for (size_t i = 0; i < data->series_count; i++) {
        const rk_plot_series *series = &data->series[i];
        const size_t style = rk_series_style(data, i);
        if (series->kind == RK_PLOT_LINE) {
            draw_line(panel, series, rk_plot_color(style), out);
        }
        if (series->kind == RK_PLOT_SCATTER && series->low && series->high) {
            for (size_t j = 0; j < series->count; j++) {
                draw_whisker(panel, x_of(panel, series, j), series->low[j], series->high[j], out);
            }
        }
    }
}

void rk_points_draw(const rk_panel *panel, rk_out *out)
{
    const rk_plot_panel *data = panel->data;
    for (size_t i = 0; i < data->series_count; i++) {
        const rk_plot_series *series = &data->series[i];
        if (series->kind == RK_PLOT_SCATTER ||
            (series->kind == RK_PLOT_LINE && !series->unmarked)) {
            draw_points(panel, series, rk_series_style(data, i), out);
        }
    }
}

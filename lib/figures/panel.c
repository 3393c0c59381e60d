/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of a panel: scales, margins, axes and titles. */
#include "figures/panel.h"

#include "base/extremes.h"

#include <math.h>

#define TICK       3.0
#define X_SPACING  42.0 /* approximate width of a label of the x axis */
#define Y_SPACING  22.0
#define COLOR_ROOM 19.0 /* gap, colour scale and tick of a heat map */

/* How far to rotate labels of the x axis that do not fit side by side: as little as possible. */
static const struct turn {
    double degrees, sine, cosine;
} turns[] = {{-40, 0.643, 0.766}, {-65, 0.906, 0.423}};

/* ---- scales and margins ---------------------------------------------------------------- */

static rk_scale find_scale(const rk_plot_panel *data, bool is_x, double length)
{
    const rk_plot_axis *axis = is_x ? &data->x : &data->y;
    if (axis->categories) {
        return rk_scale_categories(axis->category_count);
    }
    rk_plot_axis whole = *axis;
    rk_extent extent = RK_EXTENT_EMPTY;
    bool labelled = false;
    for (size_t i = 0; i < data->series_count; i++) {
        const rk_plot_series *series = &data->series[i];
        if (is_x && !series->x && series->count > 0) {
            const double ends[] = {0, (double)series->count - 1};
            rk_extent_add(&extent, axis->logarithmic, ends, 2);
        }
        rk_extent_add(&extent, axis->logarithmic, is_x ? series->x : series->y, series->count);
        if (!is_x && series->low && series->high) {
            rk_extent_add(&extent, axis->logarithmic, series->low, series->count);
            rk_extent_add(&extent, axis->logarithmic, series->high, series->count);
        }
        labelled |= !is_x && series->kind == RK_PLOT_BAR && series->labelled;
        whole.zero |= !is_x && series->kind == RK_PLOT_BAR;
    }
    if (labelled && !axis->logarithmic) {
        extent.greatest *= extent.greatest > 0 ? 1.1 : 1; /* room for the labels on top */
    }
    return rk_scale_of(&whole, extent, (size_t)(length / (is_x ? X_SPACING : Y_SPACING)) + 1);
}

/* The n-th label of an axis. */
static size_t label_count(const rk_plot_axis *axis, const rk_scale *scale)
{
    return axis->categories ? axis->category_count : scale->tick_count;
}

static const char *label_at(const rk_plot_axis *axis, const rk_scale *scale, size_t i)
{
    const char *name = axis->categories ? axis->categories[i] : scale->ticks[i].label;
    return name ? name : "";
}

static bool is_minor(const rk_plot_axis *axis, const rk_scale *scale, size_t i)
{
    return !axis->categories && scale->ticks[i].minor;
}

static double place_at(const rk_plot_axis *axis, const rk_scale *scale, size_t i)
{
    return rk_scale_place(scale, axis->categories ? (double)i : scale->ticks[i].value);
}

static double widest_label(const rk_plot_axis *axis, const rk_scale *scale)
{
    double widest = 0;
    for (size_t i = 0; i < label_count(axis, scale); i++) {
        if (!is_minor(axis, scale, i)) {
            widest = rk_max(widest, rk_text_width(label_at(axis, scale, i), RK_SIZE_TICK));
        }
    }
    return widest;
}

/* The least n for which every n-th label fits. */
static size_t label_stride(const rk_plot_axis *axis, const rk_scale *scale, bool is_x)
{
    const size_t count = label_count(axis, scale);
    for (size_t every = 1; every < count; every++) {
        double end = -1e9;
        bool fits = true;
        for (size_t i = 0, shown = 0; i < count && fits; i++) {
            if (is_minor(axis, scale, i) || shown++ % every) {
                continue;
            }
            const double half = is_x ? rk_text_width(label_at(axis, scale, i), RK_SIZE_TICK) / 2 + 2
                                     : RK_SIZE_TICK / 2;
            const double place = fabs(place_at(axis, scale, i) - scale->start);
            fits = place - half >= end;
            end = place + half;
        }
        if (fits) {
            return every;
        }
    }
    return count > 0 ? count : 1;
}

void rk_panel_measure(rk_panel *panel, const rk_plot_panel *data, double width, double height)
{
    *panel = (rk_panel){.data = data, .height = height};
    panel->x = find_scale(data, true, width);
    panel->y = find_scale(data, false, height);
    panel->y.length = -height;
    panel->y_every = label_stride(&data->y, &panel->y, false);
    panel->left = widest_label(&data->y, &panel->y) + TICK + 3 + (data->y.title ? 12 : 0);
    panel->right = 6;
    if (data->heat.values) {
        const rk_plot_axis axis = {
            .from = data->heat.from, .to = data->heat.to, .logarithmic = data->heat.logarithmic};
        rk_extent extent = RK_EXTENT_EMPTY;
        rk_extent_add(&extent, axis.logarithmic, data->heat.values,
                      data->heat.rows * data->heat.columns);
        panel->heat = rk_scale_of(&axis, extent, (size_t)(height / Y_SPACING) + 1);
        panel->right = COLOR_ROOM + widest_label(&axis, &panel->heat) + (data->heat.title ? 15 : 4);
    } else if (!data->x.categories && panel->x.tick_count > 0) {
        const rk_tick *last = &panel->x.ticks[panel->x.tick_count - 1];
        panel->right = rk_max(panel->right,
                              last->minor ? 0 : rk_text_width(last->label, RK_SIZE_TICK) / 2 + 1);
    }
}

void rk_panel_set_width(rk_panel *panel, double width, bool legend)
{
    const rk_plot_panel *data = panel->data;
    panel->width = panel->x.length = width;
    panel->x_every = label_stride(&data->x, &panel->x, true);
    double labels = RK_SIZE_TICK;
    if (data->x.categories && panel->x_every > 1) {
        const double room = width / (double)data->x.category_count;
        const struct turn *turn = room * turns[0].sine > RK_SIZE_TICK ? &turns[0] : &turns[1];
        panel->turn = turn->degrees;
        panel->x_every = (size_t)ceil((RK_SIZE_TICK + 0.5) / (room * turn->sine));
        labels = widest_label(&data->x, &panel->x) * turn->sine + RK_SIZE_TICK * 0.8;
        /* The first labels reach out to the left. */
        const double reach =
            rk_text_width(label_at(&data->x, &panel->x, 0), RK_SIZE_TICK) * turn->cosine;
        panel->left = rk_max(panel->left, reach - room / 2);
    }
    panel->top = data->title ? 14 : 5;
    const size_t rows = legend ? rk_legend_rows(data, width) : 0;
    panel->top += rows > 0 ? (double)rows * RK_LEGEND_ROW + 3 : 0;
    panel->bottom = TICK + 3 + labels + (data->x.title ? 12 : 3);
}

/* ---- axes ------------------------------------------------------------------------------ */

static void draw_grid(const rk_panel *panel, rk_out *out)
{
    const rk_scale *x = &panel->x, *y = &panel->y;
    if (panel->data->heat.values) {
        return;
    }
    for (size_t i = 0; i < y->tick_count; i++) {
        const double place = rk_scale_place(y, y->ticks[i].value);
        if (!y->ticks[i].minor) {
            rk_draw_line(out, x->start, place, x->start + x->length, place, RK_COLOR_GRID, 0.5,
                         false);
        }
    }
    for (size_t i = 0; i < x->tick_count; i++) {
        const double place = rk_scale_place(x, x->ticks[i].value);
        if (!x->ticks[i].minor) {
            rk_draw_line(out, place, y->start, place, y->start + y->length, RK_COLOR_GRID, 0.5,
                         false);
        }
    }
}

static void draw_x_axis(const rk_panel *panel, rk_out *out)
{
    const rk_plot_axis *axis = &panel->data->x;
    const double y = panel->y.start;
    rk_text_style style = {.size = RK_SIZE_TICK,
                           .anchor = panel->turn != 0 ? RK_ANCHOR_END : RK_ANCHOR_MIDDLE,
                           .turn = panel->turn};
    rk_draw_line(out, panel->x.start, y, panel->x.start + panel->width, y, RK_COLOR_FRAME, 0.7,
                 false);
    for (size_t i = 0, shown = 0; i < label_count(axis, &panel->x); i++) {
        const bool minor = is_minor(axis, &panel->x, i);
        const bool bare = minor || shown++ % panel->x_every;
        const double x = place_at(axis, &panel->x, i);
        if (!axis->categories || !bare) {
            rk_draw_line(out, x, y, x, y + (bare ? TICK / 2 : TICK), RK_COLOR_FRAME, 0.6, false);
        }
        if (!bare) {
            rk_draw_text(out, panel->turn != 0 ? x + 3 : x,
                         y + TICK + 2 + RK_SIZE_TICK * (panel->turn != 0 ? 0.6 : 0.8),
                         label_at(axis, &panel->x, i), style);
        }
    }
    if (axis->title) {
        rk_draw_text(out, panel->x.start + panel->width / 2, y + panel->bottom - 4, axis->title,
                     (rk_text_style){.size = RK_SIZE_TITLE, .anchor = RK_ANCHOR_MIDDLE});
    }
}

static void draw_y_axis(const rk_panel *panel, rk_out *out)
{
    const rk_plot_axis *axis = &panel->data->y;
    const double x = panel->x.start;
    double widest = widest_label(axis, &panel->y);
    rk_draw_line(out, x, panel->y.start, x, panel->y.start - panel->height, RK_COLOR_FRAME, 0.7,
                 false);
    for (size_t i = 0, shown = 0; i < label_count(axis, &panel->y); i++) {
        const bool bare = is_minor(axis, &panel->y, i) || shown++ % panel->y_every;
        const double y = place_at(axis, &panel->y, i);
        if (!axis->categories || !bare) {
            rk_draw_line(out, x - (bare ? TICK / 2 : TICK), y, x, y, RK_COLOR_FRAME, 0.6, false);
        }
        if (!bare) {
            rk_draw_text(out, x - TICK - 2, y + RK_SIZE_TICK * 0.35, label_at(axis, &panel->y, i),
                         (rk_text_style){.size = RK_SIZE_TICK, .anchor = RK_ANCHOR_END});
        }
    }
    if (axis->title) {
        rk_draw_text(
            out, x - TICK - widest - 7, panel->y.start - panel->height / 2, axis->title,
            (rk_text_style){.size = RK_SIZE_TITLE, .anchor = RK_ANCHOR_MIDDLE, .turn = -90});
    }
}

void rk_panel_draw(rk_panel *panel, double x, double y, bool legend, rk_out *out)
{
    panel->x.start = x;
    panel->y.start = y + panel->height;
    rk_out_text(out, "<g>\n");
    if (panel->data->title) {
        rk_draw_text(out, x, y - panel->top + 9, panel->data->title,
                     (rk_text_style){.size = RK_SIZE_PANEL, .bold = true});
    }
    if (legend) {
        rk_legend_draw(panel->data, x, y - panel->top + (panel->data->title ? 14 : 3), panel->width,
                       out);
    }
    draw_grid(panel, out);
    if (panel->data->heat.values) {
        rk_heat_draw(panel, out);
    } else {
        /* A nested view clips what is outside. */
        rk_out_text(out, "<svg x=\"");
        rk_draw_number(out, x);
        rk_out_text(out, "\" y=\"");
        rk_draw_number(out, y - 1);
        rk_out_text(out, "\" width=\"");
        rk_draw_number(out, panel->width + 1);
        rk_out_text(out, "\" height=\"");
        rk_draw_number(out, panel->height + 1);
        rk_out_text(out, "\" viewBox=\"");
        rk_draw_number(out, x);
        rk_out_text(out, " ");
        rk_draw_number(out, y - 1);
        rk_out_text(out, " ");
        rk_draw_number(out, panel->width + 1);
        rk_out_text(out, " ");
        rk_draw_number(out, panel->height + 1);
        rk_out_text(out, "\">\n");
        rk_rules_draw(panel, out);
        rk_marks_draw(panel, out);
        rk_out_text(out, "</svg>\n");
    }
    draw_x_axis(panel, out);
    draw_y_axis(panel, out);
    rk_points_draw(panel, out);
    rk_rule_labels_draw(panel, out);
    rk_notes_draw(panel, out);
    rk_out_text(out, "</g>\n");
}

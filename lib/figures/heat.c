/* SPDX-License-Identifier: Apache-2.0 */
/* Heat maps: cells and their colour scale. */
#include "base/extremes.h"
#include "figures/panel.h"

#include <math.h>

enum { BAR_STEPS = 48 };
#define BAR_GAP   8.0
#define BAR_WIDTH 7.0

static double share_of(const rk_scale *scale, double value)
{
    rk_scale unit = *scale;
    unit.start = 0;
    unit.length = 1;
    return rk_scale_place(&unit, value);
}

static void draw_cell_text(const char *text, double x, double y, double width, double height,
                           const char *color, rk_out *out)
{
    if (rk_text_width(text, RK_SIZE_NOTE) + 1 < width && RK_SIZE_NOTE < height) {
        rk_draw_text(
            out, x, y + RK_SIZE_NOTE * 0.35, text,
            (rk_text_style){.size = RK_SIZE_NOTE, .anchor = RK_ANCHOR_MIDDLE, .color = color});
    }
}

/* Neighbours meet at the same number. */
static double edge(double place)
{
    return round(place * 100) / 100;
}

static void draw_cells(const rk_panel *panel, bool text, rk_out *out)
{
    const rk_plot_heat *heat = &panel->data->heat;
    const double width = panel->width / (double)heat->columns;
    const double height = panel->height / (double)heat->rows;
    char color[RK_LABEL_SIZE], label[RK_LABEL_SIZE];
    bool light;
    for (size_t row = 0; row < heat->rows; row++) {
        for (size_t column = 0; column < heat->columns; column++) {
            const double value = heat->values[row * heat->columns + column];
            const double share = share_of(&panel->heat, value);
            const double x = rk_scale_place(&panel->x, (double)column);
            const double y = rk_scale_place(&panel->y, (double)row);
            const char *fill = isnan(share) ? "#eee" : rk_scale_color(share, color, &light);
            if (!text) {
                const double left = edge(x - width / 2), top = edge(y - height / 2);
                rk_draw_box(out, left, top, edge(x + width / 2) - left, edge(y + height / 2) - top,
                            fill);
            } else if (isnan(share) && panel->data->missing) {
                draw_cell_text(panel->data->missing, x, y, width, height, RK_COLOR_QUIET, out);
            } else if (!isnan(share) && heat->labelled) {
                draw_cell_text(rk_label_fixed(value, heat->decimals, label), x, y, width, height,
                               light ? "#222" : "#fff", out);
            }
        }
    }
}

static void draw_scale(const rk_panel *panel, rk_out *out)
{
    const double x = panel->x.start + panel->width + BAR_GAP;
    const double bottom = panel->y.start, step = panel->height / BAR_STEPS;
    char color[RK_LABEL_SIZE];
    bool light;
    double widest = 0;
    rk_out_text(out, "<g shape-rendering=\"crispEdges\">\n");
    for (int i = 0; i < BAR_STEPS; i++) {
        rk_draw_box(out, x, bottom - (i + 1) * step, BAR_WIDTH, (i > 0 ? 2 : 1) * step,
                    rk_scale_color((i + 0.5) / BAR_STEPS, color, &light));
    }
    rk_out_text(out, "</g>\n");
    rk_scale scale = panel->heat;
    scale.start = bottom;
    scale.length = -panel->height;
    for (size_t i = 0; i < scale.tick_count; i++) {
        const double y = rk_scale_place(&scale, scale.ticks[i].value);
        if (scale.ticks[i].minor) {
            continue;
        }
        rk_draw_line(out, x + BAR_WIDTH, y, x + BAR_WIDTH + 2, y, RK_COLOR_FRAME, 0.6, false);
        rk_draw_text(out, x + BAR_WIDTH + 4, y + RK_SIZE_TICK * 0.35, scale.ticks[i].label,
                     (rk_text_style){.size = RK_SIZE_TICK});
        widest = rk_max(widest, rk_text_width(scale.ticks[i].label, RK_SIZE_TICK));
    }
    if (panel->data->heat.title) {
        rk_draw_text(
            out, x + BAR_WIDTH + widest + 14, bottom - panel->height / 2, panel->data->heat.title,
            (rk_text_style){.size = RK_SIZE_TITLE, .anchor = RK_ANCHOR_MIDDLE, .turn = -90});
    }
}

void rk_heat_draw(const rk_panel *panel, rk_out *out)
{
    rk_out_text(out, "<g shape-rendering=\"crispEdges\">\n");
    draw_cells(panel, false, out);
    rk_out_text(out, "</g>\n");
    draw_cells(panel, true, out);
    draw_scale(panel, out);
}

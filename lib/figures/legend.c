/* SPDX-License-Identifier: Apache-2.0 */
/* The legend: the series with a name and the slopes with a label, row by row. */
#include "figures/panel.h"

#include <assert.h>

#define SWATCH    14.0 /* before the text of an entry */
#define ENTRY_GAP 9.0

static const char *entry_name(const rk_plot_panel *data, size_t i)
{
    assert(i < data->series_count + data->rule_count);
    if (i < data->series_count) {
        return data->heat.values ? NULL : data->series[i].name;
    }
    const rk_plot_rule *rule = &data->rules[i - data->series_count];
    return rule->kind == RK_PLOT_RULE_SLOPE ? rule->label : NULL;
}

static void draw_swatch(const rk_plot_panel *data, size_t i, double x, double y, rk_out *out)
{
    assert(i < data->series_count + data->rule_count);
    if (i >= data->series_count) {
        const rk_plot_rule *rule = &data->rules[i - data->series_count];
        rk_draw_line(out, x, y, x + 11, y, RK_COLOR_QUIET, 0.8,
                     rk_rule_dashed(rule->kind, rule->value));
        return;
    }
    const rk_plot_series *series = &data->series[i];
    const size_t style = rk_series_style(data, i);
    if (series->kind == RK_PLOT_BAR) {
        rk_draw_box(out, x + 3, y - 3, 6, 6, rk_plot_color(style));
        return;
    }
    if (series->kind == RK_PLOT_LINE) {
        rk_draw_line(out, x, y, x + 11, y, rk_plot_color(style), 1.3, series->dashed);
    }
    if (series->kind == RK_PLOT_SCATTER || !series->unmarked) {
        rk_draw_mark(out, x + 5.5, y, style, rk_plot_color(style));
    }
}

/* Goes through the entries; draws them unless `out` is NULL.  Returns the number of rows. */
static size_t each_entry(const rk_plot_panel *data, double x, double y, double width, rk_out *out)
{
    size_t rows = 0;
    double at = width + 1;
    for (size_t i = 0; i < data->series_count + data->rule_count; i++) {
        const char *name = entry_name(data, i);
        if (!name) {
            continue;
        }
        const double needed = SWATCH + rk_text_width(name, RK_SIZE_LEGEND);
        if (at + needed > width) {
            rows++;
            at = 0;
        }
        if (out) {
            const double middle = y + ((double)rows - 0.5) * RK_LEGEND_ROW;
            draw_swatch(data, i, x + at, middle, out);
            rk_draw_text(out, x + at + SWATCH, middle + 2.4, name,
                         (rk_text_style){.size = RK_SIZE_LEGEND});
        }
        at += needed + ENTRY_GAP;
    }
    return rows;
}

size_t rk_legend_rows(const rk_plot_panel *data, double width)
{
    return data->no_legend ? 0 : each_entry(data, 0, 0, width, NULL);
}

void rk_legend_draw(const rk_plot_panel *data, double x, double y, double width, rk_out *out)
{
    if (!data->no_legend) {
        (void)each_entry(data, x, y, width, out);
    }
}

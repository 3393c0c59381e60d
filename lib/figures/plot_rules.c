/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for comparison, and notes. */
#include "base/extremes.h"
#include "figures/panel.h"

#include <math.h>

/* y = slope x, straight on equal axes and bent on others. */
static void draw_slope(const rk_panel *panel, double slope, rk_out *out)
{
    enum { STEPS = 64 };
    const rk_scale *x = &panel->x;
    bool joined = false;
    rk_out_text(out, "<path d=\"");
    for (int i = 0; i <= STEPS; i++) {
        const double share = (double)i / STEPS;
        const double value = x->logarithmic
                                 ? pow(10, log10(x->from) * (1 - share) + log10(x->to) * share)
                                 : x->from + share * (x->to - x->from);
        const double y = rk_scale_place(&panel->y, slope * value);
        if (!isnan(y)) {
            rk_out_text(out, joined ? "L" : "M");
            rk_draw_number(out, x->start + share * x->length);
            rk_out_text(out, " ");
            rk_draw_number(out, y);
            joined = true;
        }
    }
    rk_out_printf(out,
                  "%s\" fill=\"none\" stroke=\"" RK_COLOR_QUIET "\" stroke-width=\"0.8\"%s/>\n",
                  joined ? "" : "M0 0",
                  rk_rule_dashed(RK_PLOT_RULE_SLOPE, slope) ? " stroke-dasharray=\"4 2\"" : "");
}

bool rk_rule_dashed(rk_plot_rule_kind kind, double value)
{
    return kind != RK_PLOT_RULE_SLOPE || value != 1;
}

void rk_rules_draw(const rk_panel *panel, rk_out *out)
{
    const rk_scale *xs = &panel->x, *ys = &panel->y;
    for (size_t i = 0; i < panel->data->rule_count; i++) {
        const rk_plot_rule *rule = &panel->data->rules[i];
        if (rule->kind == RK_PLOT_RULE_SLOPE) {
            draw_slope(panel, rule->value, out);
        } else if (rule->kind == RK_PLOT_RULE_X && rk_scale_holds(xs, rule->value)) {
            const double x = rk_scale_place(xs, rule->value);
            rk_draw_line(out, x, ys->start, x, ys->start + ys->length, RK_COLOR_QUIET, 0.8, true);
        } else if (rule->kind == RK_PLOT_RULE_Y && rk_scale_holds(ys, rule->value)) {
            const double y = rk_scale_place(ys, rule->value);
            rk_draw_line(out, xs->start, y, xs->start + xs->length, y, RK_COLOR_QUIET, 0.8, true);
        }
    }
}

/* A horizontal line has its label at the right end, a vertical one next to its top. */
void rk_rule_labels_draw(const rk_panel *panel, rk_out *out)
{
    const rk_scale *xs = &panel->x, *ys = &panel->y;
    rk_text_style style = {.size = RK_SIZE_NOTE, .color = RK_COLOR_QUIET, .halo = true};
    for (size_t i = 0; i < panel->data->rule_count; i++) {
        const rk_plot_rule *rule = &panel->data->rules[i];
        if (rule->label && rule->kind == RK_PLOT_RULE_X && rk_scale_holds(xs, rule->value)) {
            const double x = rk_scale_place(xs, rule->value);
            const bool left = x > xs->start + 0.7 * xs->length;
            style.anchor = left ? RK_ANCHOR_END : RK_ANCHOR_START;
            rk_draw_text(out, left ? x - 3 : x + 3, ys->start + ys->length + 7, rule->label, style);
        } else if (rule->label && rule->kind == RK_PLOT_RULE_Y && rk_scale_holds(ys, rule->value)) {
            style.anchor = RK_ANCHOR_END;
            rk_draw_text(out, xs->start + xs->length - 2, rk_scale_place(ys, rule->value) - 2.5,
                         rule->label, style);
        }
    }
}

void rk_notes_draw(const rk_panel *panel, rk_out *out)
{
    static const struct {
        double dx, dy;
        double share; /* share of the text to the left of its position */
    } sides[] = {
        [RK_PLOT_ABOVE] = {0, -5, 0.5},
        [RK_PLOT_BELOW] = {0, 9.5, 0.5},
        [RK_PLOT_LEFT] = {-5, 2.3, 1},
        [RK_PLOT_RIGHT] = {5, 2.3, 0},
    };
    for (size_t i = 0; i < panel->data->note_count; i++) {
        const rk_plot_note *note = &panel->data->notes[i];
        if (!note->text || !rk_scale_holds(&panel->x, note->x) ||
            !rk_scale_holds(&panel->y, note->y)) {
            continue;
        }
        /* Kept within the plotting area, as far as it fits. */
        const double width = rk_text_width(note->text, RK_SIZE_NOTE);
        const double left = panel->x.start + 1, right = panel->x.start + panel->width;
        double x = rk_scale_place(&panel->x, note->x) + sides[note->side].dx;
        x = rk_max(rk_min(x - sides[note->side].share * width, right - width), left);
        rk_draw_text(out, x, rk_scale_place(&panel->y, note->y) + sides[note->side].dy, note->text,
                     (rk_text_style){.size = RK_SIZE_NOTE, .halo = true});
    }
}

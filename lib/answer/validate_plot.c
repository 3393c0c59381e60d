/* SPDX-License-Identifier: Apache-2.0 */
/* The figure of `reckon validate`: predicted against measured, and the errors. */
#include "answer/validate_answer.h"

#include "base/error.h"
#include "base/extremes.h"
#include "figures/plot.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define ERROR_MOST 60.0 /* %; larger errors are drawn at the edge */

/* Points of the groups, one group after the other. */
typedef struct points {
    double *measured, *predicted, *error; /* owned, of one allocation */
    size_t count;
    rk_plot_series pairs[RK_PLOT_SERIES_MAX], errors[RK_PLOT_SERIES_MAX];
    size_t series_count;
    char others[32]; /* name of the series of the groups without a colour of their own */
} points;

/* Adds the runs of a group as points. */
static void add_runs(const rk_score_group *g, points *p)
{
    for (size_t i = 0; i < g->count; i++) {
        const rk_compared *row = g->rows[i];
        if (rk_compared_has_time(row)) {
            p->measured[p->count] = row->step_measured;
            p->predicted[p->count] = row->step;
            p->error[p->count++] =
                rk_max(rk_min(100 * (row->step / row->step_measured - 1), ERROR_MOST), -ERROR_MOST);
        }
    }
}

/* Ends the series that began at point `first`; without points, adds none. */
static void add_series(points *p, size_t first, const char *name, int color)
{
    assert(first <= p->count);
    if (p->count > first) {
        const rk_plot_series series = {.name = name,
                                       .kind = RK_PLOT_SCATTER,
                                       .x = p->measured + first,
                                       .y = p->predicted + first,
                                       .count = p->count - first,
                                       .color = color};
        p->pairs[p->series_count] = p->errors[p->series_count] = series;
        p->errors[p->series_count++].y = p->error + first;
    }
}

/* Moves the groups with most runs to the front: they get colours of their own, and are drawn below
 * the others. */
static void sort_groups(const rk_score_group **groups, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const rk_score_group *moved = groups[i];
        size_t at = i;
        for (; at > 0 && groups[at - 1]->count < moved->count; at--) {
            groups[at] = groups[at - 1];
        }
        groups[at] = moved;
    }
}

/* A series for each group; where colours would repeat, one for all but the largest groups. */
static void add_groups(const rk_validation *v, const rk_score_group **groups, points *p)
{
    const size_t count = v->by.count;
    const size_t own = count > RK_PLOT_COLORS ? RK_PLOT_COLORS - 1 : count;
    for (size_t g = 0; g < count; g++) {
        groups[g] = &v->by.groups[g];
    }
    sort_groups(groups, count);
    for (size_t g = own; g < count; g++) { /* first, so that the others are drawn on top */
        add_runs(groups[g], p);
    }
    (void)snprintf(p->others, sizeof(p->others), "%zu others", count - own);
    add_series(p, 0, p->others, RK_PLOT_COLORS);
    for (size_t g = 0; g < own; g++) {
        const size_t first = p->count;
        add_runs(groups[g], p);
        add_series(p, first, groups[g]->label, (int)g + 1);
    }
}

static rk_status draw(const points *p, rk_out *out, rk_error *err)
{
    static const rk_plot_rule diagonal[] = {{RK_PLOT_RULE_SLOPE, 1, "predicted = measured"}};
    static const rk_plot_rule bounds[] = {{RK_PLOT_RULE_Y, 0, NULL},
                                          {RK_PLOT_RULE_Y, 10, "+10 %"},
                                          {RK_PLOT_RULE_Y, -10, "\u221210 %"}};
    const rk_plot_axis measured = {.title = "measured step time, s", .logarithmic = true};
    const rk_plot_panel panels[] = {
        {.x = measured,
         .y = {.title = "predicted step time, s", .logarithmic = true},
         .series = p->pairs,
         .series_count = p->series_count,
         .rules = diagonal,
         .rule_count = 1},
        {.x = measured,
         .y = {.title = "error, % (at the edge: beyond)", .from = -ERROR_MOST, .to = ERROR_MOST},
         .series = p->errors,
         .series_count = p->series_count,
         .rules = bounds,
         .rule_count = 3},
    };
    const rk_plot_figure figure = {.title = "Predicted and measured step times",
                                   .panels = panels,
                                   .panel_count = 2,
                                   .one_legend = true};
    return rk_plot_svg(&figure, false, out, err);
}

rk_status rk_validation_plot(const rk_job *job, const rk_validation *v, const char *path,
                             rk_error *err)
{
    const size_t room = v->comparison.count + 1;
    points *p = calloc(1, sizeof(*p));
    double *numbers = malloc(3 * room * sizeof(*numbers));
    const rk_score_group **groups = malloc((v->by.count + 1) * sizeof(*groups));
    rk_out *out = NULL;
    rk_status status = p && numbers && groups
                           ? rk_job_open(job, path, &out, err)
                           : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the figure");
    if (!status) {
        p->measured = numbers;
        p->predicted = numbers + room;
        p->error = numbers + 2 * room;
        add_groups(v, groups, p);
        status = draw(p, out, err);
        if (status) {
            rk_out_abandon(out);
        } else {
            status = rk_out_close(out, err);
        }
    }
    free(groups);
    free(numbers);
    free(p);
    return status;
}

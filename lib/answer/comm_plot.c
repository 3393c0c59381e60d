/* SPDX-License-Identifier: Apache-2.0 */
/* Collects bus-bandwidth curves and draws them on a logarithmic axis of sizes. */
#include "answer/comm_plot.h"

#include "base/error.h"
#include "figures/plot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A line: a collective by an algorithm. */
struct line {
    char name[RK_COMM_LINE_NAME_SIZE];
    size_t count;
    double x[RK_COUNTS_MAX], y[RK_COUNTS_MAX];
};

struct rk_comm_lines {
    size_t count;
    bool full; /* more lines than a figure has */
    struct line of[RK_PLOT_SERIES_MAX];
};

rk_comm_lines *rk_comm_lines_create(void)
{
    return calloc(1, sizeof(rk_comm_lines));
}

void rk_comm_lines_add(rk_comm_lines *lines, const char *name, double bytes, double bus)
{
    assert(bytes > 0 && bus >= 0);
    size_t i = 0;
    while (i < lines->count && strcmp(lines->of[i].name, name) != 0) {
        i++;
    }
    if (i == RK_PLOT_SERIES_MAX) {
        lines->full = true;
        return;
    }
    struct line *line = &lines->of[i];
    if (i == lines->count) {
        lines->count++;
        memcpy(line->name, name, strlen(name) + 1);
    }
    if (line->count < RK_COUNTS_MAX) {
        line->x[line->count] = bytes;
        line->y[line->count++] = bus / 1e9;
    }
}

static rk_status draw(const rk_comm_lines *lines, const char *title, rk_out *out, rk_error *err)
{
    rk_plot_series series[RK_PLOT_SERIES_MAX] = {0};
    for (size_t i = 0; i < lines->count; i++) {
        series[i] = (rk_plot_series){.name = lines->of[i].name,
                                     .kind = RK_PLOT_LINE,
                                     .x = lines->of[i].x,
                                     .y = lines->of[i].y,
                                     .count = lines->of[i].count};
    }
    const rk_plot_panel panel = {
        .x = {.title = "message size, bytes", .logarithmic = true},
        .y = {.title = "bus bandwidth, GB/s", .zero = true},
        .series = series,
        .series_count = lines->count,
    };
    const rk_plot_figure figure = {
        .title = title, .width = RK_PLOT_TWO_COLUMNS, .panels = &panel, .panel_count = 1};
    return rk_plot_svg(&figure, false, out, err);
}

rk_status rk_comm_lines_plot(const rk_job *job, const rk_comm_lines *lines, const char *title,
                             const char *path, rk_error *err)
{
    rk_out *out = NULL;
    if (lines->full) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--plot draws at most %d lines; name fewer collectives, or one algorithm",
                       RK_PLOT_SERIES_MAX);
    }
    const rk_status status = rk_job_open(job, path, &out, err);
    if (status) {
        return status;
    }
    const rk_status drawn = draw(lines, title, out, err);
    if (drawn) {
        rk_out_abandon(out);
        return drawn;
    }
    return rk_out_close(out, err);
}

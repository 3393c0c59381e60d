/* SPDX-License-Identifier: Apache-2.0 */
/* Maps values to positions: the range of an axis, its ticks and their labels. */
#ifndef RK_FIGURES_SCALE_H
#define RK_FIGURES_SCALE_H

#include "figures/draw.h"
#include "figures/plot.h"

#define RK_TICKS_MAX 48

typedef struct rk_tick {
    double value;
    bool minor; /* without a label */
    char label[RK_LABEL_SIZE];
} rk_tick;

typedef struct rk_scale {
    bool logarithmic;
    double from, to;      /* from < to; both above 0 on a logarithmic scale */
    double start, length; /* the position of `from`, and the distance from there to `to` */
    rk_tick ticks[RK_TICKS_MAX];
    size_t tick_count;
} rk_scale;

/* The least and greatest of some values; least > greatest: there are none yet. */
typedef struct rk_extent {
    double least, greatest;
} rk_extent;

#define RK_EXTENT_EMPTY ((rk_extent){.least = 1, .greatest = 0})

/* Extends the range by the values that have a position on such an axis. */
void rk_extent_add(rk_extent *extent, bool logarithmic, const double *values, size_t count);

/*
 * The scale of an axis of numbers whose data have that extent, with about `wanted` labelled
 * ticks; the place is left to the caller.  A range found from the data ends at ticks.
 */
rk_scale rk_scale_of(const rk_plot_axis *axis, rk_extent extent, size_t wanted);

/* The scale of an axis of categories 0 .. count-1, each 1 wide; it has no ticks. */
rk_scale rk_scale_categories(size_t count);

/* Whether a value lies within the range, ends included. */
bool rk_scale_holds(const rk_scale *scale, double value);

/* The place of a value; NaN when it has none, far outside at most 10^5 points off. */
double rk_scale_place(const rk_scale *scale, double value);

#endif

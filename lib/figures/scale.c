/* SPDX-License-Identifier: Apache-2.0 */
/* Linear, logarithmic and categorical scales with round tick steps. */
#include "figures/scale.h"

#include "base/extremes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SHORT 6.0  /* a logarithmic range up to this ratio has the ticks of a linear one */
#define SLACK 1e-9 /* relative: how far rounding may push a tick over the end */

static bool has_place(bool logarithmic, double value)
{
    return isfinite(value) && (!logarithmic || value > 0);
}

void rk_extent_add(rk_extent *extent, bool logarithmic, const double *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++) {
        if (!has_place(logarithmic, values[i])) {
            continue;
        }
        const bool first = extent->least > extent->greatest;
        if (first || values[i] < extent->least) {
            extent->least = values[i];
        }
        if (first || values[i] > extent->greatest) {
            extent->greatest = values[i];
        }
    }
}

static void add_tick(rk_scale *scale, double value, bool minor)
{
    assert(scale->tick_count <= RK_TICKS_MAX);
    const double slack = SLACK * (scale->logarithmic ? fabs(value) : scale->to - scale->from);
    if (scale->tick_count < RK_TICKS_MAX && value >= scale->from - slack &&
        value <= scale->to + slack) {
        rk_tick *tick = &scale->ticks[scale->tick_count++];
        *tick = (rk_tick){.value = value, .minor = minor};
    }
}

/* ---- linear ---------------------------------------------------------------------------- */

/* The step of 1, 2 or 5 times a power of ten, as (digit, power), for `wanted` steps or fewer. */
static void choose_step(double range, size_t wanted, int *digit, int *power)
{
    assert(range > 0);
    const double least = range / (double)(wanted > 1 ? wanted : 1);
    *power = (int)floor(log10(least));
    const double share = least / pow(10, *power) * (1 - SLACK);
    *digit = share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10;
    if (*digit == 10) {
        *digit = 1;
        (*power)++;
    }
}

/* n steps, rounded only once. */
static double at_step(double n, int digit, int power)
{
    return power >= 0 ? n * digit * pow(10, power) : n * digit / pow(10, -power);
}

static void label_linear(rk_scale *scale, int power)
{
    static const char letters[] = {'M', 'G', 'T', 'P'};
    const double most = rk_max(fabs(scale->from), fabs(scale->to));
    int thousands = 0; /* powers of 1000 that a letter replaces, from 10^6 on */
    while (most >= 1e6 && thousands < 5 && most / pow(1000, thousands) >= 1000) {
        thousands++;
    }
    for (size_t i = 0; i < scale->tick_count; i++) {
        rk_tick *tick = &scale->ticks[i];
        if (most >= 1e18 || (most > 0 && most < 1e-4)) {
            const int decimals =
                (int)floor(log10(rk_max(fabs(tick->value), 1e-320)) + SLACK) - power;
            if (tick->value == 0) {
                (void)rk_label_fixed(0, 0, tick->label);
            } else {
                (void)rk_label_power(tick->value, decimals, tick->label);
            }
            continue;
        }
        const int decimals = 3 * thousands - power;
        (void)rk_label_fixed(tick->value / pow(1000, thousands), decimals, tick->label);
        const size_t length = strlen(tick->label);
        if (thousands >= 2 && tick->value != 0) {
            tick->label[length] = letters[thousands - 2];
            tick->label[length + 1] = '\0';
        }
    }
}

static void linear_ticks(rk_scale *scale, bool free_range, size_t wanted)
{
    assert(scale->to > scale->from);
    int digit, power;
    choose_step(scale->to - scale->from, wanted, &digit, &power);
    double first = ceil(scale->from / at_step(1, digit, power) - SLACK);
    double last = floor(scale->to / at_step(1, digit, power) + SLACK);
    if (free_range) {
        first = floor(scale->from / at_step(1, digit, power) + SLACK);
        last = ceil(scale->to / at_step(1, digit, power) - SLACK);
        scale->from = at_step(first, digit, power);
        scale->to = at_step(last, digit, power);
    }
    for (double n = first; n <= last && scale->tick_count < RK_TICKS_MAX; n++) {
        add_tick(scale, at_step(n, digit, power) + 0.0, false);
    }
    label_linear(scale, power);
}

/* The default range: the data's, never empty. */
static void linear_range(rk_scale *scale, const rk_plot_axis *axis, rk_extent extent)
{
    double from = 0, to = 1;
    if (extent.least <= extent.greatest) {
        from = extent.least;
        to = extent.greatest;
        if (axis->zero || (!axis->ticks && from > 0 && from < 0.3 * to)) {
            from = rk_min(from, 0);
            to = rk_max(to, 0);
        }
    }
    /* In too narrow a range, ticks would be the same double. */
    const double narrow = 1e-9 * rk_max(fabs(from), fabs(to));
    if (to - from <= narrow) {
        const double room = from != 0 ? fabs(from) / 10 : 1;
        to = from + room;
        from -= room;
    }
    if (axis->ticks) {
        const double room = 0.04 * (to - from);
        to += room;
        from -= axis->zero && from >= 0 ? 0 : room;
    }
    scale->from = rk_max(from, -1e300);
    scale->to = rk_min(to, 1e300);
}

/* ---- logarithmic ----------------------------------------------------------------------- */

static const int digits[] = {1, 2, 5};

/* The next number 1, 2 or 5 times a power of ten at or below (or above) the value. */
static double round_125(double value, bool up)
{
    assert(value > 0);
    const int power = (int)floor(log10(value) + SLACK);
    double below = value;
    for (int p = power; p <= power + 1; p++) {
        for (int i = 0; i < 3; i++) {
            const double candidate = at_step(1, digits[i], p);
            if (candidate >= value * (1 - SLACK)) {
                return up || candidate <= value * (1 + SLACK) ? candidate : below;
            }
            below = candidate;
        }
    }
    return value;
}

static void logarithmic_ticks(rk_scale *scale, size_t wanted)
{
    assert(scale->from > 0 && scale->to > scale->from);
    const double decades = log10(scale->to) - log10(scale->from);
    const int first = (int)floor(log10(scale->from) + SLACK);
    const int last = (int)ceil(log10(scale->to) - SLACK);
    const bool fine = decades * 3 <= (double)wanted + 1; /* 1, 2 and 5 have labels */
    const int stride = decades > (double)wanted ? (int)ceil(decades / (double)wanted) : 1;
    const bool between = decades < RK_TICKS_MAX / 2;
    for (int power = first; power <= last; power++) {
        const bool main_one = (power % stride + stride) % stride == 0;
        if (main_one || between) {
            add_tick(scale, at_step(1, 1, power), !main_one);
        }
        for (int digit = 2; digit <= 9 && stride == 1 && decades < 5; digit++) {
            add_tick(scale, at_step(1, digit, power), !(fine && (digit == 2 || digit == 5)));
        }
    }
    for (size_t i = 0; i < scale->tick_count; i++) {
        (void)rk_label_short(scale->ticks[i].value, scale->ticks[i].label);
    }
}

static void logarithmic_range(rk_scale *scale, const rk_plot_axis *axis, rk_extent extent)
{
    scale->from = 1;
    scale->to = 10;
    if (axis->ticks && extent.least < extent.greatest) {
        const double room = pow(extent.greatest / extent.least, 0.04);
        scale->from = extent.least / room;
        scale->to = extent.greatest * room;
    } else if (extent.least <= extent.greatest) {
        scale->from = round_125(extent.least, false);
        scale->to = round_125(extent.greatest, true);
        if (scale->from >= scale->to) {
            scale->from = round_125(scale->from / 1.5, false);
            scale->to = round_125(scale->to * 1.5, true);
        }
    }
}

/* ---- both ------------------------------------------------------------------------------ */

rk_scale rk_scale_of(const rk_plot_axis *axis, rk_extent extent, size_t wanted)
{
    rk_scale scale = {.logarithmic = axis->logarithmic};
    if (axis->ticks) {
        rk_extent_add(&extent, axis->logarithmic, axis->ticks, axis->tick_count);
    }
    const bool given = axis->from < axis->to && isfinite(axis->from) && isfinite(axis->to) &&
                       (!axis->logarithmic || axis->from > 0);
    if (given) {
        scale.from = axis->from;
        scale.to = axis->to;
    } else if (axis->logarithmic) {
        logarithmic_range(&scale, axis, extent);
    } else {
        linear_range(&scale, axis, extent);
    }
    if (axis->ticks) {
        for (size_t i = 0; i < axis->tick_count; i++) {
            if (rk_scale_holds(&scale, axis->ticks[i])) {
                add_tick(&scale, axis->ticks[i], false);
            }
        }
        for (size_t i = 0; i < scale.tick_count; i++) {
            (void)rk_label_short(scale.ticks[i].value, scale.ticks[i].label);
        }
    } else if (axis->logarithmic && scale.to / scale.from > SHORT) {
        logarithmic_ticks(&scale, wanted);
    } else {
        linear_ticks(&scale, !given && !axis->logarithmic, wanted);
    }
    return scale;
}

rk_scale rk_scale_categories(size_t count)
{
    return (rk_scale){.from = -0.5, .to = (count > 0 ? (double)count : 1) - 0.5};
}

bool rk_scale_holds(const rk_scale *scale, double value)
{
    return has_place(scale->logarithmic, value) && value >= scale->from && value <= scale->to;
}

double rk_scale_place(const rk_scale *scale, double value)
{
    if (!has_place(scale->logarithmic, value)) {
        return (double)NAN;
    }
    const double share = scale->logarithmic ? (log10(value) - log10(scale->from)) /
                                                  (log10(scale->to) - log10(scale->from))
                                            : (value - scale->from) / (scale->to - scale->from);
    return rk_min(rk_max(scale->start + share * scale->length, -1e5), 1e5);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "codesign/design.h"

#include "base/error.h"
#include "base/text.h"
#include "codesign/each.h"
#include "codesign/numbers.h"
#include "search/bounded_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINES_MAX 1000000

struct grid {
    const rk_calculon_app *app; /* with sys and space, or else setting and plans */
    const rk_calculon_sys *sys;
    const rk_calculon_space *space;
    const rk_setting *setting;
    const rk_plan_space *plans;
    const rk_prices *prices;
    int64_t given;                        /* processors where no axis says how many */
    rk_number numbers[RK_PRICE_AXES_MAX]; /* of each axis as the system has it */
    int processors;                       /* the axis that says how many; -1: none */
    rk_design *designs;
    size_t count;
};

/* ---- axes ---------------------------------------------------------------------------------- */

static rk_status fail_value(const rk_price_axis *axis, double value, const char *expected,
                            rk_error *err)
{
    return rk_fail(err, RK_ERR_INVALID, "the axis %s has the value %g; %s", axis->key, value,
                   expected);
}

static rk_status fail_unknown(const char *key, const char *const *names, size_t count,
                              rk_error *err)
{
    const char *nearest = rk_nearest_name(key, names, count);
    return rk_fail(err, RK_ERR_INVALID, "no number of the machine is called %s%s%s%s", key,
                   nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static rk_status check_values(const rk_price_axis *axis, bool whole, bool zero, rk_error *err)
{
    for (int i = 0; i < axis->count; i++) {
        const double value = axis->values[i];
        if (whole && (!(value >= 1) || value > 0x1p40 || value != floor(value))) {
            return fail_value(axis, value, "it counts something: give whole numbers from 1 on",
                              err);
        }
        if (!(value > 0) && !zero) {
            return fail_value(axis, value, "it divides something: give values above 0", err);
        }
    }
    return RK_OK;
}

/* The number that an axis varies; `all` ends before the name of processors. */
static rk_status find_number(struct grid *g, int axis_index, const rk_number *all, size_t count,
                             rk_error *err)
{
    const rk_price_axis *axis = &g->prices->axes[axis_index];
    const char *names[RK_NUMBER_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        names[i] = all[i].key;
    }
    names[count] = "processors";
    while (n <= count && strcmp(names[n], axis->key) != 0) {
        n++;
    }
    if (n > count) {
        return fail_unknown(axis->key, names, count + 1, err);
    }
    if (n == count) {
        g->processors = axis_index;
        return check_values(axis, true, false, err);
    }
    const bool capacity = all[n].kind == RK_NUMBER_OFFLOAD_SIZE;
    if (!(all[n].value > 0) && !capacity) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the system has 0 %s of %s, which cannot be scaled: give it a value",
                       all[n].unit, axis->key);
    }
    g->numbers[axis_index] = all[n];
    return check_values(axis, all[n].whole, capacity, err);
}

/* Sets the numbers of a machine but for its processors. */
static void set_numbers(const struct grid *g, const int *choice, rk_calculon_sys *sys,
                        rk_system *system)
{
    for (int i = 0; i < g->prices->axis_count; i++) {
        const double value = g->prices->axes[i].values[choice[i]];
        if (i != g->processors && sys) {
            rk_calculon_set_number(sys, &g->numbers[i], value);
        } else if (i != g->processors) {
            rk_system_set_number(system, &g->numbers[i], value);
        }
    }
}

/* No value may make a system that cannot be: tiers have to hold whole domains. */
static rk_status check_systems(const struct grid *g, int axis_index, rk_error *err)
{
    const rk_price_axis *axis = &g->prices->axes[axis_index];
    const rk_system *before = g->setting->system;
    const int64_t most = before->tiers[before->tier_count - 1].size;
    for (int i = 0; i < axis->count; i++) {
        rk_system system = *before;
        rk_error fault = {0};
        if (axis_index != g->processors) {
            rk_system_set_number(&system, &g->numbers[axis_index], axis->values[i]);
            (void)rk_system_check(&system, &fault);
        } else if (axis->values[i] > (double)most) {
            (void)rk_fail(&fault, RK_ERR_INVALID, "the system has %" PRId64, most);
        }
        if (fault.code) {
            return fail_value(axis, axis->values[i], fault.message, err);
        }
    }
    return RK_OK;
}

static rk_status find_numbers(struct grid *g, rk_error *err)
{
    rk_number all[RK_NUMBER_MAX];
    const size_t count = g->setting
                             ? rk_system_numbers(g->setting->system, g->plans->base.precision, all)
                             : rk_calculon_numbers(g->sys, g->space->datatype, all);
    rk_status status = RK_OK;
    g->processors = -1;
    for (int i = 0; i < g->prices->axis_count && !status; i++) {
        status = find_number(g, i, all, count, err);
        if (!status && g->setting) {
            status = check_systems(g, i, err);
        }
    }
    rk_error_set_file(status ? err : NULL, g->prices->name);
    return status;
}

/* ---- machines ------------------------------------------------------------------------------ */

/* Lists all machines with their prices, the last axis fastest. */
static rk_status list_designs(struct grid *g, rk_error *err)
{
    const rk_prices *p = g->prices;
    size_t count = 1;
    for (int i = 0; i < p->axis_count; i++) {
        count *= (size_t)p->axes[i].count;
        if (count > MACHINES_MAX) {
            return rk_fail(err, RK_ERR_LIMIT, "the axes span more than %d machines", MACHINES_MAX);
        }
    }
    g->designs = calloc(count, sizeof(*g->designs));
    if (!g->designs) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory for %zu machines", count);
    }
    for (g->count = 0; g->count < count; g->count++) {
        rk_design *d = &g->designs[g->count];
        size_t rest = g->count;
        *d = (rk_design){.processors = g->given, .each = p->processor};
        for (int i = p->axis_count - 1; i >= 0; i--) {
            d->choice[i] = (int)(rest % (size_t)p->axes[i].count);
            rest /= (size_t)p->axes[i].count;
            if (i == g->processors) {
                d->processors = (int64_t)p->axes[i].values[d->choice[i]];
            } else {
                d->each += p->axes[i].prices[d->choice[i]];
            }
        }
        d->cost = d->each * (double)d->processors;
    }
    return RK_OK;
}

static rk_status search_mappings(void *context, uint64_t index, rk_bounded_counts *counts,
                                 rk_error *err)
{
    const struct grid *g = context;
    const rk_search_control control = {.threads = 1};
    rk_design *d = &g->designs[index];
    rk_calculon_sys sys = *g->sys;
    rk_calculon_space space = *g->space;
    rk_calculon_ranked best;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_bounded_counts own;
    size_t found;
    space.num_procs = d->processors;
    set_numbers(g, d->choice, &sys, NULL);
    rk_status status =
        rk_calculon_search_bounded(g->app, &sys, &space, &control, 1, &best, &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    d->runs = !status && found > 0;
    if (d->runs) {
        d->rate = best.sample_rate;
        d->exe = best.exe;
        status = rk_calculon_evaluate(g->app, &sys, &best.exe, &stats, NULL, NULL, &verdict, err);
        d->efficiency = stats.total_efficiency;
    }
    return status;
}

static rk_status search_strategies(void *context, uint64_t index, rk_bounded_counts *counts,
                                   rk_error *err)
{
    const struct grid *g = context;
    const rk_search_control control = {.threads = 1};
    rk_design *d = &g->designs[index];
    rk_system system = *g->setting->system;
    rk_plan_space space = *g->plans;
    rk_planned best;
    rk_bounded_counts own;
    size_t found;
    space.accelerators = d->processors;
    set_numbers(g, d->choice, NULL, &system);
    const rk_status status = rk_plan_search_bounded(g->setting->model, &system, g->setting->stack,
                                                    &space, &control, 1, &best, &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    d->runs = !status && found > 0;
    if (d->runs) {
        d->rate = (double)space.global_batch / best.estimate.step;
        d->efficiency = best.estimate.mfu;
        d->strategy = best.strategy;
    }
    return status;
}

/* ---- the front ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const rk_design *x = a, *y = b;
    if (x->cost != y->cost) {
        return x->cost > y->cost ? 1 : -1;
    }
    if (x->rate != y->rate) {
        return x->rate < y->rate ? 1 : -1;
    }
    return memcmp(x->choice, y->choice, sizeof(x->choice));
}

static void find_front(rk_design *designs, size_t count)
{
    double fastest = 0;
    qsort(designs, count, sizeof(*designs), compare);
    for (size_t i = 0; i < count; i++) {
        designs[i].best = designs[i].runs && designs[i].rate > fastest;
        fastest = fmax(fastest, designs[i].rate);
    }
}

static rk_status search_grid(struct grid *g, rk_each_search *search,
                             const rk_search_control *control, rk_design **designs, size_t *count,
                             rk_bounded_counts *counts, rk_error *err)
{
    rk_status status;
    *designs = NULL;
    *count = 0;
    *counts = (rk_bounded_counts){0};
    if ((status = find_numbers(g, err)) || (status = list_designs(g, err)) ||
        (status = rk_search_each(g->count, search, g, control, counts, err))) {
        free(g->designs);
        return status;
    }
    find_front(g->designs, g->count);
    *designs = g->designs;
    *count = g->count;
    return RK_OK;
}

rk_status rk_design_search(const rk_calculon_app *app, const rk_calculon_sys *sys,
                           const rk_calculon_space *space, const rk_prices *prices,
                           const rk_search_control *control, rk_design **designs, size_t *count,
                           rk_bounded_counts *counts, rk_error *err)
{
    struct grid g = {
        .app = app, .sys = sys, .space = space, .prices = prices, .given = space->num_procs};
    return search_grid(&g, search_mappings, control, designs, count, counts, err);
}

rk_status rk_plan_design_search(const rk_setting *setting, const rk_plan_space *space,
                                const rk_prices *prices, const rk_search_control *control,
                                rk_design **designs, size_t *count, rk_bounded_counts *counts,
                                rk_error *err)
{
    struct grid g = {
        .setting = setting, .plans = space, .prices = prices, .given = space->accelerators};
    return search_grid(&g, search_strategies, control, designs, count, counts, err);
}

const rk_design *rk_design_cheapest(const rk_design *designs, size_t count, double least_rate)
{
    for (size_t i = 0; i < count; i++) {
        if (designs[i].runs && designs[i].rate >= least_rate) {
            return &designs[i];
        }
    }
    return NULL;
}

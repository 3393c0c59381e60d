/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the best strategy on every machine of a price grid and finds the Pareto front. */
#include "codesign/design.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/text.h"
#include "base/units.h"
#include "codesign/parallel_searches.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINES_MAX 1000000

struct grid {
    const rk_problem *problem;
    const rk_prices *prices;
    rk_number numbers[RK_PRICE_AXES_MAX]; /* values of the axes in the system */
    int processors;                       /* the axis of the number of processors; -1: none */
    rk_design *designs;
    size_t count;
    size_t memories;    /* machines that differ in memory only */
    double most_memory; /* bytes of an accelerator, of an axis */
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

/* The number that an axis varies; `all` does not contain processors. */
static rk_status find_number(struct grid *g, int axis_index, const rk_number *all, size_t count,
                             rk_error *err)
{
    assert(axis_index >= 0 && axis_index < g->prices->axis_count);
    const rk_price_axis *axis = &g->prices->axes[axis_index];
    const char *names[RK_NUMBER_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        names[i] = all[i].key;
    }
    names[count] = RK_PROCESSORS_KEY;
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

/* Applies a value of an axis to a problem. */
static void set_value(const struct grid *g, int axis_index, double value, rk_problem *problem)
{
    assert(value >= 0);
    if (axis_index == g->processors) {
        problem->method->set_accelerators(problem, (int64_t)value);
    } else {
        problem->method->set_number(problem, &g->numbers[axis_index], value);
    }
}

/* No value may make an impossible system: tiers must hold whole domains. */
static rk_status check_systems(const struct grid *g, int axis_index, rk_error *err)
{
    const rk_price_axis *axis = &g->prices->axes[axis_index];
    for (int i = 0; i < axis->count; i++) {
        rk_problem problem = *g->problem;
        rk_error fault = {0};
        problem.method->set_accelerators(&problem, 1);
        set_value(g, axis_index, axis->values[i], &problem);
        if (problem.method->check(&problem, &fault)) {
            return fail_value(axis, axis->values[i], fault.message, err);
        }
    }
    return RK_OK;
}

static rk_status find_numbers(struct grid *g, rk_error *err)
{
    rk_number all[RK_NUMBER_MAX];
    const size_t count = g->problem->method->numbers(g->problem, all);
    rk_status status = RK_OK;
    g->processors = -1;
    for (int i = 0; i < g->prices->axis_count && !status; i++) {
        status = find_number(g, i, all, count, err);
        if (!status) {
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
    const int64_t given = g->problem->method->accelerators(g->problem);
    size_t count = 1;
    for (int i = 0; i < p->axis_count; i++) {
        count *= (size_t)p->axes[i].count;
        if (count > MACHINES_MAX) {
            return rk_fail(err, RK_ERR_LIMIT, "the axes span more than %d machines", MACHINES_MAX);
        }
    }
    g->designs = calloc(count, sizeof(*g->designs));
    if (!g->designs) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu machines", count);
    }
    for (g->count = 0; g->count < count; g->count++) {
        rk_design *d = &g->designs[g->count];
        size_t rest = g->count;
        *d = (rk_design){.processors = given, .each = p->processor};
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

/* Whether an axis changes no more than the memory of a machine, so that its values share bounds. */
static bool is_of_memory(const struct grid *g, int axis_index)
{
    const rk_number_kind kind = g->numbers[axis_index].kind;
    return axis_index != g->processors &&
           (kind == RK_NUMBER_MEMORY_SIZE || kind == RK_NUMBER_OFFLOAD_SIZE ||
            kind == RK_NUMBER_OFFLOAD_RATE);
}

/* Counts the machines that differ in memory only. */
static void count_memories(struct grid *g)
{
    const rk_prices *p = g->prices;
    g->memories = 1;
    for (int i = 0; i < p->axis_count; i++) {
        g->memories *= is_of_memory(g, i) ? (size_t)p->axes[i].count : 1;
        for (int j = 0; j < p->axes[i].count && g->numbers[i].kind == RK_NUMBER_MEMORY_SIZE; j++) {
            g->most_memory = rk_max(g->most_memory, p->axes[i].values[j] * GIB);
        }
    }
}

/* The place of machine `member` of `group`, whose machines differ in memory only. */
static size_t place_of(const struct grid *g, size_t group, size_t member)
{
    size_t place = 0, step = 1;
    for (int i = g->prices->axis_count - 1; i >= 0; i--) {
        const size_t count = (size_t)g->prices->axes[i].count;
        size_t *rest = is_of_memory(g, i) ? &member : &group;
        place += *rest % count * step;
        *rest /= count;
        step *= count;
    }
    return place;
}

static rk_status search_machine(const struct grid *g, rk_problem *problem, rk_known_bounds *known,
                                rk_design *d, rk_bounded_counts *counts, rk_error *err)
{
    const rk_search_control control = {.threads = 1};
    const rk_method *method = problem->method;
    rk_bounded_counts own;
    size_t found;
    for (int i = 0; i < g->prices->axis_count; i++) {
        set_value(g, i, g->prices->axes[i].values[d->choice[i]], problem);
    }
    const rk_status status =
        method->bound_again
            ? method->bound_again(problem, known, &control, 1, &d->best, &found, &own, err)
            : method->bound(problem, &control, 1, &d->best, &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    d->runs = !status && found > 0;
    return status;
}

static rk_status search_group(void *context, uint64_t index, rk_bounded_counts *counts,
                              rk_error *err)
{
    const struct grid *g = context;
    rk_problem *problem = malloc(sizeof(*problem)); /* too large for the stack of a thread */
    rk_known_bounds known = {.most_memory = g->most_memory};
    rk_status status =
        problem ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a machine");
    /* from the largest memory on: what is best there often fits in less */
    for (size_t i = 0; i < g->memories && !status; i++) {
        rk_design *design = &g->designs[place_of(g, index, g->memories - 1 - i)];
        *problem = *g->problem;
        status = search_machine(g, problem, &known, design, counts, err);
    }
    rk_known_bounds_clear(&known);
    free(problem);
    return status;
}

/* ---- the front ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const rk_design *x = a, *y = b;
    if (x->cost != y->cost) {
        return x->cost > y->cost ? 1 : -1;
    }
    if (x->best.rate != y->best.rate) {
        return x->best.rate < y->best.rate ? 1 : -1;
    }
    return memcmp(x->choice, y->choice, sizeof(x->choice));
}

static void find_front(rk_design *designs, size_t count)
{
    double fastest = 0;
    qsort(designs, count, sizeof(*designs), compare);
    for (size_t i = 0; i < count; i++) {
        designs[i].on_front = designs[i].runs && designs[i].best.rate > fastest;
        fastest = rk_max(fastest, designs[i].best.rate);
    }
}

rk_status rk_design_search(const rk_problem *problem, const rk_prices *prices,
                           const rk_search_control *control, rk_design **designs, size_t *count,
                           rk_bounded_counts *counts, rk_error *err)
{
    struct grid g = {.problem = problem, .prices = prices};
    rk_status status;
    *designs = NULL;
    *count = 0;
    *counts = (rk_bounded_counts){0};
    status = find_numbers(&g, err);
    status = status ? status : list_designs(&g, err);
    if (!status) {
        count_memories(&g);
        status = rk_search_each(g.count / g.memories, search_group, &g, control, counts, err);
    }
    if (status) {
        free(g.designs);
        return status;
    }
    find_front(g.designs, g.count);
    *designs = g.designs;
    *count = g.count;
    return RK_OK;
}

const rk_design *rk_design_cheapest(const rk_design *designs, size_t count, double least_rate)
{
    for (size_t i = 0; i < count; i++) {
        if (designs[i].runs && designs[i].best.rate >= least_rate) {
            return &designs[i];
        }
    }
    return NULL;
}

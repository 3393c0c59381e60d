/* SPDX-License-Identifier: Apache-2.0 */
/* Fits the null model per accelerator: the weighted median utilisation of other runs. */
#include "evidence/null_model.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_timed(const rk_compared *c)
{
    return c->predicted && c->step_measured > 0 && c->mfu_measured > 0;
}

static bool is_fit(const rk_compared *c)
{
    return strcmp(rk_run_cell(c->table, c->row, RK_RUN_SPLIT), "fit") == 0;
}

static bool has_fit(const rk_comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++) {
        if (is_timed(&comparison->rows[i]) && is_fit(&comparison->rows[i])) {
            return true;
        }
    }
    return false;
}

/* A measured utilisation, and what it counts: every source as much as any other. */
typedef struct weighted {
    double utilisation, weight;
    const rk_compared *row;
} weighted;

static int compare_weighted(const void *a, const void *b)
{
    const double x = ((const weighted *)a)->utilisation, y = ((const weighted *)b)->utilisation;
    return (x > y) - (x < y);
}

/* The rows to fit on that run on the accelerator of row `like`, by utilisation. */
static size_t gather(const rk_comparison *comparison, const rk_compared *like, bool fit_only,
                     weighted *out)
{
    const char *name = like->system->accelerator.name;
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const rk_compared *c = &comparison->rows[i];
        if (is_timed(c) && (!fit_only || is_fit(c)) &&
            strcmp(c->system->accelerator.name, name) == 0) {
            out[count++] = (weighted){.utilisation = c->mfu_measured, .row = c};
        }
    }
    qsort(out, count, sizeof(*out), compare_weighted);
    return count;
}

/* Gives every source of the list the weight 1. */
static void weigh(weighted *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        for (size_t j = 0; list[i].weight <= 0 && j < count; j++) {
            same += strcmp(list[j].row->group, list[i].row->group) == 0;
        }
        for (size_t j = i; same > 0 && j < count; j++) {
            if (strcmp(list[j].row->group, list[i].row->group) == 0) {
                list[j].weight = 1 / (double)same;
            }
        }
    }
}

/* The weighted median of the list without row `left_out`; 0 of none. */
static double median_without(const weighted *list, size_t count, const rk_compared *left_out)
{
    double total = 0, below = 0;
    for (size_t i = 0; i < count; i++) {
        total += list[i].row == left_out ? 0 : list[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        below += list[i].row == left_out ? 0 : list[i].weight;
        if (list[i].row != left_out && below >= 0.5 * total) {
            return list[i].utilisation;
        }
    }
    return 0;
}

/* Sets null_step of all rows that run on the accelerator of row `first`. */
static void set_accelerator(rk_comparison *comparison, size_t first, bool fit_only,
                            weighted *scratch)
{
    assert(first < comparison->count);
    const char *name = comparison->rows[first].system->accelerator.name;
    const size_t count = gather(comparison, &comparison->rows[first], fit_only, scratch);
    weigh(scratch, count);
    for (size_t i = first; i < comparison->count; i++) {
        rk_compared *c = &comparison->rows[i];
        if (!is_timed(c) || strcmp(c->system->accelerator.name, name) != 0) {
            continue;
        }
        const double utilisation = median_without(scratch, count, c);
        c->null_step = utilisation > 0 ? c->step_measured * c->mfu_measured / utilisation : -1;
    }
}

rk_status rk_null_model(rk_comparison *comparison, rk_error *err)
{
    const bool fit_only = has_fit(comparison);
    weighted *scratch = malloc((comparison->count + 1) * sizeof(*scratch));
    if (!scratch) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the comparison");
    }
    for (size_t i = 0; i < comparison->count; i++) {
        comparison->rows[i].null_step = 0;
    }
    for (size_t i = 0; i < comparison->count; i++) {
        rk_compared *c = &comparison->rows[i];
        if (is_timed(c) && c->null_step >= 0 && c->null_step <= 0) {
            set_accelerator(comparison, i, fit_only, scratch);
        }
    }
    for (size_t i = 0; i < comparison->count; i++) {
        if (comparison->rows[i].null_step < 0) { /* its accelerator has no other run */
            comparison->rows[i].null_step = 0;
        }
    }
    free(scratch);
    return RK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "codesign/replan.h"

#include "codesign/each.h"
#include "search/bounded_plan.h"

#include <stdlib.h>
#include <string.h>

/* The largest rate first; the order of numbers settles ties. */
static int compare(const void *a, const void *b)
{
    const rk_replan *x = a, *y = b;
    if (x->rate != y->rate) {
        return x->rate < y->rate ? 1 : -1;
    }
    return x->number.kind != y->number.kind ? (int)x->number.kind - (int)y->number.kind
                                            : x->number.tier - y->number.tier;
}

/* Keeps the strategy of before unless another is faster by more than one in ten thousand. */
static bool is_better(const rk_replan *replan)
{
    return replan->rate > replan->old_rate * 1.0001;
}

/* ---- progress: the searches one after the other, equal shares of the whole ----------------- */

enum { SHARE = 10000 };

struct ticker {
    const rk_search_control *control;
    uint64_t done, total; /* shares */
};

static bool tick(void *user, uint64_t done, uint64_t total)
{
    const struct ticker *t = user;
    const double share = total > 0 ? (double)done / (double)total * SHARE : 0;
    return t->control->progress(t->control->user, t->done + (uint64_t)share, t->total);
}

/* The control of one search of several. */
static rk_search_control control_of(const rk_search_control *control, struct ticker *ticker,
                                    size_t searches)
{
    rk_search_control one = control ? *control : (rk_search_control){0};
    one.slices = 0;
    if (one.progress) {
        *ticker = (struct ticker){.control = control, .total = searches * SHARE};
        one.progress = tick;
        one.user = ticker;
    }
    return one;
}

/* ---- the Calculon methodology -------------------------------------------------------------- */

/* The strategy of before on the changed system. */
static rk_status price_mapping(const rk_calculon_app *app, const rk_calculon_sys *sys,
                               const rk_calculon_exe *exe, rk_replan *replan, rk_error *err)
{
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    const rk_status status = rk_calculon_evaluate(app, sys, exe, &stats, NULL, NULL, &verdict, err);
    if (!status && verdict.verdict == RK_FITS) {
        replan->old_step = stats.total_time;
        replan->old_rate = stats.sample_rate;
    }
    return status;
}

static rk_status search_mappings(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                 const rk_calculon_space *space, const rk_search_control *control,
                                 rk_replan *replan, rk_bounded_counts *counts, rk_error *err)
{
    rk_calculon_ranked best;
    rk_bounded_counts own;
    size_t found;
    const rk_status status =
        rk_calculon_search_bounded(app, sys, space, control, 1, &best, &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    if (!status && found > 0) {
        replan->exe = best.exe;
        replan->rate = best.sample_rate;
        replan->step = (double)best.exe.batch_size / best.sample_rate;
    }
    return status;
}

rk_status rk_calculon_replan(const rk_calculon_app *app, const rk_calculon_sys *sys,
                             const rk_calculon_space *space, const rk_search_control *control,
                             double change, const rk_calculon_exe *best,
                             rk_replan replans[RK_NUMBER_MAX], size_t *count,
                             rk_bounded_counts *counts, rk_error *err)
{
    rk_number numbers[RK_NUMBER_MAX];
    struct ticker ticker;
    const size_t all = rk_calculon_numbers(sys, space->datatype, numbers);
    rk_search_control one = control_of(control, &ticker, all);
    rk_status status = RK_OK;
    *count = 0;
    *counts = (rk_bounded_counts){0};
    for (size_t i = 0; i < all && !status; i++) {
        rk_calculon_sys changed = *sys;
        rk_replan *replan = &replans[*count];
        *replan =
            (rk_replan){.number = numbers[i], .value = rk_number_changed(&numbers[i], change)};
        ticker.done = i * SHARE;
        if (!(replan->value > 0)) { /* nothing to change: no offload memory, no latency */
            continue;
        }
        (*count)++;
        rk_calculon_set_number(&changed, &numbers[i], replan->value);
        status = price_mapping(app, &changed, best, replan, err);
        one.least_rate = replan->old_rate;
        if (!status) {
            status = search_mappings(app, &changed, space, &one, replan, counts, err);
        }
        if (!is_better(replan)) {
            replan->exe = *best;
            replan->step = replan->old_step;
            replan->rate = replan->old_rate;
        }
    }
    qsort(replans, *count, sizeof(*replans), compare);
    return status;
}

/* ---- the reckon model ---------------------------------------------------------------------- */

static rk_status search_strategies(const rk_setting *setting, const rk_system *system,
                                   const rk_plan_space *space, const rk_search_control *control,
                                   rk_replan *replan, rk_bounded_counts *counts, rk_error *err)
{
    rk_planned best;
    rk_bounded_counts own;
    size_t found;
    const rk_status status = rk_plan_search_bounded(setting->model, system, setting->stack, space,
                                                    control, 1, &best, &found, &own, err);
    rk_bounded_counts_add(counts, &own);
    if (!status && found > 0) {
        replan->strategy = best.strategy;
        replan->step = best.estimate.step;
        replan->rate = (double)space->global_batch / best.estimate.step;
    }
    return status;
}

rk_status rk_plan_replan(const rk_setting *setting, const rk_plan_space *space,
                         const rk_search_control *control, double change, const rk_strategy *best,
                         rk_replan replans[RK_NUMBER_MAX], size_t *count, rk_bounded_counts *counts,
                         rk_error *err)
{
    rk_number numbers[RK_NUMBER_MAX];
    struct ticker ticker;
    const size_t all = rk_system_numbers(setting->system, best->precision, numbers);
    rk_search_control one = control_of(control, &ticker, all);
    rk_status status = RK_OK;
    *count = 0;
    *counts = (rk_bounded_counts){0};
    for (size_t i = 0; i < all && !status; i++) {
        rk_system changed = *setting->system;
        rk_replan *replan = &replans[*count];
        rk_estimate old;
        *replan =
            (rk_replan){.number = numbers[i], .value = rk_number_changed(&numbers[i], change)};
        ticker.done = i * SHARE;
        if (!(replan->value > 0)) {
            continue;
        }
        rk_system_set_number(&changed, &numbers[i], replan->value);
        if (rk_system_check(&changed, NULL)) { /* larger domains may not fill the tier above */
            continue;
        }
        (*count)++;
        status = rk_estimate_exact(setting->model, &changed, setting->stack, best,
                                   setting->convention, &old, NULL, err);
        if (status) {
            break;
        }
        if (old.fits) {
            replan->old_step = old.step;
            replan->old_rate = (double)space->global_batch / old.step;
        }
        one.least_rate = replan->old_rate;
        status = search_strategies(setting, &changed, space, &one, replan, counts, err);
        if (!is_better(replan)) {
            replan->strategy = *best;
            replan->step = replan->old_step;
            replan->rate = replan->old_rate;
        }
    }
    qsort(replans, *count, sizeof(*replans), compare);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Searches again on a machine with one number changed, for every number, and sorts by gain. */
#include "codesign/machine_sensitivity.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest rate first; ties keep the order of numbers. */
static int compare(const void *a, const void *b)
{
    const rk_number_effect *x = a, *y = b;
    if (x->best.rate != y->best.rate) {
        return x->best.rate < y->best.rate ? 1 : -1;
    }
    return x->number.kind != y->number.kind ? (int)x->number.kind - (int)y->number.kind
                                            : x->number.tier - y->number.tier;
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

/* ---- one number after the other ------------------------------------------------------------ */

/* Systems that differ by a larger factor share no bounds, which would be too loose to pay. */
static const double most_different = 1.2;

/* How many times better a number may be than it is in another system of these. */
static double difference(double change)
{
    const double rate = fmax(1 + change, 1 / (1 + change));
    return change < 1 ? fmax(rate, fmax(1 - change, 1 / (1 - change))) : rate;
}

/*
 * Searches on a changed system. The earlier strategy is kept unless another is faster by more than
 * one part in ten thousand, and without a search where nothing changed.  `known`: bounds that hold
 * there, or NULL.
 */
static rk_status replan(const rk_problem *changed, rk_known_bounds *known,
                        rk_search_control *control, const rk_candidate *before,
                        rk_number_effect *replan, rk_bounded_counts *counts, rk_error *err)
{
    const rk_method *method = changed->method;
    rk_bounded_counts own = {0};
    rk_candidate old = *before, best;
    size_t found = 0;
    rk_status status = method->evaluate(changed, &old, err);
    const bool kept = old.fits && !old.risky && !status;
    replan->old_step = kept ? old.step : 0;
    replan->old_rate = kept ? old.rate : 0;
    control->least_rate = replan->old_rate;
    const bool settled =
        kept && method->uses_number && !method->uses_number(changed, &replan->number);
    if (!status && !settled) {
        status = known ? method->bound_again(changed, known, control, 1, &best, &found, &own, err)
                       : method->bound(changed, control, 1, &best, &found, &own, err);
    }
    rk_bounded_counts_add(counts, &own);
    const bool faster = !status && found > 0 && best.rate > replan->old_rate * 1.0001;
    replan->runs = faster || replan->old_rate > 0;
    replan->best = faster ? best : *before;
    if (!faster) {
        replan->best.step = replan->old_step;
        replan->best.rate = replan->old_rate;
    }
    return status;
}

double rk_number_changed(const rk_number *number, double change)
{
    assert(change > -1);
    if (number->kind == RK_NUMBER_DOMAIN) {
        const double half = floor(number->value / 2);
        return change > 0 ? 2 * number->value : 2 * half == number->value ? half : 0;
    }
    return number->value * (number->lower ? 1 - change : 1 + change);
}

rk_status rk_replan_all(const rk_problem *problem, const rk_search_control *control, double change,
                        const rk_candidate *best, rk_number_effect replans[RK_NUMBER_MAX],
                        size_t *count, rk_bounded_counts *counts, rk_error *err)
{
    assert(change > -1);
    const rk_method *method = problem->method;
    rk_number numbers[RK_NUMBER_MAX];
    struct ticker ticker;
    rk_known_bounds known = {.faster = difference(change)};
    const size_t all = method->numbers(problem, numbers);
    assert(all <= RK_NUMBER_MAX);
    rk_search_control one = control_of(control, &ticker, all);
    const bool alike = method->open_nearby && known.faster <= most_different;
    rk_status status = alike ? method->open_nearby(problem, &one, &known, err) : RK_OK;
    *count = 0;
    *counts = (rk_bounded_counts){0};
    for (size_t i = 0; i < all && !status; i++) {
        const double value = rk_number_changed(&numbers[i], change);
        rk_problem changed = *problem;
        ticker.done = i * SHARE;
        if (!(value > 0)) { /* not changed: no offload memory, no latency */
            continue;
        }
        method->set_number(&changed, &numbers[i], value);
        if (method->check(&changed, NULL)) { /* larger domains may not fill the tier above */
            continue;
        }
        rk_number_effect *next = &replans[(*count)++];
        *next = (rk_number_effect){.number = numbers[i], .value = value};
        const bool shared = alike && numbers[i].kind != RK_NUMBER_DOMAIN;
        status = replan(&changed, shared ? &known : NULL, &one, best, next, counts, err);
    }
    rk_known_bounds_clear(&known);
    qsort(replans, *count, sizeof(*replans), compare);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Recomputes the total time of a run at both ends of each assumption, and sorts by effect. */
#include "run/sensitivity.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const char *const names[RK_ASSUMPTION_COUNT] = {
    [RK_ASSUMES_STEP] = "time of a step",
    [RK_ASSUMES_INTERRUPTIONS] = "rate of interruptions",
    [RK_ASSUMES_RESTART] = "time to restart",
    [RK_ASSUMES_STORAGE] = "storage bandwidth",
};

static double total_with(const rk_training *training, rk_assumption what, double factor)
{
    assert(what < RK_ASSUMPTION_COUNT && factor > 0);
    rk_training changed = *training;
    rk_training_result result;
    rk_error err;
    double *const places[RK_ASSUMPTION_COUNT] = {
        [RK_ASSUMES_STEP] = &changed.step,
        [RK_ASSUMES_INTERRUPTIONS] = &changed.failure_rate,
        [RK_ASSUMES_RESTART] = &changed.restart,
        [RK_ASSUMES_STORAGE] = &changed.storage,
    };
    *places[what] *= factor;
    return rk_training_run(&changed, &result, &err) ? HUGE_VAL : result.total;
}

/* The wider range first; one end may be infinite. */
static int by_effect(const void *a, const void *b)
{
    const rk_assumed_range *x = a, *y = b;
    const double left = fabs(x->figures.high_total_s - x->figures.low_total_s);
    const double right = fabs(y->figures.high_total_s - y->figures.low_total_s);
    return left > right ? -1 : left < right ? 1 : (int)x->what - (int)y->what;
}

void rk_training_sensitivity(const rk_training *training, rk_assumed_range *ranges, int count)
{
    for (int i = 0; i < count; i++) {
        rk_run_assumption *figures = &ranges[i].figures;
        figures->name = names[ranges[i].what];
        figures->low_total_s = total_with(training, ranges[i].what, figures->low);
        figures->high_total_s = total_with(training, ranges[i].what, figures->high);
    }
    qsort(ranges, (size_t)count, sizeof(*ranges), by_effect);
}

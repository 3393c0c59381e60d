/* SPDX-License-Identifier: Apache-2.0 */
/* How good predicted risks are: runs that ran out of memory and runs that did not. */
#include "base/error.h"
#include "base/extremes.h"
#include "evidence/score.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int compare_risks(const void *a, const void *b)
{
    const double x = (*(const rk_compared *const *)a)->risk;
    const double y = (*(const rk_compared *const *)b)->risk;
    return (x > y) - (x < y);
}

static double square(double x)
{
    return x * x;
}

/* How far the mean risk of some runs is from the share that ran out of memory. */
static double bin_error(const rk_compared *const *rows, size_t count)
{
    assert(count > 0);
    double risk = 0, share = 0;
    for (size_t i = 0; i < count; i++) {
        risk += rows[i]->risk / (double)count;
        share += (double)rows[i]->out_of_memory / (double)count;
    }
    return fabs(risk - share);
}

rk_status rk_score_risk(const rk_compared *const *rows, size_t count, rk_risk_score *out,
                        rk_error *err)
{
    const rk_compared **list = malloc((count + 1) * sizeof(*list));
    *out = (rk_risk_score){.runs = 0};
    if (!list) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the risks of runs");
    }
    for (size_t i = 0; i < count; i++) {
        const rk_compared *row = rows[i];
        if (row->selected && row->predicted && row->labelled && !row->unsure) {
            list[out->runs++] = row;
            out->ran += !row->out_of_memory;
            out->failed += row->out_of_memory;
            out->impossible += !row->out_of_memory && row->risk >= RK_RISK_IMPOSSIBLE;
            out->brier += square(row->risk - row->out_of_memory);
            out->verdict_brier += row->fits == row->out_of_memory;
        }
    }
    out->brier /= rk_max((double)out->runs, 1);
    out->verdict_brier /= rk_max((double)out->runs, 1);
    out->bins = out->runs / RK_RISK_BIN;
    qsort(list, out->runs, sizeof(*list), compare_risks);
    for (size_t i = 0; i < out->bins; i++) {
        const size_t first = i * out->runs / out->bins, end = (i + 1) * out->runs / out->bins;
        out->worst_bin = rk_max(out->worst_bin, bin_error(list + first, end - first));
    }
    free(list);
    return RK_OK;
}

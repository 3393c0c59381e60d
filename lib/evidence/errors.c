/* SPDX-License-Identifier: Apache-2.0 */
/* Medians, percentiles, mean errors and Spearman's rank correlation. */
#include "evidence/errors.h"

#include "base/error.h"
#include "base/list.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void rk_sort_numbers(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), rk_compare_doubles);
}

double rk_median(const double *sorted, size_t count)
{
    return count == 0 ? (double)NAN : 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

double rk_percentile(const double *sorted, size_t count, double share)
{
    assert(share >= 0 && share <= 1);
    if (count == 0) {
        return (double)NAN;
    }
    const double place = ceil(share * (double)count - 1e-9);
    return sorted[place < 1 ? 0 : (size_t)place - 1];
}

typedef struct ranked {
    double value, rank;
    size_t index;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    return rk_compare_doubles(&((const ranked *)a)->value, &((const ranked *)b)->value);
}

/* Ranks of values, in the order of the values; ties share their mean rank. */
static void rank(const double *values, size_t count, ranked *list, double *out)
{
    for (size_t i = 0; i < count; i++) {
        list[i] = (ranked){.value = values[i], .index = i};
    }
    qsort(list, count, sizeof(*list), compare_ranked);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && list[end].value <= list[i].value) {
            end++;
        }
        for (size_t j = i; j < end; j++) {
            out[list[j].index] = 0.5 * (double)(i + end - 1);
        }
        i = end;
    }
}

/* Pearson's correlation; NaN where one side does not vary. */
static double correlation(const double *x, const double *y, size_t count)
{
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        mean_x += x[i] / (double)count;
        mean_y += y[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

rk_status rk_spearman(const double *x, const double *y, size_t count, double *out, rk_error *err)
{
    ranked *list = malloc((count + 1) * sizeof(*list));
    double *ranks = malloc((2 * count + 1) * sizeof(*ranks));
    rk_status status = RK_OK;
    if (!list || !ranks) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for a rank correlation");
    } else if (count < 2) {
        *out = (double)NAN;
    } else {
        rank(x, count, list, ranks);
        rank(y, count, list, ranks + count);
        *out = correlation(ranks, ranks + count, count);
    }
    free(list);
    free(ranks);
    return status;
}

rk_errors rk_errors_of(double *ratios, size_t count)
{
    rk_errors e = {.count = count, .rank = (double)NAN};
    for (size_t i = 0; i < count; i++) {
        e.bias += (ratios[i] - 1) / (double)count;
        ratios[i] = fabs(ratios[i] - 1);
        e.mean += ratios[i] / (double)count;
    }
    rk_sort_numbers(ratios, count);
    e.median = rk_median(ratios, count);
    e.p90 = rk_percentile(ratios, count, 0.9);
    e.worst = count ? ratios[count - 1] : (double)NAN;
    return e;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of predictions. */
#ifndef RK_EVIDENCE_ERRORS_H
#define RK_EVIDENCE_ERRORS_H

#include "reckon/reckon.h"

void rk_sort_numbers(double *values, size_t count);

/* The median of sorted values; NaN if there are none. */
double rk_median(const double *sorted, size_t count);

/* The smallest value that a share of the sorted values does not exceed; NaN if there are none. */
double rk_percentile(const double *sorted, size_t count, double share);

/*
 * Spearman's rank correlation, with mean ranks for ties; NaN for fewer than two pairs or where
 * one side does not vary.  RK_ERR_MEMORY is the only failure.
 */
rk_status rk_spearman(const double *x, const double *y, size_t count, double *out, rk_error *err);

/* Errors of `count` ratios predicted / measured, which are sorted and modified in the process. */
rk_errors rk_errors_of(double *ratios, size_t count);

#endif

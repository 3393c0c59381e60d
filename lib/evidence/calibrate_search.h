/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the constants of least loss between their bounds. */
#ifndef RK_EVIDENCE_CALIBRATE_SEARCH_H
#define RK_EVIDENCE_CALIBRATE_SEARCH_H

#include "evidence/fit_residuals.h"

/* Constants between 0 (min) and 1 (max), even in their logarithm where the recipe says so. */
double rk_constant_share(const rk_constant *constant, double value);
double rk_constant_value(const rk_constant *constant, double share);

/* The value with three significant digits, inside the bounds. */
double rk_constant_rounded(const rk_constant *constant, double value);

/*
 * Loss of the constants that were set last over rows to fit: the weighted mean of the costs of
 * rows, without group `without` (-1: all groups).
 */
double rk_fit_setup_loss(const rk_fit_setup *bench, int without);

/*
 * Moves `values` to the nearest local minimum of the loss or, with `starts` random starts drawn
 * from `seed`, to the best minimum found. The same input gives the same answer. RK_ERR_INVALID if
 * the program was built without NLopt.
 */
rk_status rk_search(rk_fit_setup *bench, int without, int64_t starts, uint64_t seed, double *values,
                    rk_error *err);

#endif

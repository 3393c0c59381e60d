/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sensitivity of each number of a machine: the best strategy with that number changed, next to
 * the strategy that was best before.
 */
#ifndef RK_CODESIGN_MACHINE_SENSITIVITY_H
#define RK_CODESIGN_MACHINE_SENSITIVITY_H

#include "method/method.h"

typedef struct rk_number_effect {
    rk_number number;
    double value;              /* changed value, in its unit */
    double old_step, old_rate; /* s, sequences/s of the earlier strategy; 0: it does not run */
    bool runs;                 /* some strategy fits */
    rk_candidate best;         /* the best strategy after the change, if one fits */
} rk_number_effect;

/*
 * A number that is better by `change` (0.1: 10 %; below 0: worse): more, or for a time less.
 * Domains double, or halve; 0 when they cannot.
 */
double rk_number_changed(const rk_number *number, double change);

/*
 * Makes every number of the system better by `change` (0.1: 10 %; below 0: worse) and searches
 * again.  `best` is the best strategy on the system as it is.  Fills replans[0 .. *count), the
 * largest rate first; `counts` gets the sums of all searches.
 */
rk_status rk_replan_all(const rk_problem *problem, const rk_search_control *control, double change,
                        const rk_candidate *best, rk_number_effect replans[RK_NUMBER_MAX],
                        size_t *count, rk_bounded_counts *counts, rk_error *err);

#endif

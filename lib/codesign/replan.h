/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each number of a machine is worth: the best strategy on a machine with one of them changed,
 * beside the strategy that was best before.
 */
#ifndef RK_CODESIGN_REPLAN_H
#define RK_CODESIGN_REPLAN_H

#include "codesign/numbers.h"
#include "report/estimate_change.h"
#include "search/plan.h"

typedef struct rk_replan {
    rk_number number;
    double value;              /* that it is changed to, in its unit */
    double old_step, old_rate; /* s, sequences/s: the strategy of before; 0: it does not run */
    double step, rate;         /* of the best strategy; 0: none runs */
    rk_calculon_exe exe;       /* which it is, by the Calculon methodology */
    rk_strategy strategy;      /* and by the reckon model */
} rk_replan;

/*
 * Changes every number of the system by `change` (rk_number_changed) and searches again.  `best` is
 * the best strategy on the system as it is.  Fills replans[0 .. *count), the largest rate first;
 * `counts` gets the sums of all searches.
 */
rk_status rk_calculon_replan(const rk_calculon_app *app, const rk_calculon_sys *sys,
                             const rk_calculon_space *space, const rk_search_control *control,
                             double change, const rk_calculon_exe *best,
                             rk_replan replans[RK_NUMBER_MAX], size_t *count,
                             rk_bounded_counts *counts, rk_error *err);

/* The same by the reckon model, with closed forms of schedules. */
rk_status rk_plan_replan(const rk_setting *setting, const rk_plan_space *space,
                         const rk_search_control *control, double change, const rk_strategy *best,
                         rk_replan replans[RK_NUMBER_MAX], size_t *count, rk_bounded_counts *counts,
                         rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The fewest accelerators on which some strategy fits. */
#ifndef RK_SEARCH_FEWEST_ACCELERATORS_H
#define RK_SEARCH_FEWEST_ACCELERATORS_H

#include "search/plan.h"

/*
 * Accelerators without which no strategy of the space fits: they hold the weights and the states of
 * the optimizer once.
 */
double rk_least_accelerators(const rk_model *model, const rk_system *system,
                             const rk_plan_space *space);

/*
 * Finds the least number of accelerators with which a strategy of the space fits, ignoring the
 * number in the space: the divisors of the innermost domain, then whole domains, in steps of at
 * most a sixteenth.  Only what needs least memory is tried: microbatches of one sequence if the
 * space does not pin them, and all layers recomputed if it allows that.  A space of no global batch
 * has one microbatch of each accelerator.  *fewest is 0 when the system has too few; otherwise
 * *planned is the fastest of what was tried there.
 */
rk_status rk_find_fewest_accelerators(const rk_model *model, const rk_system *system,
                                      const rk_stack *stack, const rk_plan_space *space,
                                      const rk_search_control *control, int64_t *fewest,
                                      rk_planned_strategy *planned, rk_error *err);

#endif

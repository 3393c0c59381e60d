/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded search of strategies by the reckon model. */
#ifndef RK_SEARCH_BOUNDED_PLAN_H
#define RK_SEARCH_BOUNDED_PLAN_H

#include "search/plan.h"

/*
 * As rk_plan_search, bit for bit the same ranking, but without estimating what bounds settle
 * (docs/search.md).  Neither result nor counts depend on threads.
 */
rk_status rk_plan_search_bounded(const rk_model *model, const rk_system *system,
                                 const rk_stack *stack, const rk_plan_space *space,
                                 const rk_search_control *control, size_t top_n,
                                 rk_planned *planned, size_t *found, rk_bounded_counts *counts,
                                 rk_error *err);

#endif

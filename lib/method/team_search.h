/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One search shared by the ranks of a team.  Every rank calls with the same arguments; rank 0 gets
 * the result of a search by one process, bit for bit.  The others get nothing: RK_OK, and 0 found.
 */
#ifndef RK_METHOD_TEAM_SEARCH_H
#define RK_METHOD_TEAM_SEARCH_H

#include "reckon/team.h"
#include "search/plan.h"

/* As rk_plan_search; threads of the control are per rank.  `team` may be NULL. */
rk_status rk_plan_search_shared(rk_team *team, const rk_model *model, const rk_system *system,
                                const rk_stack *stack, const rk_plan_space *space,
                                const rk_search_control *control, size_t top_n,
                                rk_planned_strategy *planned, size_t *found,
                                rk_planned_strategy *nearest, rk_plan_counts *counts,
                                rk_error *err);

/* As rk_calculon_search. */
rk_status rk_calculon_search_shared(rk_team *team, const rk_calculon_app *app,
                                    const rk_calculon_sys *sys, const rk_calculon_space *space,
                                    const rk_search_control *control, size_t top_n,
                                    rk_calculon_ranked *ranked, size_t *ranked_count,
                                    rk_search_counts *counts, rk_error *err);

#endif

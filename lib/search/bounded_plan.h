/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded search of strategies by the reckon model. */
#ifndef RK_SEARCH_BOUNDED_PLAN_H
#define RK_SEARCH_BOUNDED_PLAN_H

#include "search/plan.h"

/*
 * As rk_plan_search, with bit for bit the same ranking, but skips what bounds settle
 * (docs/search.md). Neither the result nor the counts depend on the number of threads.
 */
rk_status rk_plan_search_bounded(const rk_model *model, const rk_system *system,
                                 const rk_stack *stack, const rk_plan_space *space,
                                 const rk_search_control *control, size_t top_n,
                                 rk_planned_strategy *planned, size_t *found,
                                 rk_bounded_counts *counts, rk_error *err);

/* A part of a space. */
typedef struct rk_plan_part {
    unsigned ones;         /* degrees that are 1 */
    unsigned shardings;    /* a bit per rk_sharding; 0: all */
    unsigned recomputes;   /* a bit per rk_recompute_kind; 0: all */
    double max_memory;     /* bytes per accelerator; 0: as in the space */
    bool riskier;          /* all that fits, at any risk */
    double longest_step_s; /* 0: any */
} rk_plan_part;

/*
 * Several searches of one space, which share its bounds.  The model, the stack and the space must
 * outlive the search, which is released with rk_plan_bounds_close, also after a failure.
 */
typedef struct rk_plan_bounds rk_plan_bounds;

rk_status rk_plan_bounds_open(const rk_model *model, const rk_system *system, const rk_stack *stack,
                              const rk_plan_space *space, const rk_search_control *control,
                              rk_plan_bounds **bounds, rk_error *err);
void rk_plan_bounds_close(rk_plan_bounds *bounds);

/* As rk_plan_search_bounded; it comes before any search of a part, and once. */
rk_status rk_plan_bounds_search(rk_plan_bounds *bounds, size_t top_n, rk_planned_strategy *planned,
                                size_t *found, rk_bounded_counts *counts, rk_error *err);

/*
 * Turns to a system that differs from the bounds' in the sizes of memories, which are no larger
 * than when the bounds were opened, and in the rate of offload.  If `faster` is above 1, all rates
 * and latencies may differ, none better by more than that factor in any two of the systems, the
 * first included; it is the same in every call.
 */
rk_status rk_plan_bounds_turn(rk_plan_bounds *bounds, const rk_system *system, double faster,
                              rk_error *err);

/*
 * Searches without or after rk_plan_bounds_search for strategies of steps of at most `longest_s`
 * (0: of any).  The counts begin where those of the last search end; strategies that no other count
 * has are counted as settled by time.
 */
rk_status rk_plan_bounds_search_again(rk_plan_bounds *bounds, double longest_s, size_t top_n,
                                      rk_planned_strategy *planned, size_t *found,
                                      rk_bounded_counts *counts, rk_error *err);

#define RK_PLAN_PARTS 10 /* at most, in one search */

/*
 * Finds the fastest strategy of each part, the same that a search of that part alone finds.  They
 * share one search, because most parts need the same bounds of a strategy.
 */
rk_status rk_plan_bounds_search_parts(rk_plan_bounds *bounds, const rk_plan_part *parts, int count,
                                      rk_planned_strategy *planned, bool *found, rk_error *err);

#endif

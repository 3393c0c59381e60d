/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readable twin of rk_plan_search: every combination built on its own, asked for its legality,
 * and estimated from nothing.
 */
#ifndef RK_TESTS_PLAN_TWIN_H
#define RK_TESTS_PLAN_TWIN_H

#include "search/plan.h"

struct twin {
    rk_plan_counts counts;
    rk_planned_strategy
        *fitting; /* owned; all that fit and are no variants of others, best first */
    size_t fitting_count, room;
    uint64_t bases;              /* strategies but for sharding and offload */
    rk_planned_strategy nearest; /* index UINT64_MAX: none */
    double nearest_bytes;        /* that it needs, with what the host lacks */
};

/* Fills a twin; free(twin->fitting) releases it. */
void twin_run(const rk_model *model, const rk_system *system, const rk_stack *stack,
              const rk_plan_space *space, struct twin *twin);

#endif

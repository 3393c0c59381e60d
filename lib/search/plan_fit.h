/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether strategies of a plan fit, with few evaluations of memory.  Many pipelines of one degree
 * put the same blocks on a rank, and a stage of these needs the more the more microbatches are in
 * flight: so for each set of blocks and lane it is remembered how many were found to fit and how
 * many not, and only what lies between is evaluated.
 */
#ifndef RK_SEARCH_PLAN_FIT_H
#define RK_SEARCH_PLAN_FIT_H

#include "estimate/stage.h"
#include "search/plan_lists.h"

/* A rank of a pipeline, alone of its kind. */
typedef struct rk_plan_rank {
    size_t blocks; /* in those of the pipe */
    double in_flight;
} rk_plan_rank;

/* What is known of the blocks of a pipe; released with rk_plan_fit_clear. */
typedef struct rk_plan_fit {
    const rk_plan_lists *lists;
    const rk_system *system;
    const rk_risk_limits *limits;
    const rk_cost_table *table;
    const rk_plan_pipe *pipe;
    struct rk_plan_known *known;     /* owned; by blocks */
    struct rk_plan_bracket *bracket; /* owned; by blocks, whether GPipe, and lane */
    size_t lanes;
    uint64_t visit;
} rk_plan_fit;

rk_status rk_plan_fit_init(rk_plan_fit *fit, const rk_plan_lists *lists, const rk_system *system,
                           const rk_risk_limits *limits, rk_error *err);
void rk_plan_fit_clear(rk_plan_fit *fit);

/* Turns to a pipeline degree with costs of blocks, and forgets what is known of any other. */
void rk_plan_fit_turn(rk_plan_fit *fit, const rk_cost_table *table, const rk_plan_pipe *pipe);

/* Seconds of a microbatch of the slowest rank. */
double rk_plan_fit_seconds(rk_plan_fit *fit, const rk_plan_rank *ranks, size_t count);

/*
 * Whether a strategy fits that has these ranks and the sharding and offload of `lane`.  *bytes gets
 * what its fullest rank needs, with what the host has no room for, when that may be `least` or
 * less; otherwise something above.
 */
bool rk_plan_fit_lane(rk_plan_fit *fit, const rk_strategy *strategy, int lane,
                      const rk_plan_rank *ranks, size_t count, double least, double *bytes);

#endif

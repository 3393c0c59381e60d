/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether strategies of a plan fit, with few evaluations of memory.  Many pipelines of one degree
 * put the same blocks on a rank, and a stage of these needs more memory with more microbatches in
 * flight: so for each set of blocks and lane it is remembered how many were found to fit and how
 * many not, and only numbers between are evaluated.
 */
#ifndef RK_SEARCH_PLAN_FIT_H
#define RK_SEARCH_PLAN_FIT_H

#include "estimate/stage.h"
#include "search/plan_lists.h"

/* A rank of a pipeline, alone of its kind. */
typedef struct rk_plan_rank {
    size_t blocks; /* index among the pipe's */
    double in_flight;
} rk_plan_rank;

/* Results for sets of blocks; released with rk_plan_fit_clear. */
typedef struct rk_plan_fit {
    const rk_plan_lists *lists;
    const rk_system *system;
    const rk_risk_limits *limits;
    const rk_cost_table *table;
    const rk_plan_pipe *pipe;
    struct rk_plan_known *known;     /* owned; by blocks */
    struct rk_plan_timed *timed;     /* owned; by blocks */
    struct rk_plan_bracket *bracket; /* owned; by blocks, way, and lane */
    uint64_t *filled;                /* owned; of each the visit in which it was */
    const rk_plan_base *base;        /* at hand */
    rk_plan_rank *ranks;             /* owned; of that base */
    size_t rank_count;               /* 0: not filled yet */
    double
        open[RK_SHARD_ALL + 1]; /* of that base, by sharding: see rk_gradient_runs; -1: not known */
    size_t lanes;
    size_t ways;  /* 2: GPipe, with the losses of all microbatches in memory, and any other */
    bool riskier; /* at any risk that fits */
    uint64_t visit;
} rk_plan_fit;

rk_status rk_plan_fit_init(rk_plan_fit *fit, const rk_plan_lists *lists, const rk_system *system,
                           const rk_risk_limits *limits, rk_error *err);
void rk_plan_fit_clear(rk_plan_fit *fit);

/* Turns to other costs of blocks, and forgets what is known of those before. */
void rk_plan_fit_renew(rk_plan_fit *fit, const rk_cost_table *table);

/* Turns to a pipeline degree. */
void rk_plan_fit_turn(rk_plan_fit *fit, const rk_plan_pipe *pipe);

/*
 * Turns to a base of the pipeline degree, which stays as it is: the functions below look at its
 * ranks.  Of ranks that are alike only the first counts, which has most microbatches in flight.
 */
void rk_plan_fit_turn_to(rk_plan_fit *fit, const rk_plan_base *base);

/*
 * Seconds of a microbatch of the slowest rank of a shape of the pipeline degree, with a choice of
 * layers as rk_plan_held has it.
 */
double rk_plan_fit_seconds(rk_plan_fit *fit, const rk_plan_shape *shape, size_t choice);

/* The same of so many microbatches, and of `idle` seconds that a rank of each kind waits. */
double rk_plan_fit_busy(rk_plan_fit *fit, const rk_plan_shape *shape, size_t choice,
                        double microbatches, const double *idle);

/* Whether a strategy of the base fits that has the sharding and offload of `lane`. */
bool rk_plan_fit_holds(rk_plan_fit *fit, const rk_strategy *strategy, int lane);

/*
 * Bytes that the first rank of a strategy needs at least, whatever the shape of the base, with its
 * schedule and choice of layers; and the microbatches that it has in flight, whatever the lane.
 * The base is the one at hand.
 */
double rk_plan_fit_floor_flight(const rk_plan_fit *fit, const rk_plan_base *base);
double rk_plan_fit_floor(rk_plan_fit *fit, const rk_plan_base *base, const rk_strategy *strategy,
                         int lane, double in_flight);

/*
 * Bytes of activations that the first rank of the base at hand keeps at least, with any lane that
 * offloads nothing.
 */
double rk_plan_fit_activations(rk_plan_fit *fit);

/* Bytes that the fullest rank of such a strategy needs, without host memory. */
double rk_plan_fit_bytes(rk_plan_fit *fit, const rk_strategy *strategy, int lane);

/*
 * What the fullest rank of a strategy of the base needs, with what the host has no room for, in
 * bytes, when that may be `least` or less; otherwise something above.
 */
double rk_plan_fit_least(rk_plan_fit *fit, const rk_strategy *strategy, int lane, double least);

#endif

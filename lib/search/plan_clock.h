/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of strategies of a plan, for both searches.  Lanes of a base differ in sharding and
 * offload.  Those whose passes wait for no traffic share a makespan, which is played once; each of
 * the others has its own.  Bounds decide whether a makespan is needed.
 */
#ifndef RK_SEARCH_PLAN_CLOCK_H
#define RK_SEARCH_PLAN_CLOCK_H

#include "base/top.h"
#include "estimate/step.h"
#include "search/plan_lists.h"

/* An entry of a top list. */
typedef struct rk_plan_entry {
    rk_strategy strategy;
    rk_estimate estimate;
} rk_plan_entry;

/* What became of lanes that were offered. */
typedef struct rk_plan_offer {
    uint64_t timed;  /* lanes with the recipe of the base's unit whose step was computed */
    uint64_t others; /* lanes, a bit each, with other recipes, of which the step is within the limit
                        at the costs of this one */
} rk_plan_offer;

/* Scratch of one thread; released with rk_plan_clock_clear. */
typedef struct rk_plan_clock {
    const rk_plan_lists *lists;
    const rk_cost_table *table;
    const rk_plan_pipe *pipe;
    rk_makespans *makespans;            /* owned */
    struct rk_clock_piece *pieces;      /* owned; by pieces */
    struct rk_clock_stage *held;        /* owned; by blocks */
    struct rk_clock_times *piece_times; /* owned; by pieces */
    struct rk_clock_times *held_times;  /* owned; by blocks */
    struct rk_clock_wait *waits;        /* owned; by pieces, of each by lane */
    uint64_t *waited;                   /* owned; likewise: the visit in which it was filled */
    rk_chunk_times *chunks;             /* owned; of all ranks of the base at hand */
    rk_chunk_times *longer;             /* owned; the same with the traffic of a lane */
    rk_chunk_times *sums;               /* owned; of all chunks of each rank */
    double *idle;                       /* owned; by kinds of ranks, see rk_plan_clock_wait */
    double *first;     /* owned; of a rank of each kind, what those after it wait for */
    rk_makespan least; /* of that base, at least */
    double send;       /* s of one message between stages; negative: not known */
    uint64_t visit;    /* of a table */
} rk_plan_clock;

rk_status rk_plan_clock_init(rk_plan_clock *clock, const rk_plan_lists *lists, rk_error *err);
void rk_plan_clock_clear(rk_plan_clock *clock);

/* Turns to other costs of blocks, and forgets what is known of those before. */
void rk_plan_clock_renew(rk_plan_clock *clock, const rk_cost_table *table);

/* Turns to a pipeline degree. */
void rk_plan_clock_turn(rk_plan_clock *clock, const rk_plan_pipe *pipe);

/*
 * Seconds of a step that no lane of a base undercuts, with any more of its layers recomputed; above
 * `limit` the bound may be looser.  Otherwise the base is the one at hand then.
 */
double rk_plan_clock_least(rk_plan_clock *clock, const rk_plan_base *base, double limit);

/*
 * Fills clock->idle for the kinds of ranks of a shape, from shape->kind_first on: seconds that a
 * rank of each waits at least for its first step, after its last one and for its messages, with any
 * more layers recomputed than the base has.  Without a base it waits for nothing.
 */
void rk_plan_clock_wait(rk_plan_clock *clock, const rk_plan_shape *shape, const rk_plan_base *base);

/* Of lanes of the base at hand, those of which a bound of the step is within the limit. */
uint64_t rk_plan_clock_within(rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes,
                              double limit);

/*
 * Times the lanes of the base at hand that fit in memory, a bit each, and offers lanes of at most
 * `limit` seconds to the top list.  Of lanes whose times agree within one part in ten thousand the
 * fastest is offered alone, of equally fast ones the one that offloads least: more sharding or
 * offload at no gain is no strategy of its own.  Which lanes are offered does not depend on the
 * limit otherwise.  Lanes with other recipes than the unit's are timed at the most, and not
 * offered.
 */
rk_status rk_plan_clock_offer(rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes,
                              double limit, rk_top *top, rk_plan_offer *offer, rk_error *err);

#endif

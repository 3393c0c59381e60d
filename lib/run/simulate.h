/* SPDX-License-Identifier: Apache-2.0 */
/* Runs with interruptions drawn at random: how long, how productive, how many interruptions. */
#ifndef RK_RUN_SIMULATE_H
#define RK_RUN_SIMULATE_H

#include "reckon/reckon.h"

#define RK_CAUSES_MAX   8
#define RK_SPARES_MAX   4096
#define RK_SIMULATE_MAX 1000000 /* runs */

/* Interruptions that take the same time. */
typedef struct rk_cause {
    double share;      /* of all interruptions; all causes add up to 1 */
    double near_s;     /* from the interruption to the next step, back to the near copy */
    double far_s;      /* the same, back to the far copy */
    double rollback_s; /* training that was spoilt before anybody noticed */
    bool near;         /* the near copy is usable */
    bool hardware;     /* needs a spare node */
} rk_cause;

typedef struct rk_simulation {
    double work_s;      /* of steps that nothing interrupts */
    double work_spread; /* standard deviation of the logarithm of its factor from run to run */
    double rate;        /* unexpected interruptions per s: the median */
    double rate_spread; /* standard deviation of the logarithm of the rate from run to run */
    double planned_rate, planned_s; /* stops that lose no work: per s, and seconds of one */
    double window_every, window_s;  /* maintenance: from one to the next, 0: none; seconds of one */
    double start_s;                 /* until the first step */
    double interval_s;              /* of training between copies; HUGE_VAL: none are made */
    double near_cost_s, far_cost_s; /* training waits for them */
    double far_every;               /* near copies per far one, at least 1 */
    double far_writing_s;           /* until a far copy can be read; at most far_every intervals */
    int cause_count;
    rk_cause causes[RK_CAUSES_MAX];
    /* Spare nodes, each back after repair_s; -1: there is always another.  A run that waits
       for a node is not interrupted meanwhile. */
    int spares;
    double repair_s;
    int64_t runs; /* 1 to RK_SIMULATE_MAX */
    uint64_t seed;
    int threads; /* 0: as many as cores; the result does not depend on it */
} rk_simulation;

typedef struct rk_simulated {
    rk_spread total_s, goodput, interruptions;
    int64_t unfinished; /* runs that do not advance */
    int64_t middle_run; /* the one with the median total */
} rk_simulated;

/*
 * Simulates the runs.  Fails with RK_ERR_INVALID for numbers out of range, RK_ERR_MEMORY, or
 * RK_ERR_STOPPED.  A run is given up as one that does not advance when its expected time is a
 * hundred times its work, or after ten million interruptions.
 */
rk_status rk_simulate(const rk_simulation *simulation, rk_simulated *result, rk_error *err);

typedef enum rk_moment_kind {
    RK_MOMENT_START,
    RK_MOMENT_INTERRUPTION, /* training stops */
    RK_MOMENT_RESUME,       /* training goes on from a copy */
    RK_MOMENT_END,
} rk_moment_kind;

/* A moment of a run. */
typedef struct rk_moment {
    rk_moment_kind kind;
    double time_s; /* since the start */
    double done;   /* share of the work that is done */
    int64_t saved; /* far copies since the start, including repeated work's */
} rk_moment;

/*
 * Calls `note` for the moments of one run (0 to runs - 1), in order of time; planned stops and
 * maintenance are not among them.
 */
rk_status rk_simulate_moments(const rk_simulation *simulation, int64_t run,
                              void (*note)(void *context, const rk_moment *moment), void *context,
                              rk_error *err);

/*
 * Expected time of the runs in closed form, for no spread and unlimited spares: exact but for the
 * last segment, rollbacks and copies that are lost in writing, which count to first order.
 */
double rk_simulation_expected_s(const rk_simulation *simulation);

#endif

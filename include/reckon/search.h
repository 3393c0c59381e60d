/* SPDX-License-Identifier: Apache-2.0 */
/* Common to all strategy searches: progress, cancellation and counts. */
#ifndef RECKON_SEARCH_H
#define RECKON_SEARCH_H

#include "reckon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Mappings of an exhaustive search by the Calculon methodology. */
typedef struct rk_search_counts {
    uint64_t executed; /* evaluated */
    uint64_t good;     /* strategies that run */
    uint64_t bad;      /* and those that do not */
} rk_search_counts;

/* Progress and cancellation of a search; all zero is legal. */
typedef struct rk_search_control {
    int threads; /* 0: one per core available to this process */
    /*
     * Called about ten times a second from the calling thread with the candidates settled so far
     * and their total; return false to stop the search (RK_ERR_STOPPED).  May be NULL.
     */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user; /* handed to `progress` */
    /*
     * Search only part `slice` (from 0) of `slices`; slices 0: all.  Every strategy is in one part,
     * so counts of all parts add up, and the best of their ranked strategies are the best of the
     * whole.  Bounded searches have no parts: they search all.
     */
    uint64_t slice;
    uint64_t slices;   /* number of parts */
    double least_rate; /* sequences/s: a bounded search ignores slower strategies */
    /*
     * The best of other parts so far: strategies below this score (the rate, or the negative time
     * of a step) are of no use, and may be left out of the ranking.  NULL: all are of use.
     */
    const double *floor;
} rk_search_control;

/*
 * Why a bounded search eliminated strategies: total is the sum of evaluated and the four counts
 * below it.  The number of strategies that would run is unknown.
 */
typedef struct rk_bounded_counts {
    uint64_t total;        /* strategies of the space (mbs_break is ignored) */
    uint64_t evaluated;    /* of which the step time was computed */
    uint64_t by_time;      /* in a group whose lower bound on time is too high */
    uint64_t by_memory;    /* in a group whose lower bound on memory is too high */
    uint64_t by_dominance; /* of which one that offloads less, and is as fast, is too slow */
    uint64_t by_rule;      /* not supported by any network tier or framework */
    uint64_t bounds;       /* number of bounds computed, one per group */
} rk_bounded_counts;

#ifdef __cplusplus
}
#endif

#endif

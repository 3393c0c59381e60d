/* SPDX-License-Identifier: Apache-2.0 */
/* The best strategies of a problem, and what is missing when none fits. */
#ifndef RK_METHOD_RANKING_H
#define RK_METHOD_RANKING_H

#include "method/method.h"

#define RK_ALTERNATIVE_KINDS 10

typedef struct rk_ranking {
    rk_search_kind kind;               /* as asked */
    bool by_bounds;                    /* what was counted: `bounded`, or `counts` */
    uint64_t counts[RK_METHOD_COUNTS]; /* by rk_method.counts */
    rk_bounded_counts bounded;
    rk_candidate *candidates; /* owned; best first */
    size_t count;
    /* Kinds of alternatives (alternatives.h), a bit each; 0: the ranking is the `count` fastest. */
    unsigned kinds[RK_ALTERNATIVE_KINDS];
    rk_shortage shortage; /* where count is 0 */
} rk_ranking;

/*
 * Searches for the `top` best strategies, and for what is missing when none fits.  The ranks of
 * `team` (NULL: none) share an exhaustive search; rank 0 does all else, and the others get an empty
 * ranking.  Cleared with rk_ranking_clear, also after a failure.
 */
rk_status rk_rank_strategies(const rk_problem *problem, rk_search_kind kind, size_t top,
                             rk_team *team, const rk_search_control *control, rk_ranking *ranking,
                             rk_error *err);
void rk_ranking_clear(rk_ranking *ranking);

/*
 * Completes an empty ranking: what fits at a higher risk, or what is missing.  `nearest` is what an
 * exhaustive search has found.
 */
rk_status rk_rank_misfits(const rk_problem *problem, size_t top, const rk_search_control *control,
                          rk_candidate *nearest, rk_ranking *ranking, rk_error *err);

/* Whether to search by bounds, which is the same on all ranks of a team. */
rk_status rk_choose_search(const rk_problem *problem, rk_search_kind kind, bool *by_bounds,
                           rk_error *err);

/* Strategies of the space that was searched. */
uint64_t rk_ranking_total(const rk_ranking *ranking);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best n of many candidates.  Order: higher rate first, then lower place in the enumeration,
 * so that the answer does not depend on the order in which candidates arrive.
 */
#ifndef RK_SEARCH_TOP_H
#define RK_SEARCH_TOP_H

#include "reckon/reckon.h"

typedef struct rk_top {
    rk_calculon_ranked *heap; /* owned; the worst kept candidate is heap[0] */
    size_t count, room, limit;
} rk_top;

/* Keeps at most `limit` candidates.  Released with rk_top_clear. */
void rk_top_init(rk_top *top, size_t limit);
void rk_top_clear(rk_top *top);

/* The rate below which no candidate enters; -1 while there is room. */
static inline double rk_top_floor(const rk_top *top)
{
    return top->count < top->limit ? -1 : top->limit ? top->heap[0].sample_rate : 1e308;
}

/* Keeps *candidate if it is among the best so far. */
rk_status rk_top_offer(rk_top *top, const rk_calculon_ranked *candidate, rk_error *err);

/* Sorts the kept candidates, best first; only rk_top_clear may follow. */
void rk_top_sort(rk_top *top);

#endif

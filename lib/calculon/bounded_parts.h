/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded search: what its files share. */
#ifndef RK_CALCULON_BOUNDED_PARTS_H
#define RK_CALCULON_BOUNDED_PARTS_H

#include "base/extremes.h"
#include "base/top.h"
#include "calculon/bounds.h"
#include "calculon/search_units.h"

#include <math.h>

/* A family in a cell, with what its mappings take at least. */
typedef struct rk_bounded_node {
    double bound; /* s per sequence */
    size_t cell;  /* in the plan */
    size_t b_index;
    int family;
} rk_bounded_node;

/* Scratch and results of one thread. */
typedef struct rk_bounded_worker {
    rk_top top;          /* of the unit at hand */
    rk_top found;        /* of the units before it in this round */
    double most_seconds; /* per sequence, of mappings that can still enter, when the round began */
    rk_bounded_counts counts;
    rk_block_column *columns;     /* owned; [family][tier] of one (t, b) */
    rk_batch_counts *batches;     /* owned; [v] */
    rk_bounded_node *nodes;       /* owned; of one unit */
    struct rk_bounded_pass *pass; /* owned */
    rk_status status;
    rk_error error;
} rk_bounded_worker;

typedef struct rk_bounded {
    const rk_calculon_app *app;
    const rk_calculon_sys *sys;
    const rk_calculon_space *space;
    rk_space_plan plan;
    rk_space_units units;
    rk_net_fits *nets;                    /* owned; by cell */
    rk_family families[2][RK_FAMILY_MAX]; /* t = 1, t > 1 */
    int family_count[2];
    double usage[RK_NETWORK_MAX];
    size_t top_n;
    rk_top top; /* of all rounds */
} rk_bounded;

/* Mappings that share degrees, interleaving, microbatch, tiers, family and lane: 2 or 1. */
static inline uint64_t rk_bounded_overlaps(const rk_bounded *s, const rk_space_cell *cell)
{
    return (cell->type & RK_CELL_DATA) && !s->space->no_dp_overlap ? 2 : 1;
}

/* Mappings of a node whose networks fit. */
static inline uint64_t rk_bounded_node_size(const rk_bounded *s, const rk_bounded_node *node)
{
    const rk_space_cell *cell = &s->plan.cells[node->cell];
    const rk_family *family = &s->families[cell->t > 1][node->family];
    return cell->v_count * (uint64_t)rk_lanes_count(s->sys, cell, family) *
           rk_bounded_overlaps(s, cell) * s->nets[node->cell].count;
}

/* Longest time of a sequence, s, with which a mapping can still enter the top list; generous. */
static inline double rk_bounded_limit(const rk_bounded_worker *w)
{
    const double floor_rate = rk_top_floor(&w->top);
    const double own = floor_rate > 0 ? 1 / floor_rate : (double)INFINITY;
    return rk_min(own, w->most_seconds) * (1 + RK_BOUND_SLACK);
}

/* Scratch for so many interleavings; NULL: no memory.  Released with free. */
struct rk_bounded_pass *rk_bounded_pass_new(size_t v_max);

/*
 * Settles all mappings of a node whose networks fit: evaluates those that can enter the top list
 * and offers them to w->top.  The worker has the columns and batches of the node; `optimizers` is
 * by tiled and sharded.
 */
void rk_bounded_node_settle(const rk_bounded *s, rk_bounded_worker *w, const rk_bounded_node *node,
                            rk_optimizer_cost optimizers[2][2]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds on time and memory of a group of mappings.  Each bound is a sum of terms that the
 * evaluation (batch.c) also adds, with terms that are never negative left out (systems in which an
 * operation takes negative time are refused); docs/search.md has the argument.  Rounding may raise
 * a bound above the evaluated time by a few units in the last place, which RK_BOUND_SLACK covers.
 */
#ifndef RK_CALCULON_BOUNDS_H
#define RK_CALCULON_BOUNDS_H

#include "calculon/family.h"

#define RK_BOUND_SLACK 1e-11 /* relative */

/* Block times of one microbatch, s: forward and backward with what they wait for. */
typedef struct rk_bound_block {
    double base, edge; /* by position in the chunk; a message between stages left out */
} rk_bound_block;

rk_bound_block rk_bound_block_of(const rk_block_column *column);

/*
 * All microbatches through the pipeline with its bubble, s, for one interleaving:
 * (M v + p - 1 + extra) ((c - 1) base + edge + 2 message).
 */
static inline double rk_bound_pipeline(const rk_bound_block *block, const rk_batch_counts *n,
                                       double message)
{
    const double chunks = n->M * n->v + (n->p - 1) + n->extra;
    const double messages = n->p > 1 ? 2 * message : 0;
    return chunks * ((n->c - 1) * block->base + block->edge + messages);
}

/* Once a step, by sharding of the optimizer, s: its update, and the reduction of one block. */
double rk_bound_once(const rk_calculon_app *app, const rk_calculon_sys *sys,
                     const rk_space_cell *cell, const rk_net_fits *nets,
                     const rk_block_column *column, const rk_optimizer_cost *optimizer,
                     bool sharded);

/*
 * Bytes of device memory that the thriftiest lane of a family needs; `n` is of the interleaving
 * with least depth, and `optimizer` of the sharding with least state.
 */
double rk_bound_memory(const rk_calculon_sys *sys, const rk_block_column *column,
                       const rk_optimizer_cost *optimizer, const rk_batch_counts *n,
                       bool full_recompute);

#endif

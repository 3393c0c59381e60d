/* SPDX-License-Identifier: Apache-2.0 */
/* Adding the cost of one operator to that of a block; inside src/block only. */
#ifndef RK_BLOCK_OPERATORS_H
#define RK_BLOCK_OPERATORS_H

#include "block/block.h"

/* A block being priced. */
typedef struct rk_costing {
    const rk_block_context *c;
    rk_cost cost;
} rk_costing;

/*
 * A linear of K input and N output features for M rows, in `precision`: forward (M,N,K), gradient
 * by input (M,K,N), gradient by weight (N,K,M) accumulated; with casts where the precision is low.
 */
void rk_add_linear(rk_costing *x, rk_part part, rk_precision precision, double M, double N,
                   double K);

/* The same for `groups` experts of M rows each in one launch. */
void rk_add_grouped_linear(rk_costing *x, rk_precision precision, double groups, double M, double N,
                           double K);

/* Memory-bound work of so many bytes in each pass. */
void rk_add_stream(rk_costing *x, rk_part part, double forward_bytes, double backward_bytes);

/* Visible communication, s. */
void rk_add_comm(rk_costing *x, rk_part part, double forward, double backward);

/* Time of a collective on a group; `bytes` as rk_collective_seconds takes them. */
double rk_comm_seconds(const rk_costing *x, rk_collective op, double bytes, const rk_group *group);

/*
 * Host-bound floor: the passes take at least the launch of their kernels, combined by a p-norm of
 * 6 with the device time, so that the bound sets in smoothly.
 */
void rk_add_host_floor(rk_costing *x, double kernels_forward, double kernels_backward);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the exchanges at doubling distances: pat.c, nhr.c, nb.c; inside lib/collective only. */
#ifndef RK_COLLECTIVE_DOUBLING_H
#define RK_COLLECTIVE_DOUBLING_H

#include "collective/algorithm.h"

/* The least k with 2^k >= ranks. */
int32_t rk_doubling_rounds(int32_t ranks);

/* rk_algorithm.cost: ceil(log2 n) rounds and (n-1)/n of the tensor each way. */
rk_collective_cost rk_doubling_cost(const rk_collective_job *job);

/* rk_algorithm.blocks: a block for each rank. */
int32_t rk_doubling_blocks(const rk_collective_job *job);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all collective algorithms, and the collectives and rank counts each supports. */
#include "collective/algorithm.h"

#include <assert.h>

#define RK_ALGORITHM_ENTRY(name) &rk_algorithm_##name,
const rk_algorithm *const rk_algorithms[RK_ALGORITHM_COUNT + 1] = {
    RK_ALGORITHM_LIST(RK_ALGORITHM_ENTRY) NULL};

bool rk_algorithm_runs(const rk_algorithm *algorithm, rk_collective op, int32_t ranks)
{
    assert(op < RK_COLL_COUNT && ranks >= 1);
    const bool any = !algorithm->powers_of_two || algorithm->any_ranks >> op & 1;
    return ranks >= 2 && (algorithm->ops >> op & 1) && (any || (ranks & (ranks - 1)) == 0);
}

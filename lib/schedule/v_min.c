/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V-Min (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory"): a V whose ranks keep
 * about a third of what the first rank of 1F1B keeps, at most (p + 4) / 3 microbatches.  Its steps
 * follow each other so closely that passes of different lengths make ranks wait in every
 * microbatch.
 */
#include "schedule/rank_times.h"
#include "schedule/v_block.h"

/* The loss waits where the steps of a rank would collide. */
static rk_v_block block_of(int64_t ranks)
{
    return (rk_v_block){.forward = {1, 1},
                        .backward = {1, 1},
                        .turn = 1,
                        .loss = ranks % 3 == 0 ? 3 : 1,
                        .back = 1};
}

const rk_schedule rk_schedule_v_min = {
    .placement = RK_PLACEMENT_V,
    .splits = true,
    .needs = rk_v_block_needs,
    .write_order = rk_v_block_write,
    .bound = rk_v_bound,
    .round = rk_v_block_round,
    .first_round = rk_v_block_first_round,
    .block = block_of,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V-Half (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory"): a V whose ranks keep
 * about half of what the first rank of 1F1B keeps, at most (p + 2) / 2 microbatches.
 */
#include "schedule/rank_times.h"
#include "schedule/v_block.h"

/* With these gaps at the ends of the V, the steps of a rank never collide, and the peak is least.
 */
static rk_v_block block_of(int64_t ranks)
{
    const bool even = ranks % 2 == 0;
    return (rk_v_block){.forward = {1, 2},
                        .backward = {2, 1},
                        .turn = even ? 4 : 2,
                        .loss = 1,
                        .back = even ? 5 : 1};
}

const rk_schedule rk_schedule_v_half = {
    .placement = RK_PLACEMENT_V,
    .splits = true,
    .needs = rk_v_block_needs,
    .write_order = rk_v_block_write,
    .bound = rk_v_bound,
    .round = rk_v_block_round,
    .first_round = rk_v_block_first_round,
    .block = block_of,
};

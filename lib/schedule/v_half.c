/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V-Half (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory"): a V whose ranks keep
 * about half of what the first rank of 1F1B keeps, at most (p + 2) / 2 microbatches.
 */
#include "schedule/parts.h"
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

static void write_order(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const rk_v_block block = block_of(pipeline->ranks);
    rk_v_block_write(&block, pipeline, rank, order);
}

static double in_flight(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches, int64_t rank)
{
    const rk_v_block block = block_of(ranks);
    (void)chunks_per_rank;
    (void)microbatches;
    return rk_v_block_in_flight(&block, ranks, rank);
}

static rk_schedule_round round_of(const rk_pipeline *p)
{
    const rk_v_block block = block_of(p->ranks);
    return rk_v_block_round(&block, p->ranks);
}

static int64_t first_round(const rk_pipeline *p, int64_t rank)
{
    const rk_v_block block = block_of(p->ranks);
    return rk_v_block_first_round(&block, p->ranks, rank);
}

const rk_schedule rk_schedule_v_half = {
    .placement = RK_PLACEMENT_V,
    .splits = true,
    .needs = rk_v_block_needs,
    .write_order = write_order,
    .in_flight = in_flight,
    .bound = rk_v_bound,
    .round = round_of,
    .first_round = first_round,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full mesh: every pair of ranks has a link of bandwidth B_l, and all links work at once.
 *
 *     all-gather, reduce-scatter, scatter, gather, all-to-all
 *                                     alpha + S/(n B_l) [+ (n-1)/n S gamma]
 *     all-reduce, broadcast, reduce   two such rounds
 *
 * Source: HCCL, introduction to collective algorithms (Mesh).
 */
#include "collective/direct.h"

static rk_collective_cost mesh_cost(const rk_collective_job *job)
{
    const double n = (double)job->ranks;
    const bool reduces = job->op == RK_COLL_ALL_REDUCE || job->op == RK_COLL_REDUCE_SCATTER ||
                         job->op == RK_COLL_REDUCE;
    const double passes =
        job->op == RK_COLL_ALL_REDUCE || job->op == RK_COLL_BROADCAST || job->op == RK_COLL_REDUCE
            ? 2
            : 1;
    return (rk_collective_cost){
        .rounds = passes,
        .bytes = passes * job->bytes / n,
        .reduced = reduces ? (n - 1) / n * job->bytes : 0,
        .messages = passes * (n - 1),
    };
}

const rk_algorithm rk_algorithm_mesh = {
    .name = "mesh",
    .purpose = "all links of a full mesh at once",
    .ops = 1U << RK_COLL_ALL_REDUCE | 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER |
           1U << RK_COLL_ALL_TO_ALL | 1U << RK_COLL_SCATTER | 1U << RK_COLL_GATHER |
           1U << RK_COLL_BROADCAST | 1U << RK_COLL_REDUCE,
    .mesh = true,
    .cost = mesh_cost,
    .blocks = rk_direct_blocks,
    .send = rk_direct_send,
};

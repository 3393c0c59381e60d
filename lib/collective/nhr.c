/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HCCL's NHR (non-uniform hierarchical ring), for any number of ranks.  In round k of a
 * reduce-scatter, a rank hands to the rank d = 2^k before it what it has of the blocks d, 3d, 5d,
 * ... before it: half of the tensor goes to the neighbour, and blocks travel far once they are few.
 * An all-gather runs the same messages backwards.
 *
 *     reduce-scatter, all-gather   ceil(log2 n) alpha + (n-1)/n S/B [+ (n-1)/n S gamma]
 *     all-reduce                   their sum
 *
 * Rounds and bytes of a port are as in nb.c; on links that are shared farther out, such as leaves
 * of a fat tree, NHR is the lighter of the two.
 * Source: HCCL, introduction to collective algorithms (NHR).
 */
#include "collective/doubling.h"

#include <assert.h>

static void send_distance(const rk_collective_job *job, int32_t round, int32_t distance,
                          bool reduces, rk_message_visitor *visit, void *user)
{
    assert(distance >= 1 && distance < job->ranks);
    const int32_t n = job->ranks;
    for (int32_t i = 0; i < n; i++) {
        const int32_t before = (i - distance + n) % n;
        for (int32_t o = distance; o < n; o += 2 * distance) {
            visit(user, &(rk_collective_message){
                            .round = round,
                            .source = reduces ? i : before,
                            .target = reduces ? before : i,
                            .first_block = (i - o + n) % n,
                            .blocks = 1,
                            .reduces = reduces,
                            .bytes = job->bytes / (double)n,
                        });
        }
    }
}

static void nhr_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t rounds = rk_doubling_rounds(job->ranks);
    int32_t round = 0;
    for (int32_t k = 0; k < rounds && job->op != RK_COLL_ALL_GATHER; k++) {
        send_distance(job, round++, INT32_C(1) << k, true, visit, user);
    }
    for (int32_t k = rounds - 1; k >= 0 && job->op != RK_COLL_REDUCE_SCATTER; k--) {
        send_distance(job, round++, INT32_C(1) << k, false, visit, user);
    }
}

const rk_algorithm rk_algorithm_nhr = {
    .name = "nhr",
    .purpose = "exchange at doubling distances, most of it with neighbours",
    .ops = 1U << RK_COLL_ALL_REDUCE | 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER,
    .cost = rk_doubling_cost,
    .blocks = rk_doubling_blocks,
    .send = nhr_send,
};

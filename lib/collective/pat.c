/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel aggregated trees.  In an all-gather over n ranks, rank i first sends its block to the
 * rank half of the ranks away, then what it has to the rank a quarter away, and so on: blocks
 * travel far while they are few.  After the round of distance d, rank i has the blocks i - o of all
 * multiples o of d below n.  A reduce-scatter runs the same messages backwards and adds on the way.
 *
 *     ceil(log2 n) alpha + (n-1)/n S/B [+ (n-1)/n S gamma]     any n
 *
 * Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale",
 * arXiv 2506.20252 (NCCL 2.23).
 */
#include "collective/doubling.h"

#include <assert.h>

/* The round of an all-gather in which blocks travel `distance`; backwards if they are added. */
static void send_distance(const rk_collective_job *job, int32_t round, int32_t distance,
                          rk_message_visitor *visit, void *user)
{
    assert(distance >= 1 && distance < job->ranks);
    const int32_t n = job->ranks;
    const bool backwards = job->op == RK_COLL_REDUCE_SCATTER;
    for (int32_t i = 0; i < n; i++) {
        const int32_t to = (i + distance) % n;
        for (int32_t o = 0; o + distance < n; o += 2 * distance) {
            visit(user, &(rk_collective_message){
                            .round = round,
                            .source = backwards ? to : i,
                            .target = backwards ? i : to,
                            .first_block = (i - o + n) % n,
                            .blocks = 1,
                            .reduces = backwards,
                            .bytes = job->bytes / (double)n,
                        });
        }
    }
}

static void pat_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t rounds = rk_doubling_rounds(job->ranks);
    for (int32_t round = 0; round < rounds; round++) {
        const int32_t doublings = job->op == RK_COLL_REDUCE_SCATTER ? round : rounds - 1 - round;
        send_distance(job, round, INT32_C(1) << doublings, visit, user);
    }
}

const rk_algorithm rk_algorithm_pat = {
    .name = "pat",
    .purpose = "parallel aggregated trees: far first; latency grows with the logarithm",
    .ops = 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER,
    .cost = rk_doubling_cost,
    .blocks = rk_doubling_blocks,
    .send = pat_send,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring: rank i sends to i + 1 all the time.  A reduce-scatter passes each block once round the ring
 * and adds to it on the way; an all-gather passes the results on; an all-reduce is both.
 *
 *     reduce-scatter   (n-1) alpha + (n-1)/n S/B + (n-1)/n S gamma
 *     all-gather       (n-1) alpha + (n-1)/n S/B
 *     all-reduce       their sum
 *
 * Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", JPDC 69 (2009).
 */
#include "collective/algorithm.h"

static rk_collective_cost ring_cost(const rk_collective_job *job)
{
    const double n = (double)job->ranks, share = (n - 1) / n * job->bytes;
    const double passes = job->op == RK_COLL_ALL_REDUCE ? 2 : 1;
    return (rk_collective_cost){
        .rounds = passes * (n - 1),
        .bytes = passes * share,
        .reduced = job->op == RK_COLL_ALL_GATHER ? 0 : share,
        .messages = passes * (n - 1),
    };
}

static int32_t ring_blocks(const rk_collective_job *job)
{
    return job->ranks;
}

/* In pass round r, rank i sends block i - lag - r. */
static void send_pass(const rk_collective_job *job, int32_t first_round, int32_t lag, bool reduces,
                      rk_message_visitor *visit, void *user)
{
    const int32_t n = job->ranks;
    for (int32_t r = 0; r < n - 1; r++) {
        for (int32_t i = 0; i < n; i++) {
            visit(user, &(rk_collective_message){
                            .round = first_round + r,
                            .source = i,
                            .target = (i + 1) % n,
                            .first_block = (i - lag - r + 2 * n) % n,
                            .blocks = 1,
                            .reduces = reduces,
                            .bytes = job->bytes / (double)n,
                        });
        }
    }
}

static void ring_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    int32_t round = 0;
    if (job->op != RK_COLL_ALL_GATHER) {
        send_pass(job, round, 1, true, visit, user);
        round = job->ranks - 1;
    }
    if (job->op != RK_COLL_REDUCE_SCATTER) {
        send_pass(job, round, 0, false, visit, user);
    }
}

const rk_algorithm rk_algorithm_ring = {
    .name = "ring",
    .purpose = "every rank sends to the next one; least bytes, latency grows with the ranks",
    .ops = 1U << RK_COLL_ALL_REDUCE | 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER,
    .cost = ring_cost,
    .blocks = ring_blocks,
    .send = ring_send,
};

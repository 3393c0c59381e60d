/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairwise exchange: in round k rank i sends what is for rank i + k.  Every port carries one
 * message at a time.
 *
 *     (n-1) alpha + (n-1)/n S/B [+ (n-1)/n S gamma]
 *
 * Source: Thakur, Rabenseifner and Gropp, IJHPCA 19 (2005).
 */
#include "collective/algorithm.h"

static rk_collective_cost pairwise_cost(const rk_collective_job *job)
{
    const double n = (double)job->ranks, share = (n - 1) / n * job->bytes;
    return (rk_collective_cost){
        .rounds = n - 1,
        .bytes = share,
        .reduced = job->op == RK_COLL_REDUCE_SCATTER ? share : 0,
        .messages = n - 1,
    };
}

static int32_t pairwise_blocks(const rk_collective_job *job)
{
    return job->op == RK_COLL_ALL_TO_ALL ? job->ranks * job->ranks : job->ranks;
}

static void pairwise_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t n = job->ranks;
    for (int32_t k = 1; k < n; k++) {
        for (int32_t i = 0; i < n; i++) {
            const int32_t target = (i + k) % n;
            const int32_t block = job->op == RK_COLL_ALL_TO_ALL   ? i * n + target
                                  : job->op == RK_COLL_ALL_GATHER ? i
                                                                  : target;
            visit(user, &(rk_collective_message){
                            .round = k - 1,
                            .source = i,
                            .target = target,
                            .first_block = block,
                            .blocks = 1,
                            .reduces = job->op == RK_COLL_REDUCE_SCATTER,
                            .bytes = job->bytes / (double)n,
                        });
        }
    }
}

const rk_algorithm rk_algorithm_pairwise = {
    .name = "pairwise",
    .purpose = "one partner at a time",
    .ops = 1U << RK_COLL_ALL_TO_ALL | 1U << RK_COLL_ALL_GATHER | 1U << RK_COLL_REDUCE_SCATTER,
    .cost = pairwise_cost,
    .blocks = pairwise_blocks,
    .send = pairwise_send,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds, cost and block sets of exchanges whose distance doubles every round. */
#include "collective/doubling.h"

int32_t rk_doubling_rounds(int32_t ranks)
{
    int32_t rounds = 0;
    while ((INT32_C(1) << rounds) < ranks) {
        rounds++;
    }
    return rounds;
}

rk_collective_cost rk_doubling_cost(const rk_collective_job *job)
{
    const double n = (double)job->ranks, share = (n - 1) / n * job->bytes;
    const double passes = job->op == RK_COLL_ALL_REDUCE ? 2 : 1;
    const double rounds = passes * (double)rk_doubling_rounds(job->ranks);
    return (rk_collective_cost){
        .rounds = rounds,
        .bytes = passes * share,
        .reduced = job->op == RK_COLL_ALL_GATHER ? 0 : share,
        .messages = rounds,
    };
}

int32_t rk_doubling_blocks(const rk_collective_job *job)
{
    return job->ranks;
}

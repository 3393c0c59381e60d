/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bruck's all-to-all: in round k every block that still has to travel a distance with bit k set
 * moves 2^k ranks on.  Few rounds for short messages, at the price of bytes that travel several
 * times.
 *
 *     ceil(log2 n) alpha + (sum over k of the distances 1 .. n-1 with bit k set) S/(n B)
 *
 * which is log2(n) (alpha + S/(2 B)) for powers of two.
 *
 * Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems", IEEE TPDS 8 (1997).
 */
#include "collective/algorithm.h"

/* Distances 1 .. n-1 with bit k set: whole periods of 2^(k+1), and what the last one begins. */
static double distances_with(int32_t bit, int32_t n)
{
    const int32_t rest = n % (2 * bit);
    return (double)(n / (2 * bit)) * (double)bit + (rest > bit ? (double)(rest - bit) : 0);
}

static rk_collective_cost bruck_cost(const rk_collective_job *job)
{
    rk_collective_cost cost = {.rounds = 0};
    for (int32_t bit = 1; bit < job->ranks; bit *= 2) {
        cost.rounds++;
        cost.bytes += distances_with(bit, job->ranks) * job->bytes / (double)job->ranks;
    }
    cost.messages = cost.rounds;
    return cost;
}

static int32_t bruck_blocks(const rk_collective_job *job)
{
    return job->ranks * job->ranks;
}

/* A message per block, of which all with the same source and target travel together. */
static void bruck_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t n = job->ranks;
    int32_t round = 0;
    for (int32_t bit = 1; bit < n; bit *= 2, round++) {
        for (int32_t source = 0; source < n; source++) {
            for (int32_t distance = 1; distance < n; distance++) {
                if (!(distance & bit)) {
                    continue;
                }
                const int32_t at = (source + (distance & (bit - 1))) % n;
                visit(user, &(rk_collective_message){
                                .round = round,
                                .source = at,
                                .target = (at + bit) % n,
                                .first_block = source * n + (source + distance) % n,
                                .blocks = 1,
                                .bytes = job->bytes / (double)n,
                            });
            }
        }
    }
}

const rk_algorithm rk_algorithm_bruck = {
    .name = "bruck",
    .purpose = "all-to-all in a logarithm of rounds, for short messages",
    .ops = 1U << RK_COLL_ALL_TO_ALL,
    .cost = bruck_cost,
    .blocks = bruck_blocks,
    .send = bruck_send,
};

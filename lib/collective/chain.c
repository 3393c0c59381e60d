/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chain: rank 0 sends Q chunks to rank 1, which passes each on as soon as it has it, and so to the
 * last rank.  A reduction runs the other way and adds on the way.
 *
 *     (n - 2 + Q) (alpha + S/(Q B) [+ S/Q gamma])
 *
 * The best Q is sqrt((n-2) S / (B alpha)).
 */
#include "base/extremes.h"
#include "collective/algorithm.h"

#include <assert.h>
#include <math.h>

int32_t rk_chain_chunks(int32_t ranks, double bytes, const rk_link *link)
{
    assert(ranks >= 2 && link->bandwidth > 0);
    const double most = 1024, hops = (double)ranks - 2;
    const double best =
        link->latency > 0 ? sqrt(hops * bytes / (link->bandwidth * link->latency)) : most;
    return (int32_t)rk_max(rk_min(best, most), 1);
}

static rk_collective_cost chain_cost(const rk_collective_job *job)
{
    const double rounds = (double)job->ranks - 2 + (double)job->chunks;
    const double bytes = rounds * job->bytes / (double)job->chunks;
    return (rk_collective_cost){
        .rounds = rounds,
        .bytes = bytes,
        .reduced = job->op == RK_COLL_REDUCE ? bytes : 0,
        .messages = (double)job->chunks,
    };
}

static int32_t chain_blocks(const rk_collective_job *job)
{
    return job->chunks;
}

static void chain_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t hops = job->ranks - 1;
    const bool reduces = job->op == RK_COLL_REDUCE;
    for (int32_t round = 0; round < hops - 1 + job->chunks; round++) {
        for (int32_t hop = 0; hop < hops; hop++) {
            const int32_t chunk = round - hop;
            if (chunk < 0 || chunk >= job->chunks) {
                continue;
            }
            visit(user, &(rk_collective_message){
                            .round = round,
                            .source = reduces ? hops - hop : hop,
                            .target = reduces ? hops - hop - 1 : hop + 1,
                            .first_block = chunk,
                            .blocks = 1,
                            .reduces = reduces,
                            .bytes = job->bytes / (double)job->chunks,
                        });
        }
    }
}

const rk_algorithm rk_algorithm_chain = {
    .name = "chain",
    .purpose = "from rank to rank in pipelined chunks",
    .ops = 1U << RK_COLL_BROADCAST | 1U << RK_COLL_REDUCE,
    .cost = chain_cost,
    .blocks = chain_blocks,
    .send = chain_send,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduction in the switch (NVLS, SHARP).  All-reduce: every rank reads the sum of its share from
 * the switch, which collects that share from all ranks, and writes it back to all through the
 * switch. So each rank injects the tensor once and its own share again, and receives as much.
 *
 *     all-reduce       2 alpha + (1 + 1/n) S/B
 *     all-gather         alpha + (n-1)/n S/B, received by multicast
 *     reduce-scatter     alpha + (n-1)/n S/B, sent to the switch
 *
 * alpha is one passage through the switch; it does not grow with the ranks.
 *
 * Source: Klenk et al., "An in-network architecture for accelerating shared-memory multiprocessor
 * collectives", ISCA 2020.
 */
#include "collective/algorithm.h"

static rk_collective_cost in_network_cost(const rk_collective_job *job)
{
    const double n = (double)job->ranks;
    const bool both = job->op == RK_COLL_ALL_REDUCE;
    return (rk_collective_cost){
        .rounds = both ? 2 : 1,
        .bytes = (both ? 1 + 1 / n : (n - 1) / n) * job->bytes,
        .messages = both                            ? n + 1
                    : job->op == RK_COLL_ALL_GATHER ? 1
                                                    : n - 1,
    };
}

static int32_t in_network_blocks(const rk_collective_job *job)
{
    return job->ranks;
}

/* The block of rank `owner` through the switch: `sums` to its owner, otherwise from it. */
static void pass_block(const rk_collective_job *job, int32_t round, int32_t owner, bool sums,
                       bool with_owner, rk_message_visitor *visit, void *user)
{
    const int32_t n = job->ranks;
    const rk_collective_message message = {
        .round = round,
        .source = owner,
        .target = n,
        .first_block = owner,
        .blocks = 1,
        .bytes = job->bytes / (double)n,
    };
    if (!sums) {
        visit(user, &message);
    }
    for (int32_t i = 0; i < n; i++) {
        rk_collective_message each = message;
        each.source = sums ? i : n;
        each.target = sums ? n : i;
        each.reduces = sums;
        if (i != owner || with_owner) {
            visit(user, &each);
        }
    }
    if (sums) {
        rk_collective_message sum = message;
        sum.source = n;
        sum.target = owner;
        sum.reduces = !with_owner; /* the owner adds its own part itself */
        visit(user, &sum);
    }
}

static void in_network_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const bool both = job->op == RK_COLL_ALL_REDUCE;
    int32_t round = 0;
    for (int32_t i = 0; i < job->ranks && job->op != RK_COLL_ALL_GATHER; i++) {
        pass_block(job, round, i, true, both, visit, user);
    }
    round += both;
    for (int32_t i = 0; i < job->ranks && job->op != RK_COLL_REDUCE_SCATTER; i++) {
        pass_block(job, round, i, false, both, visit, user);
    }
}

const rk_algorithm rk_algorithm_in_network = {
    .name = "in-network",
    .purpose = "the switch adds and copies; latency does not grow with the ranks",
    .ops = 1U << RK_COLL_ALL_REDUCE | 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER,
    .streams = true,
    .cost = in_network_cost,
    .blocks = in_network_blocks,
    .send = in_network_send,
};

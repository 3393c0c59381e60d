/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct exchange over ports: all messages to all peers start at once and share the port.
 *
 *     all-gather, reduce-scatter, all-to-all   alpha + (n-1)/n S/B [+ (n-1)/n S gamma]
 *     all-reduce                               twice that, once with gamma
 *     scatter, gather                          alpha + (n-1)/n S/B at the root
 *
 * Each message also costs its sender a fixed time, which `messages` of the cost counts.
 *
 * The messages serve mesh.c too, where each has a link of its own.
 */
#include "collective/direct.h"

#include <assert.h>

static bool adds(const rk_collective_job *job)
{
    return job->op == RK_COLL_ALL_REDUCE || job->op == RK_COLL_REDUCE_SCATTER;
}

static rk_collective_cost direct_cost(const rk_collective_job *job)
{
    const double n = (double)job->ranks, share = (n - 1) / n * job->bytes;
    const double passes = job->op == RK_COLL_ALL_REDUCE ? 2 : 1;
    return (rk_collective_cost){
        .rounds = passes,
        .bytes = passes * share,
        .reduced = adds(job) ? share : 0,
        .messages = passes * (n - 1),
    };
}

int32_t rk_direct_blocks(const rk_collective_job *job)
{
    return job->op == RK_COLL_ALL_TO_ALL ? job->ranks * job->ranks : job->ranks;
}

/* The block that rank i sends to rank j in one round of a collective. */
static int32_t block_between(rk_collective op, int32_t n, int32_t i, int32_t j)
{
    assert(i != j && i >= 0 && i < n && j >= 0 && j < n);
    switch (op) {
    case RK_COLL_ALL_TO_ALL:
        return i * n + j;
    case RK_COLL_ALL_GATHER:
    case RK_COLL_GATHER:
        return i;
    default: /* reduce-scatter and scatter */
        return j;
    }
}

/* Whether rank i sends to rank j; scatter and gather have rank 0 for their root. */
static bool sends_to(rk_collective op, int32_t i, int32_t j)
{
    return i != j && (op != RK_COLL_SCATTER || i == 0) && (op != RK_COLL_GATHER || j == 0);
}

static void send_round(const rk_collective_job *job, rk_collective op, int32_t round,
                       rk_message_visitor *visit, void *user)
{
    const int32_t n = job->ranks;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < n; j++) {
            if (!sends_to(op, i, j)) {
                continue;
            }
            visit(user, &(rk_collective_message){
                            .round = round,
                            .source = i,
                            .target = j,
                            .first_block = block_between(op, n, i, j),
                            .blocks = 1,
                            .reduces = op == RK_COLL_REDUCE_SCATTER,
                            .bytes = job->bytes / (double)n,
                        });
        }
    }
}

void rk_direct_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    switch (job->op) {
    case RK_COLL_ALL_REDUCE:
        send_round(job, RK_COLL_REDUCE_SCATTER, 0, visit, user);
        send_round(job, RK_COLL_ALL_GATHER, 1, visit, user);
        break;
    case RK_COLL_BROADCAST:
        send_round(job, RK_COLL_SCATTER, 0, visit, user);
        send_round(job, RK_COLL_ALL_GATHER, 1, visit, user);
        break;
    case RK_COLL_REDUCE:
        send_round(job, RK_COLL_REDUCE_SCATTER, 0, visit, user);
        send_round(job, RK_COLL_GATHER, 1, visit, user);
        break;
    default:
        send_round(job, job->op, 0, visit, user);
        break;
    }
}

const rk_algorithm rk_algorithm_direct = {
    .name = "direct",
    .purpose = "all peers at once over one port",
    .ops = 1U << RK_COLL_ALL_REDUCE | 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER |
           1U << RK_COLL_ALL_TO_ALL | 1U << RK_COLL_SCATTER | 1U << RK_COLL_GATHER,
    .cost = direct_cost,
    .blocks = rk_direct_blocks,
    .send = rk_direct_send,
};

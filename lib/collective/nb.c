/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bruck's exchange at doubling distances, for any number of ranks: HCCL's NB (non-uniform Bruck).
 * Before gather round k a rank has d = 2^k blocks, its own and those after it, and sends min(d, n -
 * d) blocks, one run of memory, to the rank d before it: half of the tensor goes farthest, in the
 * last round.  A reduce-scatter runs the same messages backwards and adds.
 *
 *     reduce-scatter, all-gather   ceil(log2 n) alpha + (n-1)/n S/B [+ (n-1)/n S gamma]
 *     all-reduce                   their sum
 *
 * Source: Bruck et al., "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems", IEEE TPDS 8 (1997); HCCL, introduction to collective algorithms (NB).
 */
#include "collective/doubling.h"

#include <assert.h>

static void send_distance(const rk_collective_job *job, int32_t round, int32_t distance,
                          bool reduces, rk_message_visitor *visit, void *user)
{
    assert(distance >= 1 && distance < job->ranks);
    const int32_t n = job->ranks, blocks = distance < n - distance ? distance : n - distance;
    for (int32_t i = 0; i < n; i++) {
        const int32_t before = (i - distance + n) % n;
        visit(user, &(rk_collective_message){
                        .round = round,
                        .source = reduces ? before : i,
                        .target = reduces ? i : before,
                        .first_block = i,
                        .blocks = blocks,
                        .reduces = reduces,
                        .bytes = job->bytes * (double)blocks / (double)n,
                    });
    }
}

static void nb_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t rounds = rk_doubling_rounds(job->ranks);
    int32_t round = 0;
    for (int32_t k = rounds - 1; k >= 0 && job->op != RK_COLL_ALL_GATHER; k--) {
        send_distance(job, round++, INT32_C(1) << k, true, visit, user);
    }
    for (int32_t k = 0; k < rounds && job->op != RK_COLL_REDUCE_SCATTER; k++) {
        send_distance(job, round++, INT32_C(1) << k, false, visit, user);
    }
}

const rk_algorithm rk_algorithm_nb = {
    .name = "nb",
    .purpose = "Bruck's exchange at doubling distances, in runs of memory",
    .ops = 1U << RK_COLL_ALL_REDUCE | 1U << RK_COLL_REDUCE_SCATTER | 1U << RK_COLL_ALL_GATHER,
    .cost = rk_doubling_cost,
    .blocks = rk_doubling_blocks,
    .send = nb_send,
};

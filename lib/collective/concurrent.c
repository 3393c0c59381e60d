/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/concurrent.h"

#include "base/extremes.h"

double rk_concurrent_seconds(rk_collective op, double bytes, int32_t servers, int32_t local,
                             const rk_link *between, const rk_link *pair)
{
    const double chunk = bytes / ((double)servers * (double)local);
    const double outside = between->latency + chunk / between->bandwidth;
    const double inside = pair->latency + chunk / pair->bandwidth;
    const double once = ((double)servers - 1) * rk_max(outside, inside) + inside;
    return op == RK_COLL_ALL_REDUCE ? 2 * once : once;
}

static int32_t servers_of(const rk_collective_job *job)
{
    return job->ranks / job->local;
}

static rk_collective_cost concurrent_cost(const rk_collective_job *job)
{
    const double chunk = job->bytes / (double)job->ranks;
    return (rk_collective_cost){
        .rounds = (double)servers_of(job),
        .bytes = (double)servers_of(job) * chunk, /* where both kinds of link are alike */
        .messages = (double)servers_of(job) * (double)job->local,
    };
}

static int32_t concurrent_blocks(const rk_collective_job *job)
{
    return job->ranks;
}

static void concurrent_send(const rk_collective_job *job, rk_message_visitor *visit, void *user)
{
    const int32_t local = job->local, servers = servers_of(job), n = job->ranks;
    for (int32_t round = 0; round < servers; round++) {
        for (int32_t rank = 0; rank < n; rank++) {
            const int32_t server = rank / local;
            /* the chunk that reached this server in the round before; in the first, the own one */
            const int32_t origin = (server - round + servers) % servers * local + rank % local;
            rk_collective_message m = {
                .round = round,
                .source = rank,
                .target = (rank + local) % n,
                .first_block = origin,
                .blocks = 1,
                .bytes = job->bytes / (double)n,
            };
            if (round < servers - 1) {
                visit(user, &m);
            }
            for (int32_t peer = 0; peer < local; peer++) {
                m.target = server * local + peer;
                if (m.target != rank) {
                    visit(user, &m);
                }
            }
        }
    }
}

const rk_algorithm rk_algorithm_concurrent_gather = {
    .name = "concurrent",
    .purpose = "links inside and between servers at once",
    .ops = 1U << RK_COLL_ALL_GATHER,
    .cost = concurrent_cost,
    .blocks = concurrent_blocks,
    .send = concurrent_send,
};

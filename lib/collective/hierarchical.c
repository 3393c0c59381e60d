/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/hierarchical.h"

#include "base/extremes.h"

#include <math.h>

/* ---- phases -------------------------------------------------------------------------------- */

double rk_phases_seconds(const double *seconds, int count, double chunks, double chunk_latency)
{
    double sum = 0, longest = 0;
    for (int i = 0; i < count; i++) {
        sum += seconds[i];
        longest = rk_max(longest, seconds[i]);
    }
    return sum / chunks + (chunks - 1) / chunks * longest + chunks * chunk_latency;
}

double rk_phases_best_chunks(const double *seconds, int count, double chunk_latency)
{
    double sum = 0, longest = 0;
    for (int i = 0; i < count; i++) {
        sum += seconds[i];
        longest = rk_max(longest, seconds[i]);
    }
    return rk_max(sqrt((sum - longest) / chunk_latency), 1);
}

static double phase(const rk_two_levels *l, bool inside, rk_collective op, double bytes)
{
    const rk_algorithm *algorithm = inside ? l->inside : l->between;
    const rk_collective_job job = {
        .op = op, .ranks = inside ? l->local : l->servers, .bytes = bytes, .chunks = 1};
    return job.ranks > 1
               ? rk_algorithm_seconds(algorithm, &job, inside ? &l->inside_link : &l->between_link,
                                      l->reduce_seconds_per_byte)
               : 0;
}

int rk_two_levels_phases(const rk_two_levels *levels, rk_collective op, double bytes,
                         double seconds[RK_PHASE_MAX])
{
    const double share = bytes / (double)levels->local;
    switch (op) {
    case RK_COLL_ALL_REDUCE:
        seconds[0] = phase(levels, true, RK_COLL_REDUCE_SCATTER, bytes);
        seconds[1] = phase(levels, false, RK_COLL_ALL_REDUCE, share);
        seconds[2] = phase(levels, true, RK_COLL_ALL_GATHER, bytes);
        return 3;
    case RK_COLL_ALL_GATHER:
        seconds[0] = phase(levels, false, op, share);
        seconds[1] = phase(levels, true, op, bytes);
        return 2;
    case RK_COLL_REDUCE_SCATTER:
        seconds[0] = phase(levels, true, op, bytes);
        seconds[1] = phase(levels, false, op, share);
        return 2;
    default:
        return 0;
    }
}

/* ---- links of both levels at once ---------------------------------------------------------- */

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

/* ---- all-to-all ---------------------------------------------------------------------------- */

double rk_flat_exchange_seconds(double bytes, int32_t servers, int32_t local, const rk_link *inside,
                                const rk_link *between)
{
    const double n = (double)servers * (double)local, g = (double)local;
    const double latency = servers > 1 ? between->latency : inside->latency;
    return latency + rk_max(bytes * (g - 1) / n / inside->bandwidth,
                            bytes * (n - g) / n / between->bandwidth);
}

double rk_two_level_exchange_seconds(double bytes, int32_t servers, int32_t local,
                                     const rk_link *inside, const rk_link *between)
{
    const double g = (double)local, N = (double)servers;
    return inside->latency + bytes * (g - 1) / g / inside->bandwidth + between->latency +
           bytes * (N - 1) / N / between->bandwidth;
}

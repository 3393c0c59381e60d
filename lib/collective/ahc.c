/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce of servers with different numbers of ranks: HCCL's AHC (asymmetric hierarchical
 * concatenation).  A server of g_i ranks scatters the sum inside, so that each of its ranks has
 * S/g_i; between G servers, ranks whose parts overlap all-reduce what they have in common, all of
 * it at once; then each server gathers.  A rank of the smallest server has most to send between
 * servers:
 *
 *     t = max_i scatter(S, g_i) + all-reduce(S / min_i g_i, G) + max_i gather(S, g_i)
 *
 * Source: HCCL, introduction to collective algorithms (AHC).
 */
#include "base/extremes.h"
#include "collective/hierarchical.h"

static double seconds_of(const rk_algorithm *algorithm, rk_collective op, int32_t ranks,
                         double bytes, const rk_link *link, double reduce_seconds_per_byte)
{
    const rk_collective_job job = {.op = op, .ranks = ranks, .bytes = bytes, .chunks = 1};
    return ranks > 1 ? rk_algorithm_seconds(algorithm, &job, link, reduce_seconds_per_byte) : 0;
}

void rk_uneven_servers_phases(const rk_two_levels *l, const int32_t *local, double bytes,
                              double seconds[3])
{
    const double gamma = l->reduce_seconds_per_byte;
    int32_t least = local[0];
    seconds[0] = seconds[2] = 0;
    for (int32_t i = 0; i < l->servers; i++) {
        least = local[i] < least ? local[i] : least;
        seconds[0] = rk_max(seconds[0], seconds_of(l->inside, RK_COLL_REDUCE_SCATTER, local[i],
                                                   bytes, &l->inside_link, gamma));
        seconds[2] = rk_max(seconds[2], seconds_of(l->inside, RK_COLL_ALL_GATHER, local[i], bytes,
                                                   &l->inside_link, gamma));
    }
    seconds[1] = seconds_of(l->between, RK_COLL_ALL_REDUCE, l->servers, bytes / (double)least,
                            &l->between_link, gamma);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of ranks that stand in servers: phases inside and between servers, and how they
 * follow each other.
 */
#ifndef RK_COLLECTIVE_HIERARCHICAL_H
#define RK_COLLECTIVE_HIERARCHICAL_H

#include "collective/algorithm.h"

#define RK_PHASE_MAX 5 /* an all-reduce in three levels */

/*
 * Phases one after the other, each on all chunks of the tensor.  With Q chunks that follow each
 * other through the phases, the sum of all phases is paid for one chunk and the longest for the
 * others:
 *
 *     t = sum / Q + (Q - 1)/Q longest + Q chunk_latency
 *
 * Q = 1 is serial.  `seconds` are those of the whole tensor.
 */
double rk_phases_seconds(const double *seconds, int count, double chunks, double chunk_latency);

/* The number of chunks for which that is least: sqrt((sum - longest) / chunk_latency), at least 1.
 */
double rk_phases_best_chunks(const double *seconds, int count, double chunk_latency);

/* A group in `servers` servers of `local` ranks each; rank = server * local + place. */
typedef struct rk_two_levels {
    int32_t servers, local;
    const rk_algorithm *inside, *between;
    rk_link inside_link, between_link; /* a port; of mesh algorithms the link of a pair */
    double reduce_seconds_per_byte;
} rk_two_levels;

/*
 * Seconds of the phases: all-reduce = reduce-scatter inside, all-reduce of the share between, and
 * all-gather inside; all-gather = between with the share, then inside; reduce-scatter the mirror.
 * Returns their number, 0 for other collectives.
 */
int rk_two_levels_phases(const rk_two_levels *levels, rk_collective op, double bytes,
                         double seconds[RK_PHASE_MAX]);

/*
 * Seconds of the three phases of an all-reduce of servers with different numbers of ranks, local[i]
 * in server i (HCCL's AHC; levels->local is not read).
 */
void rk_uneven_servers_phases(const rk_two_levels *levels, const int32_t *local, double bytes,
                              double seconds[3]);

/*
 * Links inside and between servers at work at once: in every round a rank passes one chunk to the
 * next server, and hands the one that came in the round before to the ranks of its own server over
 * the links of a mesh.
 *
 *     all-gather, reduce-scatter
 *         t = (p_e - 1) max(alpha_e + s/(p B_e), alpha_i + s/(p B_i)) + alpha_i + s/(p B_i)
 *     all-reduce  twice that
 *
 * with p ranks in p_e servers, s bytes, B_e of a NIC and B_i of one link of the mesh.
 * Source: HCCL, introduction to collective algorithms (Pipeline).
 */
double rk_concurrent_seconds(rk_collective op, double bytes, int32_t servers, int32_t local,
                             const rk_link *between, const rk_link *pair);

/* The messages of such an all-gather, of servers of job->local ranks that a mesh joins. */
extern const rk_algorithm rk_algorithm_concurrent_gather;

/*
 * All-to-all of ranks in servers.  Flat: messages inside and between servers share nothing, and
 * all start at once; two-level: first to the rank of the own server that stands where the target
 * does, then between servers, with servers - 1 messages a rank instead of n - g.
 *
 *     flat       alpha + max(S (g-1)/n / B_i, S (n-g)/n / B_e)
 *     two-level  alpha_i + S (g-1)/g / B_i + alpha_e + S (N-1)/N / B_e
 */
double rk_flat_exchange_seconds(double bytes, int32_t servers, int32_t local, const rk_link *inside,
                                const rk_link *between);
double rk_two_level_exchange_seconds(double bytes, int32_t servers, int32_t local,
                                     const rk_link *inside, const rk_link *between);

#endif

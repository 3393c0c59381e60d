/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of ranks in servers that keep the links inside and between them busy at once. */
#ifndef RK_COLLECTIVE_CONCURRENT_H
#define RK_COLLECTIVE_CONCURRENT_H

#include "collective/algorithm.h"

/*
 * In every round a rank passes one chunk to the
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

#endif

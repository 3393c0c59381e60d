/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of a collective that use all tiers at once; infinite where a group has no such plan. */
#ifndef RK_SYSTEM_COLLECTIVE_WHOLE_H
#define RK_SYSTEM_COLLECTIVE_WHOLE_H

#include "system/collective_plan.h"

/*
 * All-reduce, reduce-scatter and all-gather by one ring through all ranks; a mesh or a torus has
 * none.  Its seconds are the sum of both.
 */
typedef struct rk_flat_ring {
    double latency, transfer; /* s */
} rk_flat_ring;
rk_flat_ring rk_price_flat_ring(const rk_collective_query *query);

/*
 * The same over links inside and between servers at once, where servers are meshes that one tier
 * joins (HCCL's pipeline; RCCL on MI300X).
 */
double rk_concurrent_ring_seconds(const rk_collective_query *query);

/* An all-to-all whose messages go straight to their ranks, each over the links of its tier. */
double rk_flat_exchange_seconds(const rk_collective_query *query);

/* A message between neighbours of the group. */
double rk_neighbour_seconds(const rk_collective_query *query);

#endif

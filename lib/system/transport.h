/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the rounds and bytes of a collective algorithm on the links of a tier: latency, the ramp of
 * transfers by size, and the protocols of small and large messages.  Estimates and `comm` price
 * every algorithm with it.
 */
#ifndef RK_SYSTEM_TRANSPORT_H
#define RK_SYSTEM_TRANSPORT_H

#include "collective/algorithm.h"
#include "system/system.h"

#define RK_AXES_NAME "axes" /* rings along all axes of a torus at once */

/* The traffic of an algorithm on a tier. */
typedef struct rk_traffic {
    double start_s;      /* to start messages that are under way at once */
    double rounds;       /* that wait for each other */
    double small_rounds; /* of the form for small tensors, in a switch */
    double bytes;        /* over the links of a rank */
    double bandwidth;    /* of the links, bytes/s, before the efficiency of the tier */
    double ramp;         /* of the tier's ramp, 1 or more */
} rk_traffic;

/* With the fixed latency of the tier. */
double rk_traffic_seconds(const rk_tier *tier, const rk_traffic *traffic);

/* Bytes over links of `bandwidth`: t = (W + ramp sqrt(half W)) / (bandwidth efficiency). */
double rk_transfer_seconds(const rk_tier *tier, double bytes, double bandwidth, double ramp);

/*
 * The traffic of an algorithm on a tier for a job among its units.  `links` are the units of a
 * whole domain: a mesh splits a unit's bandwidth among the others; `ranks` the units of the group
 * in the domain, which a ring goes through one by one.
 */
rk_traffic rk_traffic_of(const rk_tier *tier, const rk_algorithm *algorithm,
                         const rk_collective_job *job, double links, double ranks);

/*
 * Bytes/s, before the efficiency of the tier, of what one of `units` sends through: its port in a
 * switch or a fabric, its link to another unit in a mesh, a link one way in a torus.  `links` are
 * the units of a whole domain.
 */
double rk_tier_port(const rk_tier *tier, bool exchange, double units, double links);

/* Whether small messages carry flags and large ones wait for chunks: links without NICs. */
bool rk_tier_is_switch(const rk_tier *tier);

/* Whether ranks leave through NICs. */
bool rk_tier_is_fabric(const rk_tier *tier);

/* Rings along the axes of a torus, all at once; `bytes` as rk_collective_seconds counts them. */
rk_traffic rk_traffic_on_axes(const rk_tier *tier, rk_collective op, double units, double bytes);

#endif

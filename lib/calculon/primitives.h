/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System primitives of the Calculon methodology: time of one operation of a given size on an
 * engine, a memory or a network tier.  Sizes in FLOP or bytes, times in seconds.
 *
 * Everything below is evaluated in the published order of operations, left to right, so that the
 * results equal the published ones bit for bit and ties in the search stay ties.
 */
#ifndef RK_CALCULON_PRIMITIVES_H
#define RK_CALCULON_PRIMITIVES_H

#include "reckon/reckon.h"

#include <assert.h>

/* Bytes of one element. */
static inline int64_t rk_element_bytes(rk_datatype datatype)
{
    return datatype == RK_FLOAT8 ? 1 : datatype == RK_FLOAT32 ? 4 : 2;
}

/* Whether `size`, and so every larger one, has a step. */
static inline bool rk_curve_covers(const rk_curve *curve, double size)
{
    for (int i = 0; i < curve->count; i++) {
        if (curve->threshold[i] <= size) {
            return true;
        }
    }
    return false;
}

/* Time of an operation of `size` >= 0, which the curve covers: size / rate of its first step. */
static inline double rk_curve_seconds(const rk_curve *curve, double size)
{
    if (size == 0) {
        return 0;
    }
    int i = 0;
    while (size < curve->threshold[i]) {
        i++;
        assert(i < curve->count);
    }
    return size / curve->rate[i];
}

/* Time of compute and memory access together. */
static inline double rk_process_seconds(const rk_calculon_sys *sys, double compute, double memory)
{
    if (sys->roofline) {
        return compute > memory ? compute : memory;
    }
    return compute + memory;
}

/*
 * Time of a network operation on `bytes` among `ranks` (2 for p2p):
 * latency + bytes * scalar * (1 + offset/ranks) / (bandwidth * efficiency).
 */
static inline double rk_network_seconds(const rk_calculon_network *net, rk_net_op op, double bytes,
                                        double ranks)
{
    const double scaled = bytes * net->scalar[op];
    const double moved = scaled + ((1.0 / ranks) * scaled) * net->offset[op];
    return net->latency + moved / (net->bandwidth * net->efficiency);
}

/*
 * Whether the dimensions fit the network tiers that they name: the product of the degrees on a
 * tier may not exceed its size and, if it must be filled, has to divide it.  Returns RK_FITS,
 * RK_NETWORK_TOO_SMALL or RK_NETWORK_NOT_FILLED, with the lowest tier at fault in *tier. The tier
 * indices of `exe` must be valid.
 */
rk_verdict rk_network_verdict(const rk_calculon_sys *sys, const rk_calculon_exe *exe, int *tier);

#endif

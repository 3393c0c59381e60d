/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two collectives at once on the same accelerators: two parallelisms of a step, such as gradients
 * and all-to-all.  They share the links of a rank in every tier that both cross.
 */
#ifndef RK_COMM_CONCURRENT_COLLECTIVES_H
#define RK_COMM_CONCURRENT_COLLECTIVES_H

#include "system/collective_plan.h"

/* A collective that shares links. */
typedef struct rk_comm_flow {
    const char *name;           /* of its plan */
    double seconds;             /* alone */
    double busy_s[RK_TIER_MAX]; /* seconds in which it fills the links of a rank in a tier */
} rk_comm_flow;

/*
 * A collective of `seconds` by the plan of a name, or by the fastest if none has that name.  A plan
 * that uses all tiers at once fills the links of a tier with the least bytes that leave a domain of
 * the tier below.
 */
rk_comm_flow rk_comm_flow_of(const rk_collective_query *query, const char *name, double seconds);

typedef struct rk_comm_pair {
    double seconds[2];          /* until each is done; both start at once */
    double wanted[RK_TIER_MAX]; /* shares of a tier that both want, added up: above 1 they wait */
    int tier;                   /* of which both want most, beyond what there is; -1: none */
} rk_comm_pair;

/*
 * A collective wants the share busy / seconds of a tier.  Where both want more than there is, each
 * gets what it wants up to half, and the rest goes to the other (max-min fairness, as links share
 * flows and NCCL's channels share NVLinks); the slowest tier sets the pace of each, and who is
 * slowed in one tier wants less of the others.  When one is done the other goes on alone.
 */
rk_comm_pair rk_comm_pair_of(const rk_comm_flow *a, const rk_comm_flow *b, int tiers);

#endif

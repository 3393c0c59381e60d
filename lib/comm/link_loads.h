/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that each link carries in a phase of a collective, message by message. */
#ifndef RK_COMM_LINK_LOADS_H
#define RK_COMM_LINK_LOADS_H

#include "system/collective_plan.h"

typedef struct rk_link_loads {
    rk_topology topology;
    int64_t count;
    double *bytes; /* owned; of each link */
} rk_link_loads;

/*
 * Replays the messages of a phase.  Errors: RK_ERR_MEMORY; RK_ERR_INVALID where it cannot be
 * replayed.  The caller releases the loads with rk_link_loads_clear, also after a failure.
 */
rk_status rk_link_loads_of(const rk_collective_phase *phase, rk_link_loads *loads, rk_error *err);
void rk_link_loads_clear(rk_link_loads *loads);

/* Whether there is such a link: a mesh has none from a rank to itself. */
bool rk_link_exists(const rk_link_loads *loads, int64_t link);

/* Seconds in which a link is busy. */
double rk_link_busy_s(const rk_link_loads *loads, int64_t link);

/* Links of a kind: those with the same name but for its numbers. */
typedef struct rk_link_kind {
    char name[RK_LINK_NAME_SIZE];
    double count, least, sum, most; /* links; bytes */
    double busy_s;                  /* of the busiest */
} rk_link_kind;

enum { RK_LINK_KIND_MAX = 16 };

/* Adds the links up by kind; returns the number of kinds. */
size_t rk_link_kinds_of(const rk_link_loads *loads, rk_link_kind kinds[RK_LINK_KIND_MAX]);

#endif

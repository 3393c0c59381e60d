/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A phase of a collective: an algorithm among the units of one tier.  Every plan of a collective is
 * made of phases, all priced here.
 */
#ifndef RK_SYSTEM_COLLECTIVE_PHASE_H
#define RK_SYSTEM_COLLECTIVE_PHASE_H

#include "system/transport.h"

/* The part of a group in one tier. */
typedef struct rk_tier_span {
    const rk_tier *tier;
    double units; /* domains of the tier below, or ranks, that exchange data */
    double links; /* units of a whole domain */
    double ranks; /* that the steps of a ring go through one by one */
} rk_tier_span;

/* Whether a group uses links of tier i. */
static inline bool rk_group_spans(const rk_group *group, int i)
{
    return group->within[i] > (i > 0 ? group->within[i - 1] : 1);
}

/* The part in tier i.  Where domains differ, `units` is no whole number. */
rk_tier_span rk_tier_span_of(const rk_system *system, const rk_group *group, int i);

typedef struct rk_collective_phase {
    const rk_tier *tier;           /* borrowed from the system */
    const rk_algorithm *algorithm; /* NULL: rings along the axes of a torus */
    rk_collective_job job;         /* among the units of the tier */
    double links;                  /* units of a whole domain */
    rk_traffic traffic;
    double seconds;
} rk_collective_phase;

/* `algorithm` NULL: rings along the axes of a torus. */
void rk_price_phase(const rk_tier_span *span, const rk_algorithm *algorithm, rk_collective op,
                    double bytes, rk_collective_phase *phase);

/* The name of its algorithm, "axes" on a torus. */
const char *rk_phase_name(const rk_collective_phase *phase);

/* A port of a unit or, of mesh algorithms, the link of a pair; of a torus one link one way. */
rk_link rk_phase_link(const rk_collective_phase *phase);

/* Seconds in which its bytes fill the links. */
double rk_phase_busy_seconds(const rk_collective_phase *phase);

/* ---- messages ------------------------------------------------------------------------------ */

/* How its units are joined. */
rk_topology rk_phase_topology(const rk_collective_phase *phase);

/* The name of one of its links (rk_topology_link_name). */
const char *rk_phase_link_name(const rk_collective_phase *phase, int64_t link,
                               char text[RK_LINK_NAME_SIZE]);

/* More units than this are not replayed: messages grow with their square. */
#define RK_PHASE_REPLAY_UNITS 1024

/*
 * Sends the messages of a phase over the links of its units.  `loads` (may be NULL) gets the bytes
 * of each of the rk_topology_links.  Refuses phases of rings along the axes of a torus, and more
 * than RK_PHASE_REPLAY_UNITS units.
 */
rk_status rk_phase_replay(const rk_collective_phase *phase, double *loads, rk_replay *replay,
                          rk_error *err);

#endif

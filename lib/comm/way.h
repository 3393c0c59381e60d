/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to run a collective on a group of a system: an algorithm in every tier that the group spans,
 * or one that uses all tiers at once.
 */
#ifndef RK_COMM_WAY_H
#define RK_COMM_WAY_H

#include "collective/algorithm.h"
#include "system/system.h"

/* What runs in one tier. */
typedef struct rk_way_phase {
    const rk_tier *tier;           /* borrowed from the system */
    const rk_algorithm *algorithm; /* NULL: rings along the axes of a torus */
    rk_collective_job job; /* among the units of the tier: domains of the tier below, or ranks */
    rk_link link;          /* of a unit: a port or, of mesh algorithms, the link of a pair */
    double fixed_s;        /* before the first round, and to start messages */
    double busy_s;         /* its bytes at the bandwidth of the links alone */
    double wire_s;         /* rounds and bytes over the links alone, as messages are replayed */
    double seconds;        /* with the ramp and the protocols of the tier, as estimates take it */
} rk_way_phase;

#define RK_WAY_PHASE_MAX (2 * RK_TIER_MAX)

typedef struct rk_way {
    const char *name;
    int phase_count;
    int32_t chunks; /* of the tensor, whose phases overlap; 0: they overlap as the tier says */
    rk_way_phase phases[RK_WAY_PHASE_MAX]; /* in order of time; of one chunk */
    double seconds;                        /* of all phases, which may overlap */
} rk_way;

/* How phases overlap. */
typedef struct rk_way_options {
    int32_t chunks; /* RK_WAY_AS_MEASURED, RK_WAY_BEST_CHUNKS, or a number: 1 is serial */
} rk_way_options;

#define RK_WAY_AS_MEASURED 0
#define RK_WAY_BEST_CHUNKS (-1)
#define RK_WAY_CHUNKS_MAX  1024

/*
 * Names of ways beside those of rk_algorithms:
 *
 *     flat-ring      one ring through all ranks, whose crossings of a tier are shared by all links
 *     flat-exchange  all-to-all with every message sent straight to its rank
 *     concurrent     links inside and between servers at once (HCCL's pipeline)
 *     axes           rings along all axes of a torus at once
 *     ahc            all-reduce of domains with different numbers of ranks (HCCL's AHC)
 */
enum { RK_WAY_NAME_COUNT = 5 };

/* Each algorithm names one way at most: room for all of them. */
enum { RK_WAY_MAX = RK_ALGORITHM_COUNT + RK_WAY_NAME_COUNT };

/*
 * All ways to run `op` with `bytes` (as rk_collective_seconds counts them) on a group of two ranks
 * and more, cheapest first; returns their number, at least 1.  An algorithm that names a way runs
 * in the outermost tier; tiers inside take the cheapest that their links allow.
 */
int rk_ways_find(const rk_system *system, const rk_group *group, rk_collective op, double bytes,
                 rk_way ways[RK_WAY_MAX]);

/*
 * The same with options.  With Q chunks, a tier works on one chunk while the next works on the one
 * before; phases in the same tier share its links:
 *
 *     t = sum of all phases + (Q - 1) max over tiers (sum of its phases)       each of one chunk
 *
 * Ways that use all tiers at once cannot be chunked, and are left out if chunks are requested.
 */
int rk_ways_find_with(const rk_system *system, const rk_group *group, rk_collective op,
                      double bytes, const rk_way_options *options, rk_way ways[RK_WAY_MAX]);

/* The names of ways that are not algorithms; NULL-terminated. */
extern const char *const rk_way_names[RK_WAY_NAME_COUNT + 1];

/*
 * The algorithm or way of a name, in any case, as --algorithm spells it, or as NCCL and HCCL call
 * it ("nvls", "H-D_R"); NULL: none.
 */
const char *rk_way_name_of(const char *asked);

/* How the units of a phase are joined. */
rk_wiring rk_way_wiring(const rk_way_phase *phase);

/* More units than this are not replayed: messages grow with their square. */
#define RK_WAY_REPLAY_UNITS 1024

/*
 * Sends the messages of a phase over the links of its units.  `loads` (may be NULL) gets the bytes
 * of each of the rk_wiring_links.  Refuses phases of rings along the axes of a torus, and more than
 * RK_WAY_REPLAY_UNITS units.
 */
rk_status rk_way_replay(const rk_way_phase *phase, double *loads, rk_replay *replay, rk_error *err);

#endif

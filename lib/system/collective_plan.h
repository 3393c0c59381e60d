/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of a collective: an algorithm in every tier that the group spans, in phases, or one that
 * uses all tiers at once.  rk_collective_seconds uses the default plan; `comm` shows any.
 *
 * A group that spans tiers works in phases, and each moves the part of the tensor that the tiers
 * below leave to one rank.  Every rank uses its own NIC.  Phases overlap in part:
 *
 *     t = longest + serial (sum - longest)
 *
 * where `serial` of the outermost tier is 0 when chunks are pipelined perfectly and 1 when phases
 * follow each other.
 */
#ifndef RK_SYSTEM_COLLECTIVE_PLAN_H
#define RK_SYSTEM_COLLECTIVE_PLAN_H

#include "system/collective_phase.h"

/* A collective to plan. */
typedef struct rk_collective_query {
    const rk_system *system;
    const rk_group *group; /* of two ranks and more */
    rk_collective op;
    double bytes;   /* as rk_collective_seconds counts them */
    int32_t chunks; /* RK_CHUNKS_AS_MEASURED, RK_CHUNKS_BEST, or a number: 1 is serial */
} rk_collective_query;

#define RK_CHUNKS_AS_MEASURED 0
#define RK_CHUNKS_BEST        (-1)
#define RK_CHUNKS_MAX         1024 /* that RK_CHUNKS_BEST tries */

/* Those of an all-reduce: a reduce-scatter and an all-gather in every tier but the outermost. */
#define RK_COLLECTIVE_PHASE_MAX (2 * RK_TIER_MAX - 1)

typedef struct rk_collective_plan {
    const char *name;     /* of the algorithm between the outermost domains, or as below */
    const char *protocol; /* of NCCL's tuner; NULL: not consulted */
    double seconds;       /* of all phases, which may overlap; of the usual plan as corrected */
    int32_t chunks;  /* of the tensor, whose phases overlap; 0: they overlap as the tier says */
    int phase_count; /* 0: it uses all tiers at once */
    rk_collective_phase phases[RK_COLLECTIVE_PHASE_MAX]; /* in order of time; of one chunk */
} rk_collective_plan;

/*
 * Names of plans that are no rk_algorithms; RK_AXES_NAME is another.
 *
 *     flat-ring      one ring through all ranks, whose crossings of a tier are shared by all links
 *     flat-exchange  all-to-all with every message sent straight to its rank
 *     concurrent     links inside and between servers at once (HCCL's pipeline)
 *     ahc            all-reduce of domains with different numbers of ranks (HCCL's AHC)
 *     usual          what training software runs, where no plan listed here is as fast: flat
 *                    exchanges whose tiers work at once, chains through all ranks
 *     fit            constants of the tier that `comm --fit` found
 */
#define RK_FLAT_RING_NAME     "flat-ring"
#define RK_FLAT_EXCHANGE_NAME "flat-exchange"
#define RK_CONCURRENT_NAME    "concurrent"
#define RK_AHC_NAME           "ahc"
#define RK_USUAL_NAME         "usual"
#define RK_FIT_NAME           "fit"

/* Names other than algorithms that --algorithm accepts; NULL-terminated. */
enum { RK_PLAN_NAME_COUNT = 6 };
extern const char *const rk_collective_plan_names[RK_PLAN_NAME_COUNT + 1];

/*
 * The algorithm or plan of a name, in any case, as --algorithm spells it, or as NCCL and HCCL call
 * it ("nvls", "H-D_R"); NULL: none.
 */
const char *rk_collective_plan_name(const char *asked);

/* ---- the choice ---------------------------------------------------------------------------- */

/*
 * The plan that training software follows as a rule: the fastest of few, corrected by measured
 * tables of the accelerator.  Ignores query->chunks.
 */
void rk_plan_collective(const rk_collective_query *query, rk_collective_plan *plan);

/*
 * Gives that plan the names of the algorithm and the protocol that NCCL's tuner chooses (nccl.h);
 * leaves it alone where the tuner has no choice: other collectives than all-reduce, reduce-scatter
 * and all-gather, other accelerators than NVIDIA's, uneven groups.
 */
void rk_name_plan_by_nccl(const rk_collective_query *query, rk_collective_plan *plan);

/*
 * The plan of a name, NULL: the fastest of all; false: there is none.  An algorithm runs in the
 * outermost tier; tiers inside take the cheapest that their links allow.  With Q chunks, a tier
 * works on one chunk while the next works on the one before; phases in the same tier share its
 * links:
 *
 *     t = sum of all phases + (Q - 1) max over tiers (sum of its phases)       each of one chunk
 *
 * Plans that use all tiers at once cannot be chunked, and are left out if chunks are requested.
 */
bool rk_find_collective_plan(const rk_collective_query *query, const char *name,
                             rk_collective_plan *plan);

/* All plans but the usual one, fastest first. */
typedef struct rk_collective_plans {
    rk_collective_plan *plans; /* owned */
    size_t count;
} rk_collective_plans;

/* At least one.  The caller releases them with rk_collective_plans_clear. */
rk_status rk_list_collective_plans(const rk_collective_query *query, rk_collective_plans *out,
                                   rk_error *err);
void rk_collective_plans_clear(rk_collective_plans *plans);

/* ---- parts of the planner ------------------------------------------------------------------ */

/* Room for a phase of a plan. */
rk_collective_phase *rk_plan_add_phase(rk_collective_plan *plan);

/* The seconds of the phases of a plan, which overlap as `serial` says. */
double rk_plan_overlapped(const rk_collective_plan *plan, double serial);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a step apart from its memory, for lib/estimate and the search: what strategies that
 * differ in sharding and offload share, and what each adds.
 */
#ifndef RK_ESTIMATE_STEP_H
#define RK_ESTIMATE_STEP_H

#include "estimate/stage.h"

/* Traffic during the passes of a microbatch on one rank. */
typedef struct rk_rank_traffic {
    double data, copies; /* visible s: gradients and parameters, to and from the host */
    double bytes;        /* sent for data parallelism */
    double ends;         /* of the first chunk, s: counts on the first rank, once a step */
    int chunks;          /* added so far */
} rk_rank_traffic;

/* The ranks of a pipeline reduced to what the time of a step needs. */
typedef struct rk_step_ranks {
    rk_stage slowest; /* of the rank with the longest microbatch */
    double busy;      /* s of its microbatch, with the traffic that its passes wait for */
    rk_rank_traffic traffic;
    double ends;       /* s of traffic that a step begins and ends with, on the first rank */
    rk_stage heaviest; /* of the rank with most parameters: it reduces and updates most */
    double params;     /* of that rank */
} rk_step_ranks;

/* A step in its pipeline. */
typedef struct rk_makespan {
    double work;       /* s, without messages between stages */
    double sends;      /* s that they add */
    double sent_bytes; /* by a rank */
} rk_makespan;

/* Seconds of a microbatch on a rank with these chunks. */
double rk_rank_seconds(const rk_strategy *strategy, const rk_chunk_times *chunks);

/*
 * Plays the schedule with the chunks of all ranks, of which the slowest is `busy` seconds with a
 * microbatch.  Both contain the traffic that passes wait for (rk_pass_traffic), and depend on
 * nothing else of sharding and offload.
 */
rk_status rk_step_makespan(const rk_cost_table *table, const rk_strategy *strategy,
                           const rk_chunk_times *chunks, double busy, rk_makespans *makespans,
                           rk_makespan *makespan, rk_error *err);

/*
 * Seconds of a step that fits in memory: the step of rk_estimate_table, with the same bits.  It
 * grows with both times of the makespan.
 */
double rk_step_seconds(const rk_cost_table *table, const rk_strategy *strategy,
                       const rk_step_ranks *ranks, const rk_makespan *makespan);

/* The estimate of rk_estimate_table for a makespan that is known. */
rk_status rk_estimate_with(const rk_cost_table *table, const rk_strategy *strategy,
                           rk_flop_convention convention, const rk_makespan *makespan,
                           rk_estimate *estimate, rk_error *err);

#endif

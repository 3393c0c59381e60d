/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the time of a step and of the memory of a processor, by the Calculon method. */
#ifndef RK_CALCULON_CALCULON_PARTS_H
#define RK_CALCULON_CALCULON_PARTS_H

#include "reckon/reckon.h"

#define RK_CALCULON_TIME_PARTS   11
#define RK_CALCULON_MEMORY_PARTS 6

typedef struct rk_calculon_time_part {
    const char *name; /* "pipeline bubble" */
    const char *key;  /* "bubble_s" */
    bool compute;     /* the work itself; the others are overhead */
    double seconds;
} rk_calculon_time_part;

typedef struct rk_calculon_memory_part {
    const char *name;    /* "optimizer state" */
    const char *key;     /* "optimizer_bytes" */
    double tier1, tier2; /* bytes */
} rk_calculon_memory_part;

/* The parts add up to stats->total_time. */
void rk_calculon_time_parts(const rk_calculon_stats *stats,
                            rk_calculon_time_part parts[RK_CALCULON_TIME_PARTS]);

/* The parts add up to stats->proc_mem_tier1_cap_req and proc_mem_tier2_cap_req. */
void rk_calculon_memory_parts(const rk_calculon_exe *exe, const rk_calculon_stats *stats,
                              rk_calculon_memory_part parts[RK_CALCULON_MEMORY_PARTS]);

#endif

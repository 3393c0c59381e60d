/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one block and one microbatch to the whole step: pipeline, offloading, data parallelism,
 * memory.  This is the readable form of what search_kernel.c computes for many mappings at once.
 */
#ifndef RK_CALCULON_BATCH_H
#define RK_CALCULON_BATCH_H

#include "reckon/reckon.h"

/*
 * Fills the batch-level statistics from the block-level ones in `stats`, up to the capacities
 * (proc_mem_tier*_cap_req), without the quotients of rk_batch_rates.  Fails when the curve of
 * mem2 does not cover what is offloaded.
 */
rk_status rk_batch_evaluate(const rk_calculon_app *app, const rk_calculon_sys *sys,
                            const rk_calculon_exe *exe, rk_calculon_stats *stats, rk_error *err);

/*
 * Fills required bandwidths, efficiencies and the sample rate.  Fails when no time is free to
 * offload in, which makes a required bandwidth infinite.
 */
rk_status rk_batch_rates(const rk_calculon_app *app, const rk_calculon_sys *sys,
                         const rk_calculon_exe *exe, rk_calculon_stats *stats, rk_error *err);

/* Blocks of the most loaded processor: ceil(N / p). */
static inline int64_t rk_blocks_per_proc(const rk_calculon_app *app, const rk_calculon_exe *exe)
{
    return (app->num_blocks + exe->pipeline_par - 1) / exe->pipeline_par;
}

#endif

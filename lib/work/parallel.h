/* SPDX-License-Identifier: Apache-2.0 */
/* Independent units of work spread over threads. */
#ifndef RK_WORK_PARALLEL_H
#define RK_WORK_PARALLEL_H

#include "reckon/reckon.h"

#include <stdatomic.h>

/* Shared by the workers of one rk_parallel_run. */
typedef struct rk_parallel {
    atomic_uint_fast64_t done; /* progress of all workers, in units that the caller chooses */
    atomic_bool stop;          /* checked between units; workers stop early once it is set */
} rk_parallel;

/* Cores that this process may use, at least 1. */
int rk_core_count(void);

/*
 * Runs work(context, worker, unit, shared) for unit = 0 .. unit_count-1, each once, in order of
 * taking, on `threads` threads (at least 1); worker = 0 .. threads-1 tells scratch apart.
 * `tick` (may be NULL) is called from the calling thread about ten times a second with the value
 * of shared->done; when it returns false, shared->stop is set.  One thread is the calling one
 * itself; `tick` is then called between units.
 * Returns RK_OK, RK_ERR_STOPPED after a stop by `tick`, or RK_ERR_MEMORY.
 */
rk_status
rk_parallel_run(int threads, uint64_t unit_count,
                void (*work)(void *context, int worker, uint64_t unit, rk_parallel *shared),
                void *context, bool (*tick)(void *user, uint64_t done), void *user, rk_error *err);

/*
 * The same, with progress told to the control of a search (NULL: to none): `settled` candidates of
 * `total`, and those that shared->done counts.
 */
rk_status rk_parallel_search(const rk_search_control *control, uint64_t settled, uint64_t total,
                             int threads, uint64_t unit_count,
                             void (*work)(void *context, int worker, uint64_t unit,
                                          rk_parallel *shared),
                             void *context, rk_error *err);

/*
 * Deals units round-robin to `slices` parts, so that similar neighbours spread evenly: the number
 * of units in part `slice`, and the unit at place i.
 */
static inline uint64_t rk_slice_count(uint64_t units, uint64_t slice, uint64_t slices)
{
    return slices == 0 ? units : slice < units ? (units - slice - 1) / slices + 1 : 0;
}

static inline uint64_t rk_slice_unit(uint64_t i, uint64_t slice, uint64_t slices)
{
    return slices == 0 ? i : slice + i * slices;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a running sweep, shared by the files of lib/sweep. */
#ifndef RK_SWEEP_RUN_H
#define RK_SWEEP_RUN_H

#include "sweep/writer.h"
#include "work/shared_work.h"

#define RK_SWEEP_BLOCK_POINTS 128 /* of one task, at most */
#define RK_SWEEP_LIST_SIZE    512 /* size of a text that lists points: "3-7, 12" */

/* Kinds of tasks: all of some points, or a slice of the search at one. */
enum rk_sweep_task_kind {
    RK_SWEEP_POINTS, /* place, strategies, numbers of the points */
    RK_SWEEP_SLICE,  /* place, strategies, number, round, slice, slices, floor */
};

/* A search that is cut into slices. */
struct rk_sweep_cut {
    uint64_t place, number, strategies;
    uint64_t slices, given, taken; /* of this round */
    unsigned round;
    rk_point_result found;
    struct rk_sweep_cut *next;
};

/* A sweep that is running. */
typedef struct rk_sweep_running {
    const rk_sweep_doc *doc;
    const rk_sweep_options *options;
    rk_sweep_totals *totals;
    rk_sweep_table table;
    rk_sweep_worker *workers; /* owned; one of each thread */
    int threads;
    atomic_uint_fast64_t *partial; /* owned; strategies that each thread has settled in its task */

    /* of rank 0 */
    rk_sweep_progress progress;
    rk_sweep_writer writer;
    rk_sweep_worker reader;     /* walks through the points to hand them out */
    rk_sweep_worker finisher;   /* returns to the points of searches that were cut */
    uint64_t next;              /* point */
    struct rk_sweep_cut *cut;   /* owned list */
    bool shared;                /* by more than one thread */
    uint64_t block, block_size; /* strategies of a block of points; points */
} rk_sweep_running;

/* ---- checking (check.c) ---------------------------------------------------------------------- */

bool rk_sweep_report(const rk_sweep_options *options, const rk_sweep_progress *progress);

/* Checks all points; *kept has a bit for each that is not dropped.  The caller frees it, also after
 * a failure. */
rk_status rk_sweep_check_all(const rk_sweep_table *table, const rk_sweep_options *options,
                             unsigned char **kept, rk_sweep_totals *totals, rk_error *err);

/* Reports what a resumed sweep still has to do. */
void rk_sweep_tell_missing(const rk_sweep_writer *writer, const unsigned char *kept,
                           const rk_sweep_options *options, rk_sweep_totals *totals);

/* Finds what an earlier run finished, and reports what is missing. */
rk_status rk_sweep_look_back(const rk_sweep_table *table, const unsigned char *kept,
                             const rk_sweep_options *options, rk_sweep_totals *totals,
                             rk_error *err);

/* ---- tasks: of an rk_share_job whose context is the run -------------------------------------- */

rk_status rk_sweep_next_task(void *context, rk_bytes *task, rk_error *err); /* sweep_tasks.c */
rk_status rk_sweep_work(void *context, int thread, const rk_bytes *task, rk_bytes *result,
                        const atomic_bool *stop, rk_error *err); /* sweep_threads.c */
rk_status rk_sweep_take_result(void *context, const rk_bytes *task, const rk_bytes *result,
                               rk_error *err); /* sweep_results.c */
bool rk_sweep_tick(void *context);
void rk_sweep_lost(void *context, int rank, const rk_task_list *tasks);

/* Removes a search from the list of those that were cut. */
void rk_sweep_drop_cut(rk_sweep_running *run, struct rk_sweep_cut *cut);

#endif

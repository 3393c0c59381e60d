/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a sweep: a search at every point of a grid, whose results are written as soon as a
 * point is done.  Memory does not grow with the number of points.
 */
#ifndef RK_SWEEP_H
#define RK_SWEEP_H

#include "sweep/doc.h"

typedef struct rk_sweep_progress {
    bool checking;                      /* all points are being read, before the first search */
    uint64_t points_done, points_total; /* of what is being done: checking, then searching */
    uint64_t done, total;               /* strategies; both 0 while checking */
    uint64_t resumed;                   /* part of `done` that an earlier run settled */
} rk_sweep_progress;

/* How a sweep is run; all zero is legal. */
typedef struct rk_sweep_options {
    const char *csv_path;    /* "-": standard output; NULL: no CSV */
    const char *sqlite_path; /* NULL: no database */
    bool resume;             /* take finished points from the database; it may be new */
    int threads;             /* 0: one per core that this process may use */
    /* Called up to about ten times a second; return false to stop.  May be NULL. */
    bool (*progress)(void *user, const rk_sweep_progress *progress);
    void *user;
} rk_sweep_options;

typedef struct rk_sweep_totals {
    uint64_t points;     /* of the grid */
    uint64_t dropped;    /* of them: break a constraint */
    uint64_t strategies; /* of all points (an upper bound with mbs_break) */
    uint64_t resumed;    /* points that were finished before */
    uint64_t fitting;    /* points with at least one mapping that runs */
} rk_sweep_totals;

/* Reads every point and counts its strategies; sets points and strategies of the totals. */
rk_status rk_sweep_check(const rk_sweep_doc *doc, const rk_sweep_options *options,
                         rk_sweep_totals *totals, rk_error *err);

/*
 * Checks every point, then searches at each in order of number and writes its rows.  After an
 * error the rows of the points before it are there.
 */
rk_status rk_sweep_run(const rk_sweep_doc *doc, const rk_sweep_options *options,
                       rk_sweep_totals *totals, rk_error *err);

#endif

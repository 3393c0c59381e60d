/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a sweep: a search or an estimate at every point of a grid, spread over threads and ranks.
 * The output does not depend on their number.  Memory does not grow with the number of points, but
 * for a bit each.
 */
#ifndef RK_SWEEP_SWEEP_H
#define RK_SWEEP_SWEEP_H

#include "io/out.h"
#include "reckon/team.h"
#include "sweep/solve_point.h"

/* How a sweep is run; all zero is legal. */
typedef struct rk_sweep_options {
    rk_sweep_control control; /* as of programs; its CSV file "-": lines go to `write` */
    int block_points;         /* points of a task, at most; 0: chosen by their size */
    double flush_seconds;     /* time between transactions; 0: half a second */
    double silent_seconds;    /* silence after which a rank counts as lost; 0: a minute */
    rk_out_writer *write;     /* receives CSV lines that go to no file; NULL: they are dropped */
    /* Called when a sweep is resumed, with the number and list of missing points: "3-7, 12". */
    void (*resumed)(void *user, uint64_t missing, const char *points);
    /* Called when a rank is lost, with the points that others do again: "3-7, 12".  May be NULL. */
    void (*lost)(void *user, int rank, const char *points);
    /*
     * Called immediately after `progress` has stopped the sweep and finished points are on disk,
     * with the points that were begun. May be NULL.
     */
    void (*stopped)(void *user, const char *points);
} rk_sweep_options;

/*
 * Reads every point and counts its strategies; sets points, dropped and strategies.  With `resume`
 * it also looks what is in the database.
 */
rk_status rk_sweep_check(const rk_sweep_doc *doc, const rk_sweep_options *options,
                         rk_sweep_totals *totals, rk_error *err);

/*
 * Checks every point, then settles all and writes their rows.  After an error the rows of the
 * points that were finished are there.  On other ranks than 0, takes part in what rank 0 does:
 * nothing is checked, written or reported.
 */
rk_status rk_sweep_run(const rk_sweep_doc *doc, const rk_sweep_options *options,
                       rk_sweep_totals *totals, rk_error *err);

#endif

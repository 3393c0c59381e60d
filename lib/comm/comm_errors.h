/* SPDX-License-Identifier: Apache-2.0 */
/* How well three constants per fabric and collective describe measurements. */
#ifndef RK_COMM_ERRORS_H
#define RK_COMM_ERRORS_H

#include "comm/comm_results.h"

/* Errors without sign as shares of the measured; rows 0: none. */
typedef struct rk_comm_error {
    size_t rows;
    double median, p90;
} rk_comm_error;

/* By size: from 10^6 bytes on, and below. */
typedef enum rk_comm_size { RK_COMM_LARGE, RK_COMM_SMALL, RK_COMM_SIZE_COUNT } rk_comm_size;

/* Of one collective on one machine. */
typedef struct rk_comm_fitted {
    rk_comm_curve curve;    /* by all rows */
    rk_comm_error all;      /* all rows by it */
    rk_comm_error held;     /* half of the rows by constants of the others */
    rk_comm_error left_out; /* all rows by the other machines */
} rk_comm_fitted;

typedef struct rk_comm_fits {
    rk_comm_fitted *of;                      /* owned; one per set of the results */
    rk_comm_error all[RK_COMM_SIZE_COUNT];   /* of all sets together */
    rk_comm_error sound[RK_COMM_SIZE_COUNT]; /* without rows that took longer than a larger size */
    rk_comm_error held[RK_COMM_SIZE_COUNT];
    rk_comm_error left_out[RK_COMM_SIZE_COUNT]; /* rows 0: fewer than two others */
} rk_comm_fits;

/*
 * Fits every set.  A row is not sound if a larger size of the same ranks took less than 0.8 of its
 * time: no function that grows with size has both.  Held out is the half of the rows that a hash of
 * system, collective, ranks and bytes picks, in sets of six rows and more.  A machine is left out
 * with all its set-ups: steps are the median over the other machines that ran the collective as it
 * did (in one domain, or in several), the share of the nominal bandwidth is the median of what
 * other machines with links of the same kind reach inside a domain with any collective that keeps
 * them busy, else with the same collective: where the nominal is known and there are two. The
 * caller releases the fits with rk_comm_fits_clear, also after a failure.
 */
rk_status rk_comm_fits_find(const rk_comm_results *results, rk_comm_fits *fits, rk_error *err);

void rk_comm_fits_clear(rk_comm_fits *fits);

/* Whether small messages of a set may go through another memory (rk_comm_row_may_inject). */
bool rk_comm_set_may_inject(const rk_comm_set *set);

#endif

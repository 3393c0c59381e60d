/* SPDX-License-Identifier: Apache-2.0 */
/* How often to write checkpoints, and what interruptions cost then. */
#ifndef RK_RUN_CHECKPOINT_H
#define RK_RUN_CHECKPOINT_H

#include "reckon/reckon.h"

/* ---- one level ------------------------------------------------------------------------------- */

/*
 * The best time between checkpoints that block training for `cost` s, with a mean time between
 * failures of `mtbf` s: Young's first order, and Daly's (mtbf itself from cost = 2 mtbf on).
 */
double rk_checkpoint_young(double cost, double mtbf);
double rk_checkpoint_daly(double cost, double mtbf);

/*
 * Expected time over the time without interruptions, when failures come as a Poisson process and
 * strike restarts as well (Daly 2006): mtbf e^(restart/mtbf) (e^((interval + cost)/mtbf) - 1) /
 * interval.
 */
double rk_failure_slowdown(double interval, double cost, double restart, double mtbf);

/*
 * Share of the time spent in steps by the first-order law of arXiv 2410.21680:
 * (1 - (restart + interval/2) / mtbf) / (1 + cost/interval); without checkpoints (`interval` 0)
 * 1 - restart/mtbf.  Restarts do not fail in it.  Never below 0.
 */
double rk_effective_share(double interval, double cost, double restart, double mtbf);

/* ---- two levels ------------------------------------------------------------------------------ */

/* Frequent copies nearby (memory of peers, local disks), and every so many one in far storage. */
typedef struct rk_checkpoint_levels {
    double mtbf_s;         /* mean time between interruptions of the run */
    double near_share;     /* of the interruptions, after which the near copy is usable */
    double near_cost_s;    /* training waits for a near copy */
    double far_cost_s;     /* and so much more for a far one */
    double near_restart_s; /* from an interruption to the next step, with reading */
    double far_restart_s;
    double interval_s; /* of training between two near copies */
    double far_every;  /* near copies per far one, at least 1 */
} rk_checkpoint_levels;

/*
 * Expected time over the time of training: exact for a Poisson process of interruptions that strike
 * copies and restarts as well.  A run returns to the last near copy, or with probability
 * 1 - near_share to the last far one.  HUGE_VAL if it does not advance.  Daly's law is the case
 * far_every = 1, near_share = near_cost_s = 0.
 */
double rk_checkpoint_levels_slowdown(const rk_checkpoint_levels *levels);

/*
 * Fills `interval_s`, at least `least_s` (above 0), and `far_every`, at most `most`, that have the
 * least slowdown.
 */
void rk_checkpoint_levels_best(rk_checkpoint_levels *levels, double least_s, double most);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Which assumptions of a whole run move its answer most. */
#ifndef RK_RUN_SENSITIVITY_H
#define RK_RUN_SENSITIVITY_H

#include "reckon/run.h"
#include "run/training.h"

typedef enum rk_assumption {
    RK_ASSUMES_STEP,          /* time of a step */
    RK_ASSUMES_INTERRUPTIONS, /* their rate */
    RK_ASSUMES_RESTART,       /* time from an interruption to the next step */
    RK_ASSUMES_STORAGE,       /* its bandwidth */
    RK_ASSUMPTION_COUNT,
} rk_assumption;

/* An assumption with its range, as factors of what the run assumes. */
typedef struct rk_assumed_range {
    rk_assumption what;
    rk_run_assumption figures;
} rk_assumed_range;

/*
 * Fills the name and the totals of every range, whose what, low and high are given, and sorts
 * the ranges by the difference between the two, the largest first.  The interval between
 * checkpoints follows where the run leaves it open.
 */
void rk_training_sensitivity(const rk_training *training, rk_assumed_range *ranges, int count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Single changes that make a step faster or leaner, as the framework writes them. */
#ifndef RK_METHOD_GAINS_H
#define RK_METHOD_GAINS_H

#include "method/fit_changes.h"

/* Changes of less than so much are not worth a line: of the step, of its memory. */
#define RK_GAIN_LEAST_TIME   0.005
#define RK_GAIN_LEAST_MEMORY 0.03

/* A change that saves memory may cost so much of the step. */
#define RK_GAIN_MOST_COST 0.15

#define RK_FLAG_CHANGE_TEXT 1024

/* Changes with the flags that make them. */
typedef struct rk_gains {
    rk_fit_changes changes;
    char flags[RK_FIT_CHANGE_MAX][RK_FLAG_CHANGE_TEXT];
} rk_gains;

/*
 * Finds what one change of a legal strategy gains: of each kind of change the fastest that fits and
 * is faster than `now`, best first; then of each kind that saves memory the one that saves most, if
 * it costs little time.  The changes: as in rk_find_fit_changes, overlap, sequence parallelism,
 * schedule, CUDA graphs and fused attention.
 */
rk_status rk_find_gains(const rk_setting *setting, const rk_strategy *from, const rk_estimate *now,
                        rk_gains *gains, rk_error *err);

/* Flags that make another strategy of one, ready to paste; "": none. */
typedef struct rk_flag_changes {
    char set[RK_FLAG_CHANGE_TEXT];   /* "--tensor-model-parallel-size 4 --sequence-parallel" */
    char unset[RK_FLAG_CHANGE_TEXT]; /* "--recompute-granularity" */
} rk_flag_changes;

/*
 * Finds them from the launch files of both strategies; if the framework has no writer, `set`
 * describes the change in words.
 */
rk_status rk_find_flag_changes(const rk_setting *setting, const rk_strategy *from,
                               const rk_strategy *to, rk_flag_changes *changes, rk_error *err);

/*
 * The flags that a launch file of the framework (--emit) has more, less or otherwise with `to` than
 * with `from`: "--recompute-granularity selective, without --use-distributed-optimizer".  If the
 * framework has no writer, or it refuses one, the words of rk_fit_change_text.  `out` is cut if too
 * small.
 */
rk_status rk_flag_change_text(const rk_setting *setting, const rk_strategy *from,
                              const rk_fit_change *change, char out[RK_FLAG_CHANGE_TEXT],
                              rk_error *err);

#endif

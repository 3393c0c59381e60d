/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy "observed": what is open of a run that ran is what it must have been, by its memory
 * and by what is usual; never what does not fit, if anything does.  Rows of tables of runs and
 * questions are completed by it alike.
 */
#ifndef RK_EVIDENCE_INFER_H
#define RK_EVIDENCE_INFER_H

#include "estimate/estimate.h"
#include "evidence/partial_strategy.h"
#include "framework/framework.h"
#include "strategy/origin.h"

typedef struct rk_inference {
    /* Input; the caller's documents are the run's own. */
    const rk_model *model;
    const rk_system *system;
    const rk_stack *stack;
    rk_framework framework; /* its constraints apply */
    rk_partial_strategy known;
    bool *no_memory; /* the caller's: set when an estimate had no memory, never cleared */

    /* The completed strategy; its layout lies in `layout`. */
    rk_strategy strategy;
    int16_t layout[RK_KNOWN_STAGES_MAX];
    rk_origins origins;      /* of the caller's values, and of filled-in ones */
    bool recompute_inferred; /* the assumed recomputation does not fit, and another does */
    bool transposes_again;   /* the stack is to make transposed weights in every backward pass */
    bool settings_inferred;  /* low_activations or transposes_again are */
} rk_inference;

/*
 * Completes the strategy; degrees that do not multiply up, stages that contradict the degrees and
 * strategies that the framework refuses are RK_ERR_INVALID.
 */
rk_status rk_infer_strategy(rk_inference *run, rk_error *err);

/* The estimate of the run by closed forms; all zero without memory, see no_memory. */
rk_estimate rk_infer_estimate(const rk_inference *run);

#endif

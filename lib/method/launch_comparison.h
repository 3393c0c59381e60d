/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a launch, for comparison with the layouts that a search finds for its job. */
#ifndef RK_METHOD_LAUNCH_COMPARISON_H
#define RK_METHOD_LAUNCH_COMPARISON_H

#include "method/gains.h"
#include "method/plan_result.h"

/* Predicted as it is; owned by rk_plan.launched. */
struct rk_launch_comparison {
    char refusal[RK_WORDS_SIZE]; /* why the layout is not legal on these accelerators; "": it is */
    rk_candidate candidate;      /* its strategy and estimate */
    rk_flag_changes flags;       /* that turn it into the best strategy */
};

/*
 * Predicts the layout of the launch of a request, if it has one that is legal, and finds the flags
 * in which the best strategy differs.  Fills plan->launched; rk_plan_clear releases it.
 */
rk_status rk_plan_find_launched(rk_control *control, const rk_request *request,
                                const rk_inputs *inputs, rk_plan *plan, rk_error *err);

/* The step and memory of the launch, what the best strategy gains, and its flags. */
void rk_launch_comparison_write(FILE *to, const rk_plan *plan);
void rk_launch_comparison_write_json(rk_json_writer *writer, const rk_plan *plan);

#endif

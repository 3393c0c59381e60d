/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a strategy, or any, fits in memory, and if not what would make it. */
#ifndef RK_METHOD_FIT_H
#define RK_METHOD_FIT_H

#include "method/fit_changes.h"
#include "method/plan_result.h"
#include "method/usual_savings.h"

/* The question and the answer. */
typedef struct rk_fit {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_plan plan;
    rk_fit_changes changes; /* of the strategy in question, if it does not fit */
    int64_t fewest;         /* accelerators on which some strategy fits; 0: no number suffices */
    rk_planned_strategy leanest; /* a strategy that fits on them */
    bool counts; /* the question is the number of accelerators: fills the following */
    rk_usual_savings cures;
    rk_request asked; /* with the fewest accelerators, and the sizes of fine-tuning */
    rk_inputs own;    /* with the framework of fine-tuning */
} rk_fit;

/* Cleared with rk_plan_clear(&fit->plan), also after a failure. */
rk_status rk_fit_find(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                      rk_fit *fit, rk_error *err);

/* Whether the strategy, or any, fits. */
bool rk_fit_fits(const rk_fit *fit);

/* How the search went, for programs; of a plan, too. */
rk_outcome_facts rk_fit_figures(const rk_fit *fit);

/* The strategy in question; NULL: none is legal. */
const rk_answer *rk_fit_answer(const rk_fit *fit);

#endif

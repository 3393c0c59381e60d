/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a strategy, or any, fits in memory, and if not what would make it. */
#ifndef RK_COMMAND_FIT_H
#define RK_COMMAND_FIT_H

#include "command/found.h"
#include "report/remedies.h"

/* The question and the answer. */
typedef struct rk_fit {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_found found;
    rk_fit_changes changes; /* of the strategy in question, if it does not fit */
    int64_t fewest;         /* accelerators on which some strategy fits; 0: no number suffices */
    rk_planned leanest;     /* a strategy that fits on them */
} rk_fit;

/* Cleared with rk_found_clear(&fit->found), also after a failure. */
rk_status rk_fit_find(rk_job *job, const rk_request *request, const rk_inputs *inputs, rk_fit *fit,
                      rk_error *err);

/* The strategy in question; NULL: none is legal. */
const rk_answer *rk_fit_answer(const rk_fit *fit);

#endif

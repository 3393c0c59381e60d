/* SPDX-License-Identifier: Apache-2.0 */
/* The usual memory savings, in order, and the accelerators on which each makes training fit. */
#ifndef RK_METHOD_USUAL_SAVINGS_H
#define RK_METHOD_USUAL_SAVINGS_H

#include "request/request.h"

/* A saving on top of those before it; of full fine-tuning, on top of the fused loss. */
typedef struct rk_usual_saving {
    const char *name, *options;
    rk_strategy alone;           /* on one accelerator, microbatches of one sequence */
    rk_estimate estimate;        /* of `alone`, even if it does not fit */
    int64_t fewest;              /* accelerators on which it fits; 0: no number suffices */
    rk_planned_strategy leanest; /* a strategy that fits on them */
} rk_usual_saving;

#define RK_USUAL_SAVING_MAX 8

typedef struct rk_usual_savings {
    rk_usual_saving items[RK_USUAL_SAVING_MAX];
    size_t count;
} rk_usual_savings;

/*
 * Finds the fewest accelerators on which a strategy of the request fits, ignoring the number that
 * it names.  A batch that is not given is one microbatch of each accelerator.
 */
rk_status rk_request_find_fewest(const rk_request *request, const rk_inputs *inputs,
                                 const rk_search_control *control, int64_t *fewest,
                                 rk_planned_strategy *leanest, rk_error *err);

/* Judges the cures that the request does not name already, and that its framework has. */
rk_status rk_usual_savings_find(const rk_request *request, const rk_inputs *inputs,
                                const rk_search_control *control, rk_usual_savings *cures,
                                rk_error *err);

#endif

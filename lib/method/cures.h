/* SPDX-License-Identifier: Apache-2.0 */
/* The usual cures, in order, when training does not fit: on one accelerator, and on how many. */
#ifndef RK_METHOD_CURES_H
#define RK_METHOD_CURES_H

#include "request/request.h"

/* A cure on top of the cures before it; of full fine-tuning, on top of the fused loss. */
typedef struct rk_cure {
    const char *name, *options;
    rk_strategy alone;           /* on one accelerator, microbatches of one sequence */
    rk_estimate estimate;        /* of `alone`, even if it does not fit */
    int64_t fewest;              /* accelerators on which it fits; 0: no number suffices */
    rk_planned_strategy leanest; /* a strategy that fits on them */
} rk_cure;

#define RK_CURE_MAX 8

typedef struct rk_cures {
    rk_cure items[RK_CURE_MAX];
    size_t count;
} rk_cures;

/*
 * Finds the fewest accelerators on which a strategy of the request fits, ignoring the number that
 * it names.  A batch that is not given is one microbatch of each accelerator.
 */
rk_status rk_request_find_fewest(const rk_request *request, const rk_inputs *inputs,
                                 const rk_search_control *control, int64_t *fewest,
                                 rk_planned_strategy *leanest, rk_error *err);

/* Judges the cures that the request does not name already, and that its framework has. */
rk_status rk_cures_find(const rk_request *request, const rk_inputs *inputs,
                        const rk_search_control *control, rk_cures *cures, rk_error *err);

#endif

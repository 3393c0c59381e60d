/* SPDX-License-Identifier: Apache-2.0 */
/* The strategy that a command is about: the one of its command line, or the fastest that fits. */
#ifndef RK_CLI_FOUND_H
#define RK_CLI_FOUND_H

#include "cli/reckon_plan.h"

typedef struct rk_found {
    bool searched; /* the command line gives no strategy: `plan` has the fastest that fits, or
                      what is missing */
    rk_reckoning plan;
    rk_answer given; /* of a strategy that was given */
} rk_found;

/* Estimates or searches; cleared with rk_found_clear, also after a failure. */
rk_status rk_found_fill(const rk_request *request, const rk_inputs *inputs, rk_found *found,
                        rk_error *err);
void rk_found_clear(rk_found *found);

/* The strategy and its estimate; NULL: none fits. */
const rk_answer *rk_found_answer(const rk_found *found);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question as a row of a table of measured runs: --set gives it cells and numbers of the stack,
 * and if it is completed like such a row, its options are cells, too.
 */
#ifndef RK_REQUEST_RUN_ROW_H
#define RK_REQUEST_RUN_ROW_H

#include "request/request.h"

/*
 * Reads --set and applies it to the machine and the stack of the inputs, applies the limits of the
 * request (rk_request_limit), and completes the strategy under the policy "observed".
 */
rk_status rk_request_settle_facts(const rk_request *request, rk_inputs *inputs, rk_error *err);

/* Applies what --set says of a strategy. */
void rk_request_set_strategy(const rk_request *request, const rk_settings *settings,
                             rk_strategy *strategy);

/* Takes the overlaps back that a stack cannot have, where none are given. */
void rk_request_stop_overlaps(const rk_request *request, const rk_stack *stack,
                              rk_strategy *strategy);

/* Whether --set says something of the field of rk_partial_strategy at an offset. */
bool rk_settings_say(const rk_settings *settings, size_t offset);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Options that say how a degree of parallelism is used, and so need it to be 2 or more. */
#ifndef RK_REQUEST_DEGREE_NEEDS_H
#define RK_REQUEST_DEGREE_NEEDS_H

#include "request/request.h"

/* The degrees that the options of a request need to be above 1, a bit per RK_DEGREE_*. */
unsigned rk_request_above_one(const rk_request *request);

/*
 * Refuses an option whose degree cannot be above 1: `possible` has a bit per RK_DEGREE_* for those
 * that can.  The error names the option and what it needs.
 */
rk_status rk_request_check_needs(const rk_request *request, unsigned possible, rk_error *err);

#endif

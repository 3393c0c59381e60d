/* SPDX-License-Identifier: Apache-2.0 */
/* Options that contradict each other, and files that a command does not write. */
#ifndef RK_REQUEST_REQUEST_CHECK_H
#define RK_REQUEST_REQUEST_CHECK_H

#include "job/output_form.h"
#include "request/request.h"

/*
 * Refuses options that exclude each other.  The rules of strategies check the rest, which depends
 * on the model, the machine or the framework.
 */
rk_status rk_request_check(const rk_request *request, rk_error *err);

/*
 * Takes --json or --csv from the ending of the output file.  Refuses an ending that says otherwise
 * than the options, and formats that are not written; --emit writes to any file.
 */
rk_status rk_request_settle_output(rk_request *request, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `reckon estimate` and `plan` as members of a JSON document: a document uses the
 * option names of the command line, with '_' for '-'.
 */
#ifndef RK_REQUEST_REQUEST_JSON_H
#define RK_REQUEST_REQUEST_JSON_H

#include "io/fields.h"
#include "request/request.h"

/*
 * Reads "accelerators", "global_batch", "seq", "framework", "max_memory", "risk" and
 * "mfu_convention" of `root`, and the others of its member "strategy".  A number with several
 * values is a list, so is a set of names.  Absent members have their defaults.  Text is borrowed
 * from the document.
 */
rk_status rk_request_read_json(const json_t *root, rk_request *request, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of reading a sweep's document. */
#ifndef RK_SWEEP_DOC_PARTS_H
#define RK_SWEEP_DOC_PARTS_H

#include "base/error.h"
#include "sweep/sweep_doc.h"

static inline rk_status rk_sweep_fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the sweep");
}

/* Fills doc->mode from the members "method", "task" and "search". */
rk_status rk_sweep_doc_read_mode(rk_sweep_doc *doc, const json_t *root, rk_error *err);

/* Replaces the names of models and systems in `root` by what they name. */
rk_status rk_sweep_doc_resolve(const rk_sweep_doc *doc, json_t *root, rk_error *err);

/* Loads the documents that the values of an axis name, if its key is one that names documents. */
rk_status rk_sweep_doc_resolve_axis(const rk_sweep_doc *doc, rk_sweep_axis *axis, const char *path,
                                    rk_error *err);

/* Reads the variables of the base that are expressions, then `set` (may be NULL), in an order in
 * which each follows those that it uses. */
rk_status rk_sweep_doc_read_settings(rk_sweep_doc *doc, const json_t *set, rk_error *err);

/* Reads "point_constraints"; `list` may be NULL. */
rk_status rk_sweep_doc_read_constraints(rk_sweep_doc *doc, const json_t *list, rk_error *err);

#endif

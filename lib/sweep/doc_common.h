/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a sweep's document that do not depend on the method. */
#ifndef RK_SWEEP_DOC_COMMON_H
#define RK_SWEEP_DOC_COMMON_H

#include "io/fields.h"
#include "sweep/solve_point.h"

rk_status rk_sweep_refuse(const json_t *value, const char *path, void *out, rk_error *err);

/*
 * Read a document of a point again if `change` has changed; `out` begins with an rk_sweep_common.
 * The second one is of systems, as a field.
 */
rk_status rk_sweep_read_document(rk_sweep_common *out, rk_document_kind kind, unsigned change,
                                 const json_t *value, const char *path, rk_error *err);
rk_status rk_sweep_read_system(const json_t *value, const char *path, void *out, rk_error *err);

#define RK_SWEEP_ABOUT_ALL(name_, help_)                                                           \
    RK_FIELD(name_, CUSTOM, 0, .optional = true, .read = rk_sweep_refuse, .help = help_)

/*
 * Fields of a struct that has an rk_sweep_common as its member `common`.  Variables are skipped;
 * members that concern all points are removed before a point is read.
 */
#define RK_SWEEP_COMMON_FIELDS(struct_)                                                            \
    RK_FIELD("top", INT, offsetof(struct_, common.top), .optional = true, .min = 1,                \
             .max = RK_SWEEP_TOP_MAX, .help = "results at each point (1)"),                        \
        RK_FIELD("let", CUSTOM, 0, .optional = true, .read = rk_field_pass, .help = "variables"),  \
        RK_SWEEP_ABOUT_ALL("axes", "what varies"),                                                 \
        RK_SWEEP_ABOUT_ALL("set", "what follows from it"),                                         \
        RK_SWEEP_ABOUT_ALL("point_constraints", "which points are dropped"),                       \
        RK_SWEEP_ABOUT_ALL("result_constraints", "which results are dropped"),                     \
        RK_SWEEP_ABOUT_ALL("columns", "what is written of a result"),                              \
        RK_SWEEP_ABOUT_ALL("method", "\"calculon\" or \"reckon\""),                                \
        RK_SWEEP_ABOUT_ALL("task", "\"search\" or \"estimate\""),                                  \
        RK_SWEEP_ABOUT_ALL("search", "\"exhaustive\" or \"bounded\"")

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The search by the Calculon methodology at one point of a sweep. */
#ifndef RK_SWEEP_POINT_H
#define RK_SWEEP_POINT_H

#include "sweep/doc.h"

typedef struct rk_sweep_point {
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_space space;
    int64_t top; /* mappings to rank */
} rk_sweep_point;

/*
 * Goes to a point and reads it with all checks of its documents; an error names the point.  *kept
 * says whether it meets all constraints; if not, it is not read.
 */
rk_status rk_sweep_point_read(rk_sweep_cursor *cursor, uint64_t number, rk_sweep_point *point,
                              bool *kept, rk_error *err);

/* The same for one point alone. */
rk_status rk_sweep_point_at(const rk_sweep_doc *doc, uint64_t number, rk_sweep_point *point,
                            bool *kept, rk_error *err);

#endif

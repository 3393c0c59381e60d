/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a point of a sweep by the Calculon method. */
#ifndef RK_SWEEP_CALCULON_POINT_H
#define RK_SWEEP_CALCULON_POINT_H

#include "method/calculon_request.h"
#include "sweep/doc_common.h"

/* All zero before the first point. An estimate uses only the datatype of the space. */
typedef struct rk_sweep_point {
    rk_sweep_common common;
    rk_calculon_request request;
    rk_calculon_exe exe; /* of an estimate; its rules are not checked yet */
    const json_t *root;  /* while it is read */
} rk_sweep_point;

/* Reads what has changed since the point was last read into, with all checks of its documents. */
rk_status rk_sweep_point_read(rk_sweep_point *point, bool estimate, const json_t *root,
                              unsigned changed, rk_error *err);

#endif

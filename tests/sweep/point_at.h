/* SPDX-License-Identifier: Apache-2.0 */
/* One point of a sweep, read by itself. */
#ifndef RK_TESTS_SWEEP_POINT_AT_H
#define RK_TESTS_SWEEP_POINT_AT_H

#include "sweep/calculon_point.h"

static inline rk_status read_point_at(const rk_sweep_doc *doc, uint64_t number,
                                      rk_sweep_point *point, bool *kept, rk_error *err)
{
    rk_sweep_cursor cursor;
    *point = (rk_sweep_point){.common.changed = 0};
    rk_sweep_cursor_init(&cursor, doc);
    rk_status status = rk_sweep_cursor_move(&cursor, number, kept, err);
    if (status == RK_OK && *kept) {
        status = rk_sweep_point_read(point, doc->mode.estimate, cursor.root, cursor.changed, err);
        status = status == RK_OK ? RK_OK : rk_sweep_doc_fail_at(doc, number, err);
    }
    rk_sweep_cursor_clear(&cursor);
    return status;
}

#endif

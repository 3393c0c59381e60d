/* SPDX-License-Identifier: Apache-2.0 */
/* Where a collective has its ranks: a packed group, a slice of a torus, or uneven nodes. */
#ifndef RK_COMM_PLACE_H
#define RK_COMM_PLACE_H

#include "system/system.h"

/*
 * The group of `ranks` (0: one innermost domain), `stride` from one to the next; refuses one that
 * the system has no room for.
 */
rk_status rk_comm_place(const rk_system *system, int64_t ranks, int64_t stride, rk_group *group,
                        rk_error *err);

/*
 * The slice of a torus that "4x4x8" says: sets the axes of the innermost tier and the number of
 * ranks, which has to agree if it is above 0.
 */
rk_status rk_comm_slice(rk_system *system, const char *text, int64_t *ranks, rk_error *err);

/*
 * The group with so many ranks on each node, `ranks` in all.  It counts every node as the fullest
 * but one, which has as many as the smallest: that node decides.
 */
rk_status rk_comm_place_unevenly(const rk_system *system, const rk_counts *placement,
                                 rk_group *group, int64_t *ranks, rk_error *err);

#endif

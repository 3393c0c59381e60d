/* SPDX-License-Identifier: Apache-2.0 */
/* Units of work of a search: the cells of one t with one microbatch, or with all. */
#ifndef RK_CALCULON_SEARCH_UNITS_H
#define RK_CALCULON_SEARCH_UNITS_H

#include "base/divisors.h"
#include "calculon/space.h"

/* The microbatches b_first .. b_first + b_count - 1 of one t. */
typedef struct rk_space_unit {
    size_t cell_first, cell_count; /* cells of this t */
    size_t b_first, b_count;       /* in units->microbatches */
} rk_space_unit;

typedef struct rk_space_units {
    rk_space_unit *items; /* owned */
    size_t count;
    rk_int_list microbatches;
    size_t v_max;     /* interleavings of one cell, at most */
    size_t cells_max; /* cells of one unit, at most */
} rk_space_units;

/*
 * Cuts a space into units: one per t and microbatch, or, `together`, one per t.  Released with
 * rk_space_units_clear, also after a failure.
 */
rk_status rk_space_units_init(const rk_space_plan *plan, bool together, rk_space_units *units,
                              rk_error *err);
void rk_space_units_clear(rk_space_units *units);

/* Returns the place of b among the microbatches of a cell, or SIZE_MAX. */
size_t rk_space_find_microbatch(const rk_space_plan *plan, const rk_space_cell *cell, int64_t b);

#endif

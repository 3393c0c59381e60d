/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a search space into units of work by tensor-parallel degree and microbatch size. */
#include "calculon/search_units.h"

#include "base/error.h"

#include <stdlib.h>

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Appends the union of the microbatches of some cells, ascending. */
static rk_status merge_microbatches(const rk_space_plan *plan, size_t cell_first, size_t cell_count,
                                    rk_int_list *list, rk_error *err)
{
    const size_t first = list->count;
    for (size_t i = cell_first; i < cell_first + cell_count; i++) {
        const rk_space_cell *cell = &plan->cells[i];
        for (size_t j = 0; j < cell->b_count; j++) {
            const rk_status status = rk_int_list_add(list, plan->values[cell->b_first + j], err);
            if (status) {
                return status;
            }
        }
    }
    qsort(list->items + first, list->count - first, sizeof(*list->items), compare_int64);
    size_t kept = first;
    for (size_t i = first; i < list->count; i++) {
        if (kept == first || list->items[kept - 1] != list->items[i]) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    return RK_OK;
}

static rk_status add_units(const rk_space_plan *plan, bool together, size_t cell_first,
                           size_t cell_count, rk_space_units *units, rk_error *err)
{
    const size_t b_first = units->microbatches.count;
    const rk_status status =
        merge_microbatches(plan, cell_first, cell_count, &units->microbatches, err);
    if (status) {
        return status;
    }
    const size_t b_count = units->microbatches.count - b_first;
    const size_t step = together ? b_count : 1;
    rk_space_unit *items =
        realloc(units->items, (units->count + b_count / step) * sizeof(*units->items));
    if (!items) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the units of a search");
    }
    units->items = items;
    for (size_t i = 0; i < b_count; i += step) {
        units->items[units->count++] = (rk_space_unit){
            .cell_first = cell_first,
            .cell_count = cell_count,
            .b_first = b_first + i,
            .b_count = step,
        };
    }
    return RK_OK;
}

rk_status rk_space_units_init(const rk_space_plan *plan, bool together, rk_space_units *units,
                              rk_error *err)
{
    rk_status status = RK_OK;
    *units = (rk_space_units){0};
    for (size_t i = 0, next; i < plan->cell_count && !status; i = next) {
        for (next = i; next < plan->cell_count && plan->cells[next].t == plan->cells[i].t; next++) {
            const size_t v_count = plan->cells[next].v_count;
            units->v_max = v_count > units->v_max ? v_count : units->v_max;
        }
        units->cells_max = next - i > units->cells_max ? next - i : units->cells_max;
        status = add_units(plan, together, i, next - i, units, err);
    }
    return status;
}

void rk_space_units_clear(rk_space_units *units)
{
    free(units->items);
    rk_int_list_clear(&units->microbatches);
    *units = (rk_space_units){0};
}

size_t rk_space_find_microbatch(const rk_space_plan *plan, const rk_space_cell *cell, int64_t b)
{
    for (size_t i = 0; i < cell->b_count; i++) {
        if (plan->values[cell->b_first + i] == b) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps by the Calculon methodology. */
#include "base/error.h"
#include "calculon/execution.h"
#include "method/calculon_columns.h"
#include "sweep/back_end.h"
#include "sweep/common.h"
#include "sweep/point.h"

#include <stdio.h>
#include <stdlib.h>

#define SLICE 8000000 /* mappings: tens of milliseconds */

struct rk_sweep_state {
    bool estimate, bounded;
    rk_sweep_point point;
    rk_calculon_ranked *ranked; /* owned; of a search */
    size_t room;
};

/* ---- columns --------------------------------------------------------------------------------- */

static const rk_column *count_columns(const rk_sweep_mode *mode, size_t *count)
{
    static const rk_column searched[] = {
        {"executed", RK_VALUE_INT}, {"good", RK_VALUE_INT}, {"bad", RK_VALUE_INT}};
    return rk_sweep_count_columns(mode, searched, count);
}

/* ---- a point --------------------------------------------------------------------------------- */

static rk_sweep_state *open_state(const rk_sweep_mode *mode)
{
    rk_sweep_state *state = calloc(1, sizeof(*state));
    if (state) {
        state->estimate = mode->estimate;
        state->bounded = mode->bounded;
    }
    return state;
}

static void close_state(rk_sweep_state *state)
{
    if (state) {
        free(state->ranked);
        free(state);
    }
}

static rk_status read_point(rk_sweep_state *state, json_t *root, unsigned changed, int64_t *top,
                            rk_error *err)
{
    rk_sweep_point *point = &state->point;
    const rk_status status = rk_sweep_point_read(point, state->estimate, root, changed, err);
    *top = point->common.top;
    return status == RK_OK && changed & ~(unsigned)RK_SWEEP_APPLICATION
               ? rk_calculon_sys_check(&point->sys, point->datatype, err)
               : status;
}

static rk_status count_strategies(rk_sweep_state *state, uint64_t *strategies, rk_error *err)
{
    const rk_sweep_point *point = &state->point;
    return rk_calculon_space_count(&point->app, &point->sys, &point->space, strategies, err);
}

/* ---- a search -------------------------------------------------------------------------------- */

/* Makes room to rank the mappings of a point. */
static rk_status make_room(rk_sweep_state *state, size_t room, rk_error *err)
{
    if (room <= state->room) {
        return RK_OK;
    }
    free(state->ranked);
    state->ranked = calloc(room, sizeof(*state->ranked));
    state->room = state->ranked ? room : 0;
    return state->ranked ? RK_OK
                         : rk_fail(err, RK_ERR_MEMORY, "no memory to rank %zu mappings", room);
}

static rk_status search(rk_sweep_state *state, const rk_search_control *control,
                        rk_sweep_found *found, rk_error *err)
{
    const rk_sweep_point *point = &state->point;
    const size_t limit = found->top.limit;
    size_t count = 0;
    rk_status status = make_room(state, limit, err);
    if (status == RK_OK && state->bounded) {
        rk_bounded_counts counts;
        status = rk_calculon_search_bounded(&point->app, &point->sys, &point->space, control, limit,
                                            state->ranked, &count, &counts, err);
        found->counts[0] = rk_value_int((int64_t)counts.total);
        found->counts[1] = rk_value_int((int64_t)counts.evaluated);
    } else if (status == RK_OK) {
        rk_search_counts counts;
        status = rk_calculon_search(&point->app, &point->sys, &point->space, control, limit,
                                    state->ranked, &count, &counts, err);
        found->counts[0] = rk_value_int((int64_t)counts.executed);
        found->counts[1] = rk_value_int((int64_t)counts.good);
        found->counts[2] = rk_value_int((int64_t)counts.bad);
    }
    for (size_t i = 0; i < count && status == RK_OK; i++) {
        status = rk_top_offer(&found->top, state->ranked[i].sample_rate, state->ranked[i].index,
                              &state->ranked[i].exe, err);
    }
    return status;
}

/* ---- an estimate ----------------------------------------------------------------------------- */

static rk_status estimate(rk_sweep_state *state, rk_sweep_found *found, rk_error *err)
{
    const rk_sweep_point *point = &state->point;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict = {.verdict = RK_FITS};
    rk_error fault = {0};
    rk_status status = rk_calculon_exe_check(&point->exe, &fault);
    if (status == RK_OK) {
        status = rk_calculon_evaluate(&point->app, &point->sys, &point->exe, &stats, NULL, NULL,
                                      &verdict, &fault);
    }
    if (status != RK_OK) {
        (void)snprintf(found->reason, sizeof(found->reason), "%s", fault.message);
    } else if (verdict.verdict != RK_FITS) {
        (void)rk_calculon_verdict_text(&verdict, found->reason, sizeof(found->reason));
    } else {
        status = rk_top_offer(&found->top, stats.sample_rate, 0, &point->exe, err);
    }
    found->counts[0] = found->reason[0] ? rk_value_text(found->reason) : (rk_value){0};
    return status == RK_ERR_INVALID || status == RK_ERR_LIMIT ? RK_OK : status;
}

/* ---- results --------------------------------------------------------------------------------- */

static rk_status refine(rk_sweep_state *state, rk_top *top, size_t wanted, size_t *count,
                        rk_error *err)
{
    (void)state;
    (void)err;
    rk_top_sort(top);
    *count = top->count < wanted ? top->count : wanted;
    return RK_OK;
}

static rk_status result(rk_sweep_state *state, const rk_top *top, size_t index, rk_value *values,
                        rk_error *err)
{
    const rk_sweep_point *point = &state->point;
    const rk_calculon_exe *exe = rk_top_payload(top, index);
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    const rk_status status =
        rk_calculon_evaluate(&point->app, &point->sys, exe, &stats, NULL, NULL, &verdict, err);
    if (status == RK_OK) {
        rk_calculon_values(exe, &stats, values);
    }
    return status;
}

const rk_sweep_method rk_sweep_calculon = {
    .count_columns = count_columns,
    .result_count = rk_calculon_column_count,
    .top_max = RK_SWEEP_TOP_MAX,
    .result_column = rk_calculon_column,
    .open = open_state,
    .close = close_state,
    .read = read_point,
    .count = count_strategies,
    .candidate_size = sizeof(rk_calculon_exe),
    .candidates = 1,
    .slice = SLICE,
    .search = search,
    .estimate = estimate,
    .refine = refine,
    .result = result,
};

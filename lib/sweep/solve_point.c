/* SPDX-License-Identifier: Apache-2.0 */
/* Searches or estimates at one point of a sweep, with the method's reader and columns. */
#include "sweep/solve_point.h"

#include "base/error.h"
#include "sweep/doc_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const rk_sweep_reader *rk_sweep_reader_of(const rk_sweep_mode *mode)
{
    return mode->reckon ? &rk_sweep_reader_reckon : &rk_sweep_reader_calculon;
}

/* ---- a point --------------------------------------------------------------------------------- */

rk_status rk_sweep_state_init(rk_sweep_state *state, const rk_sweep_mode *mode, rk_error *err)
{
    const rk_sweep_reader *reader = rk_sweep_reader_of(mode);
    *state = (rk_sweep_state){
        .reader = reader,
        .mode = *mode,
        .point = calloc(1, reader->size),
        .texts = malloc(reader->method->text_size + 1),
    };
    if (!state->point || !state->texts) {
        return rk_sweep_fail_memory(err);
    }
    state->point->problem.method = reader->method;
    return RK_OK;
}

void rk_sweep_state_clear(rk_sweep_state *state)
{
    if (state->point && state->reader->method->clear) {
        state->reader->method->clear(&state->point->problem);
    }
    rk_known_bounds_clear(&state->known);
    free(state->point);
    free(state->found);
    free(state->texts);
    *state = (rk_sweep_state){.reader = NULL};
}

rk_status rk_sweep_state_read(rk_sweep_state *state, const json_t *root, unsigned changed,
                              rk_error *err)
{
    if (changed & ~(unsigned)RK_SWEEP_MEMORY) {
        rk_known_bounds_clear(&state->known);
        state->counted = false;
    }
    return state->reader->read(state->point, state->mode.estimate, root, changed, err);
}

rk_status rk_sweep_state_count(rk_sweep_state *state, uint64_t *strategies, rk_error *err)
{
    const rk_method *method = state->reader->method;
    const rk_status status =
        state->counted ? RK_OK : method->count(&state->point->problem, &state->strategies, err);
    state->counted = status == RK_OK;
    *strategies = state->strategies;
    return status;
}

/* ---- columns --------------------------------------------------------------------------------- */

size_t rk_sweep_count_columns(const rk_sweep_mode *mode, rk_column columns[RK_SWEEP_COUNTS_MAX])
{
    const rk_method *method = rk_sweep_reader_of(mode)->method;
    if (mode->estimate) {
        columns[0] = (rk_column){"reason", RK_VALUE_TEXT};
        return 1;
    }
    if (mode->bounded) {
        columns[0] = (rk_column){"strategies", RK_VALUE_INT};
        if (mode->recalls) {
            return 1;
        }
        columns[1] = (rk_column){"evaluated", RK_VALUE_INT};
        return 2;
    }
    for (size_t i = 0; i < RK_METHOD_COUNTS; i++) {
        columns[i] = (rk_column){method->counts[i], RK_VALUE_INT};
    }
    return RK_METHOD_COUNTS;
}

/* ---- a search -------------------------------------------------------------------------------- */

/* Makes room to rank the strategies of a point. */
static rk_status make_room(rk_sweep_state *state, size_t room, rk_error *err)
{
    if (room <= state->room) {
        return RK_OK;
    }
    free(state->found);
    state->found = calloc(room, sizeof(*state->found));
    state->room = state->found ? room : 0;
    return state->found ? RK_OK
                        : rk_fail(err, RK_ERR_MEMORY, "no memory to rank %zu strategies", room);
}

/*
 * Searches by bounds.  Where they find nothing within the risk, an exhaustive search finds what is
 * riskier, as without bounds.
 */
static rk_status search_bounded(rk_sweep_state *state, const rk_search_control *control,
                                size_t limit, size_t *count, rk_point_result *found, rk_error *err)
{
    const rk_method *method = state->reader->method;
    const rk_problem *problem = &state->point->problem;
    const bool recalls = state->mode.recalls;
    uint64_t ignored[RK_METHOD_COUNTS];
    rk_bounded_counts counts;
    rk_status status =
        recalls ? method->bound_again(problem, &state->known, control, limit, state->found, count,
                                      &counts, err)
                : method->bound(problem, control, limit, state->found, count, &counts, err);
    found->counts[0] = rk_value_int((int64_t)counts.total);
    found->counts[1] = recalls ? (rk_value){0} : rk_value_int((int64_t)counts.evaluated);
    if (recalls && status == RK_OK && *count == 0) {
        status =
            method->search(problem, NULL, control, limit, state->found, count, NULL, ignored, err);
    }
    return status;
}

rk_status rk_sweep_state_search(rk_sweep_state *state, const rk_search_control *control,
                                rk_point_result *found, rk_error *err)
{
    const rk_method *method = state->reader->method;
    const rk_problem *problem = &state->point->problem;
    const size_t limit = found->top.limit;
    size_t count = 0;
    rk_status status = make_room(state, limit, err);
    if (status == RK_OK && state->mode.bounded) {
        status = search_bounded(state, control, limit, &count, found, err);
    } else if (status == RK_OK) {
        uint64_t counts[RK_METHOD_COUNTS] = {0};
        status =
            method->search(problem, NULL, control, limit, state->found, &count, NULL, counts, err);
        for (size_t i = 0; i < RK_METHOD_COUNTS; i++) {
            found->counts[i] = rk_value_int((int64_t)counts[i]);
        }
    }
    for (size_t i = 0; i < count && status == RK_OK; i++) {
        rk_candidate *candidate = &state->found[i];
        method->detach(candidate);
        status = rk_top_offer(&found->top, candidate->score, candidate->index, candidate, err);
    }
    return status;
}

/* ---- an estimate ----------------------------------------------------------------------------- */

static bool is_about_strategy(rk_status status)
{
    return status == RK_ERR_INVALID || status == RK_ERR_LIMIT;
}

/* A fault of the strategy itself is recorded as the reason; it is no error of the sweep. */
static rk_status evaluate(const rk_sweep_state *state, rk_candidate *candidate,
                          char reason[RK_MISFIT_SIZE], rk_error *err)
{
    const rk_method *method = state->reader->method;
    const rk_problem *problem = &state->point->problem;
    rk_error fault = {0};
    rk_status status = state->reader->strategy(state->point, candidate, &fault);
    if (status == RK_OK) {
        status = method->evaluate(problem, candidate, &fault);
    }
    if (is_about_strategy(status)) {
        (void)snprintf(reason, RK_MISFIT_SIZE, "%s", fault.message);
        candidate->step = 0;
        return RK_OK;
    }
    if (status == RK_OK && !candidate->fits) {
        status = method->misfit(problem, candidate, reason, &fault);
    }
    if (status != RK_OK) {
        *err = fault;
    }
    return status;
}

rk_status rk_sweep_state_estimate(const rk_sweep_state *state, rk_point_result *found,
                                  rk_error *err)
{
    rk_candidate candidate = {.index = 0};
    const rk_status status = evaluate(state, &candidate, found->reason, err);
    found->counts[0] = found->reason[0] ? rk_value_text(found->reason) : (rk_value){0};
    return status != RK_OK || !(candidate.step > 0)
               ? status
               : rk_top_offer(&found->top, candidate.score, 0, &candidate, err);
}

/* ---- results --------------------------------------------------------------------------------- */

rk_status rk_sweep_state_values(const rk_sweep_state *state, const rk_top *top, size_t index,
                                rk_value *values, rk_error *err)
{
    assert(index < top->count);
    const rk_method *method = state->reader->method;
    rk_candidate candidate = {.index = 0};
    memcpy(&candidate, rk_top_payload(top, index), method->candidate_size);
    return method->values(&state->point->problem, &candidate, state->texts, values, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of a strategy, and the timeline of its step. */
#include "api/handles.h"

#include "base/error.h"
#include "method/block_operators.h"
#include "timeline/operations.h"

#include <stdlib.h>

/* ---- operators ------------------------------------------------------------------------------- */

rk_status rk_operators_create(const rk_outcome *outcome, size_t index, rk_operators **operators,
                              rk_error *err)
{
    const rk_answer *answer;
    rk_status status = rk_outcome_pick(outcome, index, &answer, err);
    *operators = rk_allocate(sizeof(**operators), "operators", &status, err);
    if (!status) {
        status = rk_operators_fill(&outcome->setup->inputs, &answer->strategy, *operators, err);
    }
    return RK_CREATED(status, operators, rk_operators_free);
}

RK_DEFINE_FREE(rk_operators, rk_operators_clear)

bool rk_operators_at(const rk_operators *operators, size_t index, rk_operator_facts *facts,
                     size_t size)
{
    rk_operator_facts all;
    return rk_operator_at(operators, index, &all) && rk_abi_copy(facts, size, &all, sizeof(all));
}

/* ---- the timeline ---------------------------------------------------------------------------- */

rk_status rk_timeline_create(const rk_outcome *outcome, size_t index, rk_timeline **timeline,
                             rk_error *err)
{
    const rk_answer *answer;
    rk_status status = rk_outcome_pick(outcome, index, &answer, err);
    *timeline = rk_allocate(sizeof(**timeline), "a timeline", &status, err);
    if (!status) {
        const rk_inputs *inputs = &outcome->setup->inputs;
        status = rk_timeline_fill(&inputs->model, &inputs->system, &inputs->software.stack,
                                  &answer->strategy, &answer->estimate, *timeline, err);
    }
    return RK_CREATED(status, timeline, rk_timeline_free);
}

RK_DEFINE_FREE(rk_timeline, rk_timeline_clear)

void rk_timeline_describe(const rk_timeline *timeline, rk_timeline_facts *facts, size_t size)
{
    rk_abi_copy(facts, size, &timeline->figures, sizeof(timeline->figures));
}

bool rk_timeline_at(const rk_timeline *timeline, size_t index, rk_timeline_event *event,
                    size_t size)
{
    rk_timeline_event all;
    return rk_timeline_event_at(timeline, index, &all) &&
           rk_abi_copy(event, size, &all, sizeof(all));
}

bool rk_timeline_rank_at(const rk_timeline *timeline, int64_t rank, rk_timeline_rank *use,
                         size_t size)
{
    if (rank < 0 || rank >= timeline->strategy->pp) {
        return false;
    }
    const rk_timeline_rank all = {.idle_s = timeline->idle[rank],
                                  .most_in_flight = timeline->in_flight[rank]};
    return rk_abi_copy(use, size, &all, sizeof(all));
}

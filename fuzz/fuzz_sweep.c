/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a sweep document: what is read of its points lies in bounds. */
#include "sweep/solve_point.h"
#include "sweep/sweep_table.h"

#include <string.h>

#include "target.h"

#define POINTS 4 /* from either end of the grid */

static void require_value(rk_column column, rk_value value)
{
    REQUIRE(value.type != RK_VALUE_NULL);
    REQUIRE(column.type == value.type || column.type == RK_VALUE_NULL);
    REQUIRE(value.type != RK_VALUE_TEXT || value.text);
}

static void require_calculon(const rk_problem *problem, bool estimate)
{
    const rk_calculon_space *space = &problem->calculon.space;
    REQUIRE(problem->calculon.app.hidden >= 1 && problem->calculon.sys.network_count >= 1);
    REQUIRE(space->datatype <= RK_DATATYPE_COUNT);
    if (!estimate) {
        REQUIRE(space->num_procs >= 1 && space->max_batch_size >= 1);
        REQUIRE(space->fused_count == 1 || space->fused_count == 2);
    }
}

static void require_reckon(const rk_problem *problem, bool estimate)
{
    const rk_plan_space *space = &problem->reckon.space;
    REQUIRE(problem->reckon.inputs.model.layers >= 1 &&
            problem->reckon.inputs.system.tier_count >= 1);
    if (!estimate) {
        REQUIRE(space->accelerators >= 1 && space->global_batch >= 1);
        REQUIRE(space->recipe_count <= RK_PLAN_RECIPE_MAX);
    }
}

/* Goes to a point; what is read of it into `state`, where only changes are read, lies in bounds. */
static void require_point(rk_sweep_cursor *cursor, rk_sweep_state *state, uint64_t number)
{
    const rk_sweep_doc *doc = cursor->doc;
    rk_error err;
    bool kept;
    for (size_t i = 0; i < rk_sweep_doc_axis_count(doc); i++) {
        require_value(rk_sweep_doc_axis_column(doc, i), rk_sweep_doc_axis_value(doc, i, number));
    }
    rk_status status = rk_sweep_cursor_move(cursor, number, &kept, &err);
    if (!status && kept) {
        status = rk_sweep_state_read(state, cursor->root, cursor->changed, &err);
    }
    if (status) {
        require_sound_error(&err, status);
        return;
    }
    if (!kept) {
        return;
    }
    cursor->changed = 0;
    REQUIRE(state->point->top >= 1 && state->point->top <= RK_SWEEP_TOP_MAX);
    if (doc->mode.reckon) {
        require_reckon(&state->point->problem, doc->mode.estimate);
    } else {
        require_calculon(&state->point->problem, doc->mode.estimate);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_sweep_doc *doc;
    rk_error err;
    const rk_status status = rk_sweep_doc_parse((const char *)data, size, "input", &doc, &err);
    if (status) {
        REQUIRE(!doc);
        require_sound_error(&err, status);
        return 0;
    }
    const uint64_t count = rk_sweep_doc_point_count(doc);
    REQUIRE(count >= 1 && count <= RK_SWEEP_POINTS_MAX);
    REQUIRE(strlen(rk_sweep_doc_text(doc)) > 0);
    rk_sweep_table table;
    if (rk_sweep_table_init(doc, &table, &err)) {
        require_sound_error(&err, err.code);
    } else {
        REQUIRE(table.count > 0 && table.point_count < table.count);
        rk_sweep_table_clear(&table);
    }
    rk_sweep_cursor cursor;
    rk_sweep_state state;
    REQUIRE(rk_sweep_state_init(&state, &doc->mode, &err) == RK_OK);
    rk_sweep_cursor_init(&cursor, doc);
    for (uint64_t i = 0; i < POINTS && i < count; i++) {
        require_point(&cursor, &state, i);
        require_point(&cursor, &state, count - 1 - i);
    }
    rk_sweep_state_clear(&state);
    rk_sweep_cursor_clear(&cursor);
    rk_sweep_doc_free(doc);
    return 0;
}

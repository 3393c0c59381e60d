/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a sweep document: what is read of its points lies in bounds. */
#include "sweep/point.h"

#include <string.h>

#include "target.h"

#define POINTS 4 /* from either end of the grid */

static void require_value(rk_column column, rk_value value)
{
    REQUIRE(value.type != RK_VALUE_NULL);
    REQUIRE(column.type == value.type || column.type == RK_VALUE_NULL);
    REQUIRE(value.type != RK_VALUE_TEXT || value.text);
}

static void require_point(rk_sweep_cursor *cursor, uint64_t number)
{
    const rk_sweep_doc *doc = cursor->doc;
    rk_sweep_point point;
    rk_error err;
    bool kept;
    for (size_t i = 0; i < rk_sweep_doc_axis_count(doc); i++) {
        require_value(rk_sweep_doc_axis_column(doc, i), rk_sweep_doc_axis_value(doc, i, number));
    }
    const rk_status status = rk_sweep_point_read(cursor, number, &point, &kept, &err);
    if (status) {
        require_sound_error(&err, status);
        return;
    }
    if (!kept) {
        return;
    }
    REQUIRE(point.app.hidden >= 1 && point.sys.network_count >= 1);
    REQUIRE(point.space.num_procs >= 1 && point.space.max_batch_size >= 1);
    REQUIRE(point.space.datatype < RK_DATATYPE_COUNT);
    REQUIRE(point.space.fused_count == 1 || point.space.fused_count == 2);
    REQUIRE(point.top >= 1 && point.top <= RK_SWEEP_TOP_MAX);
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
    rk_sweep_cursor cursor;
    rk_sweep_cursor_init(&cursor, doc);
    for (uint64_t i = 0; i < POINTS && i < count; i++) {
        require_point(&cursor, i);
        require_point(&cursor, count - 1 - i);
    }
    rk_sweep_cursor_clear(&cursor);
    rk_sweep_doc_free(doc);
    return 0;
}

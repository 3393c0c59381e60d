/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a table of runs: a faulty one has a place, a good one predicts sound numbers. */
#include "evidence/runs.h"

#include <math.h>
#include <string.h>

#include "target.h"

static void require_prediction(const rk_run_sources *sources, const rk_run_table *table, size_t row)
{
    static rk_run_case run;
    rk_run_prediction p;
    rk_error err;
    const rk_status status = rk_run_case_fill(sources, table, row, &run, &err);
    if (status) {
        require_sound_error(&err, status);
        return;
    }
    (void)rk_run_predict(sources, &run, NULL, NULL, &p, NULL);
    REQUIRE(p.estimate.step > 0 && !isnan(p.memory));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rk_run_sources sources;
    rk_run_table table;
    rk_error err;
    if (!sources.rules) {
        REQUIRE(rk_run_sources_load(NULL, &sources, &err) == RK_OK);
    }
    const rk_status status = rk_run_table_parse((const char *)data, size, "input", &table, &err);
    if (status) {
        REQUIRE(!table.cells && !table.text);
        require_sound_error(&err, status);
        return 0;
    }
    for (size_t row = 0; row < table.rows; row++) {
        for (size_t i = 0; i < table.columns; i++) {
            REQUIRE(strlen(table.cells[(row + 1) * table.columns + i]) <= size);
        }
        require_prediction(&sources, &table, row);
    }
    rk_run_table_clear(&table);
    return 0;
}

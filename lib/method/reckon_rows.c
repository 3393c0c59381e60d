/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies of the reckon model in rows: the fields of a strategy, and what it costs. */
#include "method/rows.h"

#include "base/time_text.h"
#include "base/units.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum cost { STEP, TOKENS, FLOPS, MFU, MEMORY, RISK, HOST, COSTS };

static const char *const cost_labels[COSTS] = {
    [STEP] = "step",
    [TOKENS] = "tokens/s/GPU",
    [FLOPS] = "TFLOP/s/GPU",
    [MFU] = "MFU, %",
    [MEMORY] = "memory, GiB",
    [RISK] = "risk of OOM, %",
    [HOST] = "host memory, GiB",
};

/* Always shown; the other rows only where a strategy differs from the space's default. */
static const char *const usual_keys[] = {"tp",   "cp",          "pp",       "vp",       "dp",
                                         "zero", "micro_batch", "schedule", "recompute"};

static bool is_usual(const char *key)
{
    for (size_t i = 0; i < sizeof(usual_keys) / sizeof(usual_keys[0]); i++) {
        if (strcmp(usual_keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

bool rk_reckon_row_tells(const rk_problem *problem, const rk_candidate *candidates, size_t count,
                         size_t row)
{
    const rk_plan_space *space = &problem->reckon.space;
    bool differs = false;
    if (row >= RK_STRATEGY_FIELD_COUNT) {
        return row != RK_STRATEGY_FIELD_COUNT + HOST || space->offloads != RK_PLAN_NO_OFFLOAD;
    }
    for (size_t i = 0; i < count; i++) {
        differs = differs || !rk_strategy_same(&candidates[i].strategy, &space->base, row);
    }
    const bool asked = strcmp(rk_strategy_key(row), "global_batch") == 0;
    return is_usual(rk_strategy_key(row)) || (differs && !asked);
}

_Static_assert(RK_RECKON_ROWS == RK_STRATEGY_FIELD_COUNT + COSTS, "rows are counted");

const char *rk_reckon_row_label(size_t row)
{
    return row < RK_STRATEGY_FIELD_COUNT ? rk_strategy_label(row)
                                         : cost_labels[row - RK_STRATEGY_FIELD_COUNT];
}

const char *rk_reckon_describe(const rk_problem *problem, const rk_candidate *candidate, size_t row,
                               char out[RK_CELL_SIZE])
{
    assert(row < RK_RECKON_ROWS);
    const rk_estimate *e = &candidate->estimate;
    const double ranks = (double)rk_strategy_ranks(&candidate->strategy);
    const double costs[COSTS] = {
        [STEP] = e->step,
        [TOKENS] = e->tokens_per_second / ranks,
        [MFU] = 100 * e->mfu,
        [FLOPS] = e->model_flops / e->step / 1e12,
        [HOST] = e->host_bytes / GIB,
        [MEMORY] = rk_needed_bytes(&e->memory) / GIB,
        [RISK] = 100 * e->risk,
    };
    (void)problem;
    if (row < RK_STRATEGY_FIELD_COUNT) {
        return rk_strategy_text(&candidate->strategy, row, out);
    }
    const enum cost cost = (enum cost)(row - RK_STRATEGY_FIELD_COUNT);
    if (cost == STEP) {
        char time[RK_TIME_TEXT_SIZE];
        (void)snprintf(out, RK_CELL_SIZE, "%s", rk_time_text(e->step, time));
        return out;
    }
    if (cost == RISK) {
        (void)snprintf(out, RK_CELL_SIZE, "%.0f", costs[RISK]);
        return out;
    }
    (void)snprintf(out, RK_CELL_SIZE, cost == TOKENS || cost == FLOPS ? "%.1f" : "%.2f",
                   costs[cost]);
    return out;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts each row of run tables, pairs it with its measurement, and gathers the residuals. */
#include "evidence/compare.h"

#include "base/error.h"
#include "evidence/null_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_selected(const rk_compared *c, const char *split, const char *only)
{
    const rk_run_column columns[] = {RK_RUN_ID, RK_RUN_PART, RK_RUN_MODEL, RK_RUN_ACCELERATOR};
    if (split && strcmp(split, rk_run_cell(c->table, c->row, RK_RUN_SPLIT)) != 0) {
        return false;
    }
    if (!only || rk_run_contains(c->group, only) ||
        (c->stack && rk_run_contains(c->stack->name, only))) {
        return true;
    }
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        if (rk_run_contains(rk_run_cell(c->table, c->row, columns[i]), only)) {
            return true;
        }
    }
    return false;
}

static void set_case(const rk_run_sources *sources, const rk_run_case *run, rk_compared *c)
{
    c->stack = &sources->stacks[run->stack];
    c->system = &sources->systems[run->system];
    c->strategy = run->strategy;
    c->strategy.layout = NULL; /* it lies in the case */
    c->strategy.layout_count = 0;
    c->ranks = rk_strategy_ranks(&run->strategy);
    c->moe = false;
    for (int i = 0; i < run->model.type_count; i++) {
        c->moe |= rk_layer_is_moe(&run->model.types[i]);
    }
    c->step_measured = run->step_seconds;
    c->memory_measured = run->memory;
    c->out_of_memory = run->out_of_memory;
    c->settled = run->settled;
    c->uncounted = run->uncounted;
    (void)snprintf(c->assumed, sizeof(c->assumed), "%s", run->assumed);
    (void)snprintf(c->group, sizeof(c->group), "%s", run->group);
}

static void set_nodes(rk_compared *c)
{
    double per_node = (double)c->system->tiers[0].size;
    (void)rk_run_number(c->table, c->row, RK_RUN_PER_NODE, &per_node, NULL);
    const double nodes = per_node >= 1 ? (double)c->ranks / per_node : 1;
    c->nodes = nodes > 1 ? (int64_t)(nodes + 0.5) : 1;
}

static void set_prediction(const rk_run_case *run, const rk_run_prediction *p, rk_compared *c)
{
    const rk_estimate *e = &p->estimate;
    const double peak = c->system->accelerator.gemm[RK_BF16].peak;
    rk_system system;
    rk_run_system(run, c->system, &system);
    c->key = rk_similarity_key_of(&system, c->stack, &run->model, &run->strategy, e);
    c->key.assumed = run->filled;
    c->predicted = true;
    c->step = e->step;
    c->times = e->times;
    c->memory = p->memory;
    c->tokens_per_second = p->tokens_per_second;
    c->flops_per_second = p->flops_per_second;
    c->mfu = e->mfu;
    c->need = rk_needed_bytes(&e->memory);
    c->usable = e->usable;
    c->fits = e->fits;
    c->thrashes = e->thrashes;
    c->unsure = !c->fits && run->unsure;
    if (c->step_measured > 0 && peak > 0) {
        const int64_t seq = run->strategy.seq;
        c->mfu_measured = e->model_flops / c->step_measured / peak;
        c->utilisation = c->mfu_measured *
                         rk_model_flops_per_token(&run->model, seq, run->convention) /
                         rk_model_flops_per_token(&run->model, seq, e->convention);
    }
}

/* Only want of memory is an error: what cannot be predicted is left out with its reason. */
static rk_status compare_row(const rk_run_sources *sources, rk_run_case *scratch, rk_compared *c,
                             rk_error *error)
{
    rk_run_prediction prediction;
    rk_error err;
    scratch->group[0] = '\0';
    rk_status status = rk_run_case_fill(sources, c->table, c->row, scratch, &err);
    if (status) {
        (void)snprintf(c->group, sizeof(c->group), "%s", scratch->group);
    } else {
        set_case(sources, scratch, c);
        set_nodes(c);
        status = rk_run_predict_exact(sources, scratch, NULL, NULL, &prediction, &err);
    }
    if (status == RK_ERR_MEMORY) {
        return rk_fail(error, status, "%s", err.message);
    }
    if (status) {
        (void)snprintf(c->reason, sizeof(c->reason), "%.60s%s%.*s", err.path,
                       err.path[0] ? ": " : "", RK_COMPARED_TEXT - 64, err.message);
    } else {
        set_prediction(scratch, &prediction, c);
    }
    return RK_OK;
}

/* Marks the rows of sources that report runs which ran out of memory. */
static void set_labelled(rk_comparison *out)
{
    enum { SOURCE_MAX = 64 };
    const char *sources[SOURCE_MAX];
    size_t count = 0;
    for (size_t i = 0; i < out->count; i++) {
        size_t s = 0;
        while (s < count && strcmp(sources[s], out->rows[i].group) != 0) {
            s++;
        }
        if (out->rows[i].out_of_memory && s == count && count < SOURCE_MAX) {
            sources[count++] = out->rows[i].group;
        }
    }
    for (size_t i = 0; i < out->count; i++) {
        rk_compared *c = &out->rows[i];
        for (size_t s = 0; s < count && !c->labelled; s++) {
            c->labelled = strcmp(sources[s], c->group) == 0;
        }
    }
}

rk_status rk_compare_runs(const rk_run_sources *sources, const rk_run_table *tables,
                          size_t table_count, const char *split, const char *only,
                          rk_comparison *out, rk_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < table_count; i++) {
        total += tables[i].rows;
    }
    rk_run_case *scratch = malloc(sizeof(*scratch));
    *out = (rk_comparison){.rows = calloc(total + 1, sizeof(*out->rows)),
                           .selected = calloc(total + 1, sizeof(*out->selected))};
    if (!out->rows || !out->selected || !scratch) {
        free(scratch);
        rk_comparison_clear(out);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the comparison");
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < table_count; i++) {
        for (size_t row = 0; row < tables[i].rows && !status; row++) {
            rk_compared *c = &out->rows[out->count++];
            c->table = &tables[i];
            c->row = row;
            status = compare_row(sources, scratch, c, err);
            c->selected = is_selected(c, split, only);
            if (c->selected) {
                out->selected[out->selected_count++] = c;
            }
        }
    }
    free(scratch);
    if (status) {
        rk_comparison_clear(out);
        return status;
    }
    set_labelled(out);
    return rk_null_model(out, err);
}

void rk_comparison_clear(rk_comparison *comparison)
{
    free(comparison->rows);
    free(comparison->selected);
    *comparison = (rk_comparison){.rows = NULL};
}

static rk_status set_interval(rk_compared *c, const rk_residuals *residuals,
                              const rk_left_out *except, rk_error *err)
{
    rk_interval interval;
    const rk_status status = residuals->of_memory
                                 ? rk_memory_interval_of(residuals, &c->key, except, &interval, err)
                                 : rk_interval_of(residuals, &c->key, except, &interval, err);
    if (!status && residuals->of_memory) {
        c->memory_low = interval.low * c->memory;
        c->memory_high = interval.high * c->memory;
        c->risk = rk_risk_of(&interval, c->need, c->usable);
    } else if (!status) {
        c->low = interval.low * c->step;
        c->high = interval.high * c->step;
    }
    return status;
}

rk_status rk_compare_intervals(rk_comparison *comparison, const rk_residuals *residuals,
                               rk_error *err)
{
    for (size_t i = 0; i < comparison->count; i++) {
        rk_compared *c = &comparison->rows[i];
        if (!c->predicted) {
            continue;
        }
        const rk_left_out own = {.source = rk_run_cell(c->table, c->row, RK_RUN_PART),
                                 .model = rk_run_cell(c->table, c->row, RK_RUN_MODEL)};
        const bool known = strcmp(rk_run_cell(c->table, c->row, RK_RUN_SPLIT), "fit") == 0;
        const rk_status status = set_interval(c, residuals, known ? &own : NULL, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

static double time_ratio(const rk_compared *c)
{
    return rk_compared_has_time(c) ? c->step_measured / c->step : 0;
}

static double memory_ratio(const rk_compared *c)
{
    const bool wrong =
        c->selected && c->predicted && c->labelled && !c->unsure && c->out_of_memory == c->fits;
    return rk_compared_has_memory(c) ? c->memory_measured / c->memory
           : wrong                   ? c->usable / c->need
                                     : 0;
}

/* `ratio_of`: measured over predicted of a row; 0: it has none. */
static rk_status gather(const rk_comparison *comparison, double (*ratio_of)(const rk_compared *),
                        rk_residuals *out, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; !status && i < comparison->count; i++) {
        const rk_compared *c = &comparison->rows[i];
        const double ratio = ratio_of(c);
        if (ratio > 0) {
            status = rk_residuals_add(out, &c->key, rk_run_cell(c->table, c->row, RK_RUN_PART),
                                      rk_run_cell(c->table, c->row, RK_RUN_MODEL), ratio, err);
        }
    }
    status = status ? status : rk_residuals_source_error(out, err);
    if (status) {
        rk_residuals_clear(out);
    }
    return status;
}

rk_status rk_compare_residuals(const rk_comparison *comparison, rk_residuals *out, rk_error *err)
{
    *out = (rk_residuals){.of_memory = false};
    return gather(comparison, time_ratio, out, err);
}

rk_status rk_compare_memory_residuals(const rk_comparison *comparison, rk_residuals *out,
                                      rk_error *err)
{
    *out = (rk_residuals){.of_memory = true};
    return gather(comparison, memory_ratio, out, err);
}

bool rk_compared_has_time(const rk_compared *row)
{
    return row->selected && row->predicted && row->step_measured > 0;
}

bool rk_compared_has_memory(const rk_compared *row)
{
    return row->selected && row->predicted && row->memory_measured > 0;
}

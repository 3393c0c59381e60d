/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables of published training runs, predicts steps, hours or days, and gives the errors. */
#include "evidence/published.h"

#include "base/error.h"
#include "base/units.h"
#include "run/reliability.h"
#include "strategy/strategy.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BOUND 0.15
#define RUN_BOUND  0.25 /* without a published goodput */

const char *const rk_published_target_names[] = {"step", "hours", "days", NULL};

/* ---- cells --------------------------------------------------------------------------------- */

/* A number of at least 0, or 0 for an empty cell. */
static rk_status number(const rk_csv_in *table, size_t row, const char *column, double *value,
                        rk_error *err)
{
    const char *text = rk_csv_cell_of(table, row, column);
    char *end;
    *value = strtod(text, &end);
    if (*end || !(*value >= 0) || !(*value < HUGE_VAL)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s, run %s: column %s: expected a number, found \"%s\"", table->name,
                       rk_csv_cell_of(table, row, "id"), column, text);
    }
    return RK_OK;
}

static rk_status read_target(const rk_csv_in *table, size_t row, rk_published_target *target,
                             rk_error *err)
{
    const char *text = rk_csv_cell_of(table, row, "target");
    for (unsigned i = 0; rk_published_target_names[i]; i++) {
        if (strcmp(text, rk_published_target_names[i]) == 0) {
            *target = (rk_published_target)i;
            return RK_OK;
        }
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "%s, run %s: column target: expected step, hours or days, found \"%s\"",
                   table->name, rk_csv_cell_of(table, row, "id"), text);
}

/* ---- the run ------------------------------------------------------------------------------- */

/* Goodput, days and hours at the usual rate of interruptions. */
static rk_status fill_goodput(const rk_compared *c, double parameters, double tokens,
                              rk_published_run *run, rk_error *err)
{
    rk_training training;
    rk_training_result result;
    rk_status status = rk_training_usual((double)c->ranks, &training, err);
    if (status) {
        return status;
    }
    training.tokens = tokens;
    training.tokens_per_step = (double)c->strategy.global_batch * (double)c->strategy.seq;
    training.step = c->step;
    training.checkpoint = parameters * (c->strategy.states.weight + c->strategy.states.optimizer);
    status = rk_training_run(&training, &result, err);
    if (status) {
        return status;
    }
    run->goodput = result.goodput;
    run->interruptions = result.failures;
    const double goodput = run->goodput_published > 0 ? run->goodput_published : run->goodput;
    run->days = result.part[RK_TRAINING_STEPS] / goodput / DAY;
    run->hours = run->days * 24 * (double)c->ranks;
    return RK_OK;
}

/* Names recomputation that memory settled, because the source leaves it open. */
static void set_settled(rk_published_run *run)
{
    const rk_strategy *s = &run->strategy;
    size_t length = (size_t)snprintf(run->settled, sizeof(run->settled), "recompute %s",
                                     rk_recompute_kind_names[s->recompute]);
    for (unsigned i = 0; s->recompute == RK_REC_SELECTIVE && rk_module_names[i]; i++) {
        if (s->recompute_modules >> i & 1 && length < sizeof(run->settled)) {
            length += (size_t)snprintf(run->settled + length, sizeof(run->settled) - length, "%s%s",
                                       strchr(run->settled, ':') ? "+" : ": ", rk_module_names[i]);
        }
    }
    if (s->offload_activations && length < sizeof(run->settled)) {
        (void)snprintf(run->settled + length, sizeof(run->settled) - length,
                       ", activations offloaded");
    }
}

static void compare(rk_published_run *run)
{
    const double predicted = run->target == RK_PUBLISHED_STEP    ? run->step
                             : run->target == RK_PUBLISHED_HOURS ? run->hours
                                                                 : run->days;
    const double known = run->target == RK_PUBLISHED_STEP    ? run->step_published
                         : run->target == RK_PUBLISHED_HOURS ? run->hours_published
                                                             : run->days_published;
    run->error = known > 0 && predicted > 0 ? predicted / known - 1 : nan("");
    run->bound =
        run->target == RK_PUBLISHED_STEP || run->goodput_published > 0 ? STEP_BOUND : RUN_BOUND;
}

static rk_status fill_run(const rk_published *p, size_t row, rk_published_run *run, rk_error *err)
{
    assert(row < p->table.rows);
    const rk_csv_in *t = &p->table;
    const rk_compared *c = &p->compared.rows[row];
    double tokens;
    *run = (rk_published_run){
        .id = rk_csv_cell_of(t, row, "id"),
        .model = rk_csv_cell_of(t, row, "model"),
        .accelerator = rk_csv_cell_of(t, row, "accelerator"),
        .assumed = rk_csv_cell_of(t, row, "assumed"),
        .recalled = rk_csv_cell_of(t, row, "recalled"),
        .note = rk_csv_cell_of(t, row, "note"),
        .source = rk_csv_cell_of(t, row, "source"),
        .confirmed = strcmp(rk_csv_cell_of(t, row, "confirmed"), "false") != 0,
        .predicted = c->predicted,
        .reason = c->reason,
        .strategy = c->strategy,
        .fits = c->fits,
        .memory = c->need,
        .usable = c->usable,
        .step = c->step,
        .step_published = c->step_measured,
        .error = nan(""),
    };
    rk_status status = read_target(t, row, &run->target, err);
    status = status ? status : number(t, row, "tokens_T", &tokens, err);
    status = status ? status : number(t, row, "days", &run->days_published, err);
    status = status ? status : number(t, row, "accel_hours", &run->hours_published, err);
    status = status ? status : number(t, row, "goodput_pct", &run->goodput_published, err);
    if (status || !run->predicted) {
        return status;
    }
    if (c->settled) {
        set_settled(run);
    }
    run->goodput_published /= 100;
    if (tokens > 0) {
        rk_run_case filled;
        status = rk_run_case_fill(&p->sources, &p->facts, row, &filled, err);
        if (!status) {
            const rk_model_params params = rk_model_params_of(&filled.model);
            status = fill_goodput(c, (double)(params.total + params.mtp), tokens * 1e12, run, err);
        }
    }
    if (!status) {
        compare(run);
    }
    return status;
}

/* ---- the table ----------------------------------------------------------------------------- */

rk_status rk_published_load(const char *path, rk_published *out, rk_error *err)
{
    *out = (rk_published){.count = 0};
    rk_status status = rk_csv_load_named(path, "runs/tables", &out->table, err);
    status = status ? status : rk_run_table_load(path, &out->facts, err);
    status = status ? status : rk_run_table_check(&out->facts, err);
    status = status ? status : rk_run_sources_load(NULL, &out->sources, err);
    status = status ? status : rk_run_sources_add(&out->sources, &out->facts, err);
    status = status
                 ? status
                 : rk_compare_runs(&out->sources, &out->facts, 1, NULL, NULL, &out->compared, err);
    if (!status) {
        out->runs = calloc(out->compared.count + 1, sizeof(*out->runs));
        status =
            out->runs ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for published runs");
    }
    for (size_t i = 0; i < out->compared.count && !status; i++) {
        status = fill_run(out, i, &out->runs[i], err);
        out->count = i + 1;
    }
    if (status) {
        rk_published_clear(out);
    }
    return status;
}

void rk_published_clear(rk_published *published)
{
    free(published->runs);
    rk_comparison_clear(&published->compared);
    rk_run_sources_clear(&published->sources);
    rk_run_table_clear(&published->facts);
    rk_csv_in_clear(&published->table);
    *published = (rk_published){.count = 0};
}

size_t rk_published_within(const rk_published *published, size_t *counted)
{
    size_t within = 0;
    *counted = 0;
    for (size_t i = 0; i < published->count; i++) {
        const rk_published_run *run = &published->runs[i];
        if (run->confirmed && isfinite(run->error)) {
            (*counted)++;
            within += fabs(run->error) <= run->bound;
        }
    }
    return within;
}

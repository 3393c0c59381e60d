/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon design` for programs. */
#include "answer/codesign_writers.h"

#include "method/ranking_text.h"

#include <string.h>

static void write_design(rk_json_writer *writer, const rk_design_answer *d, const rk_design *design)
{
    rk_json_open(writer, "{");
    rk_json_count(writer, "processors", (uint64_t)design->processors);
    rk_json_open_member(writer, "numbers", "{");
    for (int i = 0; i < d->prices.axis_count; i++) {
        const rk_price_axis *axis = &d->prices.axes[i];
        if (!rk_price_axis_is_processors(axis)) {
            rk_json_real(writer, axis->key, axis->values[design->choice[i]]);
        }
    }
    rk_json_close(writer, "}");
    rk_json_real(writer, "cost_of_one", design->each);
    rk_json_real(writer, "cost", design->cost);
    rk_json_real(writer, "batch_s", rk_design_answer_step(d, design));
    rk_json_real(writer, "sequences_per_s", design->best.rate);
    rk_json_real(writer, "tokens_per_s", design->best.rate * (double)d->question.seq);
    if (d->target.tokens > 0) {
        rk_json_real(writer, "days", rk_design_answer_days(d, design));
    }
    if (rk_design_answer_run_cost(d, design) > 0) {
        rk_json_real(writer, "run_cost", rk_design_answer_run_cost(d, design));
    }
    rk_json_real(writer, d->question.problem.method->efficiency_key, design->best.efficiency);
    d->question.problem.method->write_json(writer, &design->best);
    rk_json_close(writer, "}");
}

void rk_design_write_members(rk_json_writer *writer, const void *what)
{
    const rk_design_answer *d = what;
    rk_json_string(writer, "method", d->question.problem.method->name);
    rk_json_string(writer, "prices", d->target.prices);
    rk_json_string(writer, "currency", d->prices.currency);
    rk_json_count(writer, "machines", d->count);
    rk_json_open_member(writer, "search", "{");
    rk_bounded_write_json(writer, &d->counts);
    rk_json_close(writer, "}");
    rk_json_performance(writer, d->cpu_s, -1);
    rk_json_real(writer, "target_sequences_per_s", d->least_rate);
    if (d->cheapest) {
        rk_json_key(writer, "cheapest");
        write_design(writer, d, d->cheapest);
    }
    if (!d->cheapest && (d->least_rate > 0 || !rk_design_cheapest(d->designs, d->count, 0))) {
        rk_json_string(writer, "reason",
                       rk_design_cheapest(d->designs, d->count, 0)
                           ? "no machine of the axes meets the target"
                           : "the model fits on no machine of the axes");
    }
    rk_json_open_member(writer, "front", "[");
    for (size_t i = 0; i < d->count; i++) {
        if (d->designs[i].on_front) {
            rk_json_item(writer);
            write_design(writer, d, &d->designs[i]);
        }
    }
    rk_json_close(writer, "]");
}

/* ---- all machines -------------------------------------------------------------------------- */

enum { BEFORE = 3, AFTER = 6, STRATEGY = 1 + RK_DEGREE_MAX }; /* columns around the axes */

static const rk_column before[BEFORE] = {
    {"cost", RK_VALUE_REAL}, {"cost_of_one", RK_VALUE_REAL}, {"processors", RK_VALUE_INT}};

static const rk_column after[AFTER] = {{"runs", RK_VALUE_BOOL},         {"on_front", RK_VALUE_BOOL},
                                       {"meets_target", RK_VALUE_BOOL}, {"batch_s", RK_VALUE_REAL},
                                       {"tokens_per_s", RK_VALUE_REAL}, {"days", RK_VALUE_REAL}};

/* The columns of the best strategy.  Returns how many. */
static size_t add_strategy_columns(const rk_method *method, rk_column *columns)
{
    columns[0] = (rk_column){method->efficiency_key, RK_VALUE_REAL};
    for (size_t i = 0; i < method->degree_count; i++) {
        columns[1 + i] = (rk_column){method->degrees[i].key, RK_VALUE_INT};
    }
    return 1 + method->degree_count;
}

static size_t fill_strategy(const rk_method *method, const rk_design *design, rk_value *row)
{
    const rk_value none = {.type = RK_VALUE_NULL};
    int64_t degrees[RK_DEGREE_MAX];
    method->degree_values(&design->best, degrees);
    row[0] = design->runs ? rk_value_real(design->best.efficiency) : none;
    for (size_t i = 0; i < method->degree_count; i++) {
        row[1 + i] = design->runs ? rk_value_int(degrees[i]) : none;
    }
    return 1 + method->degree_count;
}

static size_t fill_row(const rk_design_answer *d, const rk_design *design, rk_value *row)
{
    const rk_value none = {.type = RK_VALUE_NULL};
    const bool runs = design->runs;
    size_t count = 0;
    row[count++] = rk_value_real(design->cost);
    row[count++] = rk_value_real(design->each);
    row[count++] = rk_value_int(design->processors);
    for (int i = 0; i < d->prices.axis_count; i++) {
        const rk_price_axis *axis = &d->prices.axes[i];
        if (!rk_price_axis_is_processors(axis)) {
            row[count++] = rk_value_real(axis->values[design->choice[i]]);
        }
    }
    row[count++] = rk_value_bool(runs);
    row[count++] = rk_value_bool(design->on_front);
    row[count++] = rk_value_bool(runs && design->best.rate >= d->least_rate);
    row[count++] = runs ? rk_value_real(rk_design_answer_step(d, design)) : none;
    row[count++] = runs ? rk_value_real(design->best.rate * (double)d->question.seq) : none;
    row[count++] =
        runs && d->target.tokens > 0 ? rk_value_real(rk_design_answer_days(d, design)) : none;
    return count + fill_strategy(d->question.problem.method, design, &row[count]);
}

void rk_design_write_cells(rk_csv_out *csv, const void *what)
{
    const rk_design_answer *d = what;
    rk_column columns[BEFORE + RK_PRICE_AXES_MAX + AFTER + STRATEGY];
    rk_value row[BEFORE + RK_PRICE_AXES_MAX + AFTER + STRATEGY];
    size_t count = BEFORE;
    memcpy(columns, before, sizeof(before));
    for (int i = 0; i < d->prices.axis_count; i++) {
        if (!rk_price_axis_is_processors(&d->prices.axes[i])) {
            columns[count++] = (rk_column){d->prices.axes[i].key, RK_VALUE_REAL};
        }
    }
    memcpy(&columns[count], after, sizeof(after));
    count += AFTER;
    count += add_strategy_columns(d->question.problem.method, &columns[count]);
    rk_csv_header(csv, columns, count);
    for (size_t i = 0; i < d->count; i++) {
        rk_csv_row(csv, row, fill_row(d, &d->designs[i], row));
    }
}

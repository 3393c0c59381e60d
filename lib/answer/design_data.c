/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon design` for programs. */
#include "answer/codesign_writers.h"

#include "answer/answer_fields.h"
#include "base/units.h"
#include "method/ranking_text.h"

/* A machine with its best strategy, if it runs. */
struct machine {
    double cost, each;
    int64_t processors;
    bool runs, on_front, meets;
    double step, sequences, tokens, days, run_cost;
};

static struct machine machine_of(const rk_design_answer *d, const rk_design *design)
{
    struct machine m = {.cost = design->cost,
                        .each = design->each,
                        .processors = design->processors,
                        .runs = design->runs,
                        .on_front = design->on_front};
    if (m.runs) {
        m.meets = design->best.rate >= d->least_rate;
        m.step = rk_design_answer_step(d, design);
        m.sequences = design->best.rate;
        m.tokens = m.sequences * (double)d->question.seq;
        m.days = rk_design_answer_days(d, design);
        m.run_cost = rk_design_answer_run_cost(d, design);
    }
    return m;
}

#define FIELD(key, member) RK_ANSWER_FIELD(key, struct machine, member)

/* The fields before the axes, which CSV begins with the cost, and those behind them. */
static const rk_answer_field fields[] = {
    {FIELD("cost", cost), .in = RK_IN_CSV},
    {FIELD("cost_of_one", each), .in = RK_IN_CSV},
    {FIELD("processors", processors)},
    {FIELD("cost_of_one", each), .in = RK_IN_JSON},
    {FIELD("cost", cost), .in = RK_IN_JSON},
    {FIELD("runs", runs), .in = RK_IN_CSV},
    {FIELD("on_front", on_front), .in = RK_IN_CSV},
    {FIELD("meets_target", meets), .in = RK_IN_CSV},
    {FIELD("batch_s", step), .positive = true},
    {FIELD("sequences_per_s", sequences), .in = RK_IN_JSON},
    {FIELD("tokens_per_s", tokens), .positive = true},
    {FIELD("days", days), .positive = true, .optional = true},
    {FIELD("run_cost", run_cost), .in = RK_IN_JSON, .positive = true, .optional = true},
};
enum { FIELDS = COUNT(fields), FIRST = 3 };

static void write_design(rk_json_writer *writer, const rk_design_answer *d, const rk_design *design)
{
    const struct machine machine = machine_of(d, design);
    rk_json_open(writer, "{");
    rk_answer_members(writer, fields, FIRST, &machine);
    rk_json_open_member(writer, "numbers", "{");
    for (int i = 0; i < d->prices.axis_count; i++) {
        const rk_price_axis *axis = &d->prices.axes[i];
        if (!rk_price_axis_is_processors(axis)) {
            rk_json_real(writer, axis->key, axis->values[design->choice[i]]);
        }
    }
    rk_json_close(writer, "}");
    rk_answer_members(writer, &fields[FIRST], FIELDS - FIRST, &machine);
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

enum { STRATEGY = 1 + RK_DEGREE_MAX, COLUMNS = FIELDS + RK_PRICE_AXES_MAX + STRATEGY };

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

static void write_row(rk_csv_out *csv, const rk_design_answer *d, const rk_design *design)
{
    const struct machine machine = machine_of(d, design);
    rk_value row[COLUMNS];
    size_t count = rk_answer_values(fields, FIRST, &machine, row);
    for (int i = 0; i < d->prices.axis_count; i++) {
        const rk_price_axis *axis = &d->prices.axes[i];
        if (!rk_price_axis_is_processors(axis)) {
            row[count++] = rk_value_real(axis->values[design->choice[i]]);
        }
    }
    count += rk_answer_values(&fields[FIRST], FIELDS - FIRST, &machine, &row[count]);
    count += fill_strategy(d->question.problem.method, design, &row[count]);
    rk_csv_row(csv, row, count);
}

void rk_design_write_cells(rk_csv_out *csv, const void *what)
{
    const rk_design_answer *d = what;
    rk_column columns[COLUMNS];
    size_t count = rk_answer_columns(fields, FIRST, columns);
    for (int i = 0; i < d->prices.axis_count; i++) {
        if (!rk_price_axis_is_processors(&d->prices.axes[i])) {
            columns[count++] = (rk_column){d->prices.axes[i].key, RK_VALUE_REAL};
        }
    }
    count += rk_answer_columns(&fields[FIRST], FIELDS - FIRST, &columns[count]);
    count += add_strategy_columns(d->question.problem.method, &columns[count]);
    rk_csv_header(csv, columns, count);
    for (size_t i = 0; i < d->count; i++) {
        write_row(csv, d, &d->designs[i]);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon design`. */
#include "answer/answers.h"

#include "answer/answer_fields.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "method/brief.h"
#include "method/ranking_text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- for programs -------------------------------------------------------------------------- */

#define FIGURE(member) RK_ANSWER_FIGURE(rk_machine_facts, member)

/* The fields before the axes, which CSV begins with the cost, and those behind them. */
static const rk_answer_field fields[] = {
    {FIGURE(cost), .in = RK_IN_CSV},
    {FIGURE(cost_of_one), .in = RK_IN_CSV},
    {FIGURE(accelerators)},
    {FIGURE(cost_of_one), .in = RK_IN_JSON},
    {FIGURE(cost), .in = RK_IN_JSON},
    {FIGURE(runs), .in = RK_IN_CSV},
    {FIGURE(on_front), .in = RK_IN_CSV},
    {FIGURE(meets_target), .in = RK_IN_CSV},
    {FIGURE(step_s), .positive = true},
    {FIGURE(sequences_per_s), .in = RK_IN_JSON},
    {FIGURE(tokens_per_s), .positive = true},
    {FIGURE(days), .positive = true, .optional = true},
    {FIGURE(run_cost), .in = RK_IN_JSON, .positive = true, .optional = true},
};
enum { FIELDS = COUNT(fields), FIRST = 3 };

static void write_design(rk_json_writer *writer, const rk_design_answer *d, const rk_design *design)
{
    const rk_machine_facts machine = rk_design_answer_machine(d, design);
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

static void write_members(rk_json_writer *writer, const void *what)
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
    const rk_machine_facts machine = rk_design_answer_machine(d, design);
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

static void write_cells(rk_csv_out *csv, const void *what)
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

/* ---- for people ---------------------------------------------------------------------------- */

enum { BRIEF_MACHINES = 4 };

#define FIXED_COLUMNS 5 /* of the table, in addition to the axes */

/* A price with a letter for thousands, as people say it: "$ 81.2 M". */
#define MONEY_SIZE (RK_NUMBER_TEXT_SIZE + 16)
static const char *money(const rk_design_answer *d, double amount, char out[MONEY_SIZE])
{
    char number[RK_NUMBER_TEXT_SIZE];
    const char *text = rk_human_text(amount, RK_HUMAN_BASE10, number);
    const size_t length = strlen(text); /* a blank ends what has no letter */
    (void)snprintf(out, MONEY_SIZE, "%s %.*s", d->prices.currency,
                   (int)(length > 0 && text[length - 1] == ' ' ? length - 1 : length), text);
    return out;
}

/* ---- what was asked ------------------------------------------------------------------------ */

static void write_target(FILE *to, const rk_design_answer *d)
{
    const rk_machine_target *args = &d->target;
    const char *separator = "";
    char number[RK_NUMBER_TEXT_SIZE], step[RK_TIME_TEXT_SIZE];
    (void)fprintf(to, "%-10s", "target");
    if (args->step_s > 0) {
        (void)fprintf(to, "a step within %s", rk_duration_text(args->step_s, step));
        separator = "; ";
    }
    if (args->tokens_per_s > 0) {
        (void)fprintf(to, "%s%s tokens/s", separator,
                      rk_human_text(args->tokens_per_s, RK_HUMAN_BASE10, number));
        separator = "; ";
    }
    if (args->days > 0) {
        (void)fprintf(to, "%s%s tokens within %.6g days", separator,
                      rk_human_text(args->tokens, RK_HUMAN_BASE10, number), args->days);
        separator = "; ";
    }
    if (!separator[0]) {
        (void)fputs("none", to);
    }
    (void)fputc('\n', to);
}

static void write_inputs(FILE *to, const rk_design_answer *d)
{
    char number[RK_COMMAS_SIZE], price[MONEY_SIZE];
    d->question.problem.method->write_documents(to, &d->question);
    (void)fprintf(to, "%-10s%s: %s an accelerator, and what the axes add\n", "prices",
                  d->target.prices, money(d, d->prices.processor, price));
    d->question.problem.method->write_run(to, &d->question, 0);
    write_target(to, d);
    (void)fprintf(to, "%-10s%s machines\n", "", rk_with_commas((uint64_t)d->count, number));
    rk_write_bounded(to, &d->counts, d->question.problem.method->name, d->cpu_s);
}

/* ---- machines ------------------------------------------------------------------------------ */

static void write_cheapest(FILE *to, const rk_design_answer *d, bool brief)
{
    const rk_design *best = d->cheapest;
    const rk_machine_facts machine = rk_design_answer_machine(d, best);
    const char *separator = "";
    char price[MONEY_SIZE], each[MONEY_SIZE], number[RK_COMMAS_SIZE], words[RK_WORDS_SIZE];
    char rate[RK_NUMBER_TEXT_SIZE], step[RK_TIME_TEXT_SIZE];
    (void)fprintf(to, "The cheapest machine that meets the target: %s\n",
                  money(d, best->cost, price));
    (void)fprintf(to,
                  "  %s accelerators of %s: ", rk_with_commas((uint64_t)best->processors, number),
                  money(d, best->each, each));
    for (int i = 0; i < d->prices.axis_count; i++) {
        const rk_price_axis *axis = &d->prices.axes[i];
        if (!rk_price_axis_is_processors(axis)) {
            (void)fprintf(to, "%s%s %.6g", separator, axis->key, axis->values[best->choice[i]]);
            separator = ", ";
        }
    }
    (void)fprintf(to, "\n  %s for the batch, %s tokens/s, %s %.2f %%\n",
                  rk_time_text(machine.step_s, step),
                  rk_human_text(machine.tokens_per_s, RK_HUMAN_BASE10, rate),
                  d->question.problem.method->efficiency_name, 100 * best->best.efficiency);
    if (d->target.tokens > 0) {
        (void)fprintf(to, "  %.4g days for %s tokens", machine.days,
                      rk_human_text(d->target.tokens, RK_HUMAN_BASE10, rate));
        if (d->prices.life_days > 0) {
            (void)fprintf(to, ", %s of a life of %.5g days", money(d, machine.run_cost, price),
                          d->prices.life_days);
        }
        (void)fputc('\n', to);
    }
    if (brief) {
        d->question.problem.method->write_brief_strategy(to, &d->question.problem, &best->best);
        (void)fputc('\n', to);
    } else if (d->question.problem.method->strategy_words) {
        (void)fprintf(to, "  %s\n\n",
                      d->question.problem.method->strategy_words(&best->best, words));
    } else {
        (void)fputc('\n', to);
        d->question.problem.method->write_strategy(to, &best->best);
        (void)fputc('\n', to);
    }
}

/* Whether an axis has a column: on one screen, where machines of the front differ in it. */
static bool shows_axis(const rk_design_answer *d, int axis, bool brief)
{
    assert(axis >= 0 && axis < d->prices.axis_count);
    bool differ = !brief;
    int first = -1;
    for (size_t i = 0; i < d->count && !differ; i++) {
        const int choice = (int)d->designs[i].choice[axis];
        differ = d->designs[i].on_front && first >= 0 && choice != first;
        first = d->designs[i].on_front ? choice : first;
    }
    return differ && !rk_price_axis_is_processors(&d->prices.axes[axis]);
}

static void add_design(rk_table *table, const rk_design_answer *d, const rk_design *design,
                       bool brief)
{
    const rk_machine_facts machine = rk_design_answer_machine(d, design);
    char text[MONEY_SIZE];
    rk_table_cell(table, design == d->cheapest ? RK_MARK_BEST "%s" RK_MARK_END : "%s",
                  money(d, design->cost, text));
    rk_table_cell(table, "%" PRId64, design->processors);
    for (int i = 0; i < d->prices.axis_count; i++) {
        const rk_price_axis *axis = &d->prices.axes[i];
        if (shows_axis(d, i, brief)) {
            rk_table_cell(table, "%.6g", axis->values[design->choice[i]]);
        }
    }
    rk_table_cell(table, "%.5g", machine.step_s);
    if (d->target.tokens > 0) {
        rk_table_cell(table, "%.4g", machine.days);
    } else {
        rk_table_cell(table, "%s", rk_human_text(machine.tokens_per_s, RK_HUMAN_BASE10, text));
    }
    rk_table_cell(table, "%.2f", 100 * design->best.efficiency);
}

/* The Pareto front of machines; those that meet the target come after a line. */
static rk_status write_front(FILE *to, const rk_design_answer *d, rk_table_style style, bool brief,
                             rk_error *err)
{
    const size_t most = brief ? BRIEF_MACHINES : d->count;
    rk_table_column columns[RK_PRICE_AXES_MAX + FIXED_COLUMNS] = {{"cost", RK_ALIGN_RIGHT},
                                                                  {"accelerators", RK_ALIGN_RIGHT}};
    char efficiency[32];
    size_t count = 2;
    rk_table table;
    (void)snprintf(efficiency, sizeof(efficiency), "%s, %%",
                   d->question.problem.method->efficiency_short);
    for (int i = 0; i < d->prices.axis_count; i++) {
        if (shows_axis(d, i, brief)) {
            columns[count++] = (rk_table_column){d->prices.axes[i].key, RK_ALIGN_RIGHT};
        }
    }
    columns[count++] = (rk_table_column){"batch, s", RK_ALIGN_RIGHT};
    columns[count++] =
        (rk_table_column){d->target.tokens > 0 ? "days" : "tokens/s", RK_ALIGN_RIGHT};
    columns[count++] = (rk_table_column){efficiency, RK_ALIGN_RIGHT};
    rk_table_init(&table, columns, count);
    size_t rows = 0, slower = 0; /* slower ones, which do not meet the target */
    for (size_t i = 0; i < d->count; i++) {
        const rk_design *design = &d->designs[i];
        if (design == d->cheapest) {
            slower = rows;
        }
        if (design == d->cheapest && rows > 0) {
            rk_table_rule(&table);
        }
        if (design->on_front && rows < most) {
            add_design(&table, d, design, brief);
            rows++;
        }
    }
    (void)fprintf(to, "Machines that no other beats in cost and speed%s:\n\n",
                  !d->cheapest ? ""
                  : slower > 0 ? "; those below the line meet the target"
                               : "; all of them meet the target");
    return rk_write_table(to, &table, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_design_answer *d = what;
    const rk_method *method = d->question.problem.method;
    const bool brief = !style.full && method->write_brief_question;
    char price[MONEY_SIZE];
    if (brief) {
        method->write_brief_question(to, &d->question, 0);
        write_target(to, d);
        (void)fprintf(to, "%-10s%s: %s an accelerator; %zu machines\n", "prices", d->target.prices,
                      money(d, d->prices.processor, price), d->count);
    } else {
        write_inputs(to, d);
    }
    (void)fputc('\n', to);
    if (!rk_design_cheapest(d->designs, d->count, 0)) {
        (void)fputs("The model fits on none of the machines.\n", to);
        return RK_OK;
    }
    if (d->cheapest) {
        write_cheapest(to, d, brief);
    } else if (d->least_rate > 0) {
        (void)fputs("No machine meets the target.\n\n", to);
    }
    const rk_status status = write_front(to, d, style, brief, err);
    if (!status && brief) {
        rk_brief_write_more(to, "all machines of the front, and the search");
    }
    return status;
}

rk_status rk_design_write(const rk_job *job, const rk_design_answer *design, rk_error *err)
{
    static const rk_answer_writers writers = {
        .text = write_text, .members = write_members, .cells = write_cells};
    const rk_request_view *view = &design->question.view;
    return rk_job_answer(job, &writers, design, view->json, view->csv, view->output, err);
}

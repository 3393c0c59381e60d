/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon explain`. */
#include "answer/answers.h"

#include "answer/answer_fields.h"
#include "base/units.h"
#include "method/brief.h"
#include "method/ranking_text.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- for programs -------------------------------------------------------------------------- */

#define FIGURE(member) RK_ANSWER_FIGURE(rk_number_worth, member)

static const rk_answer_field fields[] = {
    {FIGURE(key)},
    {FIGURE(name)},
    {FIGURE(unit)},
    {FIGURE(from)},
    {FIGURE(to)},
    {FIGURE(old_step_s), .positive = true},
    {FIGURE(runs), .in = RK_IN_JSON},
    {FIGURE(step_s), .positive = true},
    {FIGURE(sequences_per_s), .positive = true},
    {FIGURE(gain)},
};
enum { FIELDS = COUNT(fields), OLD_STEP = 5, RUNS };

static void write_replan(rk_json_writer *writer, const rk_explain *explain,
                         const rk_number_effect *replan)
{
    const rk_number_worth worth = rk_explain_worth(explain, replan);
    char words[RK_WORDS_SIZE];
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_answer_members(writer, fields, OLD_STEP, &worth);
    rk_json_flag(writer, "old_runs", replan->old_rate > 0);
    rk_answer_members(writer, &fields[OLD_STEP], 1, &worth);
    rk_json_real(writer, "old_sequences_per_s", replan->old_rate);
    rk_answer_members(writer, &fields[RUNS], FIELDS - RUNS, &worth);
    rk_json_string(writer, "changes", rk_explain_changes(explain, replan, words));
    if (replan->runs) {
        explain->question.problem.method->write_json(writer, &replan->best);
    }
    rk_json_close(writer, "}");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_explain *explain = what;
    const rk_method *method = explain->question.problem.method;
    rk_json_string(writer, "method", method->name);
    rk_json_real(writer, "change", explain->change);
    rk_json_open_member(writer, "search", "{");
    rk_bounded_write_json(writer, &explain->counts);
    rk_json_close(writer, "}");
    rk_json_performance(writer, explain->cpu_s, -1);
    rk_json_open_member(writer, "best", "{");
    rk_json_real(writer, "step_s", explain->best.step);
    rk_json_real(writer, "sequences_per_s", explain->best.rate);
    method->write_json(writer, &explain->best);
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "numbers", "[");
    for (size_t i = 0; i < explain->count; i++) {
        write_replan(writer, explain, &explain->replans[i]);
    }
    rk_json_close(writer, "]");
}

static void write_cells(rk_csv_out *csv, const void *what)
{
    const rk_explain *explain = what;
    rk_column columns[FIELDS];
    const size_t last = rk_answer_columns(fields, FIELDS, columns);
    columns[last] = (rk_column){"changes", RK_VALUE_TEXT};
    rk_csv_header(csv, columns, last + 1);
    for (size_t i = 0; i < explain->count; i++) {
        const rk_number_effect *replan = &explain->replans[i];
        const rk_number_worth worth = rk_explain_worth(explain, replan);
        rk_value row[FIELDS];
        char words[RK_WORDS_SIZE];
        (void)rk_answer_values(fields, FIELDS, &worth, row);
        row[last] = rk_value_text(rk_explain_changes(explain, replan, words));
        rk_csv_row(csv, row, last + 1);
    }
}

/* ---- for people ---------------------------------------------------------------------------- */

#define LINE_WIDTH 100

enum { BRIEF_NUMBERS = 7 }; /* that are worth most */

/* Writes words, broken at blanks, further lines `indent` columns in. */
static void write_wrapped(FILE *to, int column, int indent, const char *words)
{
    assert(indent >= 1 && indent < LINE_WIDTH);
    while (*words) {
        const int length = (int)strcspn(words, " ");
        if (column + 1 + length > LINE_WIDTH) {
            column = fprintf(to, "\n%*s", indent - 1, "") - 1;
        }
        column += fprintf(to, " %.*s", length, words);
        words += length + (words[length] == ' ');
    }
    (void)fputc('\n', to);
}

/* The best strategy on the system as it is. */
static void write_best(FILE *to, const rk_explain *explain)
{
    const rk_method *method = explain->question.problem.method;
    char words[RK_WORDS_SIZE];
    rk_question_write(to, &explain->question);
    if (method->strategy_words) {
        const int column = fprintf(to, "%-9s", "best");
        write_wrapped(to, column, 10, method->strategy_words(&explain->best, words));
    } else {
        method->write_strategy(to, &explain->best);
    }
    (void)fprintf(to, "%-10s%.5g s a step, %.5g sequences/s\n", "", explain->best.step,
                  explain->best.rate);
    rk_write_bounded(to, &explain->counts, method->name, explain->cpu_s);
}

static void add_seconds(rk_table *table, double seconds)
{
    if (seconds > 0) {
        rk_table_cell(table, "%.5g", seconds);
    } else {
        rk_table_cell(table, "does not run");
    }
}

static rk_status write_numbers(FILE *to, const rk_explain *explain, rk_table_style style,
                               rk_error *err)
{
    char title[32];
    const rk_table_column columns[] = {
        {title, RK_ALIGN_LEFT},           {"from", RK_ALIGN_RIGHT},
        {"to", RK_ALIGN_RIGHT},           {"step, s", RK_ALIGN_RIGHT},
        {"replanned, s", RK_ALIGN_RIGHT}, {"faster, %", RK_ALIGN_RIGHT}};
    rk_table table;
    const double percent = 100 * explain->change;
    (void)snprintf(title, sizeof(title), "%.4g %% %s", percent < 0 ? -percent : percent,
                   percent < 0 ? "worse" : "better");
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < explain->count && (style.full || i < BRIEF_NUMBERS); i++) {
        const rk_number_worth worth = rk_explain_worth(explain, &explain->replans[i]);
        rk_table_cell(&table, i == 0 ? RK_MARK_BEST "%s, %s" RK_MARK_END : "%s, %s", worth.name,
                      worth.unit);
        rk_table_cell(&table, "%.5g", worth.from);
        rk_table_cell(&table, "%.5g", worth.to);
        add_seconds(&table, worth.old_step_s);
        add_seconds(&table, worth.step_s);
        /* in hundredths of a percent, to avoid -0.00 */
        const double gain = round(1e4 * worth.gain) / 100;
        rk_table_cell(&table, worth.runs ? "%.2f" : "-", gain == 0 ? 0.0 : gain);
    }
    return rk_write_table(to, &table, style, err);
}

static void write_changes(FILE *to, const rk_explain *explain)
{
    const char *introduction = "\nWhat changes in the strategy:\n";
    char words[RK_WORDS_SIZE];
    for (size_t i = 0; i < explain->count; i++) {
        const rk_number_effect *replan = &explain->replans[i];
        if (rk_explain_changes(explain, replan, words)[0]) {
            (void)fputs(introduction, to);
            write_wrapped(to, fprintf(to, "  %s:", replan->number.name), 4, words);
            introduction = "";
        }
    }
    if (introduction[0]) {
        (void)fputs("\nThe same strategy stays best whichever number changes.\n", to);
    }
}

static rk_status write_brief(FILE *to, const rk_explain *explain, rk_table_style style,
                             rk_error *err)
{
    const rk_method *method = explain->question.problem.method;
    method->write_brief_question(to, &explain->question, RK_SAYS_ACCELERATORS);
    (void)fputc('\n', to);
    method->write_brief_strategy(to, &explain->question.problem, &explain->best);
    (void)fprintf(to, "%-10s%.5g s a step, %.5g sequences/s\n\n", "", explain->best.step,
                  explain->best.rate);
    const rk_status status = write_numbers(to, explain, style, err);
    if (!status) {
        rk_brief_write_more(to, "every number, and what changes in the strategy");
    }
    return status;
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_explain *explain = what;
    if (!style.full && explain->question.problem.method->write_brief_question) {
        return write_brief(to, explain, style, err);
    }
    write_best(to, explain);
    (void)fputc('\n', to);
    const rk_status status = write_numbers(to, explain, style, err);
    if (!status) {
        write_changes(to, explain);
    }
    return status;
}

rk_status rk_explain_write(const rk_job *job, const rk_explain *explain, rk_error *err)
{
    static const rk_answer_writers writers = {
        .text = write_text, .members = write_members, .cells = write_cells};
    const rk_request_view *view = &explain->question.view;
    return rk_job_answer(job, &writers, explain, view->json, view->csv, view->output, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon explain` for programs. */
#include "answer/codesign_writers.h"

#include "method/ranking_text.h"

static void write_replan(rk_json_writer *writer, const rk_explain *explain,
                         const rk_number_effect *replan)
{
    char words[RK_WORDS_SIZE];
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_string(writer, "key", replan->number.key);
    rk_json_string(writer, "name", replan->number.name);
    rk_json_string(writer, "unit", replan->number.unit);
    rk_json_real(writer, "from", replan->number.value);
    rk_json_real(writer, "to", replan->value);
    rk_json_flag(writer, "old_runs", replan->old_rate > 0);
    rk_json_real(writer, "old_step_s", replan->old_step);
    rk_json_real(writer, "old_sequences_per_s", replan->old_rate);
    rk_json_flag(writer, "runs", replan->runs);
    rk_json_real(writer, "step_s", replan->best.step);
    rk_json_real(writer, "sequences_per_s", replan->best.rate);
    rk_json_real(writer, "gain", rk_explain_gain(explain, replan));
    rk_json_string(writer, "changes", rk_explain_changes(explain, replan, words));
    if (replan->runs) {
        explain->question.problem.method->write_json(writer, &replan->best);
    }
    rk_json_close(writer, "}");
}

void rk_explain_write_members(rk_json_writer *writer, const void *what)
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

void rk_explain_write_cells(rk_csv_out *csv, const void *what)
{
    const rk_explain *explain = what;
    static const rk_column columns[] = {
        {"key", RK_VALUE_TEXT},    {"name", RK_VALUE_TEXT},
        {"unit", RK_VALUE_TEXT},   {"from", RK_VALUE_REAL},
        {"to", RK_VALUE_REAL},     {"old_step_s", RK_VALUE_REAL},
        {"step_s", RK_VALUE_REAL}, {"sequences_per_s", RK_VALUE_REAL},
        {"gain", RK_VALUE_REAL},   {"changes", RK_VALUE_TEXT},
    };
    enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };
    rk_csv_header(csv, columns, COLUMNS);
    for (size_t i = 0; i < explain->count; i++) {
        const rk_number_effect *r = &explain->replans[i];
        const rk_value none = {.type = RK_VALUE_NULL};
        char words[RK_WORDS_SIZE];
        const rk_value row[COLUMNS] = {
            rk_value_text(r->number.key),
            rk_value_text(r->number.name),
            rk_value_text(r->number.unit),
            rk_value_real(r->number.value),
            rk_value_real(r->value),
            r->old_rate > 0 ? rk_value_real(r->old_step) : none,
            r->runs ? rk_value_real(r->best.step) : none,
            r->runs ? rk_value_real(r->best.rate) : none,
            r->runs ? rk_value_real(rk_explain_gain(explain, r)) : none,
            rk_value_text(rk_explain_changes(explain, r, words)),
        };
        rk_csv_row(csv, row, COLUMNS);
    }
}

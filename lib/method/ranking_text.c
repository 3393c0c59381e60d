/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a ranking: search counts, its strategies, and candidates in adjacent columns. */
#include "method/ranking_text.h"

#include "base/error.h"
#include "base/named.h"
#include "method/describe.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- how it went ---------------------------------------------------------------------------- */

void rk_write_bounded(FILE *to, const rk_bounded_counts *counts, const char *method, double cpu_s)
{
    const rk_named_count settled[] = {
        {"time", (int64_t)counts->by_time},
        {"memory", (int64_t)counts->by_memory},
        {"dominance", (int64_t)counts->by_dominance},
        {"rules", (int64_t)counts->by_rule},
    };
    const char *separator = "settled by ";
    char number[RK_COMMAS_SIZE];
    (void)fprintf(to, "%-10s%s strategies, ", "search", rk_with_commas(counts->total, number));
    (void)fprintf(to, "%s of them evaluated; %s method\n",
                  rk_with_commas(counts->evaluated, number), method);
    (void)fprintf(to, "%-10s", "");
    for (size_t i = 0; i < sizeof(settled) / sizeof(settled[0]); i++) {
        (void)fprintf(to, "%s%s %s", separator, settled[i].name,
                      rk_with_commas((uint64_t)settled[i].value, number));
        separator = ", ";
    }
    (void)fprintf(to, "\n%-10s%.3f s of processor time\n", "", cpu_s);
}

void rk_bounded_write_json(rk_json_writer *writer, const rk_bounded_counts *counts)
{
    rk_json_count(writer, "strategies", counts->total);
    rk_json_count(writer, "evaluated", counts->evaluated);
    rk_json_open_member(writer, "settled", "{");
    rk_json_count(writer, "by_time", counts->by_time);
    rk_json_count(writer, "by_memory", counts->by_memory);
    rk_json_count(writer, "by_dominance", counts->by_dominance);
    rk_json_count(writer, "by_rule", counts->by_rule);
    rk_json_close(writer, "}");
    rk_json_count(writer, "bounds", counts->bounds);
}

/* Whether the method chooses between bounded and exhaustive search. */
static bool chooses(const rk_method *method)
{
    return method->bounds_pay_from < UINT64_MAX;
}

void rk_ranking_write(FILE *to, const rk_method *method, const rk_ranking *ranking, double cpu_s)
{
    char number[RK_COMMAS_SIZE];
    if (ranking->by_bounds) {
        rk_write_bounded(to, &ranking->bounded, method->name, cpu_s);
        if (ranking->kind == RK_SEARCH_ANY) {
            (void)fprintf(to, "%-10sbounded search; --exhaustive counts what is legal and fits\n",
                          "");
        }
        return;
    }
    (void)fprintf(to, "%-10s", "search");
    for (size_t i = 0; i < RK_METHOD_COUNTS && method->counted[i]; i++) {
        (void)fprintf(to, "%s%s %s", i > 0 ? ", " : "", rk_with_commas(ranking->counts[i], number),
                      method->counted[i]);
    }
    (void)fprintf(to, "%s\n%-10s%.3f s of processor time", method->search_note, "", cpu_s);
    if (cpu_s > 0 && ranking->counts[0] > 0) {
        (void)fprintf(to, ", %.1f million strategies/s", (double)ranking->counts[0] / cpu_s / 1e6);
    }
    (void)fputc('\n', to);
}

void rk_ranking_write_json(rk_json_writer *writer, const rk_method *method,
                           const rk_ranking *ranking, double cpu_s, double wall_s)
{
    rk_json_open_member(writer, "search", "{");
    if (chooses(method)) {
        rk_json_string(writer, "method", ranking->by_bounds ? "bounded" : "exhaustive");
    }
    if (ranking->by_bounds) {
        rk_bounded_write_json(writer, &ranking->bounded);
    }
    for (size_t i = 0; !ranking->by_bounds && i < RK_METHOD_COUNTS && method->counted[i]; i++) {
        rk_json_count(writer, method->counted[i], ranking->counts[i]);
    }
    rk_json_close(writer, "}");
    rk_json_performance(writer, cpu_s, method->tells_wall ? wall_s : -1);
}

/* ---- side by side --------------------------------------------------------------------------- */

enum { TOGETHER_MAX = 10, GAP_WIDTH = 2 };

/* All compared candidates: a row that applies to one is shown for all. */
struct comparison {
    const rk_problem *problem;
    const rk_candidate *candidates;
    const unsigned *kinds; /* of alternatives; NULL: a plain ranking */
    size_t count;
    bool launched; /* the last is the layout of a launch */
};

/* The name of a candidate above its column. */
static const char *name_of(const struct comparison *c, size_t number)
{
    return c->launched && number == c->count - 1 ? "as it is"
                                                 : rk_alternative_name(c->kinds[number]);
}

static bool is_shown(const struct comparison *c, size_t row)
{
    const rk_method *method = c->problem->method;
    return !method->row_tells || method->row_tells(c->problem, c->candidates, c->count, row);
}

/* Widest cell of a candidate. */
static size_t column_width(const struct comparison *c, size_t number)
{
    assert(number < c->count);
    const rk_method *method = c->problem->method;
    const rk_candidate *candidate = &c->candidates[number];
    const size_t label = c->kinds ? strlen(name_of(c, number)) : 0;
    char text[RK_CELL_SIZE];
    size_t widest = label > (size_t)method->cell_width ? label : (size_t)method->cell_width;
    for (size_t row = 0; row < method->row_count; row++) {
        const size_t width = strlen(method->describe(c->problem, candidate, row, text));
        widest = width > widest && is_shown(c, row) ? width : widest;
    }
    return widest;
}

/* How many candidates from `first` on fit side by side; at least one. */
static size_t count_together(const struct comparison *c, size_t first, int width)
{
    assert(first < c->count);
    size_t used = (size_t)c->problem->method->label_width, count = 0;
    while (first + count < c->count && count < TOGETHER_MAX) {
        used += GAP_WIDTH + column_width(c, first + count);
        if (count > 0 && used > (size_t)width) {
            break;
        }
        count++;
    }
    return count;
}

static rk_status write_together(FILE *to, const struct comparison *c, size_t first, size_t count,
                                rk_table_style style, rk_error *err)
{
    const rk_method *method = c->problem->method;
    char titles[TOGETHER_MAX][24], text[RK_CELL_SIZE];
    rk_table_column columns[TOGETHER_MAX + 1] = {{"rank", RK_ALIGN_LEFT}};
    rk_table table;
    for (size_t i = 0; i < count; i++) {
        const bool launched = c->launched && first + i == c->count - 1;
        (void)snprintf(titles[i], sizeof(titles[i]), launched ? "launch" : "%zu", first + i + 1);
        columns[i + 1] = (rk_table_column){titles[i], RK_ALIGN_RIGHT};
    }
    rk_table_init(&table, columns, count + 1);
    if (c->kinds) {
        rk_table_cell(&table, "%s", "alternative");
        for (size_t i = first; i < first + count; i++) {
            rk_table_cell(&table, "%s", name_of(c, i));
        }
    }
    for (size_t row = 0; row < method->row_count; row++) {
        if (!is_shown(c, row)) {
            continue;
        }
        rk_table_cell(&table, "%s", method->row_label(row));
        for (size_t i = 0; i < count; i++) {
            rk_table_cell(&table, "%s",
                          method->describe(c->problem, &c->candidates[first + i], row, text));
        }
    }
    return rk_write_table(to, &table, style, err);
}

rk_status rk_write_comparison(FILE *to, const rk_problem *problem, const rk_ranking *ranking,
                              const rk_candidate *launched, rk_table_style style, rk_error *err)
{
    const size_t count = ranking->count + (launched != NULL);
    rk_candidate *candidates = calloc(count + 1, sizeof(*candidates));
    const struct comparison c = {problem, candidates, ranking->kinds[0] ? ranking->kinds : NULL,
                                 count, launched != NULL};
    if (!candidates) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a comparison");
    }
    memcpy(candidates, ranking->candidates, ranking->count * sizeof(*candidates));
    if (launched) {
        candidates[count - 1] = *launched;
    }
    rk_status status = RK_OK;
    for (size_t first = 0; first < count && !status;) {
        const size_t together = count_together(&c, first, style.width);
        status = write_together(to, &c, first, together, style, err);
        (void)fputc('\n', to);
        first += together;
    }
    free(candidates);
    return status;
}

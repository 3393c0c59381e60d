/* SPDX-License-Identifier: Apache-2.0 */
/* Reads goals such as "time,max:cost", and keeps the results that no other result beats. */
#include "sweep/pareto.h"

#include "base/error.h"
#include "base/list.h"
#include "base/text.h"
#include "sweep/doc_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- goals ----------------------------------------------------------------------------------- */

/* Short names for columns of either method. */
static const struct {
    const char *name, *columns[2];
} aliases[] = {
    {"time", {"total_time", "step_s"}},
    {"memory", {"proc_mem_tier1_cap_req", "memory_total_bytes"}},
    {"rate", {"sample_rate", "tokens_per_s"}},
};

/* Columns where more is better. */
static const char *const wanted[] = {
    "sample_rate",  "compute_efficiency",           "system_efficiency",      "total_efficiency",
    "tokens_per_s", "tokens_per_s_per_accelerator", "tflops_per_accelerator", "mfu",
    "hfu",
};

static bool find_column(const rk_sweep_table *table, const char *name, size_t *column)
{
    for (*column = 0; *column < table->count; ++*column) {
        if (strcmp(table->columns[*column].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* A column by its name, or else by an alias. */
static bool find_goal(const rk_sweep_table *table, const char *name, size_t *column)
{
    if (find_column(table, name, column)) {
        return true;
    }
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (strcmp(name, aliases[i].name) == 0) {
            return find_column(table, aliases[i].columns[0], column) ||
                   find_column(table, aliases[i].columns[1], column);
        }
    }
    return false;
}

static rk_status fail_goal(const char *name, const rk_sweep_table *table, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE];
    const char **names = calloc(table->count + 1, sizeof(*names));
    for (size_t i = 0; i < table->count && names; i++) {
        names[i] = table->columns[i].name;
    }
    const char *nearest = names ? rk_nearest_name(name, names, table->count) : NULL;
    free(names);
    (void)rk_json_printable(name, shown, sizeof(shown));
    return nearest ? rk_fail(err, RK_ERR_INVALID,
                             "the table has no column \"%s\" to be good in; did you mean \"%s\"?",
                             shown, nearest)
                   : rk_fail(err, RK_ERR_INVALID,
                             "the table has no column \"%s\" to be good in; add it to \"columns\"",
                             shown);
}

/* Cuts "min:" or "max:" off a goal; otherwise the column tells which it is. */
static rk_status read_goal(const char *text, const rk_sweep_table *table, rk_sweep_pareto *pareto,
                           rk_error *err)
{
    const bool given = strncmp(text, "max:", 4) == 0 || strncmp(text, "min:", 4) == 0;
    size_t column = 0;
    if (!find_goal(table, given ? text + 4 : text, &column)) {
        return fail_goal(given ? text + 4 : text, table, err);
    }
    if (pareto->goal_count == RK_SWEEP_GOALS_MAX) {
        return rk_fail(err, RK_ERR_LIMIT, "at most %d columns make a Pareto front",
                       RK_SWEEP_GOALS_MAX);
    }
    bool more = given && text[1] == 'a';
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && !given; i++) {
        more = more || strcmp(table->columns[column].name, wanted[i]) == 0;
    }
    pareto->goals[pareto->goal_count].column = column;
    pareto->goals[pareto->goal_count++].more = more;
    return RK_OK;
}

rk_status rk_sweep_pareto_init(const char *text, const rk_sweep_table *table,
                               rk_sweep_pareto *pareto, rk_error *err)
{
    char *copy = strdup(text), *rest = copy;
    rk_status status = copy ? RK_OK : rk_sweep_fail_memory(err);
    *pareto = (rk_sweep_pareto){.rank = table->point_count, .column_count = table->count};
    while (rest && status == RK_OK) {
        char *comma = strchr(rest, ',');
        if (comma) {
            *comma = '\0';
        }
        status = read_goal(rest, table, pareto, err);
        rest = comma ? comma + 1 : NULL;
    }
    free(copy);
    return status;
}

void rk_sweep_pareto_clear(rk_sweep_pareto *pareto)
{
    for (size_t i = 0; i < pareto->count; i++) {
        rk_bytes_clear(&pareto->front[i].row);
    }
    free(pareto->front);
    *pareto = (rk_sweep_pareto){0};
}

/* ---- the front ------------------------------------------------------------------------------- */

/* Whether `a` is no worse than `b` in every goal and better in at least one. */
static bool beats(const rk_sweep_pareto *pareto, const rk_sweep_best *a, const rk_sweep_best *b)
{
    bool better = false;
    for (size_t i = 0; i < pareto->goal_count; i++) {
        if (a->goals[i] > b->goals[i]) {
            return false;
        }
        better = better || a->goals[i] < b->goals[i];
    }
    return better;
}

/* Fills *value; false when there is none. */
static bool number_of(const rk_value *cell, double *value)
{
    *value = cell->type == RK_VALUE_INT ? (double)cell->integer : cell->real;
    return cell->type == RK_VALUE_INT || cell->type == RK_VALUE_REAL;
}

rk_status rk_sweep_pareto_add(rk_sweep_pareto *pareto, const rk_value *row, rk_error *err)
{
    rk_sweep_best found = {.point = (uint64_t)row[0].integer,
                           .rank = (uint64_t)row[pareto->rank].integer};
    for (size_t i = 0; i < pareto->goal_count; i++) {
        double value;
        if (!number_of(&row[pareto->goals[i].column], &value)) {
            return RK_OK;
        }
        found.goals[i] = pareto->goals[i].more ? -value : value;
    }
    size_t kept = 0;
    for (size_t i = 0; i < pareto->count; i++) {
        if (beats(pareto, &pareto->front[i], &found)) {
            return RK_OK; /* then `found` beats none of the earlier ones either */
        }
        if (beats(pareto, &found, &pareto->front[i])) {
            rk_bytes_clear(&pareto->front[i].row);
        } else {
            pareto->front[kept++] = pareto->front[i];
        }
    }
    pareto->count = kept;
    rk_sweep_best *front = rk_list_grow(pareto->front, kept, &pareto->room, sizeof(*front));
    if (!front) {
        return rk_sweep_fail_memory(err);
    }
    pareto->front = front;
    rk_sweep_rows_add(&found.row, row, pareto->column_count);
    pareto->front[pareto->count++] = found;
    return found.row.failed ? rk_sweep_fail_memory(err) : RK_OK;
}

static int compare_places(const void *a, const void *b)
{
    const rk_sweep_best *x = a, *y = b;
    if (x->point != y->point) {
        return x->point < y->point ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void rk_sweep_pareto_sort(rk_sweep_pareto *pareto)
{
    if (pareto->count > 0) {
        qsort(pareto->front, pareto->count, sizeof(*pareto->front), compare_places);
    }
}

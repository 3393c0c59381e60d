/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the tables of a recipe. */
#include "evidence/observations.h"

#include "base/error.h"
#include "base/list.h"
#include "base/text.h"
#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---------------------------------------------------------------------------------- */

static rk_cells cells_of(const rk_run_table *table)
{
    return (rk_cells){table->name, table->cells, table->rows, table->columns};
}

/* Place of a column in the header, or -1. */
static int column_of(const rk_run_table *table, const char *column)
{
    const rk_cells cells = cells_of(table);
    return rk_cell_column(&cells, column);
}

static const char *cell_of(const rk_run_table *table, size_t row, const char *column)
{
    const rk_cells cells = cells_of(table);
    const char *cell = rk_cell(&cells, row, column);
    return cell ? cell : "";
}

const char *rk_observation_cell(const rk_observations *all, const rk_observation *row,
                                const char *column)
{
    return cell_of(&all->tables[row->table], row->row, column);
}

static bool is_among(const char *cell, const rk_condition *condition)
{
    for (int i = 0; i < condition->text_count; i++) {
        if (condition->kind == RK_CONDITION_IS ? strcmp(cell, condition->texts[i]) == 0
                                               : rk_run_contains(cell, condition->texts[i])) {
            return true;
        }
    }
    return false;
}

static bool condition_holds(const rk_condition *condition, const char *cell)
{
    char *end = NULL;
    switch (condition->kind) {
    case RK_CONDITION_RANGE: {
        const double value = strtod(cell, &end);
        return end != cell && value >= condition->min && value <= condition->max;
    }
    case RK_CONDITION_WITHOUT:
        return !is_among(cell, condition);
    default:
        return is_among(cell, condition);
    }
}

/* Whether a row of a table meets the conditions. */
static bool conditions_hold(const rk_recipe_table *recipe, const rk_run_table *table, size_t row)
{
    for (int i = 0; i < recipe->condition_count; i++) {
        const rk_condition *condition = &recipe->conditions[i];
        if (!condition_holds(condition, cell_of(table, row, condition->column))) {
            return false;
        }
    }
    return true;
}

/* ---- rows of operators ---------------------------------------------------------------------- */

static const double least = 1e-12;

static rk_status read_operator(rk_table_kind kind, const rk_run_table *table, size_t row,
                               rk_observation *out, rk_error *err)
{
    const rk_cells cells = cells_of(table);
    rk_status status;
    switch (kind) {
    case RK_TABLE_GEMM:
    case RK_TABLE_ATTENTION:
        status = rk_operator_row_read(kind == RK_TABLE_GEMM ? RK_KERNEL_GEMM : RK_KERNEL_ATTENTION,
                                      &cells, row, &out->op, err);
        out->measured = out->op.kernel.seconds;
        return status;
    case RK_TABLE_COLLECTIVE:
        status = rk_collective_row_read(&cells, row, &out->collective, err);
        out->measured = out->collective.seconds;
        return status;
    case RK_TABLE_FLASH:
        status = rk_flash_row_read(&cells, row, &out->flash, err);
        out->measured = out->flash.seconds;
        return status;
    default:
        status = rk_cell_number(&cells, row, "us", least, false, &out->measured, err);
        out->measured *= 1e-6;
        return status ? status
                      : rk_cell_number(&cells, row, "bytes", least, false, &out->stream_bytes, err);
    }
}

/* ---- collecting ------------------------------------------------------------------------------ */

static rk_status fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the measurements");
}

/* Index of a name in a list; a new name is added. */
static rk_status place_of(rk_observation_group **list, size_t *count, size_t *room,
                          const char *name, int *place, rk_error *err)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*list)[i].name, name) == 0) {
            *place = (int)i;
            return RK_OK;
        }
    }
    rk_observation_group *groups = rk_list_grow(*list, *count, room, sizeof(*groups));
    if (!groups) {
        return fail_memory(err);
    }
    *list = groups;
    *place = (int)(*count)++;
    (*list)[*place] = (rk_observation_group){.rows = 0};
    (void)snprintf((*list)[*place].name, sizeof((*list)->name), "%s", name);
    return RK_OK;
}

enum { CELL_LETTERS = 40 };

/* The cells of a row in some columns, separated by blanks; or each up to its first blank. */
static void join_cells(const rk_run_table *table, size_t row, const char columns[][RK_RECIPE_NAME],
                       int count, bool first_word,
                       char name[sizeof(((rk_observation_group *)NULL)->name)])
{
    const size_t size = sizeof(((rk_observation_group *)NULL)->name);
    size_t used = 0;
    for (int i = 0; i < count && used < size; i++) {
        const char *cell = cell_of(table, row, columns[i]);
        const size_t word = first_word ? strcspn(cell, " ") : CELL_LETTERS;
        const int wrote = snprintf(name + used, size - used, "%s%.*s", i ? " " : "",
                                   (int)(word < CELL_LETTERS ? word : CELL_LETTERS), cell);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static rk_status set_groups(rk_observations *all, const rk_recipe_table *recipe,
                            rk_observation *row, rk_error *err)
{
    const rk_run_table *table = &all->tables[row->table];
    char name[sizeof(all->groups->name)];
    (void)snprintf(name, sizeof(name), "%s", rk_table_kind_names[recipe->kind]);
    if (recipe->group_count > 0) {
        join_cells(table, row->row, recipe->groups, recipe->group_count, false, name);
    }
    const rk_status status =
        place_of(&all->clusters, &all->cluster_count, &all->cluster_room, name, &row->cluster, err);
    if (status) {
        return status;
    }
    if (recipe->leave_out_count > 0) {
        join_cells(table, row->row, recipe->leave_out, recipe->leave_out_count, true, name);
    }
    return place_of(&all->groups, &all->group_count, &all->group_room, name, &row->group, err);
}

static rk_status add(rk_observations *all, const rk_recipe_table *recipe, rk_observation *row,
                     rk_error *err)
{
    const rk_status status = set_groups(all, recipe, row, err);
    if (status) {
        return status;
    }
    rk_observation *rows = rk_list_grow(all->rows, all->count, &all->room, sizeof(*rows));
    if (!rows) {
        return fail_memory(err);
    }
    all->rows = rows;
    all->groups[row->group].rows += !row->held;
    all->clusters[row->cluster].rows += !row->held;
    all->rows[all->count++] = *row;
    return RK_OK;
}

static int document_of(const rk_recipe *recipe, const char *const *names, const char *name)
{
    for (int i = 0; i < recipe->document_count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool is_fit(const rk_run_table *table, size_t row)
{
    return strcmp(cell_of(table, row, "split"), "fit") == 0;
}

static rk_status read_operators(const rk_recipe *recipe, const char *const *names, int index,
                                rk_observations *all, rk_error *err)
{
    assert(index >= 0 && index < recipe->table_count);
    const rk_recipe_table *from = &recipe->tables[index];
    const rk_run_table *table = &all->tables[index];
    rk_status status = RK_OK;
    for (size_t row = 0; !status && row < table->rows; row++) {
        rk_observation o = {.table = index, .row = row, .weight = from->weight};
        o.document = document_of(recipe, names, cell_of(table, row, "accelerator"));
        o.held = !is_fit(table, row);
        if (o.document < 0 || !conditions_hold(from, table, row)) {
            continue;
        }
        status = read_operator(from->kind, table, row, &o, err);
        if (!status) {
            status = add(all, from, &o, err);
        }
    }
    return status;
}

/* Whether a run has one of the documents as its software or its machine. */
static bool concerns(const rk_recipe *recipe, const char *const *names, const rk_observations *all,
                     const rk_run_case *run)
{
    const rk_system *system = &all->sources.systems[run->system];
    return document_of(recipe, names, all->sources.stack_names[run->stack]) >= 0 ||
           document_of(recipe, names, all->sources.system_names[run->system]) >= 0 ||
           document_of(recipe, names, system->accelerator.name) >= 0;
}

static rk_status add_run(const rk_recipe *recipe, int index, size_t row, const rk_run_case *run,
                         rk_observations *all, rk_error *err)
{
    const rk_recipe_table *from = &recipe->tables[index];
    const double measured = from->measure == RK_MEASURE_MEMORY ? run->memory : run->step_seconds;
    rk_observation o = {.table = index, .row = row, .document = -1, .weight = from->weight};
    if (!(measured > 0)) {
        all->skipped++;
        return RK_OK;
    }
    rk_run_case *cases = rk_list_grow(all->cases, all->case_count, &all->case_room, sizeof(*cases));
    if (!cases) {
        return fail_memory(err);
    }
    all->cases = cases;
    o.measured = measured;
    o.run = all->case_count;
    all->cases[all->case_count++] = *run;
    return add(all, from, &o, err);
}

static rk_status read_runs(const rk_recipe *recipe, const char *const *names, int index,
                           rk_observations *all, rk_error *err)
{
    assert(index >= 0 && index < recipe->table_count);
    const rk_run_table *table = &all->tables[index];
    rk_status status = RK_OK;
    if (column_of(table, "split") < 0) {
        (void)rk_fail(err, RK_ERR_INVALID,
                      "the table has no column \"split\": only rows marked \"fit\" are fitted");
        rk_error_set_file(err, table->name);
        return RK_ERR_INVALID;
    }
    if (!all->sources.rules) {
        status = rk_run_sources_load(NULL, &all->sources, err);
    }
    status = status ? status : rk_run_sources_add(&all->sources, table, err);
    for (size_t row = 0; !status && row < table->rows; row++) {
        rk_run_case run;
        if (!is_fit(table, row) || !conditions_hold(&recipe->tables[index], table, row)) {
            continue;
        }
        if (rk_run_case_fill(&all->sources, table, row, &run, NULL)) {
            all->skipped++;
        } else if (concerns(recipe, names, all, &run)) {
            status = add_run(recipe, index, row, &run, all, err);
        }
    }
    return status;
}

/* Columns that conditions and groups name must exist: a misspelt one would match nothing. */
static rk_status check_columns(const rk_recipe_table *recipe, const rk_run_table *table,
                               rk_error *err)
{
    const char *wrong = NULL;
    for (int i = 0; i < recipe->condition_count; i++) {
        const char *column = recipe->conditions[i].column;
        wrong = column_of(table, column) < 0 ? column : wrong;
    }
    for (int i = 0; i < recipe->group_count; i++) {
        wrong = column_of(table, recipe->groups[i]) < 0 ? recipe->groups[i] : wrong;
    }
    for (int i = 0; i < recipe->leave_out_count; i++) {
        wrong = column_of(table, recipe->leave_out[i]) < 0 ? recipe->leave_out[i] : wrong;
    }
    if (!wrong) {
        return RK_OK;
    }
    const char *near = rk_nearest_name(wrong, (const char *const *)table->cells, table->columns);
    (void)rk_fail(err, RK_ERR_INVALID,
                  "the recipe names the column \"%s\", which is not there%s%s%s", wrong,
                  near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    rk_error_set_file(err, table->name);
    return RK_ERR_INVALID;
}

/* Of a weight, a row gets n^-balance in a cluster of n. */
static void balance(rk_observations *all, double share)
{
    for (size_t i = 0; i < all->count; i++) {
        rk_observation *row = &all->rows[i];
        const double rows = (double)all->clusters[row->cluster].rows;
        row->weight *= rows > 0 ? pow(rows, -share) : 0;
    }
}

rk_status rk_observations_read(const rk_recipe *recipe, const char *const *names,
                               rk_observations *out, rk_error *err)
{
    rk_status status = RK_OK;
    memset(out, 0, sizeof(*out));
    out->tables = calloc((size_t)recipe->table_count, sizeof(*out->tables));
    if (!out->tables) {
        return fail_memory(err);
    }
    out->table_count = (size_t)recipe->table_count;
    for (int i = 0; !status && i < recipe->table_count; i++) {
        const rk_recipe_table *from = &recipe->tables[i];
        status = rk_run_table_load(from->file, &out->tables[i], err);
        if (!status) {
            status = check_columns(from, &out->tables[i], err);
        }
        if (!status) {
            status = from->kind == RK_TABLE_RUNS ? read_runs(recipe, names, i, out, err)
                                                 : read_operators(recipe, names, i, out, err);
        }
    }
    if (!status) {
        balance(out, recipe->balance);
    } else {
        rk_observations_clear(out);
    }
    return status;
}

void rk_observations_clear(rk_observations *observations)
{
    for (size_t i = 0; i < observations->table_count; i++) {
        rk_run_table_clear(&observations->tables[i]);
    }
    free(observations->tables);
    free(observations->rows);
    free(observations->groups);
    free(observations->clusters);
    free(observations->cases);
    rk_run_sources_clear(&observations->sources);
    memset(observations, 0, sizeof(*observations));
}

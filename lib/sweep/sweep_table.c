/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a sweep's results: names, expressions and constraints, bound to values. */
#include "sweep/sweep_table.h"

#include "base/error.h"
#include "base/text.h"
#include "sweep/doc_parts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- inside ---------------------------------------------------------------------------------- */

/* An axis whose key is the name of a result is called "axis.KEY". */
static rk_column axis_column(const rk_sweep_table *table, size_t axis)
{
    assert(axis < table->doc->axis_count);
    rk_column column = rk_sweep_doc_axis_column(table->doc, axis);
    char *name = table->axis_names[axis];
    for (size_t i = table->rank + 1; i < table->inside_count; i++) {
        if (strcmp(column.name, table->inside[i].name) == 0) {
            (void)snprintf(name, sizeof(table->axis_names[axis]), "axis.%s", column.name);
            column.name = name;
            break;
        }
    }
    return column;
}

static rk_status list_inside(rk_sweep_table *table, rk_error *err)
{
    const size_t axes = rk_sweep_doc_axis_count(table->doc);
    const size_t results = table->method->column_count();
    rk_column counts[RK_SWEEP_COUNTS_MAX];
    table->count_count = rk_sweep_count_columns(&table->doc->mode, counts);
    table->first_count = 1 + axes;
    table->rank = table->first_count + table->count_count;
    table->inside_count = table->rank + 1 + results;
    table->inside = calloc(table->inside_count, sizeof(*table->inside));
    table->axis_names = calloc(axes + 1, sizeof(*table->axis_names));
    table->names = calloc(results, sizeof(*table->names));
    if (!table->inside || !table->axis_names || !table->names) {
        return rk_sweep_fail_memory(err);
    }
    for (size_t i = 0; i < results; i++) {
        const rk_value_type type = table->method->column(i, table->names[i]);
        table->inside[table->rank + 1 + i] = (rk_column){table->names[i], type};
    }
    table->inside[0] = (rk_column){"point", RK_VALUE_INT};
    for (size_t i = 0; i < axes; i++) {
        table->inside[1 + i] = axis_column(table, i);
    }
    memcpy(&table->inside[table->first_count], counts, table->count_count * sizeof(*counts));
    table->inside[table->rank] = (rk_column){"rank", RK_VALUE_INT};
    return RK_OK;
}

/* ---- outside --------------------------------------------------------------------------------- */

static rk_status fail_taken(const char *name, const char *path, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE];
    return rk_fail_at(err, RK_ERR_INVALID, path, "there is another column \"%s\"",
                      rk_json_printable(name, shown, sizeof(shown)));
}

/* Adds an output column, for which there is room; takes ownership of the formula. */
static rk_status add_output(rk_sweep_table *table, rk_column column, const rk_sweep_output *output,
                            const char *path, rk_error *err)
{
    table->outputs[table->count] = *output;
    table->columns[table->count++] = column;
    for (size_t i = 0; i + 1 < table->count; i++) {
        /* SQLite ignores case in names */
        if (strcasecmp(table->columns[i].name, column.name) == 0) {
            return fail_taken(column.name, path, err);
        }
    }
    return RK_OK;
}

static rk_status add_inside(rk_sweep_table *table, size_t index, const char *path, rk_error *err)
{
    const rk_sweep_output output = {.inside = index};
    return add_output(table, table->inside[index], &output, path, err);
}

static rk_status fail_no_column(const rk_sweep_table *table, const char *name, const char *path,
                                rk_error *err)
{
    const char **names = calloc(table->inside_count, sizeof(*names));
    const char *nearest = NULL;
    char shown[RK_JSON_TEXT_SIZE];
    (void)rk_json_printable(name, shown, sizeof(shown));
    for (size_t i = 0; i < table->inside_count && names; i++) {
        names[i] = table->inside[i].name;
        if (strcmp(name, names[i]) == 0) {
            free(names);
            return rk_fail_at(err, RK_ERR_INVALID, path,
                              "every sweep has the column \"%s\"; leave it out", shown);
        }
    }
    nearest = names ? rk_nearest_name(name, names, table->inside_count) : NULL;
    free(names);
    return nearest ? rk_fail_at(err, RK_ERR_INVALID, path,
                                "there is no column \"%s\"; did you mean \"%s\"?", shown, nearest)
                   : rk_fail_at(err, RK_ERR_INVALID, path, "there is no column \"%s\"", shown);
}

/* Adds a column of the method by its name; "*": all. */
static rk_status add_named(rk_sweep_table *table, const char *name, const char *path, rk_error *err)
{
    rk_status status = RK_OK;
    bool found = false;
    for (size_t i = table->rank + 1; i < table->inside_count && status == RK_OK; i++) {
        if (strcmp(name, "*") == 0 || strcmp(name, table->inside[i].name) == 0) {
            status = add_inside(table, i, path, err);
            found = true;
        }
    }
    return found ? status : fail_no_column(table, name, path, err);
}

/* Whether an unresolved name is the name of a new column. */
static bool names_new_column(const rk_sweep_table *table, const rk_sweep_formula *formula)
{
    const json_t *list = table->doc->columns;
    for (size_t i = 0; i < rk_expression_name_count(formula->expression); i++) {
        const struct rk_sweep_name *name = &formula->names[i];
        json_t *found = NULL;
        if (name->is_column ||
            rk_sweep_key_find(&name->key, table->doc->base, &found, NULL) == RK_OK) {
            continue;
        }
        for (size_t j = 0; j < json_array_size(list); j++) {
            if (json_object_get(json_array_get(list, j), name->key.text)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Resolves names: axes and counts, keys, results, or earlier new columns. Returns whether any is a
 * result or depends on one.  Columns that are made of the point alone are all added before the
 * rank, so what is not there by then is made of results.
 */
static bool bind(const rk_sweep_table *table, rk_sweep_formula *formula)
{
    const size_t of_points = table->point_count > 0 ? table->point_count : table->count;
    json_t *known = table->doc->base;
    (void)rk_sweep_formula_bind(formula, table->inside, 0, table->rank, NULL);
    const bool of_results = rk_sweep_formula_bind(formula, &table->inside[table->rank], table->rank,
                                                  table->inside_count - table->rank, known);
    (void)rk_sweep_formula_bind(formula, table->columns, table->inside_count, of_points, known);
    return rk_sweep_formula_bind(formula, &table->columns[of_points],
                                 table->inside_count + of_points, table->count - of_points,
                                 known) ||
           names_new_column(table, formula) || of_results;
}

/*
 * Adds the expressions of {"name": "expression", ...} that depend on the point alone, or the
 * others.
 */
static rk_status add_formulas(rk_sweep_table *table, json_t *object, const char *path,
                              bool of_point, rk_error *err)
{
    char where[RK_JSON_PATH_SIZE];
    const char *name = NULL;
    json_t *value = NULL;
    rk_status status = RK_OK;
    json_object_foreach(object, name, value)
    {
        rk_sweep_output output = {.inside = 0};
        if (status != RK_OK) {
            break;
        }
        (void)rk_json_path_member(path, name, where);
        status = rk_sweep_formula_read(value, where, &output.formula, err);
        if (status != RK_OK) {
            break;
        }
        if (bind(table, &output.formula) == of_point) {
            rk_sweep_formula_clear(&output.formula);
            continue;
        }
        status = add_output(table, (rk_column){name, RK_VALUE_NULL}, &output, where, err);
    }
    return status;
}

/* The columns of the document, or only those that depend on the point alone. */
static rk_status add_asked(rk_sweep_table *table, bool of_point, rk_error *err)
{
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    const json_t *list = table->doc->columns;
    rk_status status = RK_OK;
    for (size_t i = 0; i < json_array_size(list) && status == RK_OK; i++) {
        json_t *item = json_array_get(list, i);
        (void)rk_json_path_element("columns", i, path);
        if (json_is_object(item)) {
            status = add_formulas(table, item, path, of_point, err);
        } else if (!json_is_string(item)) {
            status = rk_fail_at(err, RK_ERR_INVALID, path,
                                "expected the name of a column, or an object of names and "
                                "expressions, found %s",
                                rk_json_describe(item, text));
        } else if (!of_point) {
            status = add_named(table, json_string_value(item), path, err);
        }
    }
    return status;
}

/* Limit on the columns that `columns` names; a name may appear several times. */
static size_t count_asked(const rk_sweep_table *table)
{
    const json_t *list = table->doc->columns;
    size_t count = table->inside_count;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const bool all = json_is_string(item) && strcmp(json_string_value(item), "*") == 0;
        count += json_is_object(item) ? json_object_size(item) : all ? table->inside_count : 1;
    }
    return count;
}

static rk_status list_outside(rk_sweep_table *table, rk_error *err)
{
    const json_t *asked = table->doc->columns;
    char text[RK_JSON_TEXT_SIZE];
    rk_status status = RK_OK;
    if (asked && !json_is_array(asked)) {
        return rk_fail_at(err, RK_ERR_INVALID, "columns", "expected a list of columns, found %s",
                          rk_json_describe(asked, text));
    }
    const size_t most = count_asked(table);
    table->outputs = calloc(most, sizeof(*table->outputs));
    table->columns = calloc(most, sizeof(*table->columns));
    if (!table->outputs || !table->columns) {
        return rk_sweep_fail_memory(err);
    }
    for (size_t i = 0; i < table->first_count && status == RK_OK; i++) {
        status = add_inside(table, i, "axes", err);
    }
    if (status == RK_OK) {
        status = add_asked(table, true, err);
    }
    for (size_t i = table->first_count; i <= table->rank && status == RK_OK; i++) {
        table->point_count = table->count;
        status = add_inside(table, i, "columns", err);
    }
    if (status == RK_OK) {
        status = asked ? add_asked(table, false, err) : add_named(table, "*", "columns", err);
    }
    return status;
}

/* ---- constraints ----------------------------------------------------------------------------- */

static rk_status read_constraints(rk_sweep_table *table, rk_error *err)
{
    static const char name[] = "result_constraints";
    const json_t *list = table->doc->result_constraints;
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    if (list && !json_is_array(list)) {
        return rk_fail_at(err, RK_ERR_INVALID, name, "expected a list of expressions, found %s",
                          rk_json_describe(list, text));
    }
    const size_t count = json_array_size(list);
    table->constraints = calloc(count + 1, sizeof(*table->constraints));
    if (!table->constraints) {
        return rk_sweep_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        rk_sweep_formula *formula = &table->constraints[i];
        const rk_status status = rk_sweep_formula_read(
            json_array_get(list, i), rk_json_path_element(name, i, path), formula, err);
        if (status != RK_OK) {
            return status;
        }
        table->constraint_count = i + 1;
        (void)bind(table, formula);
    }
    return RK_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

rk_status rk_sweep_table_init(const rk_sweep_doc *doc, rk_sweep_table *table, rk_error *err)
{
    *table = (rk_sweep_table){.doc = doc, .method = rk_sweep_reader_of(&doc->mode)->method};
    rk_status status = list_inside(table, err);
    if (status == RK_OK) {
        status = list_outside(table, err);
    }
    if (status == RK_OK) {
        status = read_constraints(table, err);
    }
    if (status != RK_OK) {
        rk_error_set_file(err, doc->name);
        rk_sweep_table_clear(table);
    }
    return status;
}

void rk_sweep_table_clear(rk_sweep_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        rk_sweep_formula_clear(&table->outputs[i].formula);
    }
    for (size_t i = 0; i < table->constraint_count; i++) {
        rk_sweep_formula_clear(&table->constraints[i]);
    }
    free(table->inside);
    free(table->axis_names);
    free(table->names);
    free(table->outputs);
    free(table->columns);
    free(table->constraints);
    *table = (rk_sweep_table){0};
}

void rk_sweep_table_set_point(const rk_sweep_table *table, uint64_t number, const rk_value *counts,
                              rk_value *inside)
{
    inside[0] = rk_value_int((int64_t)number);
    for (size_t i = 1; i < table->first_count; i++) {
        inside[i] = rk_sweep_doc_axis_value(table->doc, i - 1, number);
    }
    memcpy(&inside[table->first_count], counts, table->count_count * sizeof(*counts));
}

rk_status rk_sweep_table_keeps(const rk_sweep_table *table, const rk_value *inside, json_t *root,
                               bool *keeps, rk_error *err)
{
    rk_status status = RK_OK;
    *keeps = true;
    for (size_t i = 0; i < table->constraint_count && status == RK_OK && *keeps; i++) {
        char path[RK_JSON_PATH_SIZE];
        status =
            rk_sweep_formula_holds(&table->constraints[i], root, inside,
                                   rk_json_path_element("result_constraints", i, path), keeps, err);
    }
    return status;
}

rk_status rk_sweep_table_outputs(const rk_sweep_table *table, rk_value *inside, json_t *root,
                                 size_t first, size_t end, rk_error *err)
{
    assert(first <= end && end <= table->count);
    rk_value *row = inside + table->inside_count;
    rk_status status = RK_OK;
    for (size_t i = first; i < end && status == RK_OK; i++) {
        const rk_sweep_output *output = &table->outputs[i];
        if (!output->formula.expression) {
            row[i] = inside[output->inside];
            continue;
        }
        status = rk_sweep_formula_value(&output->formula, root, inside, &row[i], NULL, err);
        if (status == RK_OK && row[i].type == RK_VALUE_BOOL) {
            row[i] = rk_value_int(row[i].boolean); /* the type that a database returns */
        }
    }
    return status;
}

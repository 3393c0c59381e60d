/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a study: plain rows, values by two quantities, lines of text, claims. */
#include "figures/build.h"

#include "base/error.h"

#include <string.h>

static rk_status start_table(rk_builder *builder, size_t rows, size_t columns, rk_study_item *item,
                             const char ***cells, rk_error *err)
{
    rk_status status =
        rk_arena_get(builder->arena, (rows + 1) * columns, sizeof(**cells), cells, err);
    item->kind = RK_STUDY_TABLE;
    item->rows = rows;
    item->columns = columns;
    for (size_t i = 0; i < (rows + 1) * columns && !status; i++) {
        (*cells)[i] = "";
    }
    item->cells = status ? NULL : *cells;
    return status;
}

/* ---- rows as they are ------------------------------------------------------------------ */

static rk_status list_rows(rk_builder *builder, const rk_spec_table *spec, const rk_rows *rows,
                           const char *path, rk_study_item *item, rk_error *err)
{
    const size_t columns = json_array_size(spec->columns);
    const char **cells;
    rk_status status = start_table(builder, rows->count, columns, item, &cells, err);
    for (size_t column = 0; column < columns && !status; column++) {
        const char *place = RK_PLACE(RK_PATH(path, "columns"), column);
        rk_spec_quantity quantity;
        rk_value *values;
        status =
            rk_spec_read_quantity(json_array_get(spec->columns, column), place, &quantity, err);
        if (!status && !quantity.value) {
            status = rk_fail_at(err, RK_ERR_INVALID, place, "a column needs a value");
        }
        if (!status) {
            status = rk_data_evaluate(rows, quantity.value, place, builder->arena, &values, err);
        }
        if (!status) {
            cells[column] = quantity.title ? quantity.title : quantity.value;
        }
        for (size_t row = 0; row < rows->count && !status; row++) {
            status = rk_quantity_text(builder, &quantity, &values[row],
                                      &cells[(row + 1) * columns + column], err);
        }
    }
    return status;
}

/* ---- a value for each pair ------------------------------------------------------------- */

typedef struct pivot {
    rk_value *rows, *columns, *values; /* of each row of the table */
    rk_distinct_values different_rows, different_columns;
} pivot;

static rk_status evaluate_pivot(rk_builder *builder, const rk_spec_table *spec, const rk_rows *rows,
                                const char *path, pivot *p, rk_error *err)
{
    const struct {
        const char *expression, *key;
        rk_value **values;
        rk_distinct_values *distinct;
    } parts[] = {
        {spec->rows.value, "rows", &p->rows, &p->different_rows},
        {spec->by.value, "by", &p->columns, &p->different_columns},
        {spec->value.value, "value", &p->values, NULL},
    };
    rk_status status = RK_OK;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !status; i++) {
        if (!parts[i].expression) {
            return rk_fail_at(err, RK_ERR_INVALID, path,
                              "a table needs columns, or rows, by and value");
        }
        status = rk_data_evaluate(rows, parts[i].expression, RK_PATH(path, parts[i].key),
                                  builder->arena, parts[i].values, err);
        if (!status && parts[i].distinct) {
            status = rk_arena_get(builder->arena, rows->count, sizeof(rk_value),
                                  &parts[i].distinct->values, err);
            parts[i].distinct->room = rows->count;
        }
    }
    for (size_t i = 0; i < rows->count && !status; i++) {
        (void)rk_distinct_place(&p->different_rows, &p->rows[i]);
        (void)rk_distinct_place(&p->different_columns, &p->columns[i]);
    }
    return status;
}

static rk_status list_pivot(rk_builder *builder, const rk_spec_table *spec, const rk_rows *rows,
                            const char *path, rk_study_item *item, rk_error *err)
{
    pivot p = {.rows = NULL};
    const char **cells;
    rk_status status = evaluate_pivot(builder, spec, rows, path, &p, err);
    if (!status) {
        status = start_table(builder, p.different_rows.count, p.different_columns.count + 1, item,
                             &cells, err);
    }
    if (status) {
        return status;
    }
    cells[0] = spec->rows.title ? spec->rows.title : spec->rows.value;
    for (size_t i = 0; i < p.different_columns.count && !status; i++) {
        status = rk_quantity_text(builder, &spec->by, &p.different_columns.values[i], &cells[i + 1],
                                  err);
    }
    for (size_t i = 0; i < p.different_rows.count && !status; i++) {
        status = rk_quantity_text(builder, &spec->rows, &p.different_rows.values[i],
                                  &cells[(i + 1) * item->columns], err);
    }
    for (size_t i = 0; i < rows->count && !status; i++) {
        const size_t row = rk_distinct_place(&p.different_rows, &p.rows[i]);
        const size_t column = rk_distinct_place(&p.different_columns, &p.columns[i]);
        const char **cell = &cells[(row + 1) * item->columns + column + 1];
        if ((*cell)[0] != '\0') {
            return rk_fail_at(err, RK_ERR_INVALID, path,
                              "two rows belong to the same cell: \"where\" chooses among them");
        }
        status = rk_quantity_text(builder, &spec->value, &p.values[i], cell, err);
    }
    return status;
}

rk_status rk_build_table(rk_builder *builder, const json_t *value, const char *path,
                         rk_study_item *item, rk_error *err)
{
    rk_spec_table spec = {.table = NULL};
    const rk_data *data = NULL;
    rk_rows rows;
    rk_status status = rk_spec_read_table(value, path, &spec, err);
    if (!status) {
        status = rk_builder_table(builder, spec.table, path, &data, err);
    }
    if (!status) {
        status =
            rk_data_select(data, spec.where, RK_PATH(path, "where"), builder->arena, &rows, err);
    }
    if (status) {
        return status;
    }
    return spec.columns ? list_rows(builder, &spec, &rows, path, item, err)
                        : list_pivot(builder, &spec, &rows, path, item, err);
}

/* ---- lines of text --------------------------------------------------------------------- */

rk_status rk_build_lines(rk_builder *builder, const json_t *value, const char *path,
                         rk_study_item *item, rk_error *err)
{
    const size_t rows = json_array_size(value);
    const size_t columns = json_array_size(json_array_get(value, 0));
    const char **cells;
    if (columns == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected lists of texts, the titles first");
    }
    rk_status status = start_table(builder, rows - 1, columns, item, &cells, err);
    for (size_t i = 0; i < rows * columns && !status; i++) {
        const json_t *line = json_array_get(value, i / columns);
        const json_t *text = json_array_get(line, i % columns);
        const char *place = RK_PLACE(path, i / columns);
        if (json_array_size(line) != columns || !json_is_string(text)) {
            return rk_fail_at(err, RK_ERR_INVALID, place, "expected a list of %zu texts", columns);
        }
        status = rk_build_text(builder, json_string_value(text), place, &cells[i], err);
    }
    return status;
}

/* ---- claims ---------------------------------------------------------------------------- */

static rk_status judge(rk_builder *builder, const char *expression, const char *path, bool *holds,
                       rk_error *err)
{
    rk_value value;
    rk_status status =
        rk_named_evaluate(&builder->values, expression, path, builder->arena, &value, err);
    *holds = !status && value.type != RK_VALUE_TEXT && rk_value_number(&value) > 0;
    if (!status && (value.type == RK_VALUE_NULL || value.type == RK_VALUE_TEXT)) {
        status =
            rk_fail_at(err, RK_ERR_INVALID, path, "\"%s\" is neither true nor false", expression);
    }
    return status;
}

rk_status rk_build_claims(rk_builder *builder, const json_t *value, const char *path,
                          rk_study_item *item, rk_error *err)
{
    enum { PAPER, HERE, VERDICT, COLUMNS };
    const char **cells;
    rk_status status = start_table(builder, json_array_size(value), COLUMNS, item, &cells, err);
    if (!status) {
        cells[PAPER] = "the paper says";
        cells[HERE] = "here";
        cells[VERDICT] = "reproduced";
    }
    for (size_t i = 0; i < item->rows && !status; i++) {
        const char *place = RK_PLACE(path, i);
        const char **row = &cells[(i + 1) * COLUMNS];
        rk_spec_claim claim = {.partly = NULL};
        bool holds = false, partly = false;
        status = rk_spec_read_claim(json_array_get(value, i), place, &claim, err);
        if (!status) {
            status = judge(builder, claim.holds, RK_PATH(place, "holds"), &holds, err);
        }
        if (!status && claim.partly) {
            status = judge(builder, claim.partly, RK_PATH(place, "partly"), &partly, err);
        }
        if (!status) {
            row[PAPER] = claim.paper;
            row[VERDICT] = holds ? "yes" : partly ? "in part" : "no";
            status = rk_build_text(builder, claim.here, RK_PATH(place, "here"), &row[HERE], err);
        }
    }
    return status;
}

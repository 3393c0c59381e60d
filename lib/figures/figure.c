/* SPDX-License-Identifier: Apache-2.0 */
/* Turns rows into the points, bars and cells of a figure. */
#include "figures/build.h"

#include "base/error.h"
#include "base/extremes.h"

#include <math.h>
#include <string.h>

/* The state of a panel while it is built. */
typedef struct panel_builder {
    rk_builder *builder;
    const rk_spec_panel *spec;
    const char *path;
    rk_plot_panel *panel;
    rk_distinct_values xs, ys; /* categories */
    bool x_named;              /* the x axis has categories */
} panel_builder;

static rk_status get(rk_builder *builder, size_t count, size_t size, void *out, rk_error *err)
{
    return rk_arena_get(builder->arena, count, size, out, err);
}

/* ---- axes ------------------------------------------------------------------------------ */

static rk_status read_numbers(rk_builder *builder, const json_t *list, const double **out,
                              size_t *count, rk_error *err)
{
    double *numbers;
    *count = json_array_size(list);
    rk_status status = get(builder, *count, sizeof(*numbers), &numbers, err);
    for (size_t i = 0; i < *count && !status; i++) {
        numbers[i] = json_number_value(json_array_get(list, i));
    }
    *out = status || *count == 0 ? NULL : numbers;
    return status;
}

static rk_status set_axis(rk_builder *builder, const rk_spec_quantity *spec, rk_plot_axis *axis,
                          rk_error *err)
{
    axis->title = spec->title;
    axis->logarithmic = spec->logarithmic;
    axis->zero = spec->zero;
    axis->from = spec->from;
    axis->to = spec->to;
    return read_numbers(builder, spec->ticks, &axis->ticks, &axis->tick_count, err);
}

/* The names of the categories found. */
static rk_status name_categories(rk_builder *builder, const rk_spec_quantity *spec,
                                 const rk_distinct_values *distinct, rk_plot_axis *axis,
                                 rk_error *err)
{
    const char **names;
    rk_status status = get(builder, distinct->count + 1, sizeof(*names), &names, err);
    for (size_t i = 0; i < distinct->count && !status; i++) {
        status = rk_quantity_text(builder, spec, &distinct->values[i], &names[i], err);
    }
    axis->categories = names;
    axis->category_count = distinct->count;
    return status;
}

static rk_value json_as_value(const json_t *value)
{
    return json_is_string(value)    ? rk_value_text(json_string_value(value))
           : json_is_integer(value) ? rk_value_int(json_integer_value(value))
           : json_is_boolean(value) ? rk_value_bool(json_is_true(value))
                                    : rk_value_real(json_number_value(value));
}

/* Limit on further categories, after those that the document lists. */
static rk_status start_categories(rk_builder *builder, const rk_spec_quantity *spec, size_t more,
                                  rk_distinct_values *distinct, rk_error *err)
{
    const size_t given = json_array_size(spec->categories);
    distinct->room = given + more;
    rk_status status =
        get(builder, distinct->room, sizeof(*distinct->values), &distinct->values, err);
    for (size_t i = 0; i < given && !status; i++) {
        const rk_value value = json_as_value(json_array_get(spec->categories, i));
        (void)rk_distinct_place(distinct, &value);
    }
    return status;
}

/* ---- series ---------------------------------------------------------------------------- */

/* An expression at the rows as numbers. */
static rk_status numbers_of(panel_builder *p, const rk_rows *rows, const char *expression,
                            const char *key, const double **out, rk_error *err)
{
    rk_value *values;
    double *numbers;
    rk_status status =
        rk_data_evaluate(rows, expression, RK_PATH(p->path, key), p->builder->arena, &values, err);
    if (!status) {
        status = get(p->builder, rows->count, sizeof(*numbers), &numbers, err);
    }
    for (size_t i = 0; i < rows->count && !status; i++) {
        numbers[i] = rk_value_number(&values[i]);
        if (values[i].type == RK_VALUE_TEXT) {
            status = rk_fail_at(err, RK_ERR_INVALID, RK_PATH(p->path, key),
                                "\"%s\" is text (\"%.60s\") where a number is needed", expression,
                                values[i].text);
        }
    }
    *out = status ? NULL : numbers;
    return status;
}

/* The positions of the rows along x: numbers, or indices of categories. */
static rk_status places_of(panel_builder *p, const rk_rows *rows, const char *expression,
                           const double **out, rk_error *err)
{
    rk_value *values;
    double *places;
    if (!p->x_named) {
        return numbers_of(p, rows, expression, "x", out, err);
    }
    rk_status status =
        rk_data_evaluate(rows, expression, RK_PATH(p->path, "x"), p->builder->arena, &values, err);
    if (!status) {
        status = get(p->builder, rows->count, sizeof(*places), &places, err);
    }
    for (size_t i = 0; i < rows->count && !status; i++) {
        places[i] = (double)rk_distinct_place(&p->xs, &values[i]);
    }
    *out = status ? NULL : places;
    return status;
}

static rk_status fill_series(panel_builder *p, const rk_rows *rows, const rk_spec_series *spec,
                             rk_plot_series *series, rk_error *err)
{
    const char *x = spec->x ? spec->x : p->spec->x.value;
    const char *y = spec->y ? spec->y : p->spec->y.value;
    if (!y) {
        return rk_fail_at(err, RK_ERR_INVALID, p->path, "y is missing: what is to be drawn");
    }
    *series = (rk_plot_series){.name = spec->name,
                               .kind = (rk_plot_kind)spec->kind,
                               .count = rows->count,
                               .color = (int)spec->color,
                               .dashed = spec->dashed,
                               .unmarked = spec->plain,
                               .labelled = spec->labels,
                               .decimals = (int)spec->decimals};
    rk_status status = x ? places_of(p, rows, x, &series->x, err) : RK_OK;
    if (!status) {
        status = numbers_of(p, rows, y, "y", &series->y, err);
    }
    if (!status && spec->low && spec->high) {
        status = numbers_of(p, rows, spec->low, "low", &series->low, err);
        if (!status) {
            status = numbers_of(p, rows, spec->high, "high", &series->high, err);
        }
    }
    return status;
}

/* The panel's default way of drawing a series. */
static rk_spec_series series_of_panel(const rk_spec_panel *spec)
{
    return (rk_spec_series){.kind = spec->kind,
                            .low = spec->low,
                            .high = spec->high,
                            .plain = spec->plain,
                            .labels = spec->labels,
                            .decimals = spec->y.decimals > 0 ? spec->y.decimals : 0};
}

static rk_status add_listed_series(panel_builder *p, const rk_rows *all, rk_plot_series *series,
                                   rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < p->panel->series_count && !status; i++) {
        const char *path = RK_PLACE(RK_PATH(p->path, "series"), i);
        rk_spec_series spec = series_of_panel(p->spec);
        const rk_data *data = all->data;
        rk_rows rows, kept = {.count = 0};
        status = rk_spec_read_series(json_array_get(p->spec->series, i), path, &spec, err);
        if (!status && spec.table) {
            status = rk_builder_table(p->builder, spec.table, path, &data, err);
        }
        if (!status) {
            status = rk_data_select(data, spec.where, RK_PATH(path, "where"), p->builder->arena,
                                    &rows, err);
        }
        if (!status && data == all->data) { /* the panel's members, too */
            status = get(p->builder, rows.count, sizeof(*kept.rows), &kept.rows, err);
            for (size_t j = 0, k = 0; j < rows.count && !status; j++) {
                while (k < all->count && all->rows[k] < rows.rows[j]) {
                    k++;
                }
                if (k < all->count && all->rows[k] == rows.rows[j]) {
                    kept.rows[kept.count++] = rows.rows[j];
                }
            }
            kept.data = data;
            rows = kept;
        }
        if (!status) {
            status = fill_series(p, &rows, &spec, &series[i], err);
        }
    }
    return status;
}

static rk_status add_grouped_series(panel_builder *p, const rk_rows *all, rk_plot_series *series,
                                    rk_error *err)
{
    rk_value *values;
    rk_distinct_values groups = {.room = all->count};
    rk_status status = rk_data_evaluate(all, p->spec->by.value, RK_PATH(p->path, "by"),
                                        p->builder->arena, &values, err);
    if (!status) {
        status = start_categories(p->builder, &p->spec->by, all->count, &groups, err);
    }
    for (size_t i = 0; i < all->count && !status; i++) {
        (void)rk_distinct_place(&groups, &values[i]);
    }
    if (!status && groups.count > RK_PLOT_SERIES_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, RK_PATH(p->path, "by"),
                          "\"%s\" has %zu values; a panel shows at most %d series",
                          p->spec->by.value, groups.count, RK_PLOT_SERIES_MAX);
    }
    for (size_t group = 0; group < groups.count && !status; group++) {
        rk_spec_series spec = series_of_panel(p->spec);
        rk_rows rows = {.data = all->data};
        status = get(p->builder, all->count, sizeof(*rows.rows), &rows.rows, err);
        for (size_t i = 0; i < all->count && !status; i++) {
            if (rk_value_same(&values[i], &groups.values[group])) {
                rows.rows[rows.count++] = all->rows[i];
            }
        }
        if (!status) {
            status =
                rk_quantity_text(p->builder, &p->spec->by, &groups.values[group], &spec.name, err);
        }
        if (!status) {
            status = fill_series(p, &rows, &spec, &series[group], err);
        }
        p->panel->series_count = group + 1;
    }
    return status;
}

/* Whether the values of x are categories: texts, or numbers to be treated as categories. */
static rk_status look_at_x(panel_builder *p, const rk_rows *rows, rk_error *err)
{
    const rk_spec_quantity *x = &p->spec->x;
    rk_value *values;
    rk_status status;
    p->x_named = x->category || x->categories || p->spec->kind == RK_PLOT_BAR;
    if (!x->value || p->x_named) {
        return RK_OK;
    }
    status =
        rk_data_evaluate(rows, x->value, RK_PATH(p->path, "x"), p->builder->arena, &values, err);
    for (size_t i = 0; i < rows->count && !status; i++) {
        p->x_named |= values[i].type == RK_VALUE_TEXT;
    }
    return status;
}

static rk_status add_series(panel_builder *p, const rk_rows *rows, rk_error *err)
{
    rk_plot_series *series;
    const size_t listed = json_array_size(p->spec->series);
    if (listed > RK_PLOT_SERIES_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, p->path, "a panel shows at most %d series",
                          RK_PLOT_SERIES_MAX);
    }
    size_t points = rows->count;
    for (size_t i = 0; i < p->builder->table_count; i++) {
        points += p->builder->tables[i].rows;
    }
    rk_status status = look_at_x(p, rows, err);
    if (!status) {
        status = start_categories(p->builder, &p->spec->x, points, &p->xs, err);
    }
    if (!status) {
        status = get(p->builder, RK_PLOT_SERIES_MAX, sizeof(*series), &series, err);
    }
    if (status) {
        return status;
    }
    p->panel->series = series;
    p->panel->series_count = listed ? listed : 1;
    if (listed) {
        status = add_listed_series(p, rows, series, err);
    } else if (p->spec->by.value) {
        status = add_grouped_series(p, rows, series, err);
    } else {
        rk_spec_series spec = series_of_panel(p->spec);
        status = fill_series(p, rows, &spec, &series[0], err);
    }
    if (!status && p->x_named) {
        status = name_categories(p->builder, &p->spec->x, &p->xs, &p->panel->x, err);
    }
    return status;
}

/* ---- heat maps ------------------------------------------------------------------------- */

static rk_status fill_cells(panel_builder *p, const rk_rows *rows, const rk_value *x,
                            const rk_value *y, const double *heat, rk_error *err)
{
    rk_plot_heat *map = &p->panel->heat;
    double *cells;
    for (size_t i = 0; i < rows->count; i++) {
        (void)rk_distinct_place(&p->xs, &x[i]);
        (void)rk_distinct_place(&p->ys, &y[i]);
    }
    map->columns = p->xs.count;
    map->rows = p->ys.count;
    rk_status status = get(p->builder, map->columns * map->rows, sizeof(*cells), &cells, err);
    for (size_t i = 0; i < map->columns * map->rows && !status; i++) {
        cells[i] = (double)NAN;
    }
    for (size_t i = 0; i < rows->count && !status; i++) {
        const size_t column = rk_distinct_place(&p->xs, &x[i]);
        double *cell = &cells[rk_distinct_place(&p->ys, &y[i]) * map->columns + column];
        if (!isnan(*cell)) {
            status = rk_fail_at(err, RK_ERR_INVALID, p->path,
                                "two rows belong to the same cell of the heat map: \"where\" "
                                "chooses among them");
        }
        *cell = heat[i];
    }
    map->values = cells;
    return status;
}

static rk_status add_heat(panel_builder *p, const rk_rows *rows, rk_error *err)
{
    const rk_spec_panel *spec = p->spec;
    rk_value *x, *y;
    const double *heat;
    if (!spec->x.value || !spec->y.value || !spec->heat.value) {
        return rk_fail_at(err, RK_ERR_INVALID, p->path,
                          "a heat map needs x, y and heat, each with a value");
    }
    p->panel->heat = (rk_plot_heat){.title = spec->heat.title,
                                    .from = spec->heat.from,
                                    .to = spec->heat.to,
                                    .logarithmic = spec->heat.logarithmic,
                                    .labelled = spec->heat.labels,
                                    .decimals = (int)rk_max((double)spec->heat.decimals, 0)};
    rk_status status =
        rk_data_evaluate(rows, spec->x.value, RK_PATH(p->path, "x"), p->builder->arena, &x, err);
    if (!status) {
        status = rk_data_evaluate(rows, spec->y.value, RK_PATH(p->path, "y"), p->builder->arena, &y,
                                  err);
    }
    if (!status) {
        status = numbers_of(p, rows, spec->heat.value, "heat", &heat, err);
    }
    if (!status) {
        status = start_categories(p->builder, &spec->x, rows->count, &p->xs, err);
    }
    if (!status) {
        status = start_categories(p->builder, &spec->y, rows->count, &p->ys, err);
    }
    if (!status) {
        status = fill_cells(p, rows, x, y, heat, err);
    }
    if (!status) {
        status = name_categories(p->builder, &spec->x, &p->xs, &p->panel->x, err);
    }
    return status ? status : name_categories(p->builder, &spec->y, &p->ys, &p->panel->y, err);
}

/* ---- rules and notes ------------------------------------------------------------------- */

/* A number, or the value of an expression over the values of the document. */
static rk_status amount(panel_builder *p, const json_t *spec, const char *path, double *out,
                        rk_error *err)
{
    rk_value value = {.type = RK_VALUE_NULL};
    rk_status status = RK_OK;
    *out = json_number_value(spec);
    if (!json_is_number(spec)) {
        status = rk_named_evaluate(&p->builder->values, json_string_value(spec), path,
                                   p->builder->arena, &value, err);
        *out = rk_value_number(&value);
    }
    return status;
}

static rk_status add_rules(panel_builder *p, rk_error *err)
{
    rk_plot_rule *rules;
    const size_t count = json_array_size(p->spec->rules);
    rk_status status = get(p->builder, count, sizeof(*rules), &rules, err);
    for (size_t i = 0; i < count && !status; i++) {
        const char *path = RK_PLACE(RK_PATH(p->path, "rules"), i);
        rk_spec_rule spec = {.label = NULL};
        status = rk_spec_read_rule(json_array_get(p->spec->rules, i), path, &spec, err);
        if (!status) {
            rules[i].label = spec.label;
            rules[i].kind = spec.slope ? RK_PLOT_RULE_SLOPE
                            : spec.x   ? RK_PLOT_RULE_X
                                       : RK_PLOT_RULE_Y;
            status = amount(p,
                            spec.slope ? spec.slope
                            : spec.x   ? spec.x
                                       : spec.y,
                            path, &rules[i].value, err);
        }
    }
    p->panel->rules = status ? NULL : rules;
    p->panel->rule_count = status ? 0 : count;
    return status;
}

static rk_status add_notes(panel_builder *p, rk_error *err)
{
    rk_plot_note *notes;
    const size_t count = json_array_size(p->spec->notes);
    rk_status status = get(p->builder, count, sizeof(*notes), &notes, err);
    for (size_t i = 0; i < count && !status; i++) {
        const char *path = RK_PLACE(RK_PATH(p->path, "notes"), i);
        rk_spec_note spec = {.side = 0};
        status = rk_spec_read_note(json_array_get(p->spec->notes, i), path, &spec, err);
        if (!status) {
            notes[i].side = (rk_plot_side)spec.side;
            status = amount(p, spec.x, path, &notes[i].x, err);
        }
        if (!status) {
            status = amount(p, spec.y, path, &notes[i].y, err);
        }
        if (!status) {
            status = rk_build_text(p->builder, spec.text, path, &notes[i].text, err);
        }
    }
    p->panel->notes = status ? NULL : notes;
    p->panel->note_count = status ? 0 : count;
    return status;
}

/* ---- figures --------------------------------------------------------------------------- */

static rk_status build_panel(rk_builder *builder, const rk_spec_panel *spec, const char *path,
                             rk_plot_panel *panel, rk_error *err)
{
    panel_builder p = {.builder = builder, .spec = spec, .path = path, .panel = panel};
    const rk_data *data = NULL;
    rk_rows rows;
    *panel = (rk_plot_panel){
        .title = spec->title, .missing = spec->missing, .no_legend = spec->no_legend};
    rk_status status = set_axis(builder, &spec->x, &panel->x, err);
    if (!status) {
        status = set_axis(builder, &spec->y, &panel->y, err);
    }
    if (!status) {
        status = rk_builder_table(builder, spec->table, path, &data, err);
    }
    if (!status) {
        status =
            rk_data_select(data, spec->where, RK_PATH(path, "where"), builder->arena, &rows, err);
    }
    if (!status) {
        status = spec->kind == RK_SPEC_HEAT ? add_heat(&p, &rows, err) : add_series(&p, &rows, err);
    }
    if (!status) {
        status = add_rules(&p, err);
    }
    return status ? status : add_notes(&p, err);
}

rk_status rk_build_figure(rk_builder *builder, const json_t *value, const char *path,
                          rk_study_item *item, rk_error *err)
{
    rk_spec_figure spec = {.panel.x.decimals = -1};
    rk_plot_panel *panels;
    rk_status status = rk_spec_read_figure(value, path, &spec, err);
    if (status) {
        return status;
    }
    const size_t listed = json_array_size(spec.panels);
    item->kind = RK_STUDY_FIGURE;
    item->name = spec.name ? spec.name : "figure";
    item->figure = (rk_plot_figure){.title = spec.panel.title,
                                    .width = spec.width,
                                    .plot_height = spec.height,
                                    .panel_count = listed ? listed : 1,
                                    .columns = (size_t)spec.columns,
                                    .one_legend = spec.one_legend};
    if (item->name[strspn(item->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_")] != '\0') {
        return rk_fail_at(err, RK_ERR_INVALID, RK_PATH(path, "name"),
                          "expected letters, digits, - and _: it names a file");
    }
    status = get(builder, item->figure.panel_count, sizeof(*panels), &panels, err);
    if (!status && spec.caption) {
        status = rk_build_text(builder, spec.caption, RK_PATH(path, "caption"), &item->text, err);
    }
    if (!status && !listed) {
        status = build_panel(builder, &spec.panel, path, &panels[0], err);
    }
    for (size_t i = 0; i < listed && !status; i++) {
        const char *place = RK_PLACE(RK_PATH(path, "panels"), i);
        rk_spec_panel panel = spec.panel; /* the figure's members apply to every panel */
        panel.title = NULL;
        status = rk_spec_read_panel(json_array_get(spec.panels, i), place, &panel, err);
        if (!status) {
            status = build_panel(builder, &panel, place, &panels[i], err);
        }
    }
    item->figure.panels = panels;
    return status;
}

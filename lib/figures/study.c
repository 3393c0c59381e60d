/* SPDX-License-Identifier: Apache-2.0 */
/* The document of a study: its tables, its values, its page. */
#include "figures/build.h"

#include "base/error.h"
#include "figures/draw.h"

#include <stdio.h>
#include <string.h>

/* ---- tables and values ----------------------------------------------------------------- */

static rk_status add_columns(rk_builder *builder, rk_data *data, const rk_spec_source *source,
                             const char *path, rk_error *err)
{
    const char *key;
    rk_status status = RK_OK;
    json_t *value, *columns = (json_t *)(uintptr_t)source->columns;
    json_object_foreach(columns, key, value)
    {
        if (!status) {
            status =
                rk_data_add_column(data, key, json_string_value(value),
                                   RK_PATH(RK_PATH(path, "columns"), key), builder->arena, err);
        }
    }
    json_t *others = (json_t *)(uintptr_t)source->beside;
    json_object_foreach(others, key, value)
    {
        rk_reference_value beside = {.value = NULL};
        const char *place = RK_PATH(RK_PATH(path, "beside"), key);
        if (!status) {
            status = rk_spec_read_beside(value, place, &beside, err);
        }
        if (!status) {
            status = rk_data_add_beside(data, key, &beside, place, builder->arena, err);
        }
    }
    return status;
}

static rk_status load_table(rk_builder *builder, const char *name, const rk_spec_source *source,
                            const char *folder, const char *path, rk_error *err)
{
    char file[4096];
    rk_data *data = &builder->tables[builder->table_count];
    const int length =
        snprintf(file, sizeof(file), "%s%s", source->file[0] == '/' ? "" : folder, source->file);
    if (length < 0 || (size_t)length >= sizeof(file)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "the name of the file is too long");
    }
    rk_status status = rk_data_load(file, source->all_ranks, builder->arena, data, err);
    data->name = name;
    if (!status) {
        status = add_columns(builder, data, source, path, err);
    }
    builder->table_count += !status;
    return status;
}

/* The document's own table comes first: it is the default. */
static rk_status load_tables(rk_builder *builder, rk_error *err)
{
    rk_status status = rk_arena_get(builder->arena, json_object_size(builder->doc.tables) + 1,
                                    sizeof(*builder->tables), &builder->tables, err);
    if (!status && (builder->results || builder->doc.table)) {
        const rk_spec_source source = {.file = builder->results ? builder->results
                                                                : builder->doc.table};
        status =
            load_table(builder, "", &source, builder->results ? "" : builder->folder, "table", err);
    }
    const char *key;
    json_t *value, *tables = (json_t *)(uintptr_t)builder->doc.tables;
    json_object_foreach(tables, key, value)
    {
        rk_spec_source source = {.file = NULL};
        if (!status) {
            status = rk_spec_read_source(value, RK_PATH("tables", key), &source, err);
        }
        if (!status) {
            status =
                load_table(builder, key, &source, builder->folder, RK_PATH("tables", key), err);
        }
    }
    return status;
}

/* The single value that represents all rows. */
static rk_status reduce(const rk_value *values, size_t count, const rk_spec_value *spec,
                        const char *path, rk_value *out, rk_error *err)
{
    double sum = 0;
    size_t valued = 0;
    rk_value best = {.type = RK_VALUE_NULL};
    for (size_t i = 0; i < count; i++) {
        const double number = rk_value_number(&values[i]);
        if (values[i].type == RK_VALUE_NULL) {
            continue;
        }
        if (valued++ == 0 || spec->of == RK_OF_LAST ||
            (spec->of == RK_OF_MIN && number < rk_value_number(&best)) ||
            (spec->of == RK_OF_MAX && number > rk_value_number(&best))) {
            best = values[i];
        }
        sum += number;
    }
    if (spec->of == RK_OF_ONLY && count != 1) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "%zu rows have a value: \"where\" or \"of\" chooses among them", count);
    }
    if (spec->of == RK_OF_COUNT) {
        best = rk_value_int((int64_t)valued);
    } else if (spec->of == RK_OF_SUM || (spec->of == RK_OF_MEAN && valued > 0)) {
        best = rk_value_real(spec->of == RK_OF_SUM ? sum : sum / (double)valued);
    }
    *out = best;
    return RK_OK;
}

static rk_status find_value(rk_builder *builder, const json_t *value, const char *path,
                            rk_value *out, rk_error *err)
{
    rk_spec_value spec = {.table = NULL};
    const rk_data *data = NULL;
    rk_rows rows;
    rk_value *values;
    if (json_is_string(value)) {
        return rk_named_evaluate(&builder->values, json_string_value(value), path, builder->arena,
                                 out, err);
    }
    rk_status status = rk_spec_read_value(value, path, &spec, err);
    if (!status) {
        status = rk_builder_table(builder, spec.table, path, &data, err);
    }
    if (!status) {
        status =
            rk_data_select(data, spec.where, RK_PATH(path, "where"), builder->arena, &rows, err);
    }
    if (!status) {
        status = rk_data_evaluate(&rows, spec.value, RK_PATH(path, "value"), builder->arena,
                                  &values, err);
    }
    return status ? status : reduce(values, rows.count, &spec, path, out, err);
}

static rk_status find_values(rk_builder *builder, rk_error *err)
{
    rk_named_values *values = &builder->values;
    values->room = json_object_size(builder->doc.values);
    rk_status status =
        rk_arena_get(builder->arena, values->room, sizeof(*values->names), &values->names, err);
    if (!status) {
        status = rk_arena_get(builder->arena, values->room, sizeof(*values->values),
                              &values->values, err);
    }
    const char *key;
    json_t *value, *object = (json_t *)(uintptr_t)builder->doc.values;
    json_object_foreach(object, key, value)
    {
        if (!status) {
            status = find_value(builder, value, RK_PATH("values", key),
                                &values->values[values->count], err);
            values->names[values->count++] = key;
        }
    }
    return status;
}

/* ---- the page -------------------------------------------------------------------------- */

/* A string, or a list of strings joined by blanks. */
static rk_status read_lines(rk_builder *builder, const json_t *value, const char *path,
                            const char **out, rk_error *err)
{
    enum { LONGEST = 16384 };
    char whole[LONGEST] = "";
    const size_t count = json_is_array(value) ? json_array_size(value) : 1;
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *line = json_is_array(value) ? json_array_get(value, i) : value;
        if (!json_is_string(line)) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "expected a string, or a list of strings");
        }
        const int length = snprintf(whole + size, sizeof(whole) - size, "%s%s", i ? " " : "",
                                    json_string_value(line));
        size += length < 0 ? 0 : (size_t)length;
        if (size >= sizeof(whole)) {
            return rk_fail_at(err, RK_ERR_LIMIT, path, "the text is longer than %d bytes", LONGEST);
        }
    }
    return rk_build_text(builder, whole, path, out, err);
}

static rk_status build_item(rk_builder *builder, const json_t *value, const char *path,
                            rk_study_item *item, rk_error *err)
{
    rk_spec_item spec = {.heading = NULL};
    rk_status status = rk_spec_read_item(value, path, &spec, err);
    if (status) {
        return status;
    }
    if (spec.figure) {
        return rk_build_figure(builder, spec.figure, RK_PATH(path, "figure"), item, err);
    }
    if (spec.table) {
        return rk_build_table(builder, spec.table, RK_PATH(path, "table"), item, err);
    }
    if (spec.lines) {
        return rk_build_lines(builder, spec.lines, RK_PATH(path, "lines"), item, err);
    }
    if (spec.claims) {
        return rk_build_claims(builder, spec.claims, RK_PATH(path, "claims"), item, err);
    }
    item->kind = spec.heading ? RK_STUDY_HEADING : RK_STUDY_TEXT;
    return read_lines(builder, spec.heading ? spec.heading : spec.text,
                      RK_PATH(path, spec.heading ? "heading" : "text"), &item->text, err);
}

static rk_status build(rk_builder *builder, rk_study *study, rk_error *err)
{
    const rk_spec_document *doc = &builder->doc;
    if (!doc->page == !doc->figure) {
        return rk_fail_at(err, RK_ERR_INVALID, "", "expected either a page or a figure");
    }
    study->title = doc->title ? doc->title : study->doc.name;
    const size_t count = doc->page ? json_array_size(doc->page) : 1;
    rk_status status =
        rk_arena_get(&study->arena, count, sizeof(*study->items), &study->items, err);
    if (!status) {
        status = load_tables(builder, err);
    }
    if (!status) {
        status = find_values(builder, err);
    }
    for (size_t i = 0; i < count && !status; i++) {
        status = doc->page ? build_item(builder, json_array_get(doc->page, i), RK_PLACE("page", i),
                                        &study->items[i], err)
                           : rk_build_figure(builder, doc->figure, "figure", &study->items[i], err);
        study->item_count = i + 1;
    }
    return status;
}

static rk_status finish(rk_study *study, const char *path, const char *results, rk_error *err)
{
    const char *slash = strrchr(path, '/');
    rk_builder builder = {.arena = &study->arena, .results = results};
    rk_status status = rk_arena_text(&study->arena, path, slash ? (size_t)(slash - path) + 1 : 0,
                                     &builder.folder, err);
    if (!status) {
        status = rk_spec_read_document(study->doc.root, "", &builder.doc, err);
    }
    if (!status) {
        status = build(&builder, study, err);
    }
    if (status) {
        if (err && !err->file[0]) {
            rk_error_set_file(err, study->doc.name);
        }
        rk_study_clear(study);
    }
    return status;
}

rk_status rk_study_load(const char *path, const char *results, rk_study *study, rk_error *err)
{
    memset(study, 0, sizeof(*study));
    const rk_status status = rk_json_load(path, NULL, &study->doc, err);
    return status ? status : finish(study, path, results, err);
}

rk_status rk_study_parse(const char *text, size_t size, const char *name, const char *results,
                         rk_study *study, rk_error *err)
{
    memset(study, 0, sizeof(*study));
    const rk_status status = rk_json_parse(text, size, name, &study->doc, err);
    return status ? status : finish(study, name, results, err);
}

void rk_study_clear(rk_study *study)
{
    rk_arena_clear(&study->arena);
    rk_json_clear(&study->doc);
    memset(study, 0, sizeof(*study));
}

const rk_study_item *rk_study_figure(const rk_study *study, const char *name)
{
    const rk_study_item *found = NULL;
    for (size_t i = 0; i < study->item_count; i++) {
        const rk_study_item *item = &study->items[i];
        if (item->kind != RK_STUDY_FIGURE || (name && strcmp(item->name, name) != 0)) {
            continue;
        }
        if (found) {
            return NULL;
        }
        found = item;
    }
    return found;
}

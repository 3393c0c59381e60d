/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of residuals, made by `reckon validate`: data/runs/residuals.json of step times
 * (--residuals) and memory_residuals.json (--memory-residuals).
 */
#include "base/error.h"
#include "base/units.h"
#include "io/fields.h"
#include "io/json_write.h"
#include "residual/interval.h"

#include <stdio.h>
#include <string.h>

/* A cell as it is read; its ratios go straight into the residuals. */
typedef struct cell_document {
    rk_similarity_key key;
    char source[RK_KEY_TEXT], model[RK_KEY_TEXT];
    const json_t *ratios;
} cell_document;

static rk_status read_ratios(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    bool good = json_array_size(value) > 0;
    for (size_t i = 0; good && i < json_array_size(value); i++) {
        good = json_number_value(json_array_get(value, i)) > 0;
    }
    memcpy(out, &value, sizeof(value));
    return good ? RK_OK
                : rk_fail_at(err, RK_ERR_INVALID, path,
                             "expected a list of positive numbers, found %s",
                             rk_json_describe(value, found));
}

static const char *const sharding_names[] = {"none", "optimizer", "gradients", "all", NULL};

#define TEXT(member, place)                                                                        \
    RK_FIELD(member, TEXT, offsetof(cell_document, place), .size = RK_KEY_TEXT, .blank = true,     \
             .help = "a text")
#define FLAG(member, place)                                                                        \
    {                                                                                              \
        .name = member, .type = RK_FIELD_BOOL, .offset = offsetof(cell_document, place)            \
    }

static const rk_field cell_fields[] = {
    TEXT("source", source),
    TEXT("model", model),
    TEXT("stack", key.stack),
    TEXT("family", key.family),
    TEXT("product", key.product),
    TEXT("line", key.line),
    FLAG("moe", key.moe),
    RK_FIELD("tensor", ENUM, offsetof(cell_document, key.tensor), .names = rk_tensor_place_names),
    RK_FIELD("sharding", ENUM, offsetof(cell_document, key.sharding), .optional = true,
             .names = sharding_names),
    FLAG("several_nodes", key.several),
    FLAG("low_precision", key.low),
    FLAG("adapters", key.frozen),
    RK_FIELD("untuned", BOOL, offsetof(cell_document, key.untuned), .optional = true),
    FLAG("assumed", key.assumed),
    FLAG("uncertain", key.uncertain),
    RK_FIELD("ratios", CUSTOM, offsetof(cell_document, ratios), .read = read_ratios,
             .help = "a list of positive numbers"),
};

static rk_status read_cell(const json_t *object, const char *path, rk_residuals *residuals,
                           rk_error *err)
{
    cell_document cell = {.ratios = NULL};
    rk_status status =
        rk_fields_read(object, path, cell_fields, COUNT(cell_fields), RK_UNKNOWN_NEVER, &cell, err);
    for (size_t i = 0; !status && i < json_array_size(cell.ratios); i++) {
        status = rk_residuals_add(residuals, &cell.key, cell.source, cell.model,
                                  json_number_value(json_array_get(cell.ratios, i)), err);
    }
    return status;
}

/* A number for all kinds of runs, or an object of one for each. */
static rk_status read_error(const json_t *root, const char *name,
                            double errors[RK_RESIDUAL_KIND_COUNT], rk_error *err)
{
    const json_t *value = json_object_get(root, name);
    for (int kind = 0; kind < RK_RESIDUAL_KIND_COUNT; kind++) {
        const json_t *one =
            json_is_object(value) ? json_object_get(value, rk_residual_kind_names[kind]) : value;
        errors[kind] = json_number_value(one);
        if (!json_is_number(one) || !(errors[kind] >= 0 && errors[kind] <= 1)) {
            return rk_fail_at(err, RK_ERR_INVALID, name, "expected numbers from 0 to 1");
        }
    }
    return RK_OK;
}

static rk_status read_document(const json_t *root, rk_residuals *residuals, rk_error *err)
{
    const json_t *cells = json_object_get(root, "cells");
    const char *name = json_string_value(json_object_get(root, "name"));
    residuals->of_memory = name && strcmp(name, "memory_residuals") == 0;
    rk_status status = read_error(root, "source_error", residuals->source_error, err);
    status = status ? status : read_error(root, "pair_error", residuals->pair_error, err);
    if (status) {
        return status;
    }
    if (!json_is_array(cells)) {
        return rk_fail_at(err, RK_ERR_INVALID, "cells", "expected a list");
    }
    for (size_t i = 0; i < json_array_size(cells); i++) {
        char path[RK_JSON_PATH_SIZE];
        (void)rk_json_path_element("cells", i, path);
        status = read_cell(json_array_get(cells, i), path, residuals, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

rk_status rk_residuals_load(const char *name, rk_residuals *residuals, rk_error *err)
{
    rk_json_doc doc;
    *residuals = (rk_residuals){.cells = NULL};
    rk_status status = rk_json_load(name, "runs", &doc, err);
    if (status) {
        return status;
    }
    status = read_document(doc.root, residuals, err);
    if (status) {
        rk_error_set_file(err, doc.name);
        rk_residuals_clear(residuals);
    }
    rk_json_clear(&doc);
    return status;
}

static void write_cell(rk_out *out, const rk_residuals *residuals, const rk_residual_cell *cell)
{
    rk_json_writer w = {.out = out};
    rk_json_open(&w, "{");
    rk_json_string(&w, "source", cell->source);
    rk_json_string(&w, "model", cell->model);
    rk_json_string(&w, "stack", cell->key.stack);
    rk_json_string(&w, "family", cell->key.family);
    rk_json_string(&w, "product", cell->key.product);
    rk_json_string(&w, "line", cell->key.line);
    rk_json_flag(&w, "moe", cell->key.moe);
    rk_json_string(&w, "tensor", rk_tensor_place_names[cell->key.tensor]);
    if (residuals->of_memory) {
        rk_json_string(&w, "sharding", sharding_names[cell->key.sharding]);
    }
    rk_json_flag(&w, "several_nodes", cell->key.several);
    rk_json_flag(&w, "low_precision", cell->key.low);
    rk_json_flag(&w, "adapters", cell->key.frozen);
    if (!residuals->of_memory) {
        rk_json_flag(&w, "untuned", cell->key.untuned);
    }
    rk_json_flag(&w, "assumed", cell->key.assumed);
    rk_json_flag(&w, "uncertain", cell->key.uncertain);
    rk_json_open_member(&w, "ratios", "[");
    for (size_t i = 0; i < cell->count; i++) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%.3f", residuals->ratios[cell->first + i]);
        rk_json_item(&w);
        rk_json_value(&w, number);
    }
    rk_json_close(&w, "]");
    rk_json_close(&w, "}");
}

/* "name": 0.1234, in memory; of times an object of one number for each kind of runs. */
static void write_error(rk_out *out, const rk_residuals *residuals, const char *name,
                        const double errors[RK_RESIDUAL_KIND_COUNT])
{
    if (residuals->of_memory) {
        rk_out_printf(out, "  \"%s\": %.4f,\n", name, errors[0]);
        return;
    }
    rk_out_printf(out, "  \"%s\": {", name);
    for (int kind = 0; kind < RK_RESIDUAL_KIND_COUNT; kind++) {
        rk_out_printf(out, "\"%s\": %.4f%s", rk_residual_kind_names[kind], errors[kind],
                      kind + 1 < RK_RESIDUAL_KIND_COUNT ? ", " : "},\n");
    }
}

rk_status rk_residuals_write(const rk_residuals *residuals, const char *path, const char *source,
                             rk_error *err)
{
    rk_out *out;
    const rk_status status = rk_out_open(path, &out, err);
    if (status) {
        return status;
    }
    const bool memory = residuals->of_memory;
    rk_out_printf(out,
                  "{\n  \"name\": \"%sresiduals\",\n"
                  "  \"description\": \"Measured over predicted %s of runs, in groups that "
                  "err together; what intervals of estimates are made of\",\n"
                  "  \"source\": \"reckon validate --%sresiduals: %s\",\n",
                  memory ? "memory_" : "", memory ? "memory" : "step time", memory ? "memory-" : "",
                  source);
    write_error(out, residuals, "source_error", residuals->source_error);
    write_error(out, residuals, "pair_error", residuals->pair_error);
    rk_out_text(out, "  \"cells\": [\n");
    for (size_t i = 0; i < residuals->cell_count; i++) {
        rk_out_text(out, "    ");
        write_cell(out, residuals, &residuals->cells[i]);
        rk_out_text(out, i + 1 < residuals->cell_count ? ",\n" : "\n");
    }
    rk_out_text(out, "  ]\n}\n");
    return rk_out_close(out, err);
}

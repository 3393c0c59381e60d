/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and validates a sweep document: axes, base, and text with its documents written out. */
#include "sweep/sweep_doc.h"

#include "base/error.h"
#include "io/json_memory.h"
#include "sweep/doc_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- axes ------------------------------------------------------------------------------------ */

/* Checks that the key of an axis is new. */
static rk_status check_key(const rk_sweep_doc *doc, size_t axis, const char *path, rk_error *err)
{
    assert(axis < doc->axis_count);
    const rk_sweep_key *key = &doc->axes[axis].key;
    for (size_t i = 0; i < axis; i++) {
        if (rk_sweep_key_same(&doc->axes[i].key, key)) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "axes[%zu] varies \"%s\" already",
                              doc->axes[i].dimension, key->text);
        }
    }
    return RK_OK;
}

/* Reads the axes of one dimension at `path`. */
static rk_status read_dimension(rk_sweep_doc *doc, const json_t *object, const char *path,
                                rk_error *err)
{
    size_t count = 0;
    const size_t first = doc->axis_count;
    rk_status status =
        rk_sweep_axis_read(object, path, &doc->axes[first], RK_SWEEP_AXES_MAX - first, &count, err);
    doc->axis_count += count;
    for (size_t i = first; i < doc->axis_count && status == RK_OK; i++) {
        doc->axes[i].dimension = doc->dimension_count;
        status = check_key(doc, i, path, err);
        if (status == RK_OK) {
            status = rk_sweep_doc_resolve_axis(doc, &doc->axes[i], path, err);
        }
    }
    if (status != RK_OK) {
        return status;
    }
    doc->dimension_count++;
    const size_t values = rk_sweep_axis_count(&doc->axes[first]);
    if (doc->point_count > RK_SWEEP_POINTS_MAX / values) {
        return rk_fail_at(err, RK_ERR_LIMIT, "axes",
                          "the axes multiply to more than the %d points of one sweep",
                          RK_SWEEP_POINTS_MAX);
    }
    doc->point_count *= values;
    return RK_OK;
}

static rk_status read_axes(rk_sweep_doc *doc, const json_t *axes, rk_error *err)
{
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    if (axes && !json_is_array(axes)) {
        return rk_fail_at(err, RK_ERR_INVALID, "axes", "expected a list of axes, found %s",
                          rk_json_describe(axes, text));
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < json_array_size(axes) && status == RK_OK; i++) {
        status = read_dimension(doc, json_array_get(axes, i), rk_json_path_element("axes", i, path),
                                err);
    }
    return status;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* The axes with their values and documents listed; NULL: no memory. */
static json_t *list_axes(const rk_sweep_doc *doc)
{
    json_t *list = json_array();
    size_t next = 0;
    for (size_t i = 0; i < doc->axis_count && list; i = next) {
        json_t *linked = json_array();
        int failed = 0;
        for (next = i;
             next < doc->axis_count && doc->axes[next].dimension == doc->axes[i].dimension;
             next++) {
            const rk_sweep_axis *axis = &doc->axes[next];
            failed |= json_array_append_new(linked,
                                            json_pack("{sssOsO*}", "key", axis->key.text, "values",
                                                      axis->values, "documents", axis->documents));
        }
        json_t *alone = json_incref(json_array_get(linked, 0));
        json_t *entry = next - i > 1 ? json_pack("{sO}", "linked", linked) : json_incref(alone);
        json_decref(alone);
        json_decref(linked);
        if (failed || json_array_append_new(list, entry)) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* Writes doc->text; `root` is the document with models and systems written out. */
static rk_status write_text(rk_sweep_doc *doc, json_t *root, rk_error *err)
{
    if (json_object_set_new(root, "axes", list_axes(doc)) == 0) {
        doc->text = rk_json_dump(root, JSON_COMPACT | JSON_SORT_KEYS);
    }
    return doc->text ? RK_OK : rk_sweep_fail_memory(err);
}

/* Adds an empty object to the base, unless there is one, for keys to be placed in. */
static bool add_object(json_t *base, const char *name)
{
    return json_object_get(base, name) || json_object_set_new(base, name, json_object()) == 0;
}

/*
 * Removes the members that concern points from the base, and adds objects for variables and, with
 * the reckon model, for the strategy.
 */
static rk_status strip_base(const rk_sweep_mode *mode, json_t *base, rk_error *err)
{
    static const char *const members[] = {
        "axes", "set",   "point_constraints", "result_constraints", "columns", "method",
        "task", "search"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        (void)json_object_del(base, members[i]);
    }
    return add_object(base, "let") && (!mode->reckon || add_object(base, "strategy"))
               ? RK_OK
               : rk_sweep_fail_memory(err);
}

/* Reads everything from `root`, whose names of models and systems are replaced. */
static rk_status read_document(rk_sweep_doc *doc, json_t *root, rk_error *err)
{
    rk_status status = rk_sweep_doc_read_mode(doc, root, err);
    if (status == RK_OK) {
        status = rk_sweep_doc_resolve(doc, root, err);
    }
    if (status == RK_OK) {
        status = read_axes(doc, json_object_get(root, "axes"), err);
    }
    if (status == RK_OK) {
        doc->base = rk_json_deep_copy(root);
        status = doc->base ? strip_base(&doc->mode, doc->base, err) : rk_sweep_fail_memory(err);
    }
    if (status == RK_OK) {
        doc->result_constraints = json_incref(json_object_get(root, "result_constraints"));
        doc->columns = json_incref(json_object_get(root, "columns"));
        status = rk_sweep_doc_read_settings(doc, json_object_get(root, "set"), err);
    }
    if (status == RK_OK) {
        status =
            rk_sweep_doc_read_constraints(doc, json_object_get(root, "point_constraints"), err);
    }
    return status == RK_OK ? write_text(doc, root, err) : status;
}

/* Takes over `root`. */
static rk_status build(json_t *root, const char *name, rk_sweep_doc **out, rk_error *err)
{
    *out = NULL;
    rk_sweep_doc *doc = calloc(1, sizeof(*doc));
    char *copy = strdup(name);
    if (!doc || !copy) {
        json_decref(root);
        free(copy);
        free(doc);
        return rk_sweep_fail_memory(err);
    }
    doc->name = copy;
    doc->point_count = 1;
    const rk_status status = read_document(doc, root, err);
    json_decref(root);
    if (status == RK_OK) {
        *out = doc;
    } else {
        rk_error_set_file(err, doc->name);
        rk_sweep_doc_free(doc);
    }
    return status;
}

rk_status rk_sweep_doc_load(const char *path, rk_sweep_doc **doc, rk_error *err)
{
    rk_json_doc loaded = {0};
    *doc = NULL;
    const rk_status status = rk_json_load(path, NULL, &loaded, err);
    return status == RK_OK ? build(loaded.root, rk_json_title(path), doc, err) : status;
}

rk_status rk_sweep_doc_parse(const char *text, size_t size, const char *name, rk_sweep_doc **doc,
                             rk_error *err)
{
    rk_json_doc parsed = {0};
    *doc = NULL;
    const rk_status status = rk_json_parse(text, size, name, &parsed, err);
    return status == RK_OK ? build(parsed.root, name, doc, err) : status;
}

void rk_sweep_doc_free(rk_sweep_doc *doc)
{
    if (!doc) {
        return;
    }
    for (size_t i = 0; i < doc->axis_count; i++) {
        rk_sweep_axis_clear(&doc->axes[i]);
    }
    for (size_t i = 0; i < doc->setting_count; i++) {
        rk_sweep_key_clear(&doc->settings[i].key);
        rk_sweep_formula_clear(&doc->settings[i].formula);
    }
    for (size_t i = 0; i < doc->constraint_count; i++) {
        rk_sweep_formula_clear(&doc->constraints[i]);
    }
    json_decref(doc->base);
    json_decref(doc->result_constraints);
    json_decref(doc->columns);
    free(doc->text);
    free(doc->name);
    free(doc);
}

uint64_t rk_sweep_doc_point_count(const rk_sweep_doc *doc)
{
    return doc->point_count;
}

const char *rk_sweep_doc_text(const rk_sweep_doc *doc)
{
    return doc->text;
}

/* ---- points ---------------------------------------------------------------------------------- */

size_t rk_sweep_doc_axis_count(const rk_sweep_doc *doc)
{
    return doc->axis_count;
}

rk_column rk_sweep_doc_axis_column(const rk_sweep_doc *doc, size_t axis)
{
    return (rk_column){doc->axes[axis].key.text, doc->axes[axis].type};
}

/* The number of a point has mixed radices: one digit per dimension. */
size_t rk_sweep_doc_axis_index(const rk_sweep_doc *doc, size_t axis, uint64_t number)
{
    assert(axis < doc->axis_count);
    size_t dimension = doc->dimension_count;
    for (size_t i = doc->axis_count - 1; doc->axes[i].dimension > doc->axes[axis].dimension; i--) {
        if (doc->axes[i].dimension < dimension) {
            dimension = doc->axes[i].dimension;
            number /= rk_sweep_axis_count(&doc->axes[i]);
        }
    }
    return (size_t)(number % rk_sweep_axis_count(&doc->axes[axis]));
}

rk_value rk_sweep_doc_axis_value(const rk_sweep_doc *doc, size_t axis, uint64_t number)
{
    return rk_sweep_axis_value(&doc->axes[axis], rk_sweep_doc_axis_index(doc, axis, number));
}

static void append(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s", more);
}

rk_status rk_sweep_doc_fail_at(const rk_sweep_doc *doc, uint64_t number, rk_error *err)
{
    char text[RK_JSON_TEXT_SIZE];
    const size_t size = sizeof(err->message);
    rk_error_set_file(err, doc->name);
    if (doc->axis_count == 0) {
        return err->code;
    }
    (void)snprintf(text, sizeof(text), " (at point %" PRIu64, number);
    append(err->message, size, text);
    for (size_t i = 0; i < doc->axis_count; i++) {
        char buffer[RK_NUMBER_TEXT_SIZE];
        const rk_value value = rk_sweep_doc_axis_value(doc, i, number);
        append(err->message, size, i == 0 ? ": " : ", ");
        append(err->message, size, doc->axes[i].key.text);
        append(err->message, size, " = ");
        append(err->message, size,
               rk_json_printable(rk_value_format(&value, buffer), text, sizeof(text)));
    }
    append(err->message, size, ")");
    return err->code;
}

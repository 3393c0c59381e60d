/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/doc.h"

#include "base/error.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys that name documents, and where the catalogue keeps those. */
static const struct {
    const char *key, *kind;
} references[] = {
    {"application", "calculon/applications"},
    {"system", "calculon/systems"},
};
enum { REFERENCE_COUNT = sizeof(references) / sizeof(references[0]) };

static rk_status fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the sweep");
}

/* ---- models and systems ---------------------------------------------------------------------- */

/*
 * Loads a model or system that is named at JSON path `where`.  A relative path starts from the
 * folder of the sweep document.
 */
static rk_status load_reference(const rk_sweep_doc *doc, const char *where, const char *name,
                                const char *kind, json_t **root, rk_error *err)
{
    const char *slash = strrchr(doc->name, '/');
    const bool file = rk_ends_with(name, ".json") || rk_ends_with(name, ".json.gz");
    const size_t folder = slash && file && name[0] != '/' ? (size_t)(slash + 1 - doc->name) : 0;
    const size_t size = folder + strlen(name) + 1;
    char *path = malloc(size);
    if (!path) {
        return fail_memory(err);
    }
    memcpy(path, doc->name, folder);
    memcpy(path + folder, name, size - folder);

    rk_json_doc loaded = {0};
    const rk_status status = rk_json_load(path, kind, &loaded, err);
    if (status != RK_OK && err && err->file[0]) {
        (void)rk_json_printable(path, err->file, sizeof(err->file));
    } else if (status != RK_OK && err) {
        (void)snprintf(err->path, sizeof(err->path), "%s", where);
    }
    *root = json_incref(loaded.root);
    rk_json_clear(&loaded);
    free(path);
    return status;
}

/* Replaces the name of a model or system in the document by what it names. */
static rk_status resolve_base(const rk_sweep_doc *doc, json_t *base, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < REFERENCE_COUNT && status == RK_OK; i++) {
        const json_t *value = json_object_get(base, references[i].key);
        json_t *root = NULL;
        if (json_is_string(value)) {
            status = load_reference(doc, references[i].key, json_string_value(value),
                                    references[i].kind, &root, err);
        }
        if (root && json_object_set_new(base, references[i].key, root)) {
            status = fail_memory(err);
        }
    }
    return status;
}

/* Loads the documents that the values of an axis name, if its key is one that names documents. */
static rk_status resolve_axis(const rk_sweep_doc *doc, rk_sweep_axis *axis, const char *path,
                              rk_error *err)
{
    const char *kind = NULL;
    for (size_t i = 0; i < REFERENCE_COUNT; i++) {
        kind = strcmp(axis->key.text, references[i].key) == 0 ? references[i].kind : kind;
    }
    if (!kind) {
        return RK_OK;
    }
    if (axis->type != RK_VALUE_TEXT) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "the values of \"%s\" must be names or files",
                          axis->key.text);
    }
    axis->documents = json_array();
    rk_status status = axis->documents ? RK_OK : fail_memory(err);
    for (size_t i = 0; i < rk_sweep_axis_count(axis) && status == RK_OK; i++) {
        json_t *root = NULL;
        status = load_reference(doc, path, rk_sweep_axis_value(axis, i).text, kind, &root, err);
        if (status == RK_OK && json_array_append_new(axis->documents, root)) {
            status = fail_memory(err);
        }
    }
    return status;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Checks that the key of an axis is new. */
static rk_status check_key(const rk_sweep_doc *doc, size_t axis, const char *path, rk_error *err)
{
    const rk_sweep_key *key = &doc->axes[axis].key;
    for (size_t i = 0; i < axis; i++) {
        if (rk_sweep_key_same(&doc->axes[i].key, key)) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "axes[%zu] varies \"%s\" already",
                              doc->axes[i].dimension, key->text);
        }
    }
    return RK_OK;
}

/* Reads the axes of one dimension, which stand at `path`. */
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
            status = resolve_axis(doc, &doc->axes[i], path, err);
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

/* ---- expressions ----------------------------------------------------------------------------- */

static rk_status fail_many(const char *path, rk_error *err)
{
    return rk_fail_at(err, RK_ERR_LIMIT, path, "a sweep has at most %d expressions of a kind",
                      RK_SWEEP_FORMULAS_MAX);
}

/* Checks that nothing else gives the key of the last setting a value. */
static rk_status check_setting(const rk_sweep_doc *doc, const char *path, rk_error *err)
{
    const rk_sweep_key *key = &doc->settings[doc->setting_count - 1].key;
    for (size_t i = 0; i < doc->axis_count; i++) {
        if (rk_sweep_key_same(&doc->axes[i].key, key)) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "axes[%zu] varies \"%s\" already",
                              doc->axes[i].dimension, key->text);
        }
    }
    for (size_t i = 0; i + 1 < doc->setting_count; i++) {
        if (rk_sweep_key_same(&doc->settings[i].key, key)) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "another expression sets \"%s\" already",
                              key->text);
        }
    }
    return RK_OK;
}

/* Adds the setting of `key` to an expression, which stands at `path`. */
static rk_status add_setting(rk_sweep_doc *doc, const char *key, const json_t *value,
                             const char *path, rk_error *err)
{
    rk_error fault = {0};
    if (doc->setting_count == RK_SWEEP_FORMULAS_MAX) {
        return fail_many(path, err);
    }
    rk_sweep_setting *setting = &doc->settings[doc->setting_count++];
    rk_status status = rk_sweep_key_parse(key, &setting->key, &fault);
    if (status != RK_OK) {
        return rk_fail_at(err, status, path, "%s", fault.message);
    }
    status = rk_sweep_formula_read(value, path, &setting->formula, err);
    return status == RK_OK ? check_setting(doc, path, err) : status;
}

/* Variables that are expressions, and then "set". */
static rk_status read_settings(rk_sweep_doc *doc, json_t *set, rk_error *err)
{
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    json_t *let = json_object_get(doc->base, "let"), *value = NULL;
    const char *key = NULL;
    rk_status status = RK_OK;
    if ((let && !json_is_object(let)) || (set && !json_is_object(set))) {
        const bool first = let && !json_is_object(let);
        return rk_fail_at(err, RK_ERR_INVALID, first ? "let" : "set",
                          "expected an object of %s and expressions, found %s",
                          first ? "names" : "keys", rk_json_describe(first ? let : set, text));
    }
    json_object_foreach(let, key, value)
    {
        (void)rk_json_path_member("let", key, path);
        if (json_is_string(value) && status == RK_OK) {
            status = add_setting(doc, path, value, path, err);
        }
    }
    json_object_foreach(set, key, value)
    {
        if (status == RK_OK) {
            (void)rk_json_path_member("set", key, path);
            status = add_setting(doc, key, value, path, err);
        }
    }
    return status;
}

static bool uses_any(const rk_sweep_doc *doc, size_t setting, size_t first)
{
    for (size_t i = first; i < doc->setting_count; i++) {
        if (rk_sweep_formula_uses(&doc->settings[setting].formula, &doc->settings[i].key)) {
            return true;
        }
    }
    return false;
}

/* Puts each setting after those that it uses. */
static rk_status order_settings(rk_sweep_doc *doc, rk_error *err)
{
    for (size_t done = 0; done < doc->setting_count; done++) {
        size_t next = done;
        while (next < doc->setting_count && uses_any(doc, next, done)) {
            next++;
        }
        if (next == doc->setting_count) {
            return rk_fail_at(err, RK_ERR_INVALID, doc->settings[done].key.text,
                              "the expression of \"%s\" depends on its own value",
                              doc->settings[done].key.text);
        }
        const rk_sweep_setting found = doc->settings[next];
        memmove(&doc->settings[done + 1], &doc->settings[done],
                (next - done) * sizeof(*doc->settings));
        doc->settings[done] = found;
    }
    return RK_OK;
}

static rk_status read_constraints(rk_sweep_doc *doc, const json_t *list, rk_error *err)
{
    static const char name[] = "point_constraints";
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    if (list && !json_is_array(list)) {
        return rk_fail_at(err, RK_ERR_INVALID, name, "expected a list of expressions, found %s",
                          rk_json_describe(list, text));
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < json_array_size(list) && status == RK_OK; i++) {
        (void)rk_json_path_element(name, i, path);
        status = doc->constraint_count == RK_SWEEP_FORMULAS_MAX
                     ? fail_many(path, err)
                     : rk_sweep_formula_read(json_array_get(list, i), path,
                                             &doc->constraints[doc->constraint_count++], err);
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
        doc->text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    }
    return doc->text ? RK_OK : fail_memory(err);
}

/* Takes the members that are about points out of the base, and makes room for variables. */
static rk_status strip_base(json_t *base, rk_error *err)
{
    static const char *const members[] = {"axes", "set", "point_constraints"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        (void)json_object_del(base, members[i]);
    }
    json_t *let = json_object_get(base, "let");
    return let || json_object_set_new(base, "let", json_object()) == 0 ? RK_OK : fail_memory(err);
}

/* Reads everything from `root`, whose names of models and systems are replaced. */
static rk_status read_document(rk_sweep_doc *doc, json_t *root, rk_error *err)
{
    rk_status status = resolve_base(doc, root, err);
    if (status == RK_OK) {
        status = read_axes(doc, json_object_get(root, "axes"), err);
    }
    if (status == RK_OK) {
        doc->base = json_deep_copy(root);
        status = doc->base ? strip_base(doc->base, err) : fail_memory(err);
    }
    if (status == RK_OK) {
        status = read_settings(doc, json_object_get(root, "set"), err);
    }
    if (status == RK_OK) {
        status = order_settings(doc, err);
    }
    if (status == RK_OK) {
        status = read_constraints(doc, json_object_get(root, "point_constraints"), err);
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
        return fail_memory(err);
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
    return status == RK_OK ? build(loaded.root, path, doc, err) : status;
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

/* The number of a point is written in a system of mixed radices, a digit for each dimension. */
size_t rk_sweep_doc_axis_index(const rk_sweep_doc *doc, size_t axis, uint64_t number)
{
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

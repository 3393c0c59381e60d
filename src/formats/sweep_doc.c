/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/sweep_doc.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/calculon_docs.h"
#include "formats/sweep_axis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rk_sweep_doc {
    char *name;   /* owned: the path, for messages and relative paths */
    json_t *base; /* owned: the document without its axes, models and systems written out */
    rk_sweep_axis axes[RK_SWEEP_AXES_MAX]; /* owned */
    size_t axis_count;
    uint64_t point_count;
    char *text; /* owned */
};

/* The keys that name documents, and where the catalogue keeps those. */
static const struct {
    const char *key, *kind;
} references[] = {
    {"application", "calculon/applications"},
    {"system", "calculon/systems"},
};
enum { REFERENCE_COUNT = sizeof(references) / sizeof(references[0]) };

/* ---- one point ------------------------------------------------------------------------- */

/* Completes the path of an error in the document that stands at `path`. */
static rk_status prefix_path(rk_status status, const char *path, rk_error *err)
{
    if (status != RK_OK && err) {
        char inner[sizeof(err->path)];
        memcpy(inner, err->path, sizeof(inner));
        if (inner[0]) {
            (void)rk_json_path_member(path, inner, err->path);
        } else {
            (void)snprintf(err->path, sizeof(err->path), "%s", path);
        }
    }
    return status;
}

static rk_status read_application(const json_t *value, const char *path, void *out, rk_error *err)
{
    return prefix_path(rk_calculon_app_from_json(value, false, out, err), path, err);
}

static rk_status read_system(const json_t *value, const char *path, void *out, rk_error *err)
{
    return prefix_path(rk_calculon_sys_from_json(value, false, out, err), path, err);
}

static rk_status read_fused(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_calculon_space *space = out;
    char text[RK_JSON_TEXT_SIZE];
    if (json_is_boolean(value)) {
        space->fused_count = 1;
        space->fused[0] = json_is_true(value);
        return RK_OK;
    }
    if (json_is_string(value) && strcmp(json_string_value(value), "both") == 0) {
        space->fused_count = 2;
        space->fused[0] = false;
        space->fused[1] = true;
        return RK_OK;
    }
    return rk_fail_at(err, RK_ERR_INVALID, path, "expected true, false or \"both\", found %s",
                      rk_json_describe(value, text));
}

/* The axes are taken out of the document before its points are read. */
static rk_status refuse_axes(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)value;
    (void)out;
    return rk_fail_at(err, RK_ERR_INVALID, path, "the axes themselves cannot be varied");
}

#define PLACE(member) offsetof(rk_sweep_point, member)

static const rk_field point_fields[] = {
    {.name = "application",
     .type = RK_FIELD_CUSTOM,
     .offset = PLACE(app),
     .read = read_application,
     .help = "the model: catalogue name, file or object"},
    {.name = "system",
     .type = RK_FIELD_CUSTOM,
     .offset = PLACE(sys),
     .read = read_system,
     .help = "the machine: catalogue name, file or object"},
    {.name = "processors",
     .type = RK_FIELD_INT,
     .offset = PLACE(space.num_procs),
     .min = 1,
     .max = 0x1p40,
     .help = "processors to use"},
    {.name = "batch",
     .type = RK_FIELD_INT,
     .offset = PLACE(space.max_batch_size),
     .min = 1,
     .max = 0x1p40,
     .unit = "sequences",
     .help = "largest global batch"},
    {.name = "datatype",
     .type = RK_FIELD_ENUM,
     .offset = PLACE(space.datatype),
     .names = rk_datatype_names,
     .help = "datatype of weights and activations"},
    {.name = "fused",
     .type = RK_FIELD_CUSTOM,
     .offset = PLACE(space),
     .optional = true,
     .read = read_fused,
     .help = "fused activations: true (unless given), false or \"both\""},
    {.name = "no_tp_overlap",
     .type = RK_FIELD_BOOL,
     .offset = PLACE(space.no_tp_overlap),
     .optional = true,
     .help = "leave out overlap of tensor-parallel communication"},
    {.name = "no_dp_overlap",
     .type = RK_FIELD_BOOL,
     .offset = PLACE(space.no_dp_overlap),
     .optional = true,
     .help = "leave out overlap of data-parallel communication"},
    {.name = "mbs_break",
     .type = RK_FIELD_BOOL,
     .offset = PLACE(space.mbs_break),
     .optional = true,
     .help = "skip larger microbatches once one does not run"},
    {.name = "top",
     .type = RK_FIELD_INT,
     .offset = PLACE(top),
     .optional = true,
     .min = 1,
     .max = RK_SWEEP_TOP_MAX,
     .help = "mappings to rank at each point (1)"},
    {.name = "axes",
     .type = RK_FIELD_CUSTOM,
     .optional = true,
     .read = refuse_axes,
     .help = "what varies"},
};

/* The place of a point on an axis: its number is written in a system of mixed radices. */
static size_t axis_index(const rk_sweep_doc *doc, size_t axis, uint64_t number)
{
    for (size_t i = doc->axis_count - 1; i > axis; i--) {
        number /= rk_sweep_axis_count(&doc->axes[i]);
    }
    return (size_t)(number % rk_sweep_axis_count(&doc->axes[axis]));
}

/* The document of a point.  Whole models and systems go in first: other axes may vary them. */
static rk_status build_point(const rk_sweep_doc *doc, uint64_t number, json_t *object,
                             rk_error *err)
{
    rk_status status = RK_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < doc->axis_count && status == RK_OK; i++) {
            const rk_sweep_axis *axis = &doc->axes[i];
            if (!axis->documents == (pass == 1)) {
                status = rk_sweep_axis_place(axis, axis_index(doc, i, number), object, err);
            }
        }
    }
    return status;
}

rk_status rk_sweep_doc_point(const rk_sweep_doc *doc, uint64_t number, rk_sweep_point *point,
                             rk_error *err)
{
    *point = (rk_sweep_point){.space = {.fused_count = 1, .fused = {true}}, .top = 1};
    json_t *object = json_deep_copy(doc->base);
    rk_status status = object
                           ? build_point(doc, number, object, err)
                           : rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for a point");
    if (status == RK_OK) {
        status =
            rk_fields_read(object, "", point_fields, sizeof(point_fields) / sizeof(point_fields[0]),
                           RK_UNKNOWN_REFUSE, point, err);
    }
    json_decref(object);
    return status == RK_OK ? RK_OK : rk_sweep_doc_fail_at(doc, number, err);
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
        append(err->message, size, rk_sweep_axis_key(&doc->axes[i]));
        append(err->message, size, " = ");
        append(err->message, size,
               rk_json_printable(rk_value_format(&value, buffer), text, sizeof(text)));
    }
    append(err->message, size, ")");
    return err->code;
}

/* ---- the document ---------------------------------------------------------------------- */

static rk_status fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the sweep");
}

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
static rk_status resolve_base(const rk_sweep_doc *doc, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < REFERENCE_COUNT && status == RK_OK; i++) {
        const json_t *value = json_object_get(doc->base, references[i].key);
        json_t *root = NULL;
        if (json_is_string(value)) {
            status = load_reference(doc, references[i].key, json_string_value(value),
                                    references[i].kind, &root, err);
        }
        if (root && json_object_set_new(doc->base, references[i].key, root)) {
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
        kind = strcmp(rk_sweep_axis_key(axis), references[i].key) == 0 ? references[i].kind : kind;
    }
    if (!kind) {
        return RK_OK;
    }
    if (axis->type != RK_VALUE_TEXT) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "the values of \"%s\" must be names or files",
                          rk_sweep_axis_key(axis));
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

/* Checks that the key of the last axis is new. */
static rk_status check_key(const rk_sweep_doc *doc, const char *path, rk_error *err)
{
    const char *key = rk_sweep_axis_key(&doc->axes[doc->axis_count - 1]);
    for (size_t i = 0; i + 1 < doc->axis_count; i++) {
        if (strcmp(rk_sweep_axis_key(&doc->axes[i]), key) == 0) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "axes[%zu] varies \"%s\" already", i, key);
        }
    }
    return RK_OK;
}

static rk_status read_axes(rk_sweep_doc *doc, const json_t *axes, rk_error *err)
{
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    if (axes && !json_is_array(axes)) {
        return rk_fail_at(err, RK_ERR_INVALID, "axes", "expected a list of axes, found %s",
                          rk_json_describe(axes, text));
    }
    if (json_array_size(axes) > RK_SWEEP_AXES_MAX) {
        return rk_fail_at(err, RK_ERR_LIMIT, "axes", "%zu axes are more than the %d of one sweep",
                          json_array_size(axes), RK_SWEEP_AXES_MAX);
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < json_array_size(axes) && status == RK_OK; i++) {
        rk_sweep_axis *axis = &doc->axes[i];
        (void)rk_json_path_element("axes", i, path);
        status = rk_sweep_axis_read(json_array_get(axes, i), path, axis, err);
        if (status != RK_OK) {
            break;
        }
        doc->axis_count = i + 1;
        status = check_key(doc, path, err);
        if (status == RK_OK) {
            status = resolve_axis(doc, axis, path, err);
        }
        if (status == RK_OK && doc->point_count > RK_SWEEP_POINTS_MAX / rk_sweep_axis_count(axis)) {
            status = rk_fail_at(err, RK_ERR_LIMIT, "axes",
                                "the axes multiply to more than the %d points of one sweep",
                                RK_SWEEP_POINTS_MAX);
        }
        doc->point_count *= rk_sweep_axis_count(axis);
    }
    return status;
}

/* Writes doc->text. */
static rk_status write_text(rk_sweep_doc *doc, rk_error *err)
{
    json_t *axes = json_array();
    int failed = 0;
    for (size_t i = 0; i < doc->axis_count; i++) {
        const rk_sweep_axis *axis = &doc->axes[i];
        failed |=
            json_array_append_new(axes, json_pack("{sOsOsO*}", "key", axis->key, "values",
                                                  axis->values, "documents", axis->documents));
    }
    failed |= json_object_set_new(doc->base, "axes", axes);
    if (!failed) {
        doc->text = json_dumps(doc->base, JSON_COMPACT | JSON_SORT_KEYS);
    }
    (void)json_object_del(doc->base, "axes");
    return doc->text ? RK_OK : fail_memory(err);
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
    *doc = (rk_sweep_doc){.name = copy, .base = root, .point_count = 1};
    json_t *axes = json_incref(json_object_get(root, "axes"));
    (void)json_object_del(root, "axes");
    rk_status status = resolve_base(doc, err);
    if (status == RK_OK) {
        status = read_axes(doc, axes, err);
    }
    if (status == RK_OK) {
        status = write_text(doc, err);
    }
    json_decref(axes);
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
    if (doc) {
        for (size_t i = 0; i < doc->axis_count; i++) {
            rk_sweep_axis_clear(&doc->axes[i]);
        }
        json_decref(doc->base);
        free(doc->text);
        free(doc->name);
        free(doc);
    }
}

uint64_t rk_sweep_doc_point_count(const rk_sweep_doc *doc)
{
    return doc->point_count;
}

const char *rk_sweep_doc_text(const rk_sweep_doc *doc)
{
    return doc->text;
}

size_t rk_sweep_doc_axis_count(const rk_sweep_doc *doc)
{
    return doc->axis_count;
}

rk_column rk_sweep_doc_axis_column(const rk_sweep_doc *doc, size_t axis)
{
    return (rk_column){rk_sweep_axis_key(&doc->axes[axis]), doc->axes[axis].type};
}

rk_value rk_sweep_doc_axis_value(const rk_sweep_doc *doc, size_t axis, uint64_t number)
{
    return rk_sweep_axis_value(&doc->axes[axis], axis_index(doc, axis, number));
}

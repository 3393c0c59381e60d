/* SPDX-License-Identifier: Apache-2.0 */
/* Reads method, task and search of a sweep, and rejects members that no axis may vary. */
#include "sweep/doc_common.h"

#include "base/error.h"
#include "sweep/doc_parts.h"

#include <stdio.h>
#include <string.h>

rk_status rk_sweep_refuse(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)value;
    (void)out;
    return rk_fail_at(err, RK_ERR_INVALID, path, "this is about all points and cannot be varied");
}

/* Completes the path of an error in the document at `path`. */
static rk_status sweep_prefix_path(rk_status status, const char *path, rk_error *err)
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

rk_status rk_sweep_read_document(rk_sweep_common *out, rk_document_kind kind, unsigned change,
                                 const json_t *value, const char *path, rk_error *err)
{
    const rk_source source = {.object = value};
    return out->changed & change
               ? sweep_prefix_path(out->problem.method->load(&out->problem, kind, &source, err),
                                   path, err)
               : RK_OK;
}

rk_status rk_sweep_read_system(const json_t *value, const char *path, void *out, rk_error *err)
{
    return rk_sweep_read_document(out, RK_DOCUMENT_SYSTEM, RK_SWEEP_SYSTEM, value, path, err);
}

/* ---- what is done at the points -------------------------------------------------------------- */

static const char *const method_names[] = {"calculon", "reckon", NULL};
static const char *const task_names[] = {"search", "estimate", NULL};
static const char *const search_names[] = {"exhaustive", "bounded", NULL};

enum { RECKON = 1, SEARCH = 0, ESTIMATE = 1, BOUNDED = 1, NOT_GIVEN = 2 };

struct choices {
    unsigned method, task, search;
};

#define CHOICE(member, help_)                                                                      \
    RK_FIELD(#member, ENUM, offsetof(struct choices, member), .names = member##_names,             \
             .optional = true, .help = help_)

static const rk_field choice_fields[] = {
    CHOICE(method, "which model of cost"),
    CHOICE(task, "what is done at every point"),
    CHOICE(search, "whether every strategy is evaluated"),
};

static bool names_model(const json_t *key)
{
    return json_is_string(key) && strcmp(json_string_value(key), "model") == 0;
}

/* Whether an axis, or one of linked axes, varies the whole model. */
static bool varies_model(const json_t *axis)
{
    const json_t *keys = json_object_get(axis, "keys"), *linked = json_object_get(axis, "linked");
    bool found = names_model(json_object_get(axis, "key"));
    for (size_t i = 0; i < json_array_size(keys); i++) {
        found = found || names_model(json_array_get(keys, i));
    }
    for (size_t i = 0; i < json_array_size(linked); i++) {
        found = found || names_model(json_object_get(json_array_get(linked, i), "key"));
    }
    return found;
}

/* The method that the documents are for: documents of the reckon model have a "model". */
static bool is_for_reckon(const json_t *root)
{
    const json_t *axes = json_object_get(root, "axes");
    bool found = json_object_get(root, "model") != NULL;
    for (size_t i = 0; i < json_array_size(axes); i++) {
        found = found || varies_model(json_array_get(axes, i));
    }
    return found;
}

rk_status rk_sweep_doc_read_mode(rk_sweep_doc *doc, const json_t *root, rk_error *err)
{
    struct choices choices = {.method = is_for_reckon(root), .search = NOT_GIVEN};
    const rk_status status =
        rk_fields_read(root, "", choice_fields, sizeof(choice_fields) / sizeof(choice_fields[0]),
                       RK_UNKNOWN_IGNORE, &choices, err);
    const bool usual =
        choices.search == NOT_GIVEN && choices.method == RECKON && choices.task == SEARCH;
    doc->mode = (rk_sweep_mode){.reckon = choices.method == RECKON,
                                .estimate = choices.task == ESTIMATE,
                                .bounded = choices.search == BOUNDED || usual,
                                .recalls = usual};
    if (status == RK_OK && doc->mode.estimate && doc->mode.bounded) {
        return rk_fail_at(err, RK_ERR_INVALID, "search", "an estimate searches nothing");
    }
    return status;
}

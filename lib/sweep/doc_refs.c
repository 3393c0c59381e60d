/* SPDX-License-Identifier: Apache-2.0 */
/* The models, systems and stacks that a sweep's document names. */
#include "sweep/doc_parts.h"

#include "base/error.h"
#include "io/catalogue.h"
#include "system/machine.h"
#include "system/measured_doc.h"
#include "system/system_doc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys that name documents, by method, and where the catalogue keeps those. */
static const struct {
    bool reckon;
    const char *key, *kind;
} references[] = {
    {false, "application", "calculon/applications"},
    {false, "system", "calculon/systems"},
    {true, "model", "models"},
    {true, "system", "systems"},
    {true, "stack", "stacks"},
};
enum { REFERENCE_COUNT = sizeof(references) / sizeof(references[0]) };

/*
 * Loads a model or system that is named at JSON path `where`.  A relative path starts from the
 * folder of the sweep document.
 */
static rk_status load_reference(const rk_sweep_doc *doc, const char *where, const char *name,
                                const char *kind, json_t **root, rk_error *err)
{
    const char *slash = strrchr(doc->name, '/');
    const bool file = rk_json_is_file(name);
    const size_t folder = slash && file && name[0] != '/' ? (size_t)(slash + 1 - doc->name) : 0;
    const size_t size = folder + strlen(name) + 1;
    char *path = malloc(size);
    if (!path) {
        return rk_sweep_fail_memory(err);
    }
    memcpy(path, doc->name, folder);
    memcpy(path + folder, name, size - folder);

    rk_json_doc loaded = {0};
    rk_status status = rk_json_load(path, kind, &loaded, err);
    if (status != RK_OK && err && err->file[0]) {
        (void)rk_json_printable(path, err->file, sizeof(err->file));
    } else if (status != RK_OK && err) {
        (void)snprintf(err->path, sizeof(err->path), "%s", where);
    }
    *root = json_incref(loaded.root);
    rk_json_clear(&loaded);
    if (status == RK_OK) {
        status = rk_measured_doc_rebase(*root, path, err);
        /* paths inside it also start from the folder of the sweep */
        status = status ? status : rk_system_doc_rebase(*root, name, err);
        if (status != RK_OK) {
            json_decref(*root);
            *root = NULL;
        }
    }
    free(path);
    return status;
}

/* Where the catalogue keeps documents of that name: an accelerator counts as a system. */
static const char *kind_of(size_t reference, const char *name)
{
    const char *kind = references[reference].kind;
    return strcmp(kind, "systems") == 0 && rk_catalogue_find("accelerators", name) ? "accelerators"
                                                                                   : kind;
}

/* Replaces the name of a system's accelerator by its document, so that axes may vary its parts. */
static rk_status resolve_accelerator(const rk_sweep_doc *doc, const char *where, json_t *system,
                                     rk_error *err)
{
    const json_t *name = json_object_get(system, "accelerator");
    json_t *root = NULL;
    if (!json_is_string(name)) {
        return RK_OK;
    }
    const rk_status status =
        load_reference(doc, where, json_string_value(name), "accelerators", &root, err);
    if (status != RK_OK) {
        return status;
    }
    return json_object_set_new(system, "accelerator", root) ? rk_sweep_fail_memory(err) : RK_OK;
}

/* Loads a named document and everything that it names in turn. */
static rk_status load_whole(const rk_sweep_doc *doc, size_t reference, const char *where,
                            const char *name, json_t **root, rk_error *err)
{
    const char *kind = kind_of(reference, name);
    rk_status status = load_reference(doc, where, name, kind, root, err);
    if (status == RK_OK && strcmp(kind, "systems") == 0) {
        status = resolve_accelerator(doc, where, *root, err);
        if (status != RK_OK) {
            json_decref(*root);
            *root = NULL;
        }
    }
    return status;
}

/* "64xh100" in the base of a sweep: the number goes to "accelerators". */
static rk_status split_machine(json_t *base, const char *key, rk_error *err)
{
    rk_machine machine;
    int64_t each;
    const char *name = json_string_value(json_object_get(base, key));
    if (!name || strcmp(key, "system") != 0) {
        return RK_OK;
    }
    rk_status status = rk_machine_read_number_first(name, &machine, err);
    if (status || machine.system[0] == '\0') {
        return status;
    }
    status = rk_machine_unit(machine.system, &each, err);
    if (status) {
        return status;
    }
    if (json_object_get(base, "accelerators") || machine.count > INT64_MAX / each) {
        return rk_fail_at(err, RK_ERR_INVALID, key,
                          "\"%.200s\" has a number of accelerators, and \"accelerators\" another; "
                          "leave out one",
                          name);
    }
    return json_object_set_new(base, "accelerators", json_integer(machine.count * each)) ||
                   json_object_set_new(base, key, json_string(machine.system))
               ? rk_sweep_fail_memory(err)
               : RK_OK;
}

rk_status rk_sweep_doc_resolve(const rk_sweep_doc *doc, json_t *base, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < REFERENCE_COUNT && status == RK_OK; i++) {
        json_t *value = json_object_get(base, references[i].key);
        json_t *root = NULL;
        if (references[i].reckon != doc->mode.reckon || !value) {
            continue;
        }
        if (doc->mode.reckon) {
            status = split_machine(base, references[i].key, err);
            value = json_object_get(base, references[i].key);
        }
        if (status) {
            return status;
        }
        if (json_is_string(value)) {
            status = load_whole(doc, i, references[i].key, json_string_value(value), &root, err);
        } else if (strcmp(references[i].kind, "systems") == 0) {
            status = resolve_accelerator(doc, references[i].key, value, err);
        }
        if (root && json_object_set_new(base, references[i].key, root)) {
            status = rk_sweep_fail_memory(err);
        }
    }
    return status;
}

rk_status rk_sweep_doc_resolve_axis(const rk_sweep_doc *doc, rk_sweep_axis *axis, const char *path,
                                    rk_error *err)
{
    size_t i = 0;
    while (i < REFERENCE_COUNT && (references[i].reckon != doc->mode.reckon ||
                                   strcmp(axis->key.text, references[i].key) != 0)) {
        i++;
    }
    if (i == REFERENCE_COUNT) {
        return RK_OK;
    }
    if (axis->type != RK_VALUE_TEXT) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "the values of \"%s\" must be names or files",
                          axis->key.text);
    }
    axis->documents = json_array();
    rk_status status = axis->documents ? RK_OK : rk_sweep_fail_memory(err);
    for (size_t j = 0; j < rk_sweep_axis_count(axis) && status == RK_OK; j++) {
        json_t *root = NULL;
        status = load_whole(doc, i, path, rk_sweep_axis_value(axis, j).text, &root, err);
        if (status == RK_OK && json_array_append_new(axis->documents, root)) {
            status = rk_sweep_fail_memory(err);
        }
    }
    return status;
}

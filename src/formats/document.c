/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/document.h"

#include "base/error.h"
#include "formats/catalogue.h"
#include "formats/json.h"

/* Keys that no other kind has: several, so that one of them may be misspelt. */
#define TELLING_KEY_COUNT 3
static const char *const telling_keys[RK_DOCUMENT_KIND_COUNT][TELLING_KEY_COUNT] = {
    {"hidden", "feedforward", "num_blocks"},
    {"networks", "matrix", "mem1"},
    {"tensor_par", "pipeline_par", "num_procs"},
};
const char *const rk_document_folders[RK_DOCUMENT_KIND_COUNT] = {"calculon/applications",
                                                                 "calculon/systems", NULL};

/* Returns the folder that has the name, else one that has a similar name, else the first. */
static const char *find_folder(const char *name)
{
    const char *similar = rk_document_folders[0];
    for (int i = 0; i < RK_DOCUMENT_KIND_COUNT; i++) {
        const char *folder = rk_document_folders[i];
        if (folder && rk_catalogue_find(folder, name)) {
            return folder;
        }
        if (folder && rk_catalogue_nearest(folder, name)) {
            similar = folder;
        }
    }
    return similar;
}

static bool has_telling_key(const json_t *object, int kind)
{
    for (int i = 0; i < TELLING_KEY_COUNT; i++) {
        if (json_object_get(object, telling_keys[kind][i])) {
            return true;
        }
    }
    return false;
}

rk_status rk_document_identify(const char *name, rk_document_kind *kind, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, find_folder(name), &doc, err);
    if (status) {
        return status;
    }
    int found = 0;
    while (found < RK_DOCUMENT_KIND_COUNT && !has_telling_key(doc.root, found)) {
        found++;
    }
    *kind = (rk_document_kind)found;
    if (found == RK_DOCUMENT_KIND_COUNT) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "this is neither a model (with the key \"%s\"), nor a system (\"%s\"), "
                         "nor an execution (\"%s\")",
                         telling_keys[0][0], telling_keys[1][0], telling_keys[2][0]);
        rk_error_set_file(err, doc.name);
    }
    rk_json_clear(&doc);
    return status;
}

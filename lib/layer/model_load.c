/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a model with all kinds of layers: our own document or a config.json of Hugging Face. */
#include "layer/model_load.h"

#include "base/error.h"
#include "base/text.h"
#include "io/catalogue.h"
#include "io/document.h"
#include "layer/all_kinds.h"
#include "model/hf_config.h"
#include "model/model_doc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns where the last name of path[0..end) starts. */
static const char *last_name(const char *path, const char *end)
{
    while (end > path && end[-1] != '/') {
        end--;
    }
    return end;
}

/*
 * Names a model after its file: "a/b.json" and "a/b.config.json" are b, and "a/config.json", whose
 * name says nothing, is a.
 */
static void name_after_file(const char *path, char *out, size_t size)
{
    static const char *const endings[] = {".gz", ".json", ".config"};
    static const char anonymous[] = "config";
    const char *end = path + strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const size_t length = strlen(endings[i]);
        if ((size_t)(end - path) > length && strncmp(end - length, endings[i], length) == 0) {
            end -= length;
        }
    }
    const char *start = last_name(path, end);
    if (start > path + 1 && (size_t)(end - start) == strlen(anonymous) &&
        strncmp(start, anonymous, strlen(anonymous)) == 0) {
        end = start - 1;
        start = last_name(path, end);
    }
    char name[RK_JSON_PATH_SIZE];
    (void)snprintf(name, sizeof(name), "%.*s", (int)(end - start), start);
    (void)rk_json_printable(name, out, size);
}

rk_status rk_model_read(const json_t *object, rk_model *model, rk_error *err)
{
    return rk_document_is_config(object)
               ? rk_hf_config_read(object, NULL, &rk_all_kinds, model, err)
               : rk_model_from_json(object, &rk_all_kinds, model, err);
}

/* Reads a config.json with the architecture.json in its folder, if there is one. */
static rk_status read_with_own(const rk_json_doc *doc, rk_model *model, rk_error *err)
{
    char path[1024];
    rk_json_doc own;
    const bool beside = rk_json_is_file(doc->name) && rk_document_is_config(doc->root) &&
                        rk_path_beside("architecture.json", doc->name, path, sizeof(path)) &&
                        access(path, R_OK) == 0;
    if (!beside) {
        return rk_model_read(doc->root, model, err);
    }
    rk_status status = rk_json_load(path, NULL, &own, err);
    if (!status) {
        status = rk_hf_config_read(doc->root, own.root, &rk_all_kinds, model, err);
        rk_json_clear(&own);
    }
    return status;
}

rk_status rk_model_load(const char *name, rk_model *model, rk_error *err)
{
    char words[RK_CATALOGUE_WORDS_SIZE];
    rk_json_doc doc;
    rk_status status = rk_document_load(name, "models", &doc, err);
    if (status) {
        return status;
    }
    status = read_with_own(&doc, model, err);
    if (status) {
        rk_error_set_file(err, doc.name);
    } else if (model->name[0] == '\0') {
        name_after_file(doc.name, model->name, sizeof(model->name));
    }
    if (!status && !rk_json_is_file(doc.name) && rk_catalogue_left_out(name, words)) {
        (void)snprintf(model->note, sizeof(model->note), "left out: %s", words);
    }
    rk_json_clear(&doc);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a launch names: recipes, configurations of DeepSpeed and of accelerate. */
#include "base/error.h"
#include "base/text.h"
#include "io/json.h"
#include "launch/launch_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_SIZE_MAX (1 << 20)

/* Whether a path is a file of a size that a configuration can have. */
static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= FILE_SIZE_MAX;
}

/*
 * The path of a file as the launch sees it: from the folder of the launch, that is where the name
 * says or, without its folders, next to the launch; NULL: it is not there.
 */
static const char *find_file(rk_launch *launch, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *places[] = {
        path[0] == '/' ? path : rk_launch_format(launch, "%s/%s", launch->folder, path),
        rk_launch_format(launch, "%s/%s", launch->folder, slash ? slash + 1 : path), path};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (is_file(places[i])) {
            return places[i];
        }
    }
    return NULL;
}

static rk_status read_document(rk_launch_form form, const char *place, json_t **root, rk_error *err)
{
    rk_json_doc doc = {0};
    if (form == RK_LAUNCH_JSON) {
        const rk_status status = rk_json_load_python(place, &doc, err);
        *root = status ? NULL : json_incref(doc.root);
        rk_json_clear(&doc);
        return status;
    }
    char *text = NULL;
    size_t size = 0;
    rk_status status = rk_launch_read_file(place, &text, &size, err);
    status = status ? status : rk_launch_parse_document(form, text, size, place, root, err);
    free(text);
    return status;
}

/* The document of a path: one that the script of the launch writes, or a file; NULL: neither. */
static rk_status find_document(rk_launch *launch, const char *path, const char **place,
                               json_t **root, rk_error *err)
{
    const rk_launch_form form = rk_launch_form_of_name(path);
    const char *written = form != RK_LAUNCH_WORDS ? rk_launch_written(launch, path) : NULL;
    *root = NULL;
    *place = written ? path : NULL;
    if (written) {
        return rk_launch_parse_document(form, written, strlen(written), path, root, err);
    }
    *place = launch->folder && form != RK_LAUNCH_WORDS ? find_file(launch, path) : NULL;
    launch->opens_files = launch->opens_files || *place;
    return *place ? read_document(form, *place, root, err) : RK_OK;
}

rk_status rk_launch_open_named(rk_launch *launch, const char *path, bool *found, rk_error *err)
{
    json_t *root = NULL;
    const char *place = NULL;
    *found = false;
    const bool inner = path[0] == '{'; /* the object itself, as the Trainer accepts it */
    const rk_status status = inner ? rk_launch_parse_document(RK_LAUNCH_JSON, path, strlen(path),
                                                              "JSON of the line", &root, err)
                                   : find_document(launch, path, &place, &root, err);
    place = inner ? "JSON of the line" : place;
    if (status || !place) {
        return status;
    }
    const size_t document = launch->document_count;
    rk_launch_add_document(launch, place, root);
    *found = launch->document_count > document;
    if (*found) {
        rk_launch_flatten_document(launch, document);
    }
    return RK_OK;
}

const char *rk_launch_text_of(rk_launch *launch, const char *path)
{
    const char *kept = rk_launch_written(launch, path);
    const char *place = !kept && launch->folder ? find_file(launch, path) : NULL;
    char *text = NULL;
    size_t size = 0;
    rk_error err;
    launch->opens_files = launch->opens_files || place;
    if (place) {
        const rk_status status = rk_launch_read_file(place, &text, &size, &err);
        launch->out_of_memory |= status == RK_ERR_MEMORY;
        kept = status ? NULL : rk_launch_keep(launch, text);
        free(text);
    }
    return kept;
}

rk_status rk_launch_open_own(rk_launch *launch, bool *found, rk_error *err)
{
    *found = false;
    for (size_t i = launch->program + 1; i < launch->word_count && !*found; i++) {
        const char *word = launch->words[i].text, *place = NULL;
        json_t *root = NULL;
        const rk_status status =
            strchr(word, '=') ? RK_OK : find_document(launch, word, &place, &root, err);
        if (status) {
            return status;
        }
        *found = place != NULL;
        if (*found) {
            rk_launch_add_document(launch, place, root);
        }
    }
    return RK_OK;
}

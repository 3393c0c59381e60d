/* SPDX-License-Identifier: Apache-2.0 */
/* Files as launches: which form they have, their words and their documents. */
#include "base/error.h"
#include "base/text.h"
#include "launch/launch_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_SIZE_MAX (16U << 20)

/* ---- files ----------------------------------------------------------------------------------- */

static rk_status read_stream(FILE *file, const char *name, char **text, size_t *size, rk_error *err)
{
    size_t room = 0;
    *text = NULL;
    *size = 0;
    for (;;) {
        if (*size == room) {
            room = room ? 2 * room : 65536;
            char *larger = realloc(*text, room + 1);
            if (!larger) {
                return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %s", name);
            }
            *text = larger;
        }
        const size_t got = fread(*text + *size, 1, room - *size, file);
        *size += got;
        if (*size > FILE_SIZE_MAX) {
            return rk_fail(err, RK_ERR_INVALID, "%s: longer than 16 MiB, which no launch is", name);
        }
        if (got == 0) {
            break;
        }
    }
    (*text)[*size] = '\0';
    return ferror(file) ? rk_fail(err, RK_ERR_IO, "%s: cannot be read", name) : RK_OK;
}

rk_status rk_launch_read_file(const char *path, char **text, size_t *size, rk_error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    *text = NULL;
    if (!file && errno == ENOMEM) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %s", path);
    }
    if (!file) {
        return rk_fail(err, RK_ERR_IO, "%s: cannot be opened; is it the path of a launch?", path);
    }
    const rk_status status = read_stream(file, path, text, size, err);
    if (file != stdin) {
        (void)fclose(file);
    }
    return status;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The machine in a record: {"nodes": 2, "gpus_per_node": 8, "processes": 16}. */
static void take_world(rk_launch *launch, const json_t *world)
{
    static const char *const fields[] = {"nodes", "gpus_per_node", "processes"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const json_t *value = json_object_get(world, fields[i]);
        if (json_is_integer(value)) {
            rk_launch_state_count(launch, fields[i], json_integer_value(value), RK_FACT_STATED,
                                  NULL);
        }
    }
}

/* Whether every member of a configuration is itself a document: {"recipe": {...}, ...}. */
static bool is_several(json_t *config)
{
    static const char *const names[] = {"recipe", "accelerate", "deepspeed", "train", "config"};
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(config, name, value)
    {
        bool known = false;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            known |= strcmp(name, names[i]) == 0;
        }
        if (!known || !json_is_object(value)) {
            return false;
        }
    }
    return json_object_size(config) > 0;
}

static void take_config(rk_launch *launch, json_t *config)
{
    const char *name = NULL;
    json_t *value = NULL;
    if (!is_several(config)) {
        rk_launch_add_document(launch, "config", json_incref(config));
        return;
    }
    json_object_foreach(config, name, value)
    {
        rk_launch_add_document(launch, name, json_incref(value));
    }
}

static void take_record(rk_launch *launch, json_t *root)
{
    const json_t *argv = json_object_get(root, "argv");
    for (size_t i = 0; i < json_array_size(argv); i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        rk_launch_add_word(launch, word ? word : "", 1);
    }
    if (json_is_object(json_object_get(root, "config"))) {
        take_config(launch, json_object_get(root, "config"));
    }
    rk_launch_set_reader(launch, json_string_value(json_object_get(root, "framework")),
                         json_string_value(json_object_get(root, "release")));
    take_world(launch, json_object_get(root, "world"));
}

/* ---- forms ----------------------------------------------------------------------------------- */

static rk_status parse_document(const char *text, size_t size, rk_launch_form form,
                                rk_launch *launch, rk_error *err)
{
    json_t *root = NULL;
    const rk_status status = rk_launch_parse_document(form, text, size, launch->name, &root, err);
    if (status) {
        return status;
    }
    if (form == RK_LAUNCH_JSON && (json_is_array(json_object_get(root, "argv")) ||
                                   json_is_object(json_object_get(root, "config")))) {
        take_record(launch, root);
        json_decref(root);
    } else {
        rk_launch_add_document(launch, "config", root);
    }
    return RK_OK;
}

rk_status rk_launch_parse(const char *text, size_t size, const char *name, rk_launch *launch,
                          rk_error *err)
{
    launch->name = launch->name ? launch->name : strdup(name);
    if (!launch->name) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %s", name);
    }
    if (rk_ends_with(name, ".py")) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s: a Python file, which is not read; give the line that runs it, or the "
                       "configuration that it makes",
                       name);
    }
    rk_launch_form form = rk_launch_form_of_name(name);
    form = form == RK_LAUNCH_WORDS && !rk_ends_with(name, ".sh")
               ? rk_launch_form_of_text(text, size)
               : form;
    const rk_status status = form == RK_LAUNCH_WORDS
                                 ? rk_launch_read_script(launch, text, size, err)
                                 : parse_document(text, size, form, launch, err);
    rk_launch_find_program(launch);
    return status;
}

/* "run.sh 70b 8": the length of the file's name, behind which words for its script follow. */
static size_t name_length(const char *path)
{
    const size_t length = strcspn(path, " ");
    struct stat status;
    return path[length] == '\0' || stat(path, &status) == 0 ? strlen(path) : length;
}

/* Whether a path is the launch itself: it has lines, or its first word is no file, and flags
 * follow.
 */
static bool is_line(const char *path, size_t length)
{
    struct stat status;
    char first[512];
    if (strchr(path, '\n') || rk_json_is_text(path)) {
        return true;
    }
    (void)snprintf(first, sizeof(first), "%.*s", (int)(length < 511 ? length : 511), path);
    return strstr(path + length, " -") && (stat(first, &status) != 0 || !S_ISREG(status.st_mode));
}

rk_status rk_launch_load(const char *path, rk_launch *launch, rk_error *err)
{
    char *text = NULL;
    size_t size = 0;
    const size_t length = name_length(path);
    if (is_line(path, length)) {
        *launch = (rk_launch){.name = strdup("the line"), .folder = strdup(".")};
        return launch->name && launch->folder
                   ? rk_launch_parse(path, strlen(path), "the line", launch, err)
                   : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the line");
    }
    *launch = (rk_launch){.name = strndup(path, length)};
    if (!launch->name) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %s", path);
    }
    launch->arguments = rk_launch_keep(launch, path + length);
    const char *slash = strrchr(launch->name, '/');
    launch->folder = slash ? strndup(launch->name, (size_t)(slash - launch->name)) : strdup(".");
    rk_status status = rk_launch_read_file(launch->name, &text, &size, err);
    launch->text = status ? NULL : rk_launch_keep(launch, text);
    status = status ? status : rk_launch_parse(text, size, launch->name, launch, err);
    free(text);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Overrides numbers of a JSON document by path, and edits them in its original text. */
#include "evidence/editable_document.h"

#include "base/error.h"
#include "base/text.h"
#include "io/json_edit.h"
#include "io/json_memory.h"
#include "io/out.h"
#include "stack/stack_doc.h"
#include "system/system_doc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGE_MAX = 64, PATH_SIZE = 96, NOTE_SIZE = 1200 };

/* A number that was changed, or the note of a group. */
typedef struct change {
    char path[PATH_SIZE];
    json_t *number; /* borrowed from the root; NULL: a note */
    char note[NOTE_SIZE];
} change;

struct rk_editable {
    char name[64], file[256];
    rk_editable_kind kind;
    char *text; /* owned; as read */
    rk_json_doc doc;
    size_t change_count;
    change changes[CHANGE_MAX];
};

/* ---- reading ------------------------------------------------------------------------------- */

static void set_name(rk_editable *tuned, const char *path)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(tuned->file, sizeof(tuned->file), "%s", path);
    (void)snprintf(tuned->name, sizeof(tuned->name), "%s", slash ? slash + 1 : path);
    tuned->name[strcspn(tuned->name, ".")] = '\0';
}

static rk_status read_whole(const char *path, char **text, size_t *size, rk_error *err)
{
    enum { MOST = 1 << 20 };
    char *read = malloc(MOST + 1);
    errno = 0;
    FILE *file = read ? fopen(path, "rb") : NULL;
    if (!read || (!file && errno == ENOMEM)) {
        free(read);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read the document");
    }
    *size = file ? fread(read, 1, MOST + 1, file) : 0;
    rk_status status = RK_OK;
    if (!file || ferror(file)) {
        status = rk_fail(err, RK_ERR_IO, "cannot read the document");
    } else if (*size > MOST) {
        status = rk_fail(err, RK_ERR_LIMIT, "the document is larger than 1 MiB");
    }
    if (file) {
        (void)fclose(file);
    }
    if (status) {
        free(read);
        return status;
    }
    read[*size] = '\0';
    *text = read;
    return RK_OK;
}

/* Reads a document as the kind that its keys indicate. */
static rk_status check(rk_editable *tuned, rk_error *err)
{
    rk_system system;
    rk_stack stack;
    const bool machine = json_object_get(tuned->doc.root, "gemm") != NULL ||
                         json_object_get(tuned->doc.root, "accelerator") != NULL;
    tuned->kind = machine ? RK_EDITABLE_SYSTEM : RK_EDITABLE_STACK;
    return machine ? rk_editable_system(tuned, &system, err)
                   : rk_editable_stack(tuned, &stack, err);
}

rk_status rk_editable_open(const char *path, rk_editable **tuned, rk_error *err)
{
    size_t size = 0;
    *tuned = NULL;
    rk_editable *opened = calloc(1, sizeof(*opened));
    if (!opened) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read a document");
    }
    set_name(opened, path);
    rk_status status = rk_ends_with(path, ".json")
                           ? read_whole(path, &opened->text, &size, err)
                           : rk_fail(err, RK_ERR_INVALID,
                                     "a document to change is a file whose name ends in .json");
    if (!status) {
        status = rk_json_parse(opened->text, size, path, &opened->doc, err);
    }
    if (!status) {
        status = check(opened, err);
    }
    if (status) {
        rk_error_set_file(err, path);
        rk_editable_free(opened);
        return status;
    }
    *tuned = opened;
    return RK_OK;
}

void rk_editable_free(rk_editable *tuned)
{
    if (tuned) {
        rk_json_clear(&tuned->doc);
        free(tuned->text);
        free(tuned);
    }
}

rk_editable_kind rk_editable_kind_of(const rk_editable *tuned)
{
    return tuned->kind;
}

const char *rk_editable_name(const rk_editable *tuned)
{
    return tuned->name;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The value at a path; `parent` is its container, `key` the last step. */
static json_t *find(const rk_editable *tuned, const char *path, json_t **parent,
                    char key[PATH_SIZE])
{
    json_t *at = tuned->doc.root;
    *parent = NULL;
    for (const char *step = path; *step;) {
        const size_t length = step[0] == '[' ? strcspn(step, "]") + 1 : strcspn(step, ".[");
        *parent = at;
        (void)snprintf(key, PATH_SIZE, "%.*s", (int)length, step);
        at = step[0] == '[' ? json_array_get(at, strtoul(step + 1, NULL, 10))
                            : json_object_get(at, key);
        step += length;
        step += *step == '.';
        if (!at && *step) {
            *parent = NULL;
            return NULL;
        }
    }
    return at;
}

rk_status rk_editable_get(const rk_editable *tuned, const char *path, double missing, double *value,
                          rk_error *err)
{
    char key[PATH_SIZE] = "", found[RK_JSON_TEXT_SIZE];
    json_t *parent;
    const json_t *number = find(tuned, path, &parent, key);
    if (!number && json_is_object(parent)) {
        *value = missing;
        return RK_OK;
    }
    if (!json_is_number(number)) {
        (void)rk_fail_at(err, RK_ERR_INVALID, path, "expected a number to fit, found %s",
                         rk_json_describe(number, found));
        rk_error_set_file(err, tuned->file);
        return RK_ERR_INVALID;
    }
    *value = json_number_value(number);
    return RK_OK;
}

static rk_status fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "not enough memory to change a document");
}

/* The change at a path; creates the first one. */
static change *change_of(rk_editable *tuned, const char *path, bool note)
{
    for (size_t i = 0; i < tuned->change_count; i++) {
        if (strcmp(tuned->changes[i].path, path) == 0 && !tuned->changes[i].number == note) {
            return &tuned->changes[i];
        }
    }
    if (tuned->change_count == CHANGE_MAX || strlen(path) >= PATH_SIZE) {
        return NULL;
    }
    change *added = &tuned->changes[tuned->change_count++];
    (void)snprintf(added->path, sizeof(added->path), "%s", path);
    return added;
}

/* Puts its own real at a path, so that later changes are a single assignment. */
static rk_status add_number(rk_editable *tuned, const char *path, double value, rk_error *err)
{
    char key[PATH_SIZE] = "";
    json_t *parent, *number = json_real(value);
    (void)find(tuned, path, &parent, key);
    change *added = json_is_object(parent) && number ? change_of(tuned, path, false) : NULL;
    if (!added || json_object_set_new(parent, key, number)) {
        json_decref(added ? NULL : number);
        return json_is_object(parent)
                   ? fail_memory(err)
                   : rk_fail_at(err, RK_ERR_INVALID, path, "expected a key of a group of numbers");
    }
    added->number = number;
    return RK_OK;
}

rk_status rk_editable_set(rk_editable *tuned, const char *path, double value, rk_error *err)
{
    for (size_t i = 0; i < tuned->change_count; i++) {
        change *known = &tuned->changes[i];
        if (known->number && strcmp(known->path, path) == 0) {
            return json_real_set(known->number, value) ? fail_memory(err) : RK_OK;
        }
    }
    return add_number(tuned, path, value, err);
}

/* Measured tables would hide the constants of the model, which are to be fitted. */
static void drop_tables(rk_status status, rk_system *system)
{
    if (!status) {
        rk_system_clear(system);
    }
}

rk_status rk_editable_system(const rk_editable *tuned, rk_system *system, rk_error *err)
{
    const rk_status status = rk_system_from_json(tuned->doc.root, system, err);
    rk_error_set_file(status ? err : NULL, tuned->file);
    drop_tables(status, system);
    return status;
}

rk_status rk_editable_cluster(const rk_editable *tuned, const char *name, rk_system *system,
                              rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_load(name, "systems", &doc, err);
    if (!status && json_object_set(doc.root, "accelerator", tuned->doc.root)) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory to read a machine");
    }
    status = status ? status : rk_system_from_json(doc.root, system, err);
    rk_error_set_file(status ? err : NULL, name);
    drop_tables(status, system);
    rk_json_clear(&doc);
    return status;
}

rk_status rk_editable_stack(const rk_editable *tuned, rk_stack *stack, rk_error *err)
{
    const rk_status status = rk_stack_from_json(tuned->doc.root, stack, err);
    rk_error_set_file(status ? err : NULL, tuned->file);
    return status;
}

rk_status rk_editable_copy(const rk_editable *tuned, rk_editable **copy, rk_error *err)
{
    rk_editable *made = calloc(1, sizeof(*made));
    *copy = NULL;
    if (!made) {
        return fail_memory(err);
    }
    memcpy(made->name, tuned->name, sizeof(made->name));
    memcpy(made->file, tuned->file, sizeof(made->file));
    made->kind = tuned->kind;
    made->text = strdup(tuned->text);
    made->doc.root = rk_json_deep_copy(tuned->doc.root);
    rk_status status = made->text && made->doc.root ? RK_OK : fail_memory(err);
    for (size_t i = 0; !status && i < tuned->change_count; i++) {
        const change *known = &tuned->changes[i];
        if (known->number) {
            status = rk_editable_set(made, known->path, json_real_value(known->number), err);
        }
    }
    if (status) {
        rk_editable_free(made);
        return status;
    }
    *copy = made;
    return RK_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

rk_status rk_editable_note(rk_editable *tuned, const char *group, const char *note, rk_error *err)
{
    change *added = change_of(tuned, group, true);
    if (!added) {
        return fail_memory(err);
    }
    (void)snprintf(added->note, sizeof(added->note), "%s", note);
    return RK_OK;
}

static rk_status edit_note(char **text, const change *note, rk_error *err)
{
    char path[PATH_SIZE + sizeof(".provenance")];
    json_t *string = json_string(note->note);
    char *value = string ? rk_json_dump(string, JSON_ENCODE_ANY) : NULL;
    json_decref(string);
    if (!value) {
        return fail_memory(err);
    }
    (void)snprintf(path, sizeof(path), "%s.provenance", note->path);
    const rk_status status = rk_json_edit(text, path, value, err);
    free(value);
    return status;
}

static rk_status edit_number(char **text, const change *number, rk_error *err)
{
    char value[RK_NUMBER_TEXT_SIZE];
    return rk_json_edit(text, number->path, rk_double_text(json_real_value(number->number), value),
                        err);
}

rk_status rk_editable_write(const rk_editable *tuned, const char *path, rk_error *err)
{
    rk_out *out;
    char *text = strdup(tuned->text);
    rk_status status = text ? RK_OK : fail_memory(err);
    for (size_t i = 0; !status && i < tuned->change_count; i++) {
        const change *made = &tuned->changes[i];
        status = made->number ? edit_number(&text, made, err) : edit_note(&text, made, err);
    }
    if (!status) {
        status = rk_out_open(path, &out, err);
    }
    if (!status) {
        rk_out_text(out, text);
        status = rk_out_close(out, err);
    }
    free(text);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the files that inputs name, in nested documents and tables, to spot an overwrite. */
#include "io/inputs.h"

#include "base/error.h"
#include "base/text.h"
#include "io/csv_in.h"
#include "io/json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 1024, DOCUMENTS_MAX = 256, DEPTH_MAX = 8 };

/* A file as the system knows it, under any name. */
typedef struct identity {
    dev_t device;
    ino_t inode;
} identity;

typedef struct search {
    identity output;
    identity read[DOCUMENTS_MAX]; /* documents that were looked through */
    size_t read_count;
    int depth;             /* documents that name one another */
    char found[PATH_SIZE]; /* the input that is the output; "": none so far */
    rk_error *err;
} search;

static rk_status look_at_text(search *s, const char *text, const char *document);

static bool is_same(const identity *a, const identity *b)
{
    return a->device == b->device && a->inode == b->inode;
}

/* Ignores unreadable files: their reader reports them. */
static rk_status only_memory(rk_status status)
{
    return status == RK_ERR_MEMORY ? status : RK_OK;
}

static rk_status look_through_value(search *s, const json_t *value, const char *document)
{
    rk_status status = RK_OK;
    const char *key;
    size_t i;
    json_t *member;
    if (json_is_string(value)) {
        status = look_at_text(s, json_string_value(value), document);
    }
    json_array_foreach(value, i, member)
    {
        status = status ? status : look_through_value(s, member, document);
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        status = status ? status : look_through_value(s, member, document);
    }
    return status;
}

static rk_status look_through_table(search *s, const char *path)
{
    rk_csv_in table;
    rk_status status = only_memory(rk_csv_load(path, &table, s->err));
    const size_t count = table.cells ? (table.rows + 1) * table.columns : 0;
    for (size_t i = 0; i < count && !status; i++) {
        const char *cell = table.cells[i];
        if (strchr(cell, '/') || rk_json_is_file(cell)) {
            status = look_at_text(s, cell, path);
        }
    }
    rk_csv_in_clear(&table);
    return status;
}

static rk_status look_through_file(search *s, const char *path)
{
    rk_json_doc doc = {0};
    if (rk_ends_with(path, ".csv") || rk_ends_with(path, ".csv.gz")) {
        return look_through_table(s, path);
    }
    if (!rk_json_is_file(path)) {
        return RK_OK;
    }
    rk_status status = rk_json_load_python(path, &doc, s->err);
    status = status ? only_memory(status) : look_through_value(s, doc.root, path);
    rk_json_clear(&doc);
    return status;
}

/* Looks at a file ("-": standard input), or at the configuration in a folder of Hugging Face, and
 * at the files that it names. */
static rk_status look_at_file(search *s, const char *path)
{
    struct stat file;
    char inside[PATH_SIZE];
    path = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    const int length = snprintf(inside, sizeof(inside), "%s/config.json", path);
    if (stat(path, &file) || s->found[0]) {
        return RK_OK;
    }
    if (S_ISDIR(file.st_mode)) {
        path = inside;
        if (length < 0 || (size_t)length >= sizeof(inside) || stat(path, &file)) {
            return RK_OK;
        }
    }
    const identity found = {file.st_dev, file.st_ino};
    if (is_same(&found, &s->output)) {
        (void)snprintf(s->found, sizeof(s->found), "%s", path);
        return RK_OK;
    }
    for (size_t i = 0; i < s->read_count; i++) {
        if (is_same(&found, &s->read[i])) {
            return RK_OK;
        }
    }
    if (!S_ISREG(file.st_mode) || s->read_count == DOCUMENTS_MAX || s->depth == DEPTH_MAX) {
        return RK_OK;
    }
    s->read[s->read_count++] = found;
    s->depth++;
    const rk_status status = look_through_file(s, path);
    s->depth--;
    return status;
}

/* Looks at a name as a path, and as a path from the folder of its document. */
static rk_status look_at_name(search *s, const char *name, const char *document)
{
    char beside[PATH_SIZE];
    rk_status status = look_at_file(s, name);
    if (!status && document && rk_path_beside(name, document, beside, sizeof(beside))) {
        status = look_at_file(s, beside);
    }
    return status;
}

/* Looks at one of a list: "mine.json", "8xmine.json", "mine.json:8". */
static rk_status look_at_item(search *s, const char *item, size_t length, const char *document)
{
    char name[PATH_SIZE];
    if (length == 0 || length >= sizeof(name)) {
        return RK_OK;
    }
    memcpy(name, item, length);
    name[length] = '\0';
    rk_status status = look_at_name(s, name, document);
    const size_t digits = strspn(name, "0123456789");
    if (!status && digits > 0 && name[digits] == 'x') {
        status = look_at_name(s, name + digits + 1, document);
    }
    char *colon = strrchr(name, ':');
    if (!status && colon) {
        *colon = '\0';
        status = look_at_name(s, name, document);
    }
    return status;
}

/* Looks at a value: a JSON text, or names between commas. */
static rk_status look_at_text(search *s, const char *text, const char *document)
{
    rk_json_doc doc = {0};
    if (rk_json_is_text(text)) {
        rk_status status = rk_json_parse(text, strlen(text), "JSON text", &doc, s->err);
        status = status ? only_memory(status) : look_through_value(s, doc.root, document);
        rk_json_clear(&doc);
        return status;
    }
    rk_status status = look_at_item(s, text, strlen(text), document);
    for (const char *at = text; strchr(text, ',') && *at && !status;) {
        const size_t length = strcspn(at, ",");
        status = look_at_item(s, at, length, document);
        at += length + (at[length] == ',');
    }
    return status;
}

rk_status rk_refuse_input(const char *output, const char *const *inputs, size_t count,
                          rk_error *err)
{
    struct stat file;
    rk_error unread;
    if (!output || strcmp(output, "-") == 0 || stat(output, &file) || !S_ISREG(file.st_mode)) {
        return RK_OK; /* nothing that could be lost */
    }
    search s = {.output = {file.st_dev, file.st_ino}, .err = &unread};
    for (size_t i = 0; i < count; i++) {
        const rk_status status = inputs[i] ? look_at_text(&s, inputs[i], NULL) : RK_OK;
        if (status) {
            return rk_fail(err, status, "not enough memory to look through the inputs");
        }
    }
    if (s.found[0]) {
        (void)rk_fail(err, RK_ERR_INVALID,
                      "the output would replace %.200s, which is an input; name another file",
                      s.found);
        rk_error_set_file(err, output);
        return RK_ERR_INVALID;
    }
    return RK_OK;
}

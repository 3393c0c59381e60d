/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner trusts its text, because rk_json_parse has accepted it. */
#include "io/json_edit.h"

#include "base/error.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A member of an object, or an element of an array: places of its key and its value. */
typedef struct member {
    const char *key, *value, *end; /* key: at its quote; NULL in an array */
} member;

static const char *skip_blanks(const char *at)
{
    while (*at && strchr(" \t\r\n", *at)) {
        at++;
    }
    return at;
}

/* From the opening quote to the byte after the closing one. */
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++) {
        at += *at == '\\' && at[1];
    }
    return *at ? at + 1 : at;
}

static const char *skip_value(const char *at)
{
    int depth = 0;
    do {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
    } while (*at && (depth > 0 || !strchr(",}] \t\r\n", *at)));
    return at;
}

/* Finds the member that starts at or after `at`, past a bracket or a comma; false at the end. */
static bool next_member(const char *at, member *out)
{
    at = skip_blanks(at);
    if (!*at || *at == '}' || *at == ']') {
        return false;
    }
    out->key = NULL;
    const char *after = *at == '"' ? skip_blanks(skip_string(at)) : at;
    if (*at == '"' && *after == ':') {
        out->key = at;
        at = skip_blanks(after + 1);
    }
    out->value = at;
    out->end = skip_value(at);
    return true;
}

static const char *behind_comma(const char *end)
{
    end = skip_blanks(end);
    return *end == ',' ? end + 1 : end;
}

/* Length of the first step of a path: a name, or an index in brackets. */
static size_t step_length(const char *path)
{
    return path[0] == '[' ? strcspn(path, "]") + 1 : strcspn(path, ".[");
}

/* Whether a member is the one that the first step of the path names; `index` counts members. */
static bool is_step(const member *m, size_t index, const char *path, size_t length)
{
    if (path[0] == '[') {
        return !m->key && strtoul(path + 1, NULL, 10) == index;
    }
    return m->key && strncmp(m->key + 1, path, length) == 0 && m->key[length + 1] == '"';
}

/* Finds the first step of the path in the object or array at `at`. */
static bool find_step(const char *at, const char *path, size_t length, member *out)
{
    size_t index = 0;
    if (*at != '{' && *at != '[') {
        return false;
    }
    for (at++; next_member(at, out); at = behind_comma(out->end)) {
        if (is_step(out, index++, path, length)) {
            return true;
        }
    }
    return false;
}

/* ---- changes ------------------------------------------------------------------------------ */

/* Replaces the bytes from `from` to `to` by `parts`. */
static rk_status splice(char **text, const char *from, const char *to, const char *const parts[],
                        size_t count, rk_error *err)
{
    assert(from >= *text && to >= from);
    const size_t before = (size_t)(from - *text), after = strlen(to);
    size_t size = before + after + 1;
    for (size_t i = 0; i < count; i++) {
        size += strlen(parts[i]);
    }
    char *edited = malloc(size);
    if (!edited) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to change a document");
    }
    memcpy(edited, *text, before);
    char *at = edited + before;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(parts[i]);
        memcpy(at, parts[i], length);
        at += length;
    }
    memcpy(at, to, after + 1);
    free(*text);
    *text = edited;
    return RK_OK;
}

static bool is_remark(const member *m)
{
    return strncmp(m->key, "\"source\"", 8) == 0 || strncmp(m->key, "\"provenance\"", 12) == 0 ||
           strncmp(m->key, "\"uncertain\"", 11) == 0;
}

/* Adds a member to the object at `object`, indented as the first. */
static rk_status add_member(char **text, const char *object, const char *key, const char *value,
                            rk_error *err)
{
    enum { INDENT_SIZE = 64 };
    char indent[INDENT_SIZE] = "", name[128];
    member first, m, place = {.value = NULL};
    const bool number = value[0] == '-' || isdigit((unsigned char)value[0]);
    if (*object != '{' || !next_member(object + 1, &first)) {
        return rk_fail_at(err, RK_ERR_INVALID, key,
                          "expected an object that is not empty to add "
                          "a value to");
    }
    (void)snprintf(indent, sizeof(indent), "%.*s", (int)(first.key - object - 1), object + 1);
    (void)snprintf(name, sizeof(name), "\"%s\": ", key);
    bool front = false;
    for (const char *at = object + 1; !front && next_member(at, &m); at = behind_comma(m.end)) {
        front = number && is_remark(&m);
        place = m;
    }
    if (front) {
        const char *const parts[] = {name, value, ",", indent};
        return splice(text, place.key, place.key, parts, 4, err);
    }
    const char *const parts[] = {",", indent, name, value};
    return splice(text, place.end, place.end, parts, 4, err);
}

rk_status rk_json_edit(char **text, const char *path, const char *value, rk_error *err)
{
    const char *at = skip_blanks(*text), *step = path;
    for (;;) {
        member found;
        const size_t length = step_length(step);
        const char *rest = step + length + (step[length] == '.');
        const bool last = step[length] == '\0';
        if (!find_step(at, step, length, &found)) {
            return last && step[0] != '['
                       ? add_member(text, at, step, value, err)
                       : rk_fail_at(err, RK_ERR_INVALID, path,
                                    "the document has no \"%.*s\" to change a value in",
                                    (int)length, step);
        }
        if (last) {
            const char *const parts[] = {value};
            return splice(text, found.value, found.end, parts, 1, err);
        }
        at = found.value;
        step = rest;
    }
}

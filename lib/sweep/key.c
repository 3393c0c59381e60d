/* SPDX-License-Identifier: Apache-2.0 */
/* Parses keys into paths, and finds, reads and replaces values in JSON documents. */
#include "sweep/key.h"

#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define DIGITS_MAX      9 /* of an index */

/* ---- text ------------------------------------------------------------------------------------ */

/*
 * Splits the next part off *rest and writes its name to *names, which advances past it. Returns
 * false if it is malformed.
 */
static bool next_part(const char *key, const char **rest, char **names, rk_sweep_key_part *part)
{
    const char *at = *rest;
    const bool first = at == key;
    *part = (rk_sweep_key_part){0};
    if (*at == '[') {
        const size_t digits = strspn(++at, "0123456789");
        part->index = (size_t)strtoul(at, NULL, 10);
        *rest = at + digits + 1;
        return !first && digits > 0 && digits <= DIGITS_MAX && at[digits] == ']';
    }
    at += !first && *at == '.';
    const size_t length = strspn(at, NAME_CHARACTERS);
    if (length == 0 || (!first && at == *rest)) {
        return false;
    }
    part->name = *names;
    memcpy(*names, at, length);
    (*names)[length] = '\0';
    *names += length + 1;
    *rest = at + length;
    return true;
}

rk_status rk_sweep_key_parse(const char *text, rk_sweep_key *key, rk_error *err)
{
    const size_t size = strlen(text) + 1;
    *key = (rk_sweep_key){.text = strdup(text), .names = malloc(size)};
    if (!key->text || !key->names) {
        rk_sweep_key_clear(key);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a key");
    }
    const char *rest = key->text;
    char *names = key->names;
    bool good = size <= RK_JSON_PATH_SIZE;
    do {
        good = good && key->count < RK_SWEEP_KEY_PARTS &&
               next_part(key->text, &rest, &names, &key->parts[key->count]);
        key->count++;
    } while (good && *rest);
    if (!good) {
        char shown[RK_JSON_TEXT_SIZE];
        rk_sweep_key_clear(key);
        return rk_fail(err, RK_ERR_INVALID,
                       "expected a key such as \"processors\", \"application.hidden\" or "
                       "\"system.networks[0].size\", found \"%s\"",
                       rk_json_printable(text, shown, sizeof(shown)));
    }
    return RK_OK;
}

void rk_sweep_key_clear(rk_sweep_key *key)
{
    free(key->text);
    free(key->names);
    *key = (rk_sweep_key){0};
}

/* The first part behind "let". */
static size_t first_part(const rk_sweep_key *key)
{
    return key->count > 1 && strcmp(key->parts[0].name, "let") == 0 ? 1 : 0;
}

bool rk_sweep_key_same(const rk_sweep_key *a, const rk_sweep_key *b)
{
    const size_t i = first_part(a), j = first_part(b), count = a->count - i;
    bool same = b->count - j == count;
    for (size_t k = 0; k < count && same; k++) {
        const rk_sweep_key_part *x = &a->parts[i + k], *y = &b->parts[j + k];
        same = x->name && y->name ? strcmp(x->name, y->name) == 0
                                  : !x->name && !y->name && x->index == y->index;
    }
    return same;
}

/* ---- errors ---------------------------------------------------------------------------------- */

#define SIBLINGS_MAX 128 /* names considered for a suggestion */

static size_t add_names(json_t *object, const char **names, size_t count)
{
    for (void *it = json_object_iter(object); it && count < SIBLINGS_MAX;
         it = json_object_iter_next(object, it)) {
        names[count++] = json_object_iter_key(it);
    }
    return count;
}

static rk_status fail_no_member(json_t *parent, bool is_root, const char *path, const char *name,
                                rk_error *err)
{
    const char *names[SIBLINGS_MAX];
    char shown[RK_JSON_TEXT_SIZE];
    size_t count = add_names(parent, names, 0);
    if (is_root) {
        count = add_names(json_object_get(parent, "let"), names, count);
    }
    const char *nearest = rk_nearest_name(name, names, count);
    if (!nearest) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "there is no \"%s\" here", name);
    }
    return rk_fail_at(err, RK_ERR_INVALID, path, "there is no \"%s\" here; did you mean \"%s\"?",
                      name, rk_json_printable(nearest, shown, sizeof(shown)));
}

/* The JSON path of the first `count` parts. */
static const char *path_of(const rk_sweep_key *key, size_t count, char out[RK_JSON_PATH_SIZE])
{
    char base[RK_JSON_PATH_SIZE];
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        memcpy(base, out, sizeof(base));
        if (key->parts[i].name) {
            (void)rk_json_path_member(base, key->parts[i].name, out);
        } else {
            (void)rk_json_path_element(base, key->parts[i].index, out);
        }
    }
    return out;
}

/* Explains why the first `count` parts lead nowhere; the last was looked up in `parent`. */
static rk_status fail_absent(const rk_sweep_key *key, size_t count, json_t *parent, rk_error *err)
{
    assert(count >= 1);
    const rk_sweep_key_part *part = &key->parts[count - 1];
    char path[RK_JSON_PATH_SIZE], base[RK_JSON_PATH_SIZE];
    (void)path_of(key, count, path);
    (void)path_of(key, count - 1, base);
    if (part->name ? !json_is_object(parent) : !json_is_array(parent)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "%s is %s, not %s", base,
                          rk_json_type_name(parent), part->name ? "an object" : "an array");
    }
    if (!part->name) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "%s has %zu entries, numbered from 0", base,
                          json_array_size(parent));
    }
    return fail_no_member(parent, count == 1, path, part->name, err);
}

/* ---- places ---------------------------------------------------------------------------------- */

static json_t *child_of(const rk_sweep_key_part *part, json_t *parent)
{
    return part->name ? json_object_get(parent, part->name) : json_array_get(parent, part->index);
}

/* Where the key starts: the document, or its variables. */
static json_t *start_of(const rk_sweep_key *key, json_t *root)
{
    json_t *let = json_object_get(root, "let");
    const char *name = key->parts[0].name;
    return !json_object_get(root, name) && json_object_get(let, name) ? let : root;
}

/* Walks to the container of the last part. */
static rk_status walk(const rk_sweep_key *key, json_t *root, json_t **parent, rk_error *err)
{
    *parent = start_of(key, root);
    for (size_t i = 0; i + 1 < key->count; i++) {
        json_t *child = child_of(&key->parts[i], *parent);
        if (!child) {
            return fail_absent(key, i + 1, *parent, err);
        }
        *parent = child;
    }
    return RK_OK;
}

rk_status rk_sweep_key_find(const rk_sweep_key *key, json_t *root, json_t **value, rk_error *err)
{
    json_t *parent = NULL;
    *value = NULL;
    const rk_status status = walk(key, root, &parent, err);
    if (status != RK_OK) {
        return status;
    }
    *value = child_of(&key->parts[key->count - 1], parent);
    return *value ? RK_OK : fail_absent(key, key->count, parent, err);
}

rk_value rk_sweep_value_of(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_INTEGER:
        return rk_value_int(json_integer_value(json));
    case JSON_REAL:
        return rk_value_real(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return rk_value_bool(json_is_true(json));
    case JSON_STRING:
        return rk_value_text(json_string_value(json));
    default:
        return (rk_value){0};
    }
}

rk_status rk_sweep_key_get(const rk_sweep_key *key, json_t *root, rk_value *value, rk_error *err)
{
    json_t *found = NULL;
    const rk_status status = rk_sweep_key_find(key, root, &found, err);
    *value = (rk_value){0};
    if (status != RK_OK) {
        return status;
    }
    if (json_is_object(found) || json_is_array(found)) {
        return rk_fail_at(err, RK_ERR_INVALID, key->text, "this is %s, not a value",
                          rk_json_type_name(found));
    }
    *value = rk_sweep_value_of(found);
    return RK_OK;
}

rk_status rk_sweep_key_put(const rk_sweep_key *key, json_t *root, json_t *value, rk_error *err)
{
    const rk_sweep_key_part *part = &key->parts[key->count - 1];
    json_t *parent = NULL;
    rk_status status = walk(key, root, &parent, err);
    if (status == RK_OK && (part->name ? !json_is_object(parent) : !child_of(part, parent))) {
        status = fail_absent(key, key->count, parent, err);
    }
    if (status != RK_OK) {
        json_decref(value);
        return status;
    }
    const int failed = part->name ? json_object_set_new(parent, part->name, value)
                                  : json_array_set_new(parent, part->index, value);
    return failed ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for a point") : RK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* TOML: lines, keys, tables, and values that hold others. */
#include "io/toml_in.h"

#include "base/text.h"
#include "io/config_fault.h"
#include "io/toml_parts.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, TABLES_MAX = 1000 };

/* ---- errors ---------------------------------------------------------------------------------- */

rk_status rk_toml_fail(const rk_toml_reading *r, const char *place, const char *format, ...)
{
    const char *line = r->start;
    int number = 1;
    for (const char *c = r->start; c < place; c++) {
        if (*c == '\n') {
            line = c + 1;
            number++;
        }
    }
    const int column = (int)rk_count_characters(line, (size_t)(place - line)) + 1;
    va_list arguments;
    va_start(arguments, format);
    const rk_status status = rk_config_fail(r->err, r->name, number, column, format, arguments);
    va_end(arguments);
    return status;
}

rk_status rk_toml_fail_memory(const rk_toml_reading *r)
{
    return rk_config_fail_memory(r->err, r->name);
}

/* ---- blanks ---------------------------------------------------------------------------------- */

static void skip_blanks(rk_toml_reading *r)
{
    r->at += strspn(r->at, " \t");
}

/* A comment, up to the end of its line. */
static rk_status skip_comment(rk_toml_reading *r)
{
    skip_blanks(r);
    if (*r->at == '#') {
        while (r->at < r->end && *r->at != '\n' && *r->at != '\r') {
            const unsigned char c = (unsigned char)*r->at;
            if ((c < 0x20 && c != '\t') || c == 0x7f) {
                return rk_toml_fail(r, r->at, "a control character in a comment");
            }
            r->at++;
        }
    }
    return RK_OK;
}

static bool skip_line_end(rk_toml_reading *r)
{
    const size_t size = *r->at == '\n' ? 1 : r->at[0] == '\r' && r->at[1] == '\n' ? 2 : 0;
    r->at += size;
    return size > 0;
}

/* Blanks, comments and lines between the elements of an array. */
static rk_status skip_lines(rk_toml_reading *r)
{
    rk_status status = RK_OK;
    do {
        status = skip_comment(r);
    } while (!status && skip_line_end(r));
    return status;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static rk_toml_table *find_table(const rk_toml_reading *r, const json_t *value)
{
    for (size_t i = r->table_count; i > 0; i--) {
        if (r->tables[i - 1].value == value) {
            return &r->tables[i - 1];
        }
    }
    return NULL;
}

static rk_toml_kind kind_of(const rk_toml_reading *r, const json_t *value)
{
    const rk_toml_table *found = find_table(r, value);
    return found ? found->kind : RK_TOML_CLOSED;
}

static rk_status add_table(rk_toml_reading *r, const json_t *value, rk_toml_kind kind)
{
    if (r->table_count == TABLES_MAX) {
        return rk_toml_fail(r, r->at, "more than %s tables", "1,000");
    }
    if (!r->tables) {
        r->tables = calloc(TABLES_MAX, sizeof(*r->tables));
    }
    if (!r->tables) {
        return rk_toml_fail_memory(r);
    }
    r->tables[r->table_count++] = (rk_toml_table){value, kind};
    return RK_OK;
}

/* A new member that is a table or an array of tables; *made belongs to `parent`. */
static rk_status make_table(rk_toml_reading *r, json_t *parent, const char *key, rk_toml_kind kind,
                            json_t **made)
{
    *made = kind == RK_TOML_ARRAY ? json_array() : json_object();
    if (json_object_set_new(parent, key, *made)) {
        *made = NULL;
        return rk_toml_fail_memory(r);
    }
    return add_table(r, *made, kind);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static rk_status read_simple_key(rk_toml_reading *r, char **key)
{
    static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    skip_blanks(r);
    if (*r->at == '"' || *r->at == '\'') {
        return rk_toml_string(r, false, key);
    }
    const size_t length = strspn(r->at, bare);
    if (length == 0) {
        return rk_toml_fail(r, r->at, "a key expected: letters, digits, _ and -, or quotes");
    }
    *key = strndup(r->at, length);
    r->at += length;
    return *key ? RK_OK : rk_toml_fail_memory(r);
}

/* The table of a part of a key that has others behind it. */
static rk_status enter_table(rk_toml_reading *r, const char *place, const char *key,
                             rk_toml_kind made, json_t **table)
{
    json_t *next = json_object_get(*table, key);
    if (!next) {
        return make_table(r, *table, key, made, table);
    }
    const rk_toml_kind kind = kind_of(r, next);
    const bool open = made == RK_TOML_DOTTED ? kind == RK_TOML_DOTTED : kind != RK_TOML_CLOSED;
    if (!open) {
        return rk_toml_fail(r, place, "%s is defined already and cannot be extended here", key);
    }
    *table = kind == RK_TOML_ARRAY ? json_array_get(next, json_array_size(next) - 1) : next;
    return RK_OK;
}

/* Reads a key and enters its tables; the caller frees *last, its last part. */
static rk_status read_key(rk_toml_reading *r, rk_toml_kind made, json_t **table, char **last)
{
    const char *place = r->at;
    rk_status status = read_simple_key(r, last);
    for (int depth = 1; !status; depth++) {
        skip_blanks(r);
        if (*r->at != '.') {
            return RK_OK;
        }
        r->at++;
        status = depth == DEPTH_MAX ? rk_toml_fail(r, place, "nested more than 64 deep")
                                    : enter_table(r, place, *last, made, table);
        free(*last);
        *last = NULL;
        status = status ? status : read_simple_key(r, last);
    }
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static rk_status read_value(rk_toml_reading *r, int depth, json_t **value);

static rk_status read_array(rk_toml_reading *r, int depth, json_t **value)
{
    assert(depth < DEPTH_MAX);
    const char *opened = r->at++;
    *value = json_array();
    rk_status status = *value ? skip_lines(r) : rk_toml_fail_memory(r);
    while (!status && *r->at != ']') {
        json_t *item = NULL;
        status = read_value(r, depth + 1, &item);
        if (!status && json_array_append_new(*value, item)) {
            status = rk_toml_fail_memory(r);
        }
        status = status ? status : skip_lines(r);
        if (!status && *r->at == ',') {
            r->at++;
            status = skip_lines(r);
        } else if (!status && *r->at != ']') {
            status = rk_toml_fail(r, r->at == r->end ? opened : r->at,
                                  "a comma or the ] of the array expected");
        }
    }
    r->at += !status;
    return status;
}

/* key = value, in a table or an inline one. */
static rk_status read_pair(rk_toml_reading *r, int depth, json_t *table)
{
    const char *place = r->at;
    char *key = NULL;
    json_t *value = NULL;
    rk_status status = read_key(r, RK_TOML_DOTTED, &table, &key);
    if (!status && *r->at != '=') {
        status = rk_toml_fail(r, r->at, "= expected after the key %s", key);
    } else if (!status && json_object_get(table, key)) {
        status = rk_toml_fail(r, place, "%s is defined twice", key);
    }
    if (!status) {
        r->at++;
        skip_blanks(r);
        status = read_value(r, depth, &value);
    }
    if (!status && json_object_set_new(table, key, value)) {
        status = rk_toml_fail_memory(r);
    }
    free(key);
    return status;
}

static rk_status read_inline_table(rk_toml_reading *r, int depth, json_t **value)
{
    assert(depth < DEPTH_MAX);
    const size_t tables_before = r->table_count;
    r->at++;
    *value = json_object();
    rk_status status = *value ? RK_OK : rk_toml_fail_memory(r);
    skip_blanks(r);
    for (bool more = *r->at != '}'; !status && more;) {
        status = read_pair(r, depth + 1, *value);
        skip_blanks(r);
        more = *r->at == ',';
        if (!status && !more && *r->at != '}') {
            status = rk_toml_fail(r, r->at, "a comma or the } of the table expected");
        }
        r->at += !status && more;
        skip_blanks(r);
    }
    r->table_count = tables_before; /* nothing extends it later */
    r->at += !status;
    return status;
}

/* *value is NULL after a failure. */
static rk_status read_value(rk_toml_reading *r, int depth, json_t **value)
{
    rk_status status = RK_OK;
    char *text = NULL;
    *value = NULL;
    if (depth == DEPTH_MAX) {
        return rk_toml_fail(r, r->at, "nested more than 64 deep");
    }
    switch (*r->at) {
    case '"':
    case '\'':
        status = rk_toml_string(r, true, &text);
        *value = status ? NULL : json_string(text);
        status = status || *value ? status : rk_toml_fail_memory(r);
        free(text);
        break;
    case '[':
        status = read_array(r, depth, value);
        break;
    case '{':
        status = read_inline_table(r, depth, value);
        break;
    default:
        status = rk_toml_word(r, value);
    }
    if (status) {
        json_decref(*value);
        *value = NULL;
    }
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The table that a header names: new, or so far only implied by others. */
static rk_status open_table(rk_toml_reading *r, const char *place, const char *key, json_t **table)
{
    json_t *there = json_object_get(*table, key);
    if (!there) {
        return make_table(r, *table, key, RK_TOML_HEADER, table);
    }
    rk_toml_table *found = find_table(r, there);
    if (!found || found->kind != RK_TOML_IMPLIED) {
        return rk_toml_fail(r, place, "%s is defined twice", key);
    }
    found->kind = RK_TOML_HEADER;
    *table = there;
    return RK_OK;
}

/* A new element of the array of tables that a header names. */
static rk_status open_element(rk_toml_reading *r, const char *place, const char *key,
                              json_t **table)
{
    json_t *array = json_object_get(*table, key);
    rk_status status = RK_OK;
    if (!array) {
        status = make_table(r, *table, key, RK_TOML_ARRAY, &array);
    } else if (kind_of(r, array) != RK_TOML_ARRAY) {
        status = rk_toml_fail(r, place, "%s is defined already as something else", key);
    }
    if (status) {
        return status;
    }
    json_t *element = json_object();
    if (json_array_append_new(array, element)) {
        return rk_toml_fail_memory(r);
    }
    *table = element;
    return add_table(r, element, RK_TOML_HEADER);
}

/* [table] or [[array of tables]] */
static rk_status read_header(rk_toml_reading *r, json_t *root, json_t **table)
{
    const char *place = r->at;
    const bool is_element = r->at[1] == '[';
    char *key = NULL;
    r->at += is_element ? 2 : 1;
    *table = root;
    rk_status status = read_key(r, RK_TOML_IMPLIED, table, &key);
    const char *closing = is_element ? "]]" : "]";
    if (!status && strncmp(r->at, closing, strlen(closing)) != 0) {
        status = rk_toml_fail(r, r->at, "%s expected after the name of the table", closing);
    }
    if (!status) {
        r->at += strlen(closing);
        status = is_element ? open_element(r, place, key, table) : open_table(r, place, key, table);
    }
    free(key);
    return status;
}

static rk_status read_lines(rk_toml_reading *r, json_t *root)
{
    json_t *table = root;
    for (;;) {
        rk_status status = skip_lines(r);
        if (status || r->at == r->end) {
            return status;
        }
        status = *r->at == '[' ? read_header(r, root, &table) : read_pair(r, 0, table);
        status = status ? status : skip_comment(r);
        if (!status && r->at != r->end && !skip_line_end(r)) {
            status = rk_toml_fail(r, r->at, "the end of the line expected");
        }
        if (status) {
            return status;
        }
    }
}

/* The first byte that is no UTF-8 or a \0; NULL: there is none. */
static const char *find_bad_byte(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const unsigned char c = (unsigned char)text[i];
        const size_t length = c == 0     ? 0
                              : c < 0x80 ? 1
                              : c < 0xc2 ? 0
                              : c < 0xe0 ? 2
                              : c < 0xf0 ? 3
                              : c < 0xf5 ? 4
                                         : 0;
        bool sound = length > 0 && length <= size - i;
        for (size_t j = 1; sound && j < length; j++) {
            sound = ((unsigned char)text[i + j] & 0xc0) == 0x80;
        }
        const unsigned char second = sound && length > 1 ? (unsigned char)text[i + 1] : 0;
        if (!sound || (c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
            (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f)) {
            return text + i;
        }
        i += length;
    }
    return NULL;
}

rk_status rk_toml_parse(const char *text, size_t size, const char *name, json_t **root,
                        rk_error *err)
{
    rk_toml_reading r = {.name = name, .err = err};
    *root = NULL;
    rk_status status = rk_config_check_size(size, name, err);
    if (status) {
        return status;
    }
    char *copy = malloc(size + 1); /* the text may not end in '\0' */
    json_t *made = json_object();
    if (!copy || !made) {
        free(copy);
        json_decref(made);
        return rk_toml_fail_memory(&r);
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    r.start = r.at = copy;
    r.end = copy + size;
    r.at += strncmp(copy, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const char *bad = find_bad_byte(copy, size);
    status = bad ? rk_toml_fail(&r, bad, "a byte that is no UTF-8 text") : read_lines(&r, made);
    if (status) {
        json_decref(made);
        made = NULL;
    }
    *root = made;
    free(r.tables);
    free(copy);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Events of libyaml as JSON values; aliases share the value of their anchor. */
#include "io/yaml_in.h"

#include "io/config_fault.h"
#include "io/yaml_scalar.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_MAX = 64, VALUES_MAX = 100000, ANCHORS_MAX = 1000 };

/* A value with its depth, and how many values it has where every alias is replaced. */
typedef struct node {
    json_t *value; /* owned */
    int height;
    size_t count;
} node;

typedef struct anchor {
    char *name;
    node node;
} anchor;

typedef struct reading {
    yaml_parser_t parser;
    const char *text, *name;
    size_t size;
    rk_error *err;
    anchor *anchors; /* owned */
    size_t anchor_count;
} reading;

/* ---- errors ---------------------------------------------------------------------------------- */

static RK_PRINTF(3, 4) rk_status
    fail_at_mark(const reading *r, yaml_mark_t mark, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const rk_status status = rk_config_fail(r->err, r->name, (int)mark.line + 1,
                                            (int)mark.column + 1, format, arguments);
    va_end(arguments);
    return status;
}

static rk_status fail_memory(const reading *r)
{
    return rk_config_fail_memory(r->err, r->name);
}

/* The error that libyaml reports. */
static rk_status fail_parser(const reading *r)
{
    const yaml_parser_t *parser = &r->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        return fail_memory(r);
    }
    const char *problem = parser->problem ? parser->problem : "it cannot be read";
    if (parser->error != YAML_READER_ERROR) {
        return fail_at_mark(r, parser->problem_mark, "no YAML: %s", problem);
    }
    yaml_mark_t mark = {0}; /* the reader runs ahead of the parser, and counts bytes */
    for (size_t i = 0; i < r->size && i < parser->problem_offset; i++) {
        mark.column = r->text[i] == '\n' ? 0 : mark.column + 1;
        mark.line += r->text[i] == '\n';
    }
    return fail_at_mark(r, mark, "no YAML: %s", problem);
}

static rk_status next_event(reading *r, yaml_event_t *event)
{
    return yaml_parser_parse(&r->parser, event) ? RK_OK : fail_parser(r);
}

/* ---- anchors --------------------------------------------------------------------------------- */

static const anchor *find_anchor(const reading *r, const char *name)
{
    for (size_t i = r->anchor_count; i > 0; i--) {
        if (strcmp(r->anchors[i - 1].name, name) == 0) {
            return &r->anchors[i - 1];
        }
    }
    return NULL;
}

static rk_status add_anchor(reading *r, const char *name, const node *made, yaml_mark_t mark)
{
    if (r->anchor_count == ANCHORS_MAX) {
        return fail_at_mark(r, mark, "the anchor &%s: a document has at most 1,000 anchors", name);
    }
    if (!r->anchors) {
        r->anchors = calloc(ANCHORS_MAX, sizeof(*r->anchors));
    }
    char *copy = r->anchors ? strdup(name) : NULL;
    if (!copy) {
        return fail_memory(r);
    }
    r->anchors[r->anchor_count++] = (anchor){copy, *made};
    (void)json_incref(made->value);
    return RK_OK;
}

static rk_status take_alias(reading *r, const yaml_event_t *event, node *out)
{
    const char *name = (const char *)event->data.alias.anchor;
    const anchor *found = find_anchor(r, name);
    if (!found) {
        return fail_at_mark(r, event->start_mark, "the alias *%s has no anchor before it", name);
    }
    *out = found->node;
    (void)json_incref(out->value);
    return RK_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static rk_status read_node(reading *r, const yaml_event_t *event, int depth, node *out);

/* The part of a tag of YAML itself behind "tag:yaml.org,2002:"; "": no tag; NULL: another one. */
static const char *own_tag(const yaml_char_t *tag)
{
    static const char start[] = "tag:yaml.org,2002:";
    const char *text = (const char *)tag;
    if (!text) {
        return "";
    }
    if (strcmp(text, "!") == 0) {
        return "str";
    }
    return strncmp(text, start, sizeof(start) - 1) == 0 ? text + sizeof(start) - 1 : NULL;
}

static bool is_tag(const char *tag, const char *const *known)
{
    for (size_t i = 0; tag && known[i]; i++) {
        if (strcmp(tag, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static rk_status read_scalar(reading *r, const yaml_event_t *event, node *out)
{
    static const char *const typed[] = {"int", "float", "bool", "null", NULL};
    static const char *const texts[] = {"str", "timestamp", "binary", "", NULL};
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = own_tag(event->data.scalar.tag);
    if (!is_tag(tag, typed) && !is_tag(tag, texts)) {
        return fail_at_mark(r, event->start_mark,
                            "the tag %s is not one of YAML itself; write the value without it",
                            (const char *)event->data.scalar.tag);
    }
    if (strlen(text) != event->data.scalar.length) {
        return fail_at_mark(r, event->start_mark,
                            "the text has the character \\0, which no value has");
    }
    const bool plain = is_tag(tag, typed) || (*tag == '\0' && event->data.scalar.plain_implicit);
    json_t *value = plain ? rk_yaml_scalar(text) : json_string(text);
    if (value && strcmp(tag, "float") == 0 && json_is_string(value)) {
        char *end = NULL; /* "!!float 1e-5", which a plain scalar is not */
        const double real = strtod(text, &end);
        if (*text && *end == '\0' && real - real == 0) {
            json_decref(value);
            value = json_real(real);
        }
    }
    *out = (node){value, 1, 1};
    return value ? RK_OK : fail_memory(r);
}

/* Counts a member in; refuses nesting and values beyond the limits. */
static rk_status count_member(reading *r, const node *member, int depth, yaml_mark_t mark,
                              node *out)
{
    assert(member->count >= 1 && member->height >= 1);
    out->count += member->count;
    out->height = member->height >= out->height ? member->height + 1 : out->height;
    if (depth + out->height > DEPTH_MAX) {
        return fail_at_mark(r, mark, "nested more than 64 deep");
    }
    if (out->count > VALUES_MAX) {
        return fail_at_mark(r, mark, "more than 100,000 values, aliases replaced");
    }
    return RK_OK;
}

static rk_status read_sequence(reading *r, int depth, node *out)
{
    *out = (node){json_array(), 1, 1};
    if (!out->value) {
        return fail_memory(r);
    }
    for (;;) {
        yaml_event_t event;
        node item = {0};
        rk_status status = next_event(r, &event);
        if (status) {
            return status;
        }
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return RK_OK;
        }
        status = read_node(r, &event, depth + 1, &item);
        status = status ? status : count_member(r, &item, depth, event.start_mark, out);
        yaml_event_delete(&event);
        if (status) {
            json_decref(item.value);
            return status;
        }
        if (json_array_append_new(out->value, item.value)) {
            return fail_memory(r);
        }
    }
}

/* json_object_update_missing() passes over members for which there is no memory. */
static rk_status add_missing(reading *r, json_t *into, const json_t *from)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        if (!json_object_get(into, key) && json_object_set_nocheck(into, key, value)) {
            return fail_memory(r);
        }
    }
    return RK_OK;
}

/* Members of `<<: *a` and `<<: [*a, *b]`; those that are there already stay. */
static rk_status merge(reading *r, json_t *into, const json_t *from, yaml_mark_t mark)
{
    if (json_is_object(from)) {
        return add_missing(r, into, from);
    }
    size_t i = 0;
    json_t *item = NULL;
    bool sound = json_is_array(from);
    json_array_foreach(from, i, item)
    {
        sound = sound && json_is_object(item);
    }
    if (!sound) {
        return fail_at_mark(r, mark, "the merge key << takes a mapping or a list of mappings");
    }
    rk_status status = RK_OK;
    json_array_foreach(from, i, item)
    {
        status = status ? status : add_missing(r, into, item);
    }
    return status;
}

static bool is_merge_key(const yaml_event_t *event)
{
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !event->data.scalar.tag &&
           strcmp((const char *)event->data.scalar.value, "<<") == 0;
}

static rk_status check_key(const reading *r, const yaml_event_t *key)
{
    if (key->type != YAML_SCALAR_EVENT) {
        return fail_at_mark(r, key->start_mark, "a key is text, not %s",
                            key->type == YAML_ALIAS_EVENT ? "an alias" : "a list or a mapping");
    }
    if (strlen((const char *)key->data.scalar.value) != key->data.scalar.length) {
        return fail_at_mark(r, key->start_mark, "a key has the character \\0");
    }
    return RK_OK;
}

/* One member of a mapping, whose key has been read; `merged` collects what `<<` names. */
static rk_status read_member(reading *r, const yaml_event_t *key, int depth, json_t *merged,
                             node *out)
{
    yaml_event_t event;
    node member = {0};
    rk_status status = check_key(r, key);
    status = status ? status : next_event(r, &event);
    if (status) {
        return status;
    }
    status = read_node(r, &event, depth + 1, &member);
    status = status ? status : count_member(r, &member, depth, event.start_mark, out);
    if (!status && is_merge_key(key)) {
        status = merge(r, merged, member.value, event.start_mark);
    } else if (!status && key->data.scalar.anchor) {
        const node name = {json_string((const char *)key->data.scalar.value), 1, 1};
        status = name.value
                     ? add_anchor(r, (const char *)key->data.scalar.anchor, &name, key->start_mark)
                     : fail_memory(r);
        json_decref(name.value);
    }
    if (!status && !is_merge_key(key) &&
        json_object_set(out->value, (const char *)key->data.scalar.value, member.value)) {
        status = fail_memory(r);
    }
    json_decref(member.value);
    yaml_event_delete(&event);
    return status;
}

static rk_status read_mapping(reading *r, int depth, node *out)
{
    *out = (node){json_object(), 1, 1};
    json_t *merged = json_object();
    rk_status status = out->value && merged ? RK_OK : fail_memory(r);
    for (bool more = true; more && !status;) {
        yaml_event_t key;
        status = next_event(r, &key);
        if (status) {
            break;
        }
        more = key.type != YAML_MAPPING_END_EVENT;
        status = more ? read_member(r, &key, depth, merged, out) : RK_OK;
        yaml_event_delete(&key);
    }
    status = status ? status : merge(r, out->value, merged, (yaml_mark_t){0});
    json_decref(merged);
    return status;
}

static rk_status read_collection(reading *r, const yaml_event_t *event, int depth, node *out)
{
    static const char *const known[] = {"", "map", "seq", NULL};
    const bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *tag =
        is_mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    if (!is_tag(own_tag(tag), known)) {
        return fail_at_mark(r, event->start_mark,
                            "the tag %s is not one of YAML itself; write the value without it",
                            (const char *)tag);
    }
    if (depth >= DEPTH_MAX) {
        return fail_at_mark(r, event->start_mark, "nested more than 64 deep");
    }
    return is_mapping ? read_mapping(r, depth, out) : read_sequence(r, depth, out);
}

/* *out is released here after a failure. */
static rk_status read_node(reading *r, const yaml_event_t *event, int depth, node *out)
{
    assert(depth >= 0);
    rk_status status = RK_OK;
    const yaml_char_t *name = NULL;
    if (event->type == YAML_ALIAS_EVENT) {
        return take_alias(r, event, out);
    }
    if (event->type == YAML_SCALAR_EVENT) {
        name = event->data.scalar.anchor;
        status = read_scalar(r, event, out);
    } else {
        name = event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor
                                                       : event->data.sequence_start.anchor;
        status = read_collection(r, event, depth, out);
    }
    if (!status && name) {
        status = add_anchor(r, (const char *)name, out, event->start_mark);
    }
    if (status) {
        json_decref(out->value);
        out->value = NULL;
    }
    return status;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Takes the next event, which begins or ends something around the root. */
static rk_status expect(reading *r, yaml_event_type_t type)
{
    yaml_event_t event;
    rk_status status = next_event(r, &event);
    if (status) {
        return status;
    }
    if (event.type != type) {
        status =
            fail_at_mark(r, event.start_mark, "%s",
                         type == YAML_STREAM_END_EVENT
                             ? "a second document begins; put each document into a file of its own"
                             : "the file is empty: it has no mapping of keys to values");
    }
    yaml_event_delete(&event);
    return status;
}

static rk_status read_root(reading *r, json_t **root)
{
    yaml_event_t event;
    node made = {0};
    rk_status status = expect(r, YAML_STREAM_START_EVENT);
    status = status ? status : expect(r, YAML_DOCUMENT_START_EVENT);
    status = status ? status : next_event(r, &event);
    if (status) {
        return status;
    }
    if (event.type == YAML_MAPPING_START_EVENT) {
        status = read_node(r, &event, 0, &made);
    } else {
        status = fail_at_mark(r, event.start_mark, "a mapping of keys to values expected, not %s",
                              event.type == YAML_SCALAR_EVENT ? "a single value" : "a list");
    }
    yaml_event_delete(&event);
    status = status ? status : expect(r, YAML_DOCUMENT_END_EVENT);
    status = status ? status : expect(r, YAML_STREAM_END_EVENT);
    if (status) {
        json_decref(made.value);
        made.value = NULL;
    }
    *root = made.value;
    return status;
}

rk_status rk_yaml_parse(const char *text, size_t size, const char *name, json_t **root,
                        rk_error *err)
{
    reading r = {.text = text, .name = name, .size = size, .err = err};
    *root = NULL;
    rk_status status = rk_config_check_size(size, name, err);
    if (status) {
        return status;
    }
    if (!yaml_parser_initialize(&r.parser)) {
        return fail_memory(&r);
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    status = read_root(&r, root);
    yaml_parser_delete(&r.parser);
    for (size_t i = 0; i < r.anchor_count; i++) {
        free(r.anchors[i].name);
        json_decref(r.anchors[i].node.value);
    }
    free(r.anchors);
    return status;
}

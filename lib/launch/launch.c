/* SPDX-License-Identifier: Apache-2.0 */
/* A launch as it is built: its texts, words, documents, keys and facts. */
#include "launch/launch.h"

#include "launch/launch_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ----------------------------------------------------------------------------------- */

/* Texts of a launch, in blocks that are released together. */
struct rk_launch_texts {
    struct rk_launch_texts *before;
    size_t used, size;
    char text[];
};

#define BLOCK_SIZE 16384

static char *reserve(rk_launch *launch, size_t size)
{
    assert(size >= 1);
    struct rk_launch_texts *block = launch->texts;
    assert(!block || block->used <= block->size);
    if (!block || block->size - block->used < size) {
        const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = malloc(sizeof(*block) + room);
        if (!block) {
            launch->out_of_memory = true;
            return NULL;
        }
        *block = (struct rk_launch_texts){.before = launch->texts, .size = room};
        launch->texts = block;
    }
    block->used += size;
    return block->text + block->used - size;
}

const char *rk_launch_keep_part(rk_launch *launch, const char *text, size_t length)
{
    char *copy = reserve(launch, length + 1);
    if (!copy) {
        return "";
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

const char *rk_launch_keep(rk_launch *launch, const char *text)
{
    return rk_launch_keep_part(launch, text, strlen(text));
}

const char *rk_launch_format(rk_launch *launch, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *copy = length < 0 ? NULL : reserve(launch, (size_t)length + 1);
    if (!copy) {
        return "";
    }
    va_start(arguments, format);
    (void)vsnprintf(copy, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return copy;
}

void rk_launch_set_reader(rk_launch *launch, const char *framework, const char *release)
{
    launch->framework = framework ? rk_launch_keep(launch, framework) : launch->framework;
    launch->release = release ? rk_launch_keep(launch, release) : launch->release;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Room for one more element of a list, whose capacity is the next power of two from 8 on. */
static void *grow(rk_launch *launch, void *list, size_t count, size_t size)
{
    assert(size > 0);
    if (count > 0 && (count < 8 || (count & (count - 1)) != 0)) {
        return list;
    }
    void *larger = realloc(list, (count < 8 ? 8 : 2 * count) * size);
    launch->out_of_memory |= !larger;
    return larger;
}

void rk_launch_add_word(rk_launch *launch, const char *text, int line)
{
    rk_launch_word *words = grow(launch, launch->words, launch->word_count, sizeof(*launch->words));
    if (words) {
        launch->words = words;
        words[launch->word_count++] = (rk_launch_word){rk_launch_keep(launch, text), line};
    }
}

void rk_launch_add_written(rk_launch *launch, const char *path, const char *text)
{
    rk_named_text *written =
        grow(launch, launch->written, launch->written_count, sizeof(*launch->written));
    if (written) {
        launch->written = written;
        written[launch->written_count++] =
            (rk_named_text){rk_launch_keep(launch, path), rk_launch_keep(launch, text)};
    }
}

const char *rk_launch_written(const rk_launch *launch, const char *path)
{
    for (size_t i = 0; i < launch->written_count; i++) {
        if (strcmp(launch->written[i].name, path) == 0) {
            return launch->written[i].text;
        }
    }
    return NULL;
}

void rk_launch_add_document(rk_launch *launch, const char *name, json_t *root)
{
    rk_launch_document *documents =
        grow(launch, launch->documents, launch->document_count, sizeof(*launch->documents));
    if (!documents) {
        json_decref(root);
        return;
    }
    launch->documents = documents;
    documents[launch->document_count++] =
        (rk_launch_document){.name = rk_launch_keep(launch, name), .root = root};
}

json_t *rk_launch_document_of(const rk_launch *launch, const char *name)
{
    for (size_t i = 0; i < launch->document_count; i++) {
        if (strcmp(launch->documents[i].name, name) == 0) {
            return launch->documents[i].root;
        }
    }
    return NULL;
}

/* Moves the keys to a larger list, and with them what facts name as theirs. */
static void move_keys(rk_launch *launch)
{
    const size_t room = launch->key_count < 8 ? 8 : 2 * launch->key_count;
    rk_launch_key *keys = calloc(room, sizeof(*keys));
    if (!keys) {
        launch->out_of_memory = true;
        return;
    }
    if (launch->key_count > 0) {
        memcpy(keys, launch->keys, launch->key_count * sizeof(*keys));
    }
    for (size_t i = 0; i < launch->fact_count; i++) {
        rk_launch_fact *fact = &launch->facts[i];
        fact->by = fact->by ? &keys[fact->by - launch->keys] : NULL;
    }
    free(launch->keys);
    launch->keys = keys;
}

void rk_launch_add_key(rk_launch *launch, const rk_launch_key *key)
{
    const rk_launch_key added = *key;
    const size_t count = launch->key_count;
    if (count == 0 || (count >= 8 && (count & (count - 1)) == 0)) {
        move_keys(launch);
    }
    if (!launch->out_of_memory) {
        launch->keys[launch->key_count++] = added;
    }
}

/* ---- facts ----------------------------------------------------------------------------------- */

static rk_launch_fact *find_fact(const rk_launch *launch, const char *field)
{
    for (size_t i = 0; i < launch->fact_count; i++) {
        if (strcmp(launch->facts[i].field, field) == 0) {
            return &launch->facts[i];
        }
    }
    return NULL;
}

/* The name of a field as the table has it; a field that is not there is a fault of a reader. */
static const char *name_of_field(const char *field)
{
    for (size_t i = 0; i < rk_launch_field_count; i++) {
        if (strcmp(rk_launch_fields[i].name, field) == 0) {
            return rk_launch_fields[i].name;
        }
    }
    assert(0 && "a field of rk_launch_fields");
    return NULL;
}

void rk_launch_state(rk_launch *launch, const char *field, const char *value, rk_fact_origin origin,
                     const rk_launch_key *by)
{
    rk_launch_fact *fact = find_fact(launch, field);
    const char *name = fact ? fact->field : name_of_field(field);
    if (!name || (fact && fact->origin > origin)) {
        return;
    }
    if (!fact) {
        rk_launch_fact *facts =
            grow(launch, launch->facts, launch->fact_count, sizeof(*launch->facts));
        if (!facts) {
            return;
        }
        launch->facts = facts;
        fact = &facts[launch->fact_count++];
    }
    *fact = (rk_launch_fact){name, rk_launch_keep(launch, value), origin, by};
}

void rk_launch_state_count(rk_launch *launch, const char *field, int64_t value,
                           rk_fact_origin origin, const rk_launch_key *by)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    rk_launch_state(launch, field, text, origin, by);
}

void rk_launch_state_by(rk_launch *launch, const char *field, const char *value, const char *key)
{
    rk_launch_state(launch, field, value, RK_FACT_STATED, rk_launch_find(launch, key));
}

void rk_launch_state_count_by(rk_launch *launch, const char *field, int64_t value, const char *key)
{
    rk_launch_state_count(launch, field, value, RK_FACT_STATED, rk_launch_find(launch, key));
}

void rk_launch_assume(rk_launch *launch, const char *field, const char *value)
{
    rk_launch_state(launch, field, value, RK_FACT_DEFAULT, NULL);
}

void rk_launch_assume_count(rk_launch *launch, const char *field, int64_t value)
{
    rk_launch_state_count(launch, field, value, RK_FACT_DEFAULT, NULL);
}

const rk_launch_fact *rk_launch_find_fact(const rk_launch *launch, const char *field)
{
    return find_fact(launch, field);
}

const char *rk_launch_fact_of(const rk_launch *launch, const char *field)
{
    const rk_launch_fact *fact = find_fact(launch, field);
    return fact && fact->origin != RK_FACT_OPEN ? fact->value : NULL;
}

rk_fact_origin rk_launch_origin_of(const rk_launch *launch, const char *field)
{
    const rk_launch_fact *fact = find_fact(launch, field);
    return fact ? fact->origin : RK_FACT_OPEN;
}

int64_t rk_launch_count_of(const rk_launch *launch, const char *field)
{
    double value = 0;
    const char *text = rk_launch_fact_of(launch, field);
    return text && rk_launch_read_number(text, &value) && value < 9e15 && value > -9e15
               ? (int64_t)value
               : 0;
}

bool rk_launch_holds(const rk_launch *launch, const char *field)
{
    const char *value = rk_launch_fact_of(launch, field);
    return value && strcmp(value, "true") == 0;
}

void rk_launch_drop(rk_launch *launch, const char *field)
{
    rk_launch_fact *fact = find_fact(launch, field);
    if (fact) {
        fact->origin = RK_FACT_OPEN;
    }
}

void rk_launch_clear(rk_launch *launch)
{
    for (size_t i = 0; i < launch->document_count; i++) {
        json_decref(launch->documents[i].root);
    }
    for (struct rk_launch_texts *block = launch->texts; block;) {
        struct rk_launch_texts *before = block->before;
        free(block);
        block = before;
    }
    free(launch->name);
    free(launch->folder);
    free(launch->words);
    free(launch->documents);
    free(launch->written);
    free(launch->keys);
    free(launch->facts);
    *launch = (rk_launch){0};
}

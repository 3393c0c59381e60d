/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and variables of a shell script that is read. */
#include "launch/shell_parts.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

void rk_shell_stop(rk_shell *sh)
{
    sh->cut = sh->stopped ? sh->cut : rk_shell_line(sh, sh->at);
    sh->stopped = true;
    sh->flow = FLOW_EXIT;
}

/* Small pieces are parts of one block: most are words. */
enum { BLOCK_SIZE = 65536, SMALL_SIZE = 4096 };

void *rk_shell_get(rk_shell *sh, size_t count, size_t size)
{
    assert(size > 0);
    void *memory = NULL;
    const size_t bytes = (count * size + 15) / 16 * 16;
    sh->used += bytes;
    if (sh->stopped || sh->used > RK_SHELL_MEMORY_MAX) {
        rk_shell_stop(sh);
        return NULL;
    }
    if (bytes > SMALL_SIZE) {
        sh->out_of_memory |= rk_arena_get(&sh->arena, bytes, 1, &memory, NULL) != RK_OK;
        return memory;
    }
    if (sh->block_left < bytes) {
        const rk_status status = rk_arena_get(&sh->arena, BLOCK_SIZE, 1, &sh->block, NULL);
        sh->out_of_memory |= status != RK_OK;
        sh->block_left = status ? 0 : BLOCK_SIZE;
    }
    if (sh->block_left >= bytes) {
        assert(sh->block_left <= BLOCK_SIZE);
        memory = sh->block + BLOCK_SIZE - sh->block_left;
        sh->block_left -= bytes;
    }
    return memory;
}

const char *rk_shell_keep(rk_shell *sh, const char *text, size_t length)
{
    char *copy = rk_shell_get(sh, length + 1, 1);
    if (!copy) {
        return "";
    }
    if (length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

const char *rk_shell_keep_bytes(rk_shell *sh, const rk_bytes *bytes)
{
    sh->out_of_memory |= bytes->failed;
    return rk_shell_keep(sh, (const char *)bytes->data, bytes->size);
}

bool rk_shell_grow(rk_shell *sh, void *list, size_t count, size_t *room, size_t size)
{
    assert(count <= *room);
    void **items = list;
    if (count < *room) {
        return true;
    }
    const size_t larger = *room ? 2 * *room : 8;
    void *moved = rk_shell_get(sh, larger, size);
    if (moved) {
        if (count > 0) {
            memcpy(moved, *items, count * size);
        }
        *items = moved;
        *room = larger;
    }
    return moved != NULL;
}

int rk_shell_line(const rk_shell *sh, size_t at)
{
    size_t low = 0, high = sh->source.line_count;
    if (!sh->source.lines) {
        return sh->source.line;
    }
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (sh->source.lines[middle] <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return sh->source.line + (int)low;
}

/* ---- variables ------------------------------------------------------------------------------- */

size_t rk_shell_name_length(const char *text, size_t size)
{
    size_t length = 0;
    while (length < size && (text[length] == '_' || isalpha((unsigned char)text[length]) ||
                             (length > 0 && isdigit((unsigned char)text[length])))) {
        length++;
    }
    return length;
}

static size_t bucket_of(const char *name)
{
    size_t hash = 5381;
    for (const char *c = name; *c; c++) {
        hash = hash * 33 + (unsigned char)*c;
    }
    return hash % RK_SHELL_BUCKETS;
}

rk_shell_variable *rk_shell_find(const rk_shell *sh, const char *name)
{
    rk_shell_variable *variable = sh->variables[bucket_of(name)];
    while (variable && strcmp(variable->name, name) != 0) {
        variable = variable->next;
    }
    return variable;
}

rk_shell_variable *rk_shell_make(rk_shell *sh, const char *name)
{
    rk_shell_variable *variable = rk_shell_find(sh, name);
    const size_t bucket = bucket_of(name);
    if (!variable) {
        variable = rk_shell_get(sh, 1, sizeof(*variable));
        if (variable) {
            variable->name = rk_shell_keep(sh, name, strlen(name));
            variable->next = sh->variables[bucket];
            sh->variables[bucket] = variable;
        }
    }
    return variable;
}

void rk_shell_unset(rk_shell_variable *variable)
{
    variable->set = variable->array = variable->associative = false;
    variable->count = variable->room = 0;
    variable->elements = NULL;
}

static bool has_key(const rk_shell_element *element, const char *key, int64_t index)
{
    return key ? element->key && strcmp(element->key, key) == 0
               : !element->key && element->index == index;
}

const rk_shell_element *rk_shell_element_of(const rk_shell_variable *variable, const char *key,
                                            int64_t index)
{
    assert(variable->count <= variable->room);
    if (!key && index < 0) { /* from the end */
        index = variable->count > 0 ? variable->elements[variable->count - 1].index + 1 + index : 0;
    }
    if (!key && index >= 0 && (uint64_t)index < variable->count &&
        has_key(&variable->elements[index], key, index)) {
        return &variable->elements[index];
    }
    for (size_t i = 0; i < variable->count; i++) {
        if (has_key(&variable->elements[i], key, index)) {
            return &variable->elements[i];
        }
    }
    return NULL;
}

void rk_shell_set_element(rk_shell *sh, rk_shell_variable *variable, const char *key, int64_t index,
                          const char *value, int line)
{
    const bool behind =
        !key && (variable->count == 0 || index > variable->elements[variable->count - 1].index);
    rk_shell_element *found =
        behind ? NULL : (rk_shell_element *)(uintptr_t)rk_shell_element_of(variable, key, index);
    variable->set = true;
    if (found) { /* an index from the end names an element that keeps its own */
        found->text = value;
        found->line = line;
    } else if ((key || (index >= 0 && index < INT64_MAX)) &&
               rk_shell_grow(sh, &variable->elements, variable->count, &variable->room,
                             sizeof(*variable->elements))) {
        variable->elements[variable->count++] = (rk_shell_element){key, index, value, line};
    }
}

const char *rk_shell_value(const rk_shell *sh, const char *name)
{
    const rk_shell_variable *variable = rk_shell_find(sh, name);
    const rk_shell_element *first =
        variable && variable->set ? rk_shell_element_of(variable, NULL, 0) : NULL;
    return first ? first->text : NULL;
}

void rk_shell_set(rk_shell *sh, const char *name, const char *value, int line)
{
    rk_shell_variable *variable = rk_shell_make(sh, name);
    if (variable) {
        rk_shell_set_element(sh, variable, NULL, 0, rk_shell_keep(sh, value, strlen(value)), line);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

const char *rk_shell_file_text(const rk_shell *sh, const char *path)
{
    for (size_t i = 0; i < sh->file_count; i++) {
        if (strcmp(sh->files[i].name, path) == 0) {
            return sh->files[i].text;
        }
    }
    return NULL;
}

void rk_shell_write(rk_shell *sh, const char *path, const char *text, size_t length, bool append)
{
    size_t i = 0;
    while (i < sh->file_count && strcmp(sh->files[i].name, path) != 0) {
        i++;
    }
    if (i == sh->file_count) {
        if (i >= 64 ||
            !rk_shell_grow(sh, &sh->files, sh->file_count, &sh->file_room, sizeof(*sh->files))) {
            return;
        }
        sh->files[sh->file_count++] = (rk_named_text){rk_shell_keep(sh, path, strlen(path)), ""};
    }
    const size_t before = append ? strlen(sh->files[i].text) : 0;
    char *all = rk_shell_get(sh, before + length + 1, 1);
    if (all) {
        memcpy(all, sh->files[i].text, before);
        memcpy(all + before, text, length);
        sh->files[i].text = all;
    }
}

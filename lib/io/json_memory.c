/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jansson keeps its allocator in two variables of the process.  The first document that is read
 * puts functions there that pass on to those in place (malloc and free, or the application's own),
 * and note per thread what they could not get.  Blocks that were allocated before are freed as
 * before, so an application that uses jansson itself sees no difference.
 */
#include "io/json_memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/*
 * A text goes to the parser in pieces of PIECE bytes, and after a shortage none follows.  A reserve
 * covers the rest of the piece at hand: the parser frees a string twice when there is no memory for
 * the node of that string.  Nothing needs more than 104 bytes of memory per character ("[": a node
 * and 8 elements); objects have 3 characters each.
 */
enum { PIECE = 64, RESERVE = 16 << 10, ALIGNMENT = 16 };

/* One reading of a text, by one thread. */
typedef struct reading {
    const char *text;
    size_t left; /* bytes */
    bool is_short;
    size_t used; /* of the reserve */
    _Alignas(ALIGNMENT) unsigned char reserve[RESERVE];
} reading;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static json_malloc_t allocate_below;
static json_free_t free_below;

static _Thread_local reading *current; /* NULL: no text is being read */
static _Thread_local unsigned long shortages;

static void *allocate_reserve(reading *from, size_t size)
{
    assert(from->used <= RESERVE && from->used % ALIGNMENT == 0);
    if (size > RESERVE - ALIGNMENT - from->used) {
        return NULL;
    }
    void *block = from->reserve + from->used;
    from->used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return block;
}

static void *allocate(size_t size)
{
    void *block = allocate_below(size);
    if (block) {
        return block;
    }
    shortages++;
    if (!current) {
        return NULL;
    }
    current->is_short = true;
    return allocate_reserve(current, size);
}

static void free_block(void *block)
{
    const uintptr_t place = (uintptr_t)block;
    const uintptr_t start = current ? (uintptr_t)current->reserve : 0;
    if (!current || place < start || place >= start + RESERVE) {
        free_below(block);
    }
}

static void install(void)
{
    json_get_alloc_funcs(&allocate_below, &free_below);
    json_set_alloc_funcs(allocate, free_block);
}

static size_t next_piece(void *buffer, size_t size, void *data)
{
    assert(size > 0);
    reading *from = data;
    size_t piece = size < PIECE ? size : PIECE;
    piece = from->is_short ? 0 : piece < from->left ? piece : from->left;
    memcpy(buffer, from->text, piece);
    from->text += piece;
    from->left -= piece;
    return piece;
}

json_t *rk_json_read(const char *text, size_t size, size_t flags, json_error_t *error,
                     bool *is_short)
{
    reading from;
    from.text = text;
    from.left = size;
    from.is_short = false;
    from.used = 0;
    (void)pthread_once(&once, install);
    current = &from;
    json_t *root = json_load_callback(next_piece, &from, flags, error);
    if (from.is_short) {
        json_decref(root);
        root = NULL;
    }
    current = NULL;
    *is_short = from.is_short;
    return root;
}

/* jansson leaves out of a copy what it has no memory for. */
static json_t *copy_whole(const json_t *value, json_t *(*copy)(json_t *value))
{
    (void)pthread_once(&once, install);
    const unsigned long before = shortages;
    json_t *made = copy((json_t *)(uintptr_t)value); /* jansson copies no const value */
    if (shortages != before) {
        json_decref(made);
        made = NULL;
    }
    return made;
}

json_t *rk_json_copy(const json_t *value)
{
    return copy_whole(value, json_copy);
}

static json_t *copy_deep(json_t *value)
{
    return json_deep_copy(value);
}

json_t *rk_json_deep_copy(const json_t *value)
{
    return copy_whole(value, copy_deep);
}

char *rk_json_dump(const json_t *value, size_t flags)
{
    (void)pthread_once(&once, install);
    const unsigned long before = shortages;
    char *text = json_dumps(value, flags);
    if (shortages != before) {
        free_block(text);
        text = NULL;
    }
    return text;
}

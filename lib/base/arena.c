/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations chained in a list, so that one walk frees them all. */
#include "base/arena.h"

#include "base/error.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct rk_arena_block {
    struct rk_arena_block *before;
    max_align_t room[];
};

rk_status rk_arena_get(rk_arena *arena, size_t count, size_t size, void *out, rk_error *err)
{
    struct rk_arena_block *block = NULL;
    if (size == 0 || count <= (SIZE_MAX - sizeof(*block)) / size) {
        block = calloc(1, sizeof(*block) + count * size);
    }
    if (!block) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory");
    }
    block->before = arena->last;
    arena->last = block;
    void *room = block->room;
    memcpy(out, &room, sizeof(room));
    return RK_OK;
}

rk_status rk_arena_text(rk_arena *arena, const char *text, size_t length, const char **out,
                        rk_error *err)
{
    char *copy = NULL;
    rk_status status = rk_arena_get(arena, length + 1, 1, &copy, err);
    if (status == RK_OK) {
        memcpy(copy, text, length);
        *out = copy;
    }
    return status;
}

void rk_arena_clear(rk_arena *arena)
{
    while (arena->last) {
        struct rk_arena_block *before = arena->last->before;
        free(arena->last);
        arena->last = before;
    }
}

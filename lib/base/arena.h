/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is released all at once, for data that lives as long as the document it came from. */
#ifndef RK_BASE_ARENA_H
#define RK_BASE_ARENA_H

#include "reckon/reckon.h"

struct rk_arena_block;

/* All zero is an empty arena. */
typedef struct rk_arena {
    struct rk_arena_block *last; /* owned */
} rk_arena;

/* Allocates `count` zeroed items of `size` bytes in *out, or returns RK_ERR_MEMORY. */
rk_status rk_arena_get(rk_arena *arena, size_t count, size_t size, void *out, rk_error *err);

/* A copy of `length` bytes of text, terminated. */
rk_status rk_arena_text(rk_arena *arena, const char *text, size_t length, const char **out,
                        rk_error *err);

void rk_arena_clear(rk_arena *arena);

#endif

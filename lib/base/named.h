/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables that are a name and what it stands for. */
#ifndef RK_BASE_NAMED_H
#define RK_BASE_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct rk_named_text {
    const char *name, *text;
} rk_named_text;

/* The number may be an enum value, a place in a struct, or whether something is so. */
typedef struct rk_named_count {
    const char *name;
    int64_t value;
} rk_named_count;

typedef struct rk_named_real {
    const char *name;
    double value;
} rk_named_real;

/* A case, and the words for it where it holds. */
typedef struct rk_named_case {
    bool holds;
    const char *words;
} rk_named_case;

/* The words of the first case that holds; NULL: none does. */
static inline const char *rk_first_that_holds(const rk_named_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (cases[i].holds) {
            return cases[i].words;
        }
    }
    return NULL;
}

/* The row of a name, which is the first member of rows of so many bytes; NULL: there is none. */
static inline const void *rk_named_find(const void *rows, size_t size, size_t count,
                                        const char *name)
{
    const char *row = rows;
    for (size_t i = 0; i < count; i++, row += size) {
        if (strcmp(*(const char *const *)(const void *)row, name) == 0) {
            return row;
        }
    }
    return NULL;
}

/* What a name stands for; `otherwise`: in no row. */
static inline const char *rk_named_text_of(const rk_named_text *rows, size_t count,
                                           const char *name, const char *otherwise)
{
    const rk_named_text *row = rk_named_find(rows, sizeof(*rows), count, name);
    return row ? row->text : otherwise;
}

static inline int64_t rk_named_count_of(const rk_named_count *rows, size_t count, const char *name,
                                        int64_t otherwise)
{
    const rk_named_count *row = rk_named_find(rows, sizeof(*rows), count, name);
    return row ? row->value : otherwise;
}

static inline double rk_named_real_of(const rk_named_real *rows, size_t count, const char *name,
                                      double otherwise)
{
    const rk_named_real *row = rk_named_find(rows, sizeof(*rows), count, name);
    return row ? row->value : otherwise;
}

#endif

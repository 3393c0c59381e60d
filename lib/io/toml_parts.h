/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that read TOML: the place in the text, and scalars. */
#ifndef RK_IO_TOML_PARTS_H
#define RK_IO_TOML_PARTS_H

#include "reckon/reckon.h"

#include <jansson.h>

/* A table, or an array of tables, that later lines may extend; any other value is closed. */
typedef enum rk_toml_kind {
    RK_TOML_CLOSED,  /* a value: inline tables, arrays, scalars */
    RK_TOML_IMPLIED, /* the `a` of [a.b] */
    RK_TOML_HEADER,  /* [a], and the elements of [[a]] */
    RK_TOML_DOTTED,  /* the `a` of a.b = 1 */
    RK_TOML_ARRAY,   /* [[a]] */
} rk_toml_kind;

typedef struct rk_toml_table {
    const json_t *value;
    rk_toml_kind kind;
} rk_toml_table;

typedef struct rk_toml_reading {
    const char *start, *at, *end; /* *end is '\0' */
    const char *name;
    rk_error *err;
    rk_toml_table *tables; /* owned */
    size_t table_count;
} rk_toml_reading;

/* An error at a place of the text. */
rk_status rk_toml_fail(const rk_toml_reading *r, const char *place, const char *format, ...)
    RK_PRINTF(3, 4);
rk_status rk_toml_fail_memory(const rk_toml_reading *r);

/* Reads "..." and '...', and in three quotes where `multi_line`.  The caller frees *text. */
rk_status rk_toml_string(rk_toml_reading *r, bool multi_line, char **text);

/* Reads true, false, a number, a date or a time. */
rk_status rk_toml_word(rk_toml_reading *r, json_t **value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers that make jansson safe when memory runs out. Its parser loses characters of a string
 * that it cannot store, and frees some twice; its copies and texts lack what did not fit. These
 * return "no memory".
 */
#ifndef RK_IO_JSON_MEMORY_H
#define RK_IO_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * As json_loadb.  *is_short: there was not enough memory, and the result is NULL.  Other failures
 * are in `error`.  Reads another document in another thread at the same time.
 */
json_t *rk_json_read(const char *text, size_t size, size_t flags, json_error_t *error,
                     bool *is_short);

/* As json_copy and json_deep_copy; NULL when any part of the copy is missing. */
json_t *rk_json_copy(const json_t *value);
json_t *rk_json_deep_copy(const json_t *value);

/* As json_dumps; NULL when any part of the text is missing. */
char *rk_json_dump(const json_t *value, size_t flags);

#endif

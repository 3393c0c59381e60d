/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises common reasons why a text is not JSON. */
#ifndef RK_IO_JSON_FAULT_H
#define RK_IO_JSON_FAULT_H

#include "reckon/reckon.h"

#include <stddef.h>

/*
 * Explains in a message what a text is instead of JSON: empty, a web page, in another encoding, a
 * Git LFS pointer, binary. NULL for anything else.
 */
const char *rk_json_foreign_text(const char *text, size_t size);

/*
 * Whether the text at `place` (from 0; what a parser refused ends or begins there) is a number that
 * JSON does not have: NaN, Infinity, -Infinity.  Returns its name, or NULL.
 */
const char *rk_json_foreign_number(const char *text, size_t size, size_t place);

/*
 * Writes to `out`, of 2 `size` bytes, the text with null in place of the numbers that Python writes
 * and JSON does not have; strings stay as they are.  Returns the size.
 */
size_t rk_json_replace_numbers(const char *text, size_t size, char *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Filling an rk_error.  A failing function writes `return rk_fail(err, code, "...", ...)`. */
#ifndef RK_BASE_ERROR_H
#define RK_BASE_ERROR_H

#include "reckon/reckon.h"

/* Sets code and message, clears file, path and position.  `err` may be NULL.  Returns `code`. */
rk_status rk_fail(rk_error *err, rk_status code, const char *format, ...) RK_PRINTF(3, 4);

/* As rk_fail, and names the JSON path of the value at fault (no file). */
rk_status rk_fail_at(rk_error *err, rk_status code, const char *path, const char *format, ...)
    RK_PRINTF(4, 5);

/* Names the document of an error that was filled without one. */
void rk_error_set_file(rk_error *err, const char *file);

#endif

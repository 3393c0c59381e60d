/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries that few commands need, opened where they are needed. */
#ifndef RK_BASE_LIBRARY_H
#define RK_BASE_LIBRARY_H

#include "reckon/reckon.h"

#include <stddef.h>

/* A function of a library and where a table of functions has its pointer. */
typedef struct rk_symbol {
    const char *name;
    size_t offset; /* in the table, bytes */
} rk_symbol;

/*
 * Opens the shared library `file`, which stays open, and fills the pointers of `table`.
 * RK_ERR_INVALID if the library or a function is missing, with the Debian package that has it.
 */
rk_status rk_library_open(const char *file, const char *package, const rk_symbol *symbols,
                          size_t count, void *table, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries that few commands need, opened where they are needed. */
#ifndef RK_BASE_LIBRARY_H
#define RK_BASE_LIBRARY_H

#include "base/named.h"
#include "reckon/reckon.h"

#include <stddef.h>

/*
 * Opens the shared library `file`, which stays open, and fills the pointers of `table` at the
 * places of its symbols.
 * RK_ERR_INVALID if the library or a function is missing, with the Debian package that has it.
 */
rk_status rk_library_open(const char *file, const char *package, const rk_named_count *symbols,
                          size_t count, void *table, rk_error *err);

#endif

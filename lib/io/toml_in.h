/* SPDX-License-Identifier: Apache-2.0 */
/* TOML documents as JSON values. */
#ifndef RK_IO_TOML_IN_H
#define RK_IO_TOML_IN_H

#include "reckon/reckon.h"

#include <jansson.h>

/*
 * Parses a TOML 1.0 document.  Dates and times, infinities and NaN stay strings.
 *
 * Refuses everything that TOML 1.0 refuses (keys and tables that are defined twice, numbers that
 * overflow, text that is not UTF-8), nesting deeper than 64, more than 1,000 tables and texts above
 * 16 MiB: RK_ERR_SYNTAX with line and column, or RK_ERR_INVALID.  The caller releases *root, which
 * is NULL after a failure.
 */
rk_status rk_toml_parse(const char *text, size_t size, const char *name, json_t **root,
                        rk_error *err);

#endif

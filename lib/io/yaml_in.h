/* SPDX-License-Identifier: Apache-2.0 */
/* YAML documents as JSON values. */
#ifndef RK_IO_YAML_IN_H
#define RK_IO_YAML_IN_H

#include "reckon/reckon.h"

#include <jansson.h>

/*
 * Parses one YAML 1.1 document whose root is a mapping.  Plain scalars are read as by PyYAML's safe
 * loader: `yes` is true, `1_000` and `1:40` are integers, `1.0e-5` is a number and `1e-5` a string.
 * Dates, infinities and NaN stay strings.  Keys are strings as they are written; of equal keys the
 * last one counts.  Aliases and merge keys (`<<`) are replaced by their values.
 *
 * Refuses what is no YAML, tags that YAML itself does not define, a second document, nesting deeper
 * than 64, texts above 16 MiB, and aliases that make more than 100,000 values (RK_ERR_SYNTAX with
 * line and column, or RK_ERR_INVALID).  The caller releases *root, which is NULL after a failure.
 */
rk_status rk_yaml_parse(const char *text, size_t size, const char *name, json_t **root,
                        rk_error *err);

#endif

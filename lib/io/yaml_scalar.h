/* SPDX-License-Identifier: Apache-2.0 */
/* Plain scalars of YAML 1.1. */
#ifndef RK_IO_YAML_SCALAR_H
#define RK_IO_YAML_SCALAR_H

#include <jansson.h>

/*
 * The value of a scalar without quotes and without a tag, as PyYAML's safe loader resolves it; a
 * string if neither null, a boolean nor a number.  NULL: not enough memory.
 */
json_t *rk_yaml_scalar(const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Documents as Python prints them, which the published report shows: {'size': 8, 'full': True}. */
#ifndef RK_IO_PYTHON_LITERAL_H
#define RK_IO_PYTHON_LITERAL_H

#include "reckon/reckon.h"

#include <jansson.h>

/*
 * A JSON value; a value of NULL, which jansson returns when there is no memory, is RK_ERR_MEMORY.
 * The caller frees *text and keeps the value.
 */
rk_status rk_python_literal_of_value(json_t *value, char **text, rk_error *err);

/*
 * A document as in its file, or in the catalogue under `kind` (see rk_json_load).  The caller frees
 * *text.
 */
rk_status rk_python_literal_of_document(const char *name, const char *kind, char **text,
                                        rk_error *err);

#endif

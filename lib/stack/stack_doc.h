/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The document of a training stack: groups of numbers, each with its "source". An absent number has
 * its ideal value; the tables of stack_doc.c explain each number.
 */
#ifndef RK_STACK_STACK_DOC_H
#define RK_STACK_STACK_DOC_H

#include "io/fields.h"
#include "stack/stack.h"

/* Reads a parsed document; `err` gets the JSON path, the caller adds the file. */
rk_status rk_stack_from_json(const json_t *object, rk_stack *stack, rk_error *err);

/*
 * The field of a key written "group.key", e.g. "traffic.activation_passes", or NULL.  Its offset is
 * in rk_stack.
 */
const rk_field *rk_stack_field(const char *key);

/* The unit of a field in rk_stack: 1 GiB is 2^30 bytes, 10^6 is a million. */
double rk_stack_unit(const rk_field *field);

/* Field `index` of all groups, and the name of its group; NULL past the last. */
const rk_field *rk_stack_field_at(size_t index, const char **group);

#endif

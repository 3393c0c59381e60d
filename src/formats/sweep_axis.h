/* SPDX-License-Identifier: Apache-2.0 */
/* One axis of a sweep: the key that it varies, its values, and putting one of them in place. */
#ifndef RK_FORMATS_SWEEP_AXIS_H
#define RK_FORMATS_SWEEP_AXIS_H

#include "formats/json.h"
#include "formats/value.h"

#define RK_SWEEP_AXIS_VALUES_MAX 100000

/* Released with rk_sweep_axis_clear; all zero is an empty one. */
typedef struct rk_sweep_axis {
    json_t *key;        /* owned: a string, e.g. "system.networks[0].size" */
    json_t *values;     /* owned: an array of numbers, of strings or of booleans; not empty */
    json_t *documents;  /* owned: for each value the document of that name; NULL: plain values */
    rk_value_type type; /* of all values; RK_VALUE_NULL where integers and reals are mixed */
} rk_sweep_axis;

/* Reads {"key", "values"} or {"key", "from", "to", "step" or "factor"}, found at `path`. */
rk_status rk_sweep_axis_read(const json_t *object, const char *path, rk_sweep_axis *axis,
                             rk_error *err);
void rk_sweep_axis_clear(rk_sweep_axis *axis);

size_t rk_sweep_axis_count(const rk_sweep_axis *axis);
const char *rk_sweep_axis_key(const rk_sweep_axis *axis);

/* The value, or the name of the document; text lives as long as the axis. */
rk_value rk_sweep_axis_value(const rk_sweep_axis *axis, size_t index);

/*
 * Puts the value, or a copy of the document, under the axis' key of `root`.  What leads to the
 * key must exist; whether the key itself may stand there is left to whoever reads `root`.
 */
rk_status rk_sweep_axis_place(const rk_sweep_axis *axis, size_t index, json_t *root, rk_error *err);

#endif

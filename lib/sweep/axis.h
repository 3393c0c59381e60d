/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The axes of a sweep: the keys they vary, their values, and how a value is put into the document.
 */
#ifndef RK_SWEEP_AXIS_H
#define RK_SWEEP_AXIS_H

#include "sweep/key.h"

#define RK_SWEEP_AXES_MAX        64 /* keys that one sweep may vary */
#define RK_SWEEP_AXIS_VALUES_MAX 100000

/* One key and its values.  Released with rk_sweep_axis_clear; all zero is an empty one. */
typedef struct rk_sweep_axis {
    rk_sweep_key key;
    json_t *values;     /* owned: an array of numbers, of strings or of booleans; not empty */
    json_t *documents;  /* owned: for each value the document of that name; NULL: plain values */
    rk_value_type type; /* of all values; RK_VALUE_NULL if integers and reals are mixed */
    size_t dimension;   /* dimension of the grid; linked axes share one */
} rk_sweep_axis;

/*
 * Reads the axes at `path`: {"key", "values"}; {"key", "from", "to", "step" or "factor"};
 * {"linked"}, a list of axes that step together; or {"keys", "values"}, the same as a table.  Fills
 * *count axes, at most `room`, of as many values each; they are to be cleared also after a failure.
 */
rk_status rk_sweep_axis_read(const json_t *object, const char *path, rk_sweep_axis *axes,
                             size_t room, size_t *count, rk_error *err);
void rk_sweep_axis_clear(rk_sweep_axis *axis);

size_t rk_sweep_axis_count(const rk_sweep_axis *axis);

/* The value, or the name of the document; text lives as long as the axis. */
rk_value rk_sweep_axis_value(const rk_sweep_axis *axis, size_t index);

/* Puts the value, or a copy of the document, at the key's place of `root`. */
rk_status rk_sweep_axis_place(const rk_sweep_axis *axis, size_t index, json_t *root, rk_error *err);

#endif

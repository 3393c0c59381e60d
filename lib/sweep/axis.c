/* SPDX-License-Identifier: Apache-2.0 */
/* Reads axes: value lists, ranges by step or factor, linked axes and tables of rows. */
#include "sweep/axis.h"

#include "base/error.h"
#include "base/text.h"
#include "io/fields.h"
#include "io/json_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53: integers up to here are exact in a double */
#define SLACK     1e-9 /* relative rounding error allowed in the last value of a range */

/* ---- reading --------------------------------------------------------------------------- */

/* An axis as written; its values stay in the document. */
struct spec {
    const json_t *key, *values;
    double from, to, step, factor;
};

static rk_status read_key(const json_t *value, const char *path, void *out, rk_error *err)
{
    char text[RK_JSON_TEXT_SIZE];
    *(const json_t **)out = value;
    if (json_is_string(value)) {
        return RK_OK;
    }
    return rk_fail_at(err, RK_ERR_INVALID, path,
                      "expected the key to vary, such as \"processors\", found %s",
                      rk_json_describe(value, text));
}

static rk_value_type value_type(const json_t *value)
{
    return rk_sweep_value_of(value).type;
}

static bool is_number(rk_value_type type)
{
    return type == RK_VALUE_INT || type == RK_VALUE_REAL;
}

static rk_status read_values(const json_t *value, const char *path, void *out, rk_error *err)
{
    char where[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    *(const json_t **)out = value;
    if (!json_is_array(value) || json_array_size(value) == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a list of at least one value, found %s",
                          json_is_array(value) ? "an empty one" : rk_json_describe(value, text));
    }
    if (json_array_size(value) > RK_SWEEP_AXIS_VALUES_MAX) {
        return rk_fail_at(err, RK_ERR_LIMIT, path, "%zu values are more than the %d of one axis",
                          json_array_size(value), RK_SWEEP_AXIS_VALUES_MAX);
    }
    const rk_value_type first = value_type(json_array_get(value, 0));
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        const rk_value_type type = value_type(item);
        if (type == RK_VALUE_NULL) {
            return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_element(path, i, where),
                              "expected a number, a string, true or false, found %s",
                              rk_json_describe(item, text));
        }
        if (type != first && !(is_number(type) && is_number(first))) {
            return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_element(path, i, where),
                              "expected a value of the same type as the first, found %s",
                              rk_json_describe(item, text));
        }
    }
    return RK_OK;
}

#define RANGE_FIELD(field, explanation)                                                            \
    RK_FIELD(#field, NUMBER, offsetof(struct spec, field), .optional = true, .min = -EXACT_MAX,    \
             .max = EXACT_MAX, .help = explanation)

static const rk_field spec_fields[] = {
    RK_FIELD("key", CUSTOM, offsetof(struct spec, key), .read = read_key,
             .help = "what the axis varies"),
    RK_FIELD("values", CUSTOM, offsetof(struct spec, values), .optional = true, .read = read_values,
             .help = "the values, one by one"),
    RANGE_FIELD(from, "first value of a range"),
    RANGE_FIELD(to, "end of a range, included when it is met"),
    RANGE_FIELD(step, "difference of neighbours"),
    RANGE_FIELD(factor, "ratio of neighbours"),
};

/*
 * Rounds away binary errors of decimal fractions, so that a range yields 0.1, 0.2, 0.3. No value of
 * a range needs more than 15 digits.
 */
static double decimal(double value)
{
    char text[RK_NUMBER_TEXT_SIZE];
    (void)snprintf(text, sizeof(text), "%.15g", value);
    return strtod(text, NULL);
}

static rk_status fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the axes");
}

static rk_status append_number(json_t *values, bool whole, double number, rk_error *err)
{
    json_t *value = whole ? json_integer((json_int_t)number) : json_real(decimal(number));
    return json_array_append_new(values, value) == 0 ? RK_OK : fail_memory(err);
}

static rk_status fail_too_many(const char *path, rk_error *err)
{
    return rk_fail_at(err, RK_ERR_LIMIT, path,
                      "the range has more than the %d values of one axis: use larger steps",
                      RK_SWEEP_AXIS_VALUES_MAX);
}

/* from, from + step, from + 2 step, ... up to `to`. */
static rk_status expand_steps(const struct spec *spec, bool whole, const char *path, json_t *values,
                              rk_error *err)
{
    if (spec->step == 0.0 || (spec->to - spec->from) / spec->step < 0.0) {
        char from[RK_NUMBER_TEXT_SIZE], to[RK_NUMBER_TEXT_SIZE], step[RK_NUMBER_TEXT_SIZE];
        return rk_fail_at(err, RK_ERR_INVALID, path, "a step of %s does not lead from %s to %s",
                          rk_double_text(spec->step, step), rk_double_text(spec->from, from),
                          rk_double_text(spec->to, to));
    }
    const double last = floor((spec->to - spec->from) / spec->step * (whole ? 1.0 : 1.0 + SLACK));
    if (last >= RK_SWEEP_AXIS_VALUES_MAX) {
        return fail_too_many(path, err);
    }
    rk_status status = RK_OK;
    for (double i = 0.0; i <= last && status == RK_OK; i += 1.0) {
        status = append_number(values, whole, spec->from + i * spec->step, err);
    }
    return status;
}

/* from, from factor, from factor^2, ... up to `to`. */
static rk_status expand_factors(const struct spec *spec, bool whole, const char *path,
                                json_t *values, rk_error *err)
{
    const bool grows = spec->factor > 1.0;
    if (spec->from <= 0.0 || spec->to <= 0.0 || spec->factor <= 0.0 || spec->factor == 1.0 ||
        (grows ? spec->to < spec->from : spec->to > spec->from)) {
        char from[RK_NUMBER_TEXT_SIZE], to[RK_NUMBER_TEXT_SIZE], factor[RK_NUMBER_TEXT_SIZE];
        return rk_fail_at(err, RK_ERR_INVALID, path, "a factor of %s does not lead from %s to %s",
                          rk_double_text(spec->factor, factor), rk_double_text(spec->from, from),
                          rk_double_text(spec->to, to));
    }
    const double slack = whole ? 0.0 : SLACK;
    const double end = spec->to * (grows ? 1.0 + slack : 1.0 - slack);
    rk_status status = RK_OK;
    for (double x = spec->from; (grows ? x <= end : x >= end) && status == RK_OK;
         x *= spec->factor) {
        status = json_array_size(values) < RK_SWEEP_AXIS_VALUES_MAX
                     ? append_number(values, whole, x, err)
                     : fail_too_many(path, err);
    }
    return status;
}

/* The values of a range; whole numbers when it is written with whole numbers only. */
static rk_status expand(const json_t *object, const char *path, const struct spec *spec,
                        json_t *values, rk_error *err)
{
    const json_t *step = json_object_get(object, "step");
    const json_t *factor = json_object_get(object, "factor");
    const json_t *from = json_object_get(object, "from");
    if (!from || !json_object_get(object, "to") || !step == !factor) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "an axis has either \"values\", or \"from\", \"to\" and one of \"step\" "
                          "and \"factor\"");
    }
    const bool whole = json_is_integer(from) && json_is_integer(step ? step : factor);
    return step ? expand_steps(spec, whole, path, values, err)
                : expand_factors(spec, whole, path, values, err);
}

static rk_value_type common_type(const json_t *values)
{
    const rk_value_type first = value_type(json_array_get(values, 0));
    for (size_t i = 1; i < json_array_size(values); i++) {
        if (value_type(json_array_get(values, i)) != first) {
            return RK_VALUE_NULL;
        }
    }
    return first;
}

/* Reads the key of an axis; `path` is for errors. */
static rk_status set_key(rk_sweep_axis *axis, const char *text, const char *path, rk_error *err)
{
    rk_error fault = {0};
    const rk_status status = rk_sweep_key_parse(text, &axis->key, &fault);
    return status == RK_OK ? RK_OK : rk_fail_at(err, status, path, "%s", fault.message);
}

/* Reads {"key", "values"} or {"key", "from", "to", "step" or "factor"}. */
static rk_status read_axis(const json_t *object, const char *path, rk_sweep_axis *axis,
                           rk_error *err)
{
    struct spec spec = {0};
    char where[RK_JSON_PATH_SIZE];
    rk_status status =
        rk_fields_read(object, path, spec_fields, sizeof(spec_fields) / sizeof(spec_fields[0]),
                       RK_UNKNOWN_REFUSE, &spec, err);
    if (status != RK_OK) {
        return status;
    }
    const bool ranged = json_object_get(object, "from") || json_object_get(object, "to") ||
                        json_object_get(object, "step") || json_object_get(object, "factor");
    if (spec.values && ranged) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "an axis has either \"values\" or a range, not both");
    }
    status =
        set_key(axis, json_string_value(spec.key), rk_json_path_member(path, "key", where), err);
    if (status != RK_OK) {
        return status;
    }
    axis->values = spec.values ? rk_json_deep_copy(spec.values) : json_array();
    if (!axis->values) {
        status = fail_memory(err);
    } else if (!spec.values) {
        status = expand(object, path, &spec, axis->values, err);
    }
    axis->type = status == RK_OK ? common_type(axis->values) : RK_VALUE_NULL;
    return status;
}

/* ---- linked axes ----------------------------------------------------------------------- */

static rk_status fail_many(const char *path, rk_error *err)
{
    return rk_fail_at(err, RK_ERR_LIMIT, path, "the axes of one sweep have at most %d keys",
                      RK_SWEEP_AXES_MAX);
}

/* Reads {"linked": [axis, axis, ...]}, whose axes step together. */
static rk_status read_linked(const json_t *object, const char *path, rk_sweep_axis *axes,
                             size_t room, size_t *count, rk_error *err)
{
    char list[RK_JSON_PATH_SIZE], where[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    const json_t *linked = json_object_get(object, "linked");
    (void)rk_json_path_member(path, "linked", list);
    if (json_array_size(linked) == 0 || json_object_size(object) != 1) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected {\"linked\": [axis, axis, ...]}, found %s%s",
                          rk_json_describe(json_array_size(linked) ? object : linked, text),
                          json_array_size(linked) ? " with other members" : "");
    }
    for (size_t i = 0; i < json_array_size(linked); i++) {
        (void)rk_json_path_element(list, i, where);
        if (*count == room) {
            return fail_many(where, err);
        }
        rk_sweep_axis *axis = &axes[(*count)++];
        const rk_status status = read_axis(json_array_get(linked, i), where, axis, err);
        if (status != RK_OK) {
            return status;
        }
        if (rk_sweep_axis_count(axis) != rk_sweep_axis_count(axes)) {
            return rk_fail_at(err, RK_ERR_INVALID, where,
                              "linked axes step together: %zu values, but the first has %zu",
                              rk_sweep_axis_count(axis), rk_sweep_axis_count(axes));
        }
    }
    return RK_OK;
}

/* The values of column `column` of a table of rows, as the list that an axis reads. */
static rk_status take_column(const json_t *rows, size_t column, size_t columns, const char *path,
                             json_t *list, rk_error *err)
{
    char where[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (!json_is_array(row) || json_array_size(row) != columns) {
            return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_element(path, i, where),
                              "expected a list of %zu values, one for each key, found %s", columns,
                              json_is_array(row) ? "a list of another length"
                                                 : rk_json_describe(row, text));
        }
        if (json_array_append_new(list, rk_json_deep_copy(json_array_get(row, column)))) {
            return fail_memory(err);
        }
    }
    return RK_OK;
}

/* Reads {"keys": [key, key, ...], "values": [[...], [...], ...]}: a row for each step. */
static rk_status read_table(const json_t *object, const char *path, rk_sweep_axis *axes,
                            size_t room, size_t *count, rk_error *err)
{
    char list[RK_JSON_PATH_SIZE], where[RK_JSON_PATH_SIZE];
    const json_t *keys = json_object_get(object, "keys");
    const json_t *rows = json_object_get(object, "values");
    if (json_array_size(keys) == 0 || !json_is_array(rows) || json_object_size(object) != 2) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "an axis of several keys has \"keys\", a list, and \"values\", a list "
                          "of lists, and nothing else");
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < json_array_size(keys) && status == RK_OK; i++) {
        const json_t *key = json_array_get(keys, i);
        (void)rk_json_path_member(path, "keys", list);
        (void)rk_json_path_element(list, i, where);
        (void)rk_json_path_member(path, "values", list);
        if (*count == room) {
            return fail_many(where, err);
        }
        rk_sweep_axis *axis = &axes[(*count)++];
        axis->values = json_array();
        if (!axis->values) {
            return fail_memory(err);
        }
        status = read_key(key, where, &key, err);
        if (status == RK_OK) {
            status = set_key(axis, json_string_value(key), where, err);
        }
        if (status == RK_OK) {
            status = take_column(rows, i, json_array_size(keys), list, axis->values, err);
        }
        const json_t *checked = NULL;
        if (status == RK_OK) {
            status = read_values(axis->values, list, &checked, err);
        }
        axis->type = status == RK_OK ? common_type(axis->values) : RK_VALUE_NULL;
    }
    return status;
}

rk_status rk_sweep_axis_read(const json_t *object, const char *path, rk_sweep_axis *axes,
                             size_t room, size_t *count, rk_error *err)
{
    *count = 0;
    if (json_object_get(object, "linked")) {
        return read_linked(object, path, axes, room, count, err);
    }
    if (json_object_get(object, "keys")) {
        return read_table(object, path, axes, room, count, err);
    }
    if (room == 0) {
        return fail_many(path, err);
    }
    *count = 1;
    return read_axis(object, path, axes, err);
}

void rk_sweep_axis_clear(rk_sweep_axis *axis)
{
    rk_sweep_key_clear(&axis->key);
    json_decref(axis->values);
    json_decref(axis->documents);
    *axis = (rk_sweep_axis){0};
}

/* ---- values ---------------------------------------------------------------------------- */

size_t rk_sweep_axis_count(const rk_sweep_axis *axis)
{
    return json_array_size(axis->values);
}

rk_value rk_sweep_axis_value(const rk_sweep_axis *axis, size_t index)
{
    return rk_sweep_value_of(json_array_get(axis->values, index));
}

rk_status rk_sweep_axis_place(const rk_sweep_axis *axis, size_t index, json_t *root, rk_error *err)
{
    const json_t *value = json_array_get(axis->documents ? axis->documents : axis->values, index);
    json_t *copy = rk_json_deep_copy(value);
    return copy ? rk_sweep_key_put(&axis->key, root, copy, err) : fail_memory(err);
}

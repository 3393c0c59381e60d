/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/sweep_axis.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 9007199254740992.0 /* 2^53: integers up to here are exact in a double */
#define SLACK     1e-9 /* how far, relatively, rounding may carry the last of some fractions */

/* ---- keys ------------------------------------------------------------------------------ */

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* One part of a key: a name, or an index in brackets. */
struct part {
    bool indexed;
    size_t index;
    char name[RK_JSON_PATH_SIZE];
};

/* Cuts the next part off *rest.  Returns false when there is none that is well formed. */
static bool next_part(const char *key, const char **rest, struct part *part)
{
    const char *at = *rest;
    part->indexed = *at == '[';
    if (part->indexed) {
        const size_t digits = strspn(++at, "0123456789");
        part->index = (size_t)strtoul(at, NULL, 10);
        *rest = at + digits + 1;
        return digits > 0 && digits < 10 && at[digits] == ']';
    }
    const bool first = at == key;
    at += !first && *at == '.';
    const size_t length = strspn(at, NAME_CHARACTERS);
    if (length == 0 || length >= sizeof(part->name) || (!first && at == *rest)) {
        return false;
    }
    memcpy(part->name, at, length);
    part->name[length] = '\0';
    *rest = at + length;
    return true;
}

static bool is_key(const char *text)
{
    struct part part;
    const char *rest = text;
    bool good = strlen(text) < RK_JSON_PATH_SIZE;
    do {
        good = good && next_part(text, &rest, &part);
    } while (good && *rest);
    return good;
}

/* ---- reading --------------------------------------------------------------------------- */

/* An axis as it is written; the values stay in the document. */
struct spec {
    const json_t *key, *values;
    double from, to, step, factor;
};

static rk_status read_key(const json_t *value, const char *path, void *out, rk_error *err)
{
    char text[RK_JSON_TEXT_SIZE];
    *(const json_t **)out = value;
    if (json_is_string(value) && is_key(json_string_value(value))) {
        return RK_OK;
    }
    return rk_fail_at(err, RK_ERR_INVALID, path,
                      "expected the key to vary, such as \"processors\", \"application.hidden\" "
                      "or \"system.networks[0].size\", found %s",
                      rk_json_describe(value, text));
}

static rk_value_type value_type(const json_t *value)
{
    if (json_is_integer(value)) {
        return RK_VALUE_INT;
    }
    if (json_is_real(value)) {
        return RK_VALUE_REAL;
    }
    if (json_is_boolean(value)) {
        return RK_VALUE_BOOL;
    }
    return json_is_string(value) ? RK_VALUE_TEXT : RK_VALUE_NULL;
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
    {                                                                                              \
        .name = #field, .type = RK_FIELD_NUMBER, .offset = offsetof(struct spec, field),           \
        .optional = true, .min = -EXACT_MAX, .max = EXACT_MAX, .help = explanation                 \
    }

static const rk_field spec_fields[] = {
    {.name = "key",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(struct spec, key),
     .read = read_key,
     .help = "what the axis varies"},
    {.name = "values",
     .type = RK_FIELD_CUSTOM,
     .offset = offsetof(struct spec, values),
     .optional = true,
     .read = read_values,
     .help = "the values, one by one"},
    RANGE_FIELD(from, "first value of a range"),
    RANGE_FIELD(to, "end of a range, included when it is met"),
    RANGE_FIELD(step, "difference of neighbours"),
    RANGE_FIELD(factor, "ratio of neighbours"),
};

/*
 * Drops what decimal fractions lose in binary, so that 0.1, 0.2, 0.3 is what a person expects.
 * No value of a range needs more than 15 digits.
 */
static double decimal(double value)
{
    char text[RK_NUMBER_TEXT_SIZE];
    (void)snprintf(text, sizeof(text), "%.15g", value);
    return strtod(text, NULL);
}

static rk_status append_number(json_t *values, bool whole, double number, rk_error *err)
{
    json_t *value = whole ? json_integer((json_int_t)number) : json_real(decimal(number));
    return json_array_append_new(values, value) == 0
               ? RK_OK
               : rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the axes");
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

rk_status rk_sweep_axis_read(const json_t *object, const char *path, rk_sweep_axis *axis,
                             rk_error *err)
{
    struct spec spec = {0};
    *axis = (rk_sweep_axis){0};
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
    axis->key = json_string(json_string_value(spec.key));
    axis->values = spec.values ? json_deep_copy(spec.values) : json_array();
    if (!axis->key || !axis->values) {
        status = rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the axes");
    } else if (!spec.values) {
        status = expand(object, path, &spec, axis->values, err);
    }
    if (status == RK_OK) {
        axis->type = common_type(axis->values);
    } else {
        rk_sweep_axis_clear(axis);
    }
    return status;
}

void rk_sweep_axis_clear(rk_sweep_axis *axis)
{
    json_decref(axis->key);
    json_decref(axis->values);
    json_decref(axis->documents);
    *axis = (rk_sweep_axis){0};
}

/* ---- values ---------------------------------------------------------------------------- */

size_t rk_sweep_axis_count(const rk_sweep_axis *axis)
{
    return json_array_size(axis->values);
}

const char *rk_sweep_axis_key(const rk_sweep_axis *axis)
{
    return json_string_value(axis->key);
}

rk_value rk_sweep_axis_value(const rk_sweep_axis *axis, size_t index)
{
    const json_t *value = json_array_get(axis->values, index);
    switch (value_type(value)) {
    case RK_VALUE_INT:
        return rk_value_int(json_integer_value(value));
    case RK_VALUE_REAL:
        return rk_value_real(json_real_value(value));
    case RK_VALUE_BOOL:
        return rk_value_bool(json_is_true(value));
    case RK_VALUE_TEXT:
        return rk_value_text(json_string_value(value));
    case RK_VALUE_NULL:
        break;
    }
    return (rk_value){0};
}

/* ---- placing --------------------------------------------------------------------------- */

#define SIBLINGS_MAX 64 /* names that are looked at for a suggestion */

static rk_status fail_no_member(json_t *parent, const char *path, const char *name, rk_error *err)
{
    const char *names[SIBLINGS_MAX];
    size_t count = 0;
    for (void *it = json_object_iter(parent); it && count < SIBLINGS_MAX;
         it = json_object_iter_next(parent, it)) {
        names[count++] = json_object_iter_key(it);
    }
    char shown[RK_JSON_TEXT_SIZE];
    const char *nearest = rk_nearest_name(name, names, count);
    if (!nearest) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "there is no \"%s\" here that an axis could vary", name);
    }
    return rk_fail_at(err, RK_ERR_INVALID, path,
                      "there is no \"%s\" here that an axis could vary; did you mean \"%s\"?", name,
                      rk_json_printable(nearest, shown, sizeof(shown)));
}

/* The member or element of `parent` that `part` names; `path` becomes its path. */
static rk_status descend(const struct part *part, json_t *parent, char path[RK_JSON_PATH_SIZE],
                         json_t **child, rk_error *err)
{
    char base[RK_JSON_PATH_SIZE];
    memcpy(base, path, sizeof(base));
    *child =
        part->indexed ? json_array_get(parent, part->index) : json_object_get(parent, part->name);
    if (part->indexed) {
        (void)rk_json_path_element(base, part->index, path);
    } else {
        (void)rk_json_path_member(base, part->name, path);
    }
    if (part->indexed ? !json_is_array(parent) : !json_is_object(parent)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "%s is %s, not %s",
                          base[0] ? base : "the document", rk_json_type_name(parent),
                          part->indexed ? "an array" : "an object");
    }
    if (part->indexed && !*child) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "%s has %zu entries, numbered from 0", base,
                          json_array_size(parent));
    }
    return RK_OK;
}

/* Walks to the last part of `key`; *child is what stands there now, or NULL. */
static rk_status walk(const char *key, json_t *root, json_t **parent, struct part *part,
                      rk_error *err)
{
    char path[RK_JSON_PATH_SIZE] = "";
    const char *rest = key;
    json_t *child = root;
    rk_status status = RK_OK;
    do {
        if (!child) {
            return fail_no_member(*parent, path, part->name, err);
        }
        *parent = child;
        const bool good = next_part(key, &rest, part);
        assert(good); /* the key was checked when it was read */
        status = good ? descend(part, *parent, path, &child, err) : RK_ERR_INVALID;
    } while (status == RK_OK && *rest);
    return status;
}

rk_status rk_sweep_axis_place(const rk_sweep_axis *axis, size_t index, json_t *root, rk_error *err)
{
    json_t *parent = NULL;
    struct part part;
    const rk_status status = walk(rk_sweep_axis_key(axis), root, &parent, &part, err);
    if (status != RK_OK) {
        return status;
    }
    const json_t *value = json_array_get(axis->documents ? axis->documents : axis->values, index);
    json_t *copy = json_deep_copy(value);
    const int failed = part.indexed ? json_array_set_new(parent, part.index, copy)
                                    : json_object_set_new(parent, part.name, copy);
    return failed ? rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for a point") : RK_OK;
}

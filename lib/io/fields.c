/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, checking and writing structs by tables of fields. */
#include "io/fields.h"

#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 160, EXPECTATION_SIZE = 320, KEYS_SIZE = 440, SHORT_LIST = 8 };

/* Appends to the terminated text in out[size], silently cut at its end. */
RK_PRINTF(3, 4) static void append(char *out, size_t size, const char *format, ...)
{
    const size_t length = strlen(out);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(out + length, size - length, format, args);
    va_end(args);
}

static bool is_bounded(const rk_field *field)
{
    return field->min < 0 || field->min > 0 || field->max < 0 || field->max > 0;
}

static bool is_in_range(const rk_field *field, double value)
{
    assert(field->min <= field->max);
    if (!is_bounded(field)) {
        return true;
    }
    const bool low = field->above_min ? value > field->min : value >= field->min;
    const bool high = field->below_max ? value < field->max : value <= field->max;
    return low && high;
}

static void append_range(char out[EXPECTATION_SIZE], const rk_field *field)
{
    char low[RK_NUMBER_TEXT_SIZE], high[RK_NUMBER_TEXT_SIZE];
    (void)rk_double_text(field->min, low);
    (void)rk_double_text(field->max, high);
    if (field->above_min || field->below_max) {
        append(out, EXPECTATION_SIZE, " %s %s and %s %s",
               field->above_min ? "above" : "of at least", low,
               field->below_max ? "below" : "at most", high);
    } else if (is_bounded(field)) {
        append(out, EXPECTATION_SIZE, " from %s to %s", low, high);
    }
}

/* Describes what a field expects: "an integer from 1 to 16", "true or false"... */
static const char *expectation(const rk_field *field, char out[EXPECTATION_SIZE])
{
    out[0] = '\0';
    switch (field->type) {
    case RK_FIELD_INT:
    case RK_FIELD_NUMBER:
        append(out, EXPECTATION_SIZE, "%s",
               field->type == RK_FIELD_INT ? "an integer" : "a number");
        append_range(out, field);
        if (field->unit) {
            append(out, EXPECTATION_SIZE, " (%s)", field->unit);
        }
        break;
    case RK_FIELD_BOOL:
        append(out, EXPECTATION_SIZE, "true or false");
        break;
    case RK_FIELD_ENUM:
        append(out, EXPECTATION_SIZE, "\"%s\"", field->names[0]);
        for (size_t i = 1; field->names[i]; i++) {
            append(out, EXPECTATION_SIZE, "%s\"%s\"", field->names[i + 1] ? ", " : " or ",
                   field->names[i]);
        }
        break;
    default:
        append(out, EXPECTATION_SIZE, "%s", field->help ? field->help : "a value");
        break;
    }
    return out;
}

static rk_status fail_value(const json_t *value, const char *path, const rk_field *field,
                            rk_error *err)
{
    char wanted[EXPECTATION_SIZE], found[RK_JSON_TEXT_SIZE];
    return rk_fail_at(err, RK_ERR_INVALID, path, "expected %s, found %s",
                      expectation(field, wanted), rk_json_describe(value, found));
}

static rk_status read_enum(const json_t *value, const char *path, const rk_field *field,
                           unsigned *out, rk_error *err)
{
    char wanted[EXPECTATION_SIZE], found[RK_JSON_TEXT_SIZE];
    unsigned count = 0;
    if (!json_is_string(value)) {
        return fail_value(value, path, field, err);
    }
    for (; field->names[count]; count++) {
        if (strcmp(field->names[count], json_string_value(value)) == 0) {
            *out = count;
            return RK_OK;
        }
    }
    const char *nearest = rk_nearest_name(json_string_value(value), field->names, count);
    if (!nearest) {
        return fail_value(value, path, field, err);
    }
    return rk_fail_at(err, RK_ERR_INVALID, path, "expected %s, found %s; did you mean \"%s\"?",
                      expectation(field, wanted), rk_json_describe(value, found), nearest);
}

static rk_status read_text(const json_t *value, const char *path, size_t least, char *out,
                           size_t size, rk_error *err)
{
    assert(size > 1 && least < size);
    char found[RK_JSON_TEXT_SIZE];
    if (!json_is_string(value) || json_string_length(value) < least ||
        json_string_length(value) >= size) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a text of %zu to %zu characters, found %s", least, size - 1,
                          rk_json_describe(value, found));
    }
    memcpy(out, json_string_value(value), json_string_length(value) + 1);
    return RK_OK;
}

rk_status rk_field_read(const json_t *value, const char *path, const rk_field *field, void *out,
                        rk_error *err)
{
    void *place = (char *)out + field->offset;
    switch (field->type) {
    case RK_FIELD_INT: {
        const int64_t number = json_integer_value(value);
        if (!json_is_integer(value) || !is_in_range(field, (double)number)) {
            return fail_value(value, path, field, err);
        }
        memcpy(place, &number, sizeof(number));
        return RK_OK;
    }
    case RK_FIELD_NUMBER: {
        const double number = json_number_value(value);
        if (!json_is_number(value) || !is_in_range(field, number)) {
            return fail_value(value, path, field, err);
        }
        memcpy(place, &number, sizeof(number));
        return RK_OK;
    }
    case RK_FIELD_BOOL: {
        const bool truth = json_is_true(value);
        if (!json_is_boolean(value)) {
            return fail_value(value, path, field, err);
        }
        memcpy(place, &truth, sizeof(truth));
        return RK_OK;
    }
    case RK_FIELD_ENUM:
        return read_enum(value, path, field, place, err);
    case RK_FIELD_TEXT:
        return read_text(value, path, field->blank ? 0 : 1, place, field->size, err);
    case RK_FIELD_GROUP:
        return rk_fields_read(value, path, field->group, field->group_count, RK_UNKNOWN_REFUSE,
                              place, err);
    default:
        return field->read(value, path, place, err);
    }
}

/* Fills names[FIELDS_MAX] with the names of the table for rk_nearest_name. */
static void list_names(const rk_field *fields, size_t count, const char *names[FIELDS_MAX])
{
    for (size_t i = 0; i < count; i++) {
        names[i] = fields[i].name;
    }
}

static bool is_known(const char *key, const rk_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, key) == 0) {
            return true;
        }
    }
    return false;
}

static rk_status fail_unknown(const char *path, const char *key, const rk_field *fields,
                              size_t count, rk_error *err)
{
    assert(count <= FIELDS_MAX);
    const char *names[FIELDS_MAX];
    char member[RK_JSON_PATH_SIZE], shown[RK_JSON_TEXT_SIZE], all[KEYS_SIZE] = "";
    list_names(fields, count, names);
    (void)rk_json_path_member(path, key, member);
    (void)rk_json_printable(key, shown, sizeof(shown));
    const char *nearest = rk_nearest_name(key, names, count);
    for (size_t i = 0; i < count && (!nearest || count <= SHORT_LIST); i++) {
        append(all, sizeof(all), "%s%s", i ? ", " : "; the keys are ", names[i]);
    }
    return rk_fail_at(err, RK_ERR_INVALID, member, "unknown key \"%s\"%s%s%s%s", shown, all,
                      nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                      nearest ? "\"?" : "");
}

/* Keys for remarks, allowed wherever unknown keys are not refused altogether. */
static bool is_remark(const char *key)
{
    return strcmp(key, "name") == 0 || strcmp(key, "source") == 0 ||
           strcmp(key, "description") == 0 || strcmp(key, "provenance") == 0;
}

/*
 * Returns the first key of the object that the table lacks, or NULL.  Remarks do not count with
 * `remarks`; with `like`, only a key that could be a misspelling of that name does.
 */
static const char *find_unknown(const json_t *object, const rk_field *fields, size_t count,
                                bool remarks, const char *like)
{
    json_t *iterable = (json_t *)(uintptr_t)object; /* jansson iterates over no const object */
    const char *names[FIELDS_MAX];
    list_names(fields, count, names);
    for (void *at = json_object_iter(iterable); at; at = json_object_iter_next(iterable, at)) {
        const char *key = json_object_iter_key(at);
        if (!is_known(key, fields, count) && !(remarks && is_remark(key)) &&
            (!like || rk_nearest_name(key, names, count) == like)) {
            return key;
        }
    }
    return NULL;
}

static rk_status fail_missing(const json_t *object, const char *path, const rk_field *fields,
                              size_t count, const rk_field *missing, rk_error *err)
{
    char wanted[EXPECTATION_SIZE];
    const char *misspelt = find_unknown(object, fields, count, true, missing->name);
    if (misspelt) {
        return fail_unknown(path, misspelt, fields, count, err);
    }
    return rk_fail_at(err, RK_ERR_INVALID, path, "the key \"%s\" is missing: expected %s",
                      missing->name, expectation(missing, wanted));
}

rk_status rk_fields_read(const json_t *object, const char *path, const rk_field *fields,
                         size_t count, rk_unknown_keys unknown, void *out, rk_error *err)
{
    char member[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    assert(count <= FIELDS_MAX);
    if (!json_is_object(object)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected an object, found %s",
                          rk_json_describe(object, found));
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        rk_status status = RK_OK;
        if (value) {
            (void)rk_json_path_member(path, fields[i].name, member);
            status = rk_field_read(value, member, &fields[i], out, err);
        } else if (!fields[i].optional) {
            status = fail_missing(object, path, fields, count, &fields[i], err);
        }
        if (status) {
            return status;
        }
    }
    const char *key = unknown == RK_UNKNOWN_IGNORE
                          ? NULL
                          : find_unknown(object, fields, count, unknown == RK_UNKNOWN_REFUSE, NULL);
    return key ? fail_unknown(path, key, fields, count, err) : RK_OK;
}

rk_status rk_field_text(const json_t *value, const char *path, char *out, size_t size,
                        rk_error *err)
{
    return read_text(value, path, 1, out, size, err);
}

static json_t *write_field(const rk_field *field, const void *place)
{
    switch (field->type) {
    case RK_FIELD_INT:
        return json_integer(*(const int64_t *)place);
    case RK_FIELD_NUMBER: {
        const double number = *(const double *)place;
        return isfinite(number) ? json_real(number) : json_null();
    }
    case RK_FIELD_BOOL:
        return json_boolean(*(const bool *)place);
    default:
        return json_string(field->names[*(const unsigned *)place]);
    }
}

json_t *rk_fields_write(const rk_field *fields, size_t count, const void *in)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < count; i++) {
        const void *place = (const char *)in + fields[i].offset;
        if (fields[i].type < RK_FIELD_TEXT &&
            json_object_set_new(object, fields[i].name, write_field(&fields[i], place))) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

rk_status rk_field_pass(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)value;
    (void)path;
    (void)out;
    (void)err;
    return RK_OK;
}

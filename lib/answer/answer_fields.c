/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows of answers by their tables of fields. */
#include "answer/answer_fields.h"

#include "base/time_text.h"
#include "base/value.h"

#include <assert.h>
#include <math.h>
#include <string.h>

rk_value rk_answer_value(const rk_answer_field *field, const void *row)
{
    const char *place = (const char *)row + field->offset;
    const rk_value none = {.type = RK_VALUE_NULL};
    switch (field->type) {
    case RK_VALUE_INT: {
        assert(field->size == sizeof(int) || field->size == sizeof(int64_t));
        const int64_t count =
            field->size == sizeof(int) ? *(const int *)place : *(const int64_t *)place;
        return field->positive && count <= 0 ? none : rk_value_int(count);
    }
    case RK_VALUE_REAL: {
        const double real = *(const double *)place;
        return isfinite(real) && !(field->positive && real <= 0) ? rk_value_real(real) : none;
    }
    case RK_VALUE_BOOL:
        return rk_value_bool(*(const bool *)place);
    default:
        place = field->type == RK_VALUE_TEXT ? *(const char *const *)place : place;
        return place ? rk_value_text(place) : none;
    }
}

void rk_json_member(rk_json_writer *writer, const char *key, const rk_value *value)
{
    switch (value->type) {
    case RK_VALUE_INT:
        rk_json_count(writer, key, (uint64_t)value->integer);
        break;
    case RK_VALUE_BOOL:
        rk_json_flag(writer, key, value->boolean);
        break;
    case RK_VALUE_TEXT:
        rk_json_string(writer, key, value->text);
        break;
    default:
        rk_json_real(writer, key, value->type == RK_VALUE_REAL ? value->real : (double)NAN);
    }
}

void rk_answer_members(rk_json_writer *writer, const rk_answer_field *fields, size_t count,
                       const void *row)
{
    for (size_t i = 0; i < count; i++) {
        const rk_value value = rk_answer_value(&fields[i], row);
        if (fields[i].in != RK_IN_CSV && (value.type != RK_VALUE_NULL || !fields[i].optional)) {
            rk_json_member(writer, fields[i].key, &value);
        }
    }
}

void rk_answer_item(rk_json_writer *writer, const rk_answer_field *fields, size_t count,
                    const void *row)
{
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_answer_members(writer, fields, count, row);
    rk_json_close(writer, "}");
}

size_t rk_answer_columns(const rk_answer_field *fields, size_t count, rk_column *columns)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].in != RK_IN_JSON) {
            columns[used++] = (rk_column){fields[i].key, fields[i].type};
        }
    }
    return used;
}

size_t rk_answer_values(const rk_answer_field *fields, size_t count, const void *row,
                        rk_value *values)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].in != RK_IN_JSON) {
            values[used++] = rk_answer_value(&fields[i], row);
        }
    }
    return used;
}

size_t rk_answer_titles(const rk_answer_field *fields, size_t count, rk_table_column *columns)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (fields[i].title) {
            const bool words = fields[i].type == RK_VALUE_TEXT || fields[i].type == RK_VALUE_NULL;
            columns[used++] =
                (rk_table_column){fields[i].title, words ? RK_ALIGN_LEFT : RK_ALIGN_RIGHT};
        }
    }
    return used;
}

void rk_answer_cells(rk_table *table, const rk_answer_field *fields, size_t count, const void *row)
{
    char text[RK_NUMBER_TEXT_SIZE];
    for (size_t i = 0; i < count; i++) {
        const rk_answer_field *f = &fields[i];
        const rk_value value = rk_answer_value(f, row);
        if (f->title && value.type == RK_VALUE_REAL && f->shown == RK_SHOWN_DURATION) {
            rk_table_cell(table, "%s", rk_duration_text(value.real, text));
        } else if (f->title && value.type == RK_VALUE_REAL) {
            rk_table_cell(table,
                          f->shown == RK_SHOWN_SHORT    ? "%.*g"
                          : f->shown == RK_SHOWN_SIGNED ? "%+.*f"
                                                        : "%.*f",
                          f->digits, f->factor * value.real);
        } else if (f->title) {
            rk_table_cell(table, "%s",
                          value.type == RK_VALUE_NULL ? "-" : rk_value_format(&value, text));
        }
    }
}

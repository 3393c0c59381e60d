/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers as tables of fields: one table names the figures of a row, and its JSON object, its CSV
 * line and its line of text come from it.
 */
#ifndef RK_ANSWER_ANSWER_FIELDS_H
#define RK_ANSWER_ANSWER_FIELDS_H

#include "io/csv_out.h"
#include "io/json_write.h"
#include "io/table.h"

/* Where a field is: in JSON and CSV, or in one of them. */
typedef enum rk_place { RK_IN_ALL, RK_IN_JSON, RK_IN_CSV } rk_place;

/* How text prints a number, with its digits. */
typedef enum rk_shown {
    RK_SHOWN_FIXED,
    RK_SHOWN_SIGNED,
    RK_SHOWN_SHORT,
    RK_SHOWN_DURATION
} rk_shown;

typedef struct rk_answer_field {
    const char *key;    /* in JSON and CSV */
    rk_value_type type; /* RK_VALUE_NULL: characters in the row itself */
    size_t offset, size;
    rk_place in;
    const char *title; /* of the column of text; NULL: none */
    double factor;     /* of what text prints */
    int digits;
    rk_shown shown;
    bool positive; /* numbers of 0 and less are not known */
    bool optional; /* JSON leaves it out where it is not known */
} rk_answer_field;

/* The type of a member: whole numbers of 4 or 8 bytes, doubles, booleans, strings. */
#define RK_TYPE_OF(expression)                                                                     \
    _Generic((expression), double: RK_VALUE_REAL, bool: RK_VALUE_BOOL, const char *: RK_VALUE_TEXT,  \
             char *: RK_VALUE_NULL, default: RK_VALUE_INT)

/* The key of a member, its type and its place, for the beginning of a field. */
#define RK_ANSWER_FIELD(key_, row, member)                                                         \
    .key = key_, .type = RK_TYPE_OF(((row *)0)->member), .offset = offsetof(row, member),          \
    .size = sizeof(((row *)0)->member)

/* A figure with the same name in C, JSON and CSV. */
#define RK_ANSWER_FIGURE(row, member) RK_ANSWER_FIELD(#member, row, member)

/* A share that text prints in percent. */
#define RK_PERCENT(title_, digits_) .title = title_, .factor = 100, .digits = digits_

/* The value of a field; RK_VALUE_NULL of a number that is not finite, not known, and of no text. */
rk_value rk_answer_value(const rk_answer_field *field, const void *row);

/* Writes a value as a member, null where there is none. */
void rk_json_member(rk_json_writer *writer, const char *key, const rk_value *value);

/* Writes the members of an object, the object as an item of a list, or one after its key. */
void rk_answer_members(rk_json_writer *writer, const rk_answer_field *fields, size_t count,
                       const void *row);
void rk_answer_item(rk_json_writer *writer, const rk_answer_field *fields, size_t count,
                    const void *row);

/* Append the columns of CSV, and the values of a row.  Return how many. */
size_t rk_answer_columns(const rk_answer_field *fields, size_t count, rk_column *columns);
size_t rk_answer_values(const rk_answer_field *fields, size_t count, const void *row,
                        rk_value *values);

/* Append the columns of text, and fill a row: "-" where a number is not finite. */
size_t rk_answer_titles(const rk_answer_field *fields, size_t count, rk_table_column *columns);
void rk_answer_cells(rk_table *table, const rk_answer_field *fields, size_t count, const void *row);

#endif

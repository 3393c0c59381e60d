/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents as tables of fields: one table reads, checks, suggests, writes and documents a
 * JSON object that fills a plain struct.
 */
#ifndef RK_IO_FIELDS_H
#define RK_IO_FIELDS_H

#include "io/json.h"

typedef enum rk_field_type {
    RK_FIELD_INT,    /* int64_t; a JSON integer (never a real or a boolean) */
    RK_FIELD_NUMBER, /* double; a JSON integer or real */
    RK_FIELD_BOOL,   /* bool */
    RK_FIELD_ENUM,   /* an enum (read and written as unsigned); a JSON string among `names` */
    RK_FIELD_TEXT, /* char[size]; a JSON string of 1 to size - 1 characters, or of none (`blank`) */
    RK_FIELD_GROUP,  /* a struct; a JSON object that the table `group` reads into it */
    RK_FIELD_CUSTOM, /* anything else: `read` does the work */
} rk_field_type;

typedef struct rk_field {
    const char *name;
    rk_field_type type;
    size_t offset;                /* of the value in the struct */
    bool optional;                /* when absent, the struct keeps its value */
    double min, max;              /* inclusive bounds of numbers; min == max == 0: none */
    bool above_min, below_max;    /* the bound itself is excluded */
    const char *const *names;     /* of an enum, NULL-terminated; the index is the value */
    size_t size;                  /* of a text */
    bool blank;                   /* a text may be empty */
    const struct rk_field *group; /* of a group */
    size_t group_count;
    /* Of a custom field: reads `value`, found at JSON path `path`, into its place `out`. */
    rk_status (*read)(const json_t *value, const char *path, void *out, rk_error *err);
    const char *unit; /* for documentation, e.g. "GB/s"; NULL: none */
    const char *help; /* one line */
} rk_field;

/* A row of a table: the key, INT to CUSTOM, the offset of the value, and what else the row says. */
#define RK_FIELD(key, kind, place, ...)                                                            \
    {                                                                                              \
        .name = key, .type = RK_FIELD_##kind, .offset = place, __VA_ARGS__                         \
    }

/* The same of a text, from a member that is an array of characters. */
#define RK_TEXT_FIELD(key, type_, member, ...)                                                     \
    RK_FIELD(key, TEXT, offsetof(type_, member), .size = sizeof(((type_ *)0)->member), __VA_ARGS__)

typedef enum rk_unknown_keys {
    RK_UNKNOWN_REFUSE, /* error with the nearest name; "name", "source", "description", "provenance"
                          pass */
    RK_UNKNOWN_IGNORE, /* pass; a missing key still suggests a misspelt one */
    RK_UNKNOWN_NEVER,  /* error for any other key at all */
} rk_unknown_keys;

/*
 * Reads `object`, found at JSON path `path` ("" for the root), by the table.  The first fault in
 * table order is reported (missing key, wrong type, out of range, unknown name with the nearest
 * right one), unknown keys last.  `err` gets the path; the caller adds the file.
 */
rk_status rk_fields_read(const json_t *object, const char *path, const rk_field *fields,
                         size_t count, rk_unknown_keys unknown, void *out, rk_error *err);

/* Reads one value, found at JSON path `path`, into its place in the struct at `out`. */
rk_status rk_field_read(const json_t *value, const char *path, const rk_field *field, void *out,
                        rk_error *err);

/* Reads a text of 1 to size - 1 characters.  For the readers of custom fields. */
rk_status rk_field_text(const json_t *value, const char *path, char *out, size_t size,
                        rk_error *err);

/* Passes over the value of a custom field. */
rk_status rk_field_pass(const json_t *value, const char *path, void *out, rk_error *err);

/* Returns a new JSON object with the fields of the struct in table order (texts, groups and custom
 * fields are left out), or NULL when there is no memory.  The caller owns it. */
json_t *rk_fields_write(const rk_field *fields, size_t count, const void *in);

#endif

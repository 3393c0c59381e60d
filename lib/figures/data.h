/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of results in memory, and the values of expressions over their columns. */
#ifndef RK_FIGURES_DATA_H
#define RK_FIGURES_DATA_H

#include "base/arena.h"
#include "base/value.h"
#include "io/json.h"

typedef struct rk_data {
    const char *name;   /* name in the document */
    const char **names; /* of the columns */
    rk_value **cells;   /* [column][row]; text is borrowed from the arena */
    size_t columns, rows;
    size_t room; /* for columns */
} rk_data;

/*
 * Loads a CSV file, or the database of a sweep.  Rows whose `rank` is above 0 are left out unless
 * `all_ranks`.  Cells that are empty have no value; numbers and truths are read as such.
 */
rk_status rk_data_load(const char *path, bool all_ranks, rk_arena *arena, rk_data *data,
                       rk_error *err);

/* Rows of a table. */
typedef struct rk_rows {
    const rk_data *data;
    size_t *rows;
    size_t count;
} rk_rows;

/* The rows where `where` holds (NULL: all). */
rk_status rk_data_select(const rk_data *data, const char *where, const char *path, rk_arena *arena,
                         rk_rows *rows, rk_error *err);

/* The values of an expression at those rows.  An error names `path`. */
rk_status rk_data_evaluate(const rk_rows *rows, const char *expression, const char *path,
                           rk_arena *arena, rk_value **values, rk_error *err);

/* Adds a column of the values of an expression. */
rk_status rk_data_add_column(rk_data *data, const char *name, const char *expression,
                             const char *path, rk_arena *arena, rk_error *err);

/*
 * Adds a column that holds, at each row, what `value` is at the first row where `where` holds and
 * the columns `same` (a list of names) are the same: a row of the same table for comparison.
 */
typedef struct rk_reference_value {
    const char *value, *where;
    const json_t *same;
} rk_reference_value;

rk_status rk_data_add_beside(rk_data *data, const char *name, const rk_reference_value *beside,
                             const char *path, rk_arena *arena, rk_error *err);

/* Named values, and an expression over them. */
typedef struct rk_named_values {
    const char **names;
    rk_value *values;
    size_t count, room;
} rk_named_values;

rk_status rk_named_evaluate(const rk_named_values *values, const char *expression, const char *path,
                            rk_arena *arena, rk_value *value, rk_error *err);

/* NaN for what is not a number. */
double rk_value_number(const rk_value *value);

/* Whether two values are the same: numbers as numbers, and no value as no value. */
bool rk_value_same(const rk_value *a, const rk_value *b);

/* "path.name" and "path[i]" in a buffer of the arena's (short paths are borrowed by none). */
#define RK_PATH(path, name) rk_json_path_member(path, name, (char[RK_JSON_PATH_SIZE]){0})
#define RK_PLACE(path, i)   rk_json_path_element(path, i, (char[RK_JSON_PATH_SIZE]){0})

#endif

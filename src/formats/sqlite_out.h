/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of a sweep in an SQLite file.  Tables: `sweep`, one row that says what was asked;
 * `points`, one row for each finished point; `results`, one row for each ranked mapping of it.
 * The rows of a point appear together, so a point that is there is finished.
 */
#ifndef RK_FORMATS_SQLITE_OUT_H
#define RK_FORMATS_SQLITE_OUT_H

#include "formats/value.h"
#include "reckon/reckon.h"

typedef struct rk_sqlite_out rk_sqlite_out;

/* What the file is for, and the columns of a row: those of `points`, then those of `results`. */
typedef struct rk_sqlite_layout {
    const char *document; /* rk_sweep_doc_text */
    uint64_t point_count;
    const rk_column *columns; /* of a row; the first is the number of the point */
    size_t column_count;
    size_t point_column_count; /* the columns of `points`; the next is the rank */
} rk_sqlite_layout;

/*
 * Creates the file, or with `resume` continues one of the same document and version of reckon.
 * Errors: RK_ERR_INVALID for a file that holds something else (or, without `resume`, anything).
 * The layout must outlive *out; the caller closes *out.
 */
rk_status rk_sqlite_open(const char *path, bool resume, const rk_sqlite_layout *layout,
                         rk_sqlite_out **out, rk_error *err);

/* Adds a row of values.  A point without results has one row, whose rank is RK_VALUE_NULL. */
rk_status rk_sqlite_add(rk_sqlite_out *out, const rk_value *row, rk_error *err);

/* Ends the point to which the last rows belong: they are safe now. */
rk_status rk_sqlite_commit(rk_sqlite_out *out, rk_error *err);

/*
 * Reads the rows of a finished point by rank into `row` (column_count values; text lives until
 * `visit` returns) and calls `visit` for each.  *found says whether the point is finished.
 */
rk_status rk_sqlite_read(rk_sqlite_out *out, uint64_t number, rk_value *row,
                         rk_status (*visit)(void *user, rk_error *err), void *user, bool *found,
                         rk_error *err);

/* Closes the file; rows that were not committed are gone.  NULL is legal. */
void rk_sqlite_close(rk_sqlite_out *out);

#endif

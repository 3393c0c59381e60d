/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of a sweep in an SQLite file.  Tables: `sweep`, one row with the request; `points`,
 * one row for each finished point; `results`, one row for each of its results; `pareto`, if
 * requested.  The rows of a point appear together, so a point that is there is finished.  Results
 * lie in the order of point and rank, not of arrival, so that dumps of the same results are the
 * same.
 */
#ifndef RK_IO_SQLITE_OUT_H
#define RK_IO_SQLITE_OUT_H

#include "base/value.h"
#include "reckon/reckon.h"

typedef struct rk_sqlite_out rk_sqlite_out;

/* The sweep of the file, and the columns of a row: of `points`, then of `results`. */
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

/* Add the columns of a point, or the number and the others of a row; a transaction is opened. */
rk_status rk_sqlite_add_point(rk_sqlite_out *out, const rk_value *row, rk_error *err);
rk_status rk_sqlite_add_result(rk_sqlite_out *out, const rk_value *row, rk_error *err);

/* Ends the transaction, if there is one: what was added is safe now.  A point that was added must
 * have all of its results. */
rk_status rk_sqlite_commit(rk_sqlite_out *out, rk_error *err);

/* Calls `visit` for each point that is there, in order of number. */
rk_status rk_sqlite_points(rk_sqlite_out *out,
                           void (*visit)(void *user, uint64_t number, bool has_results), void *user,
                           rk_error *err);

/*
 * Reads the rows of a point by rank into `row` (column_count values; text lives until `visit`
 * returns) and calls `visit` for each; one without results has one, whose rank is RK_VALUE_NULL.
 */
rk_status rk_sqlite_read(rk_sqlite_out *out, uint64_t number, rk_value *row,
                         rk_status (*visit)(void *user, uint64_t number, rk_error *err), void *user,
                         rk_error *err);

/* Replaces the table `pareto` by these rows, whose places are `points` and `ranks`. */
rk_status rk_sqlite_write_pareto(rk_sqlite_out *out, const uint64_t *points, const uint64_t *ranks,
                                 size_t count, rk_error *err);

/* Closes the file; rows that were not committed are gone.  NULL is legal. */
void rk_sqlite_close(rk_sqlite_out *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of one thread of a sweep: it goes to a point, searches or estimates there, and writes
 * the rows of the point as bytes, which the rk_sweep_rows_* functions read.
 */
#ifndef RK_SWEEP_WORKER_H
#define RK_SWEEP_WORKER_H

#include "base/bytes.h"
#include "sweep/sweep_table.h"

/* Limit on the candidates examined for results that meet the constraints. */
#define RK_SWEEP_CANDIDATES_MAX 100000

typedef struct rk_sweep_worker {
    const rk_sweep_table *table;
    rk_sweep_cursor cursor;
    rk_sweep_state state;
    rk_value *inside; /* owned; a row of the table */
    rk_value *row;    /* its output columns, after it */
    rk_bytes text;    /* owned; the CSV lines of a point */
} rk_sweep_worker;

/* The table must outlive the worker; cleared with rk_sweep_worker_clear, also after a failure. */
rk_status rk_sweep_worker_init(rk_sweep_worker *worker, const rk_sweep_table *table, rk_error *err);
void rk_sweep_worker_clear(rk_sweep_worker *worker);

/* Goes to a point and reads it, unless a constraint drops it.  An error names the point. */
rk_status rk_sweep_worker_read(rk_sweep_worker *worker, uint64_t number, bool *kept, rk_error *err);

/* Both: the strategies are 0 when the point is dropped. */
rk_status rk_sweep_worker_look(rk_sweep_worker *worker, uint64_t number, bool *kept,
                               uint64_t *strategies, rk_error *err);

/* Appends the rows of the point that was read, after a search or an estimate. */
rk_status rk_sweep_worker_settle(rk_sweep_worker *worker, const rk_search_control *control,
                                 rk_bytes *rows, rk_error *err);

/* ---- a search in slices ---------------------------------------------------------------------- */

/* Empties `found` and gives it its limit. */
void rk_point_result_start(const rk_sweep_worker *worker, unsigned round, rk_point_result *found);

/* Searches a slice of the point that was read, and appends what it has found. */
rk_status rk_sweep_worker_slice(rk_sweep_worker *worker, unsigned round,
                                const rk_search_control *control, rk_bytes *result, rk_error *err);

/* Merges what a slice has found. */
rk_status rk_point_result_add(const rk_sweep_worker *worker, rk_point_result *found, bool first,
                              const rk_bytes *result, rk_error *err);

/*
 * Appends the rows of the current point from everything found in a round, unless another round is
 * needed (*again).
 */
rk_status rk_sweep_worker_finish(rk_sweep_worker *worker, unsigned round, rk_point_result *found,
                                 rk_bytes *rows, bool *again, rk_error *err);

/* ---- rows ------------------------------------------------------------------------------------ */

/*
 * The rows of a point begin with its number and their count, 0 if it was dropped. The same rows as
 * text follow (CSV lines or ""): formatting is slower than everything else in a small estimate, so
 * the worker does it.
 */
void rk_sweep_rows_begin(rk_bytes *rows, uint64_t number, uint64_t count);
void rk_sweep_rows_add(rk_bytes *rows, const rk_value *row, size_t count);

/* Reads the rows back; text lives as long as the bytes.  rk_bytes_take_text reads the lines. */
bool rk_sweep_rows_next(rk_bytes_reader *reader, uint64_t *number, uint64_t *count);
void rk_sweep_rows_take(rk_bytes_reader *reader, rk_value *row, size_t count);

#endif

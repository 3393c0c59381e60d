/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a sweep.  Rows come in any order.  They enter the database as they come, many points
 * in a transaction, and the CSV file in the order of points: a place in that order is reserved for
 * each piece of work before it is done.
 */
#ifndef RK_SWEEP_WRITER_H
#define RK_SWEEP_WRITER_H

#include "io/csv_out.h"
#include "io/sqlite_out.h"
#include "sweep/pareto.h"
#include "sweep/sweep.h"

/* A piece of work: the points from first to last. */
typedef struct rk_sweep_place {
    uint64_t first, last;
    bool ready;
    bool finished; /* by an earlier run: the rows are in the database */
    rk_bytes rows; /* owned */
} rk_sweep_place;

typedef struct rk_sweep_writer {
    const rk_sweep_table *table;
    rk_sqlite_layout layout;
    rk_csv_out *csv;       /* NULL: none */
    rk_sqlite_out *sqlite; /* NULL: none */
    rk_sweep_pareto pareto;
    bool has_pareto;
    bool (*take_row)(void *user, const rk_sweep_row *row); /* of the options; may be NULL */
    void *user;
    rk_value *row;           /* owned; scratch */
    unsigned char *finished; /* owned: a bit per point; NULL: none */
    rk_sweep_place *places;  /* owned; those before `head` are settled */
    size_t head, count, room;
    uint64_t dropped;              /* places removed at the front */
    size_t waiting;                /* bytes of rows that wait for earlier ones */
    bool broken;                   /* do not commit what is pending */
    double flushed, flush_seconds; /* when files were last flushed, and how often */
    uint64_t resumed, fitting;     /* points */
} rk_sweep_writer;

/* Opens the files.  Closed with rk_sweep_writer_close, also after a failure. */
rk_status rk_sweep_writer_open(rk_sweep_writer *writer, const rk_sweep_table *table,
                               const rk_sweep_options *options, rk_error *err);

/* Whether an earlier run has finished a point. */
bool rk_sweep_writer_has(const rk_sweep_writer *writer, uint64_t number);

/* Whether so many rows wait for earlier ones that no new work should begin. */
bool rk_sweep_writer_is_full(const rk_sweep_writer *writer);

/* Reserves the next place in the order, for points whose rows are to come; or are in the database.
 */
rk_status rk_sweep_writer_reserve(rk_sweep_writer *writer, uint64_t first, uint64_t last,
                                  bool finished, uint64_t *place, rk_error *err);

/* Takes the rows of a place; copies them when they have to wait. */
rk_status rk_sweep_writer_put(rk_sweep_writer *writer, uint64_t place, const unsigned char *rows,
                              size_t size, rk_error *err);

/* Flushes the files, at most twice a second unless `now`. */
rk_status rk_sweep_writer_flush(rk_sweep_writer *writer, bool now, rk_error *err);

/* Writes what remains after the last place, and the Pareto front. */
rk_status rk_sweep_writer_finish(rk_sweep_writer *writer, rk_error *err);

/* Saves what has arrived so far, and closes. Fills `err` only if there was no error before. */
rk_status rk_sweep_writer_close(rk_sweep_writer *writer, rk_status status, rk_error *err);

/* Writes the points whose places are not ready: "points 3-7, 12". */
const char *rk_sweep_writer_missing(const rk_sweep_writer *writer, char *out, size_t size);

#endif

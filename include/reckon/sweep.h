/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sweeps: a search or an estimate at every point of a grid.
 *
 *     static bool print(void *user, const rk_sweep_row *row)
 *     {
 *         for (size_t i = 0; i < row->count; i++) {
 *             if (row->values[i].type == RK_VALUE_REAL) {
 *                 printf("%s %g ", row->columns[i].name, row->values[i].real);
 *             }
 *         }
 *         return true;
 *     }
 *
 *     rk_sweep *sweep;
 *     rk_sweep_control control = {.size = sizeof(control), .row = print};
 *     rk_status status = rk_sweep_create("grid.json", &sweep, &err);
 *     status = status ? status : rk_sweep_points(sweep, &control, NULL, 0, &err);
 *     rk_sweep_free(sweep);
 *
 * Rows are identical to `reckon sweep`.  docs/sweep.md describes the document.
 */
#ifndef RECKON_SWEEP_H
#define RECKON_SWEEP_H

#include "reckon/command.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values ---------------------------------------------------------------------------------- */

/* Type of a value. */
typedef enum rk_value_type {
    RK_VALUE_NULL = 0, /* no value; of a column: values of several types */
    RK_VALUE_INT = 1,  /* `integer` */
    RK_VALUE_REAL = 2, /* `real` */
    RK_VALUE_BOOL = 3, /* `boolean` */
    RK_VALUE_TEXT = 4, /* `text` */
} rk_value_type;

/* One value of a table. */
typedef struct rk_value {
    rk_value_type type; /* says which of the following it is */
    union {
        int64_t integer;  /* of RK_VALUE_INT */
        double real;      /* of RK_VALUE_REAL */
        bool boolean;     /* of RK_VALUE_BOOL */
        const char *text; /* of RK_VALUE_TEXT; borrowed */
    };
} rk_value;

/* A column of a table. */
typedef struct rk_column {
    const char *name;   /* as in CSV; borrowed */
    rk_value_type type; /* of its values that are not null */
} rk_column;

/* ---- documents ------------------------------------------------------------------------------- */

/* A sweep document with everything that it names. */
typedef struct rk_sweep_doc rk_sweep;

/*
 * Reads the document of a sweep: a file or a JSON text.  Free *sweep with rk_sweep_free; it is NULL
 * after a failure.  Errors: RK_ERR_IO, RK_ERR_SYNTAX, RK_ERR_INVALID with file and JSON path,
 * RK_ERR_LIMIT for too many points, RK_ERR_MEMORY.
 */
RK_API rk_status rk_sweep_create(const char *document, rk_sweep **sweep, rk_error *err);

/* NULL is legal. */
RK_API void rk_sweep_free(rk_sweep *sweep);

/* ---- running --------------------------------------------------------------------------------- */

/* A row of the table: a point and one of its results, or a point without one. */
typedef struct rk_sweep_row {
    uint64_t point;           /* number of the point, in grid order, from 0 */
    size_t count;             /* of columns */
    const rk_column *columns; /* that the document requests; the same for all rows */
    const rk_value *values; /* one each, valid until the function returns; values of the result are
                               null if nothing fits at the point */
} rk_sweep_row;

/* How far a sweep is. */
typedef struct rk_sweep_progress {
    bool checking;         /* all points are being read, before the first search */
    uint64_t points_done;  /* of what is being done: checking, then searching */
    uint64_t points_total; /* of the grid */
    uint64_t done;         /* strategies; 0 while checking */
    uint64_t total;        /* strategies; 0 while checking */
    uint64_t resumed;      /* part of `done` that an earlier run completed */
} rk_sweep_progress;

/* Counts of a sweep. */
typedef struct rk_sweep_totals {
    uint64_t points;     /* of the grid */
    uint64_t dropped;    /* points that break a constraint */
    uint64_t strategies; /* of all points (an upper bound with mbs_break); of estimates, points */
    uint64_t resumed;    /* points that were finished before */
    uint64_t fitting;    /* points with at least one result */
} rk_sweep_totals;

/* How a sweep runs and where its rows go.  All zero except `size` is legal and discards them. */
typedef struct rk_sweep_control {
    size_t size;     /* sizeof(rk_sweep_control); fields may be added at the end */
    void *user;      /* handed to the functions below */
    int64_t threads; /* 0: one per core */
    /*
     * Receives the rows in the order of points, from the thread that called rk_sweep_points.
     * Return false to stop: RK_ERR_STOPPED.  May be NULL.
     */
    bool (*row)(void *user, const rk_sweep_row *row);
    /* Called several times a second, from the same thread.  Return false to stop.  May be NULL. */
    bool (*progress)(void *user, const rk_sweep_progress *progress);
    const char *csv;    /* file that gets the rows as well; NULL: none */
    const char *sqlite; /* database that gets them; NULL: none */
    bool resume;        /* take finished points from the database */
    const char *pareto; /* only rows on the Pareto front of these columns: "time,memory,max:COLUMN";
                           NULL: all rows */
    rk_team *team;      /* NULL: this process is alone */
} rk_sweep_control;

/*
 * Reads every point and counts its strategies, without a search.  Fills the first `size` bytes of
 * `totals`: pass sizeof(rk_sweep_totals).  Errors: RK_ERR_INVALID for a point, RK_ERR_LIMIT,
 * RK_ERR_MEMORY.
 */
RK_API rk_status rk_sweep_count(const rk_sweep *sweep, rk_sweep_totals *totals, size_t size,
                                rk_error *err);

/*
 * Checks every point, then runs all and delivers their rows.  `control` may be NULL, and so may
 * `totals`, whose first `size` bytes are filled.  After RK_ERR_STOPPED, the rows of finished points
 * have been delivered.  Errors as of rk_sweep_count; RK_ERR_IO for files.
 */
RK_API rk_status rk_sweep_points(const rk_sweep *sweep, const rk_sweep_control *control,
                                 rk_sweep_totals *totals, size_t size, rk_error *err);

#ifdef __cplusplus
}
#endif

#endif

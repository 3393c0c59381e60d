/* SPDX-License-Identifier: Apache-2.0 */
/* The verb validate: tables of measured runs compared with predictions. */
#ifndef RK_EVIDENCE_VALIDATE_RUNS_H
#define RK_EVIDENCE_VALIDATE_RUNS_H

#include "base/value.h"
#include "evidence/figures.h"

extern const char *const rk_split_names[]; /* NULL-terminated */

typedef struct rk_validate_request {
    const char *runs, *only, *sources, *output, *plot, *residuals, *intervals, *figures;
    const char *memory_residuals;
    int split;   /* index in rk_split_names; -1: all */
    unsigned by; /* rk_dimension, a bit each */
    int options; /* an rk_case_extent; -1: none */
    bool rows, json, csv, whole, verbose;
} rk_validate_request;

/* A request for all rows, grouped by source and kind. */
void rk_validate_request_init(rk_validate_request *request);

struct rk_validation {
    rk_validate_request request;
    rk_run_sources sources;
    rk_run_table tables[RK_VALIDATION_TABLES];
    size_t table_count;
    rk_comparison comparison;
    rk_grouping all; /* one group: all selected rows */
    rk_grouping by;  /* by the dimensions of the request */
};

/*
 * Adds a table, whose cells stay owned by the caller. Refuses a table without the columns of a run,
 * and too many tables.
 */
rk_status rk_validation_add(rk_validation *v, const rk_run_table *table, rk_error *err);

/* Compares and scores the rows that v->request selects. */
rk_status rk_validation_compare(rk_validation *v, rk_error *err);

/*
 * Writes the residuals of time, or of memory, of the selected rows to the file that the request
 * names; without one, it writes nothing.
 */
rk_status rk_validation_write_residuals(const rk_validation *v, bool of_memory, rk_error *err);

/* Releases the comparison, but not the tables. */
void rk_validation_clear(rk_validation *v);

/* ---- figures of a row ------------------------------------------------------------------------ */

/* The figures of a row; texts are borrowed from the row, the table or the program. */
rk_validation_row rk_compared_figures(const rk_compared *row);

/* Whether it fits, in a word: "yes", "no", "will thrash", "unknown". */
const char *rk_compared_fits(const rk_compared *row);

/* ---- counting what was said of rows ---------------------------------------------------------- */

typedef struct rk_remark {
    char text[RK_COMPARED_TEXT];
    size_t rows;
} rk_remark;

enum { RK_REMARK_MAX = 48 };

/* Reasons why selected rows are left out, the most frequent first. */
size_t rk_validation_left_out(const rk_validation *v, rk_remark out[RK_REMARK_MAX]);

/* Columns of predicted rows that were empty and took a default. */
size_t rk_validation_assumed(const rk_validation *v, rk_remark out[RK_REMARK_MAX]);

#endif

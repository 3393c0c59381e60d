/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result table of a sweep.  Inside, a row has everything: the point, its axes and counts, then
 * the rank and all columns of the method.  Outside, it has the columns of the document, some of
 * which are expressions: first the point's, then the rank and the result's.
 */
#ifndef RK_SWEEP_SWEEP_TABLE_H
#define RK_SWEEP_SWEEP_TABLE_H

#include "sweep/solve_point.h"

/* An output column: a copy of an inner one, or an expression. */
typedef struct rk_sweep_output {
    size_t inside;            /* when there is no expression */
    rk_sweep_formula formula; /* expression NULL: none */
} rk_sweep_output;

typedef struct rk_sweep_table {
    const rk_sweep_doc *doc;
    const rk_method *method;

    rk_column *inside;                         /* owned */
    char (*axis_names)[RK_JSON_PATH_SIZE + 8]; /* owned */
    char (*names)[RK_METHOD_COLUMN_SIZE];      /* owned; of results */
    size_t inside_count, first_count, count_count, rank;

    rk_sweep_output *outputs;  /* owned */
    rk_column *columns;        /* owned; of the outputs; names are borrowed */
    size_t count, point_count; /* the first columns are the same in all rows of a point */

    bool has_text;                 /* also make CSV lines of rows */
    rk_sweep_formula *constraints; /* owned: of results */
    size_t constraint_count;
} rk_sweep_table;

/* Checks the columns and result constraints of the document, which must outlive the table. */
rk_status rk_sweep_table_init(const rk_sweep_doc *doc, rk_sweep_table *table, rk_error *err);
void rk_sweep_table_clear(rk_sweep_table *table);

/* Fills the inner columns before the rank. */
void rk_sweep_table_set_point(const rk_sweep_table *table, uint64_t number, const rk_value *counts,
                              rk_value *inside);

/* Whether a row meets the constraints of results, with the outside columns; `root` is the document
 * of its point. */
rk_status rk_sweep_table_keeps(const rk_sweep_table *table, const rk_value *inside, json_t *root,
                               bool *keeps, rk_error *err);

/* Fills the output columns from `first` up to, not including, `end`; they follow the inner ones. */
rk_status rk_sweep_table_outputs(const rk_sweep_table *table, rk_value *inside, json_t *root,
                                 size_t first, size_t end, rk_error *err);

#endif

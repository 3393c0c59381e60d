/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result table of a sweep: for each point its number, the values of the axes and the counts
 * of its search; then for each ranked mapping the rank, the mapping and its statistics.
 */
#ifndef RK_SWEEP_TABLE_H
#define RK_SWEEP_TABLE_H

#include "sweep/doc.h"

/* The columns, and one row of values that the functions below fill. */
typedef struct rk_sweep_table {
    rk_column *columns; /* owned; names are borrowed from the document */
    rk_value *row;      /* owned */
    size_t count;
    size_t point_count; /* the first columns, which are the same in all rows of a point */
    size_t good;        /* the column of the number of mappings that run */
} rk_sweep_table;

/* The document must outlive the table; the caller releases it with rk_sweep_table_clear. */
rk_status rk_sweep_table_init(const rk_sweep_doc *doc, rk_sweep_table *table, rk_error *err);
void rk_sweep_table_clear(rk_sweep_table *table);

/* Fills the columns of the point and empties those of the mapping. */
void rk_sweep_table_set_point(rk_sweep_table *table, const rk_sweep_doc *doc, uint64_t number,
                              const rk_search_counts *counts);

/* Fills the columns of the mapping; rank 0 is the best. */
void rk_sweep_table_set_result(rk_sweep_table *table, uint64_t rank, const rk_calculon_exe *exe,
                               const rk_calculon_stats *stats);

#endif

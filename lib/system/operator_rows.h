/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables of measured operators: CSV with the columns of data/ops/README.md. */
#ifndef RK_SYSTEM_OPERATOR_ROWS_H
#define RK_SYSTEM_OPERATOR_ROWS_H

#include "system/measured.h"

/* A table with a header, borrowed from its reader. */
typedef struct rk_cells {
    const char *name;   /* of the file, for messages */
    char *const *cells; /* the names of the columns, then rows * columns cells */
    size_t rows, columns;
} rk_cells;

/* Place of a column in the header, or -1. */
int rk_cell_column(const rk_cells *table, const char *column);

/* Cell of a row (0-based, the header not counted), NULL where the table lacks the column. */
const char *rk_cell(const rk_cells *table, size_t row, const char *column);

/*
 * A number of at least `low` of a cell.  Where the table lacks the column, *value keeps what it has
 * if `optional`.  Anything else that is no such value is RK_ERR_INVALID with the file, the row and
 * the column.
 */
rk_status rk_cell_number(const rk_cells *table, size_t row, const char *column, double low,
                         bool optional, double *value, rk_error *err);

typedef struct rk_operator_row {
    rk_measured_kernel kernel;
    double module_bytes; /* where the row times a module: its inputs (GEMM), its queries, keys and
                            values (attention); else 0 */
} rk_operator_row;

/*
 * Reads a GEMM (precision, m, n, k, us; or else one product at the sustained clock: batch, grouped,
 * accumulate_bytes, clock, module) or attention (pass, head_size, heads, batch, seq, us; or else
 * all heads with keys of their own and no mask: kv_heads, causal, module).  Causal attention counts
 * the triangle; backward executes 2.5 times the products of forward.
 */
rk_status rk_operator_row_read(rk_kernel_kind kind, const rk_cells *table, size_t row,
                               rk_operator_row *out, rk_error *err);

typedef struct rk_flash_row {
    rk_flash_work work;
    double seconds;        /* measured */
    double expanded_bytes; /* keys and values of all query heads, where the row times their copy */
} rk_flash_row;

/*
 * Reads attention of a library: library, pass, batch, heads, kv_heads, queries, keys, qk_size,
 * v_size, window, us, and the flags causal, deterministic and module.
 */
rk_status rk_flash_row_read(const rk_cells *table, size_t row, rk_flash_row *out, rk_error *err);

typedef struct rk_collective_row {
    rk_collective op;
    int64_t ranks, per_node; /* of a node; 0: as many as fit */
    double bytes;            /* as rk_collective_seconds counts them */
    double seconds;          /* measured */
} rk_collective_row;

/* Reads a collective: op, ranks, bytes, us, and ranks_per_node where the table has it. */
rk_status rk_collective_row_read(const rk_cells *table, size_t row, rk_collective_row *out,
                                 rk_error *err);

#endif

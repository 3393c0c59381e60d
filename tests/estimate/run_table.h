/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV file with a header, held in memory: the tables of measured runs. */
#ifndef TESTS_RUN_TABLE_H
#define TESTS_RUN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { RUN_COLUMN_MAX = 64 };

typedef struct run_table {
    char *text;   /* owned; cut into cells */
    char **cells; /* owned; rows * columns, the header first */
    size_t rows;  /* without the header */
    size_t columns;
} run_table;

/* Reads a file; false when there is none or it is not a table.  Released with run_table_clear. */
bool run_table_load(const char *path, run_table *table);
void run_table_clear(run_table *table);

/* Cell of a row (0-based) by the name of its column; "" when there is no such column. */
const char *run_cell(const run_table *table, size_t row, const char *column);

/* The cell as a number; `missing` when it is empty or no number. */
double run_number(const run_table *table, size_t row, const char *column, double missing);

/* Whether the cell contains `part`, letters of either case alike. */
bool run_has(const run_table *table, size_t row, const char *column, const char *part);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV file with a header, held in memory as texts. */
#ifndef RK_IO_CSV_IN_H
#define RK_IO_CSV_IN_H

#include "reckon/reckon.h"

typedef struct rk_csv_in {
    char name[256]; /* file, for messages */
    char *text;     /* owned; cut into cells */
    char **cells;   /* owned; the names of the columns, then rows * columns cells */
    size_t rows, columns;
} rk_csv_in;

/*
 * Reads a file (.csv, or .csv.gz) or a text: RFC 4180 with LF or CRLF, one header.  A fault is
 * RK_ERR_SYNTAX with the line and, as its column, the number of the cell; files above 256 MiB
 * (unpacked) are refused. The caller releases the table with rk_csv_in_clear; all zero is an
 * empty one.
 */
rk_status rk_csv_load(const char *path, rk_csv_in *table, rk_error *err);
rk_status rk_csv_parse(const char *text, size_t size, const char *name, rk_csv_in *table,
                       rk_error *err);
/* Loads an entry of the catalogue kind, or else a file, whose name has a dot or a slash. */
rk_status rk_csv_load_named(const char *name, const char *kind, rk_csv_in *table, rk_error *err);
/*
 * Reads the rows of a JSON text: its `member` is a list of objects, whose members are columns.
 * null is an empty cell.  Otherwise as rk_csv_parse.
 */
rk_status rk_csv_of_json(const char *text, const char *member, rk_csv_in *table, rk_error *err);

/* The cell of a row under a column's name; "": there is no such column. */
const char *rk_csv_cell_of(const rk_csv_in *table, size_t row, const char *column);

void rk_csv_in_clear(rk_csv_in *table);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* CSV files. */
#ifndef RK_IO_CSV_OUT_H
#define RK_IO_CSV_OUT_H

#include "base/bytes.h"
#include "base/value.h"
#include "io/out.h"
#include "reckon/reckon.h"

typedef struct rk_csv_out rk_csv_out;

/* Opens `path` as rk_out_open: it appears complete or not at all.  The caller closes *out. */
rk_status rk_csv_open(const char *path, rk_csv_out **out, rk_error *err);

/*
 * The same for a file that can be read while it grows: it appears under its name at once, replacing
 * what that held, and rows are handed to the system when they are flushed.
 */
rk_status rk_csv_open_growing(const char *path, rk_csv_out **out, rk_error *err);

/* The same for lines that go to `write` instead of a file; NULL: they are lost. */
rk_status rk_csv_open_writer(rk_out_writer *write, void *user, rk_csv_out **out, rk_error *err);

/*
 * Writing remembers a failure; rk_csv_flush reports it.  Text is quoted if necessary, and begins
 * with "'" where a spreadsheet would run it as a formula.
 */
void rk_csv_header(rk_csv_out *out, const rk_column *columns, size_t count);
void rk_csv_row(rk_csv_out *out, const rk_value *row, size_t count);

/* The same in two steps; the first is slower, and may run on another thread. */
void rk_csv_add_line(rk_bytes *lines, const rk_value *row, size_t count);
void rk_csv_text(rk_csv_out *out, const char *lines);

/* Writes text as one cell of a table that is written otherwise. */
void rk_csv_cell(rk_out *out, const char *text);

rk_status rk_csv_flush(rk_csv_out *out, rk_error *err);

/* Flushes and frees.  NULL is legal (RK_OK). */
rk_status rk_csv_close(rk_csv_out *out, rk_error *err);

#endif

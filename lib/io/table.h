/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: filled cell by cell, written with aligned columns. */
#ifndef RK_IO_TABLE_H
#define RK_IO_TABLE_H

#include "reckon/reckon.h"

#include <stdio.h>

typedef enum rk_align { RK_ALIGN_LEFT, RK_ALIGN_RIGHT } rk_align;

typedef struct rk_table_column {
    const char *title;
    rk_align align;
} rk_table_column;

/* How text is laid out. */
typedef struct rk_table_style {
    int width;  /* columns of the page; 0: no limit */
    bool drawn; /* bold titles and rules, for terminals; false: for pipes and files */
    bool full;  /* everything there is; false: an answer on one screen */
} rk_table_style;

/* Rows are filled from left to right.  Released with rk_table_clear. */
typedef struct rk_table {
    const rk_table_column *columns; /* borrowed */
    size_t column_count;
    char **cells; /* owned, row by row; a row of NULLs is a rule */
    size_t cell_count, room;
    bool failed; /* memory ran out; rk_table_text reports it */
} rk_table;

void rk_table_init(rk_table *table, const rk_table_column *columns, size_t column_count);
void rk_table_clear(rk_table *table);

/* Appends the next cell. */
void rk_table_cell(rk_table *table, const char *format, ...) RK_PRINTF(2, 3);

/* Draws a rule between the rows so far and the next ones. */
void rk_table_rule(rk_table *table);

/*
 * Writes the table, whose last row must be complete, to a new text that the caller frees.  A table
 * that is wider than the page is written in parts, one below the other, each of which begins with
 * the columns that tell its rows apart; words that are wider than the page go on below themselves.
 * Widths count UTF-8 characters.
 */
rk_status rk_table_text(const rk_table *table, rk_table_style style, char **text, rk_error *err);

/* The same to a stream; the table is cleared. */
rk_status rk_write_table(FILE *to, rk_table *table, rk_table_style style, rk_error *err);

/* Writes an answer, `what`, for people. */
typedef rk_status rk_text_writer(FILE *to, const void *what, rk_table_style style, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on a terminal, in a pipe or in a file. */
#ifndef RK_CLI_PRINT_H
#define RK_CLI_PRINT_H

#include "report/table.h"

#include <stdio.h>

/* Drawn lines and bold type when standard output is a terminal that can, and NO_COLOR is unset. */
rk_table_style rk_stdout_style(void);

/* Columns of the terminal that standard output is, else 80. */
int rk_stdout_width(void);

/*
 * Writes what `write` puts on a stream to a file ("-": standard output); `width` is that of the
 * terminal.
 */
typedef rk_status rk_text_writer(FILE *to, const void *what, rk_table_style style, int width,
                                 rk_error *err);
rk_status rk_print_text(const char *output, rk_text_writer *write, const void *what, rk_error *err);

/* Writes a table, and clears it. */
rk_status rk_print_table(FILE *to, rk_table *table, rk_table_style style, rk_error *err);

#endif

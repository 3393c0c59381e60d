/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of HTML that needs nothing else: headings, text, tables and figures, one after the
 * other between rk_page_open and rk_page_close.
 */
#ifndef RK_PLOT_PAGE_H
#define RK_PLOT_PAGE_H

#include "plot/plot.h"

void rk_page_open(const char *title, rk_out *out);
void rk_page_heading(const char *text, rk_out *out);
void rk_page_paragraph(const char *text, rk_out *out);

/* A figure with its caption (NULL: none). */
rk_status rk_page_figure(const rk_plot_figure *figure, const char *caption, rk_out *out,
                         rk_error *err);

/*
 * A table of `columns` titles, then rows of as many cells: rk_page_table_open, a call of
 * rk_page_table_row for each row, rk_page_table_close.  Cells that are numbers stand to the right.
 */
void rk_page_table_open(const char *const *titles, size_t columns, rk_out *out);
void rk_page_table_row(const char *const *cells, size_t columns, rk_out *out);
void rk_page_table_close(rk_out *out);

void rk_page_close(rk_out *out);

#endif

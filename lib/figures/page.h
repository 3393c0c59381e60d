/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A self-contained HTML page: headings, text, tables and figures, one after the other between
 * rk_page_open and rk_page_close.
 */
#ifndef RK_FIGURES_PAGE_H
#define RK_FIGURES_PAGE_H

#include "figures/plot.h"

void rk_page_open(const char *title, rk_out *out);
void rk_page_heading(const char *text, rk_out *out);
void rk_page_paragraph(const char *text, rk_out *out);

/* A figure with its caption (NULL: none). */
rk_status rk_page_figure(const rk_plot_figure *figure, const char *caption, rk_out *out,
                         rk_error *err);

/* A table: a row of titles, then `rows` rows of cells. Columns of numbers are right-aligned. */
void rk_page_table(const char *const *cells, size_t rows, size_t columns, rk_out *out);

/* Whether all cells of a column except its title are numbers or dashes. */
bool rk_page_is_numeric(const char *const *cells, size_t rows, size_t columns, size_t column);

void rk_page_close(rk_out *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for people as pages of a width. */
#ifndef RK_JOB_TEXT_PAGE_H
#define RK_JOB_TEXT_PAGE_H

#include "io/out.h"
#include "job/job.h"

/* The text that `write` makes, with lines that fit the page; the caller frees it. */
rk_status rk_page_make(rk_text_writer *write, const void *what, rk_table_style style, char **page,
                       rk_error *err);

/* Writes a page with its marks (RK_MARKS) as colours of a terminal, or without them. */
void rk_page_write(rk_out *out, const char *page, bool colored);

#endif

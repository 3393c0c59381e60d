/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that fit the page. */
#ifndef RK_IO_WRAP_H
#define RK_IO_WRAP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes a text, and breaks its lines of prose at blanks where they are wider than the page.  Text
 * after a label ("step      56.051 s; ...") continues below itself, any other line below its first
 * word.  Rows of tables, which have columns two blanks apart or begin with "|", stay as
 * they are.
 */
void rk_write_wrapped(FILE *to, const char *text, int width);

/* The bytes of text that go on a line: as many words as fit in `width` characters, at least one. */
size_t rk_count_fitting(const char *text, size_t length, size_t width);

#endif

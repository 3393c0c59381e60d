/* SPDX-License-Identifier: Apache-2.0 */
/* Output files: written to a temporary file and renamed when complete; gzip by extension. */
#ifndef RK_IO_OUT_H
#define RK_IO_OUT_H

#include "reckon/reckon.h"

typedef struct rk_out rk_out;

/*
 * Opens `path` for writing ("-": standard output; "*.gz": gzip).  The file appears under its name
 * only at rk_out_close.  Existing devices and pipes (/dev/null, /dev/stdout) are written directly.
 */
rk_status rk_out_open(const char *path, rk_out **out, rk_error *err);

/*
 * Opens an output that hands its text to `write` instead of a file, in pieces of up to 16 KiB and
 * the rest when it is closed; `write` may be NULL: the output is lost.
 */
typedef void rk_out_writer(void *user, const char *text, size_t size);
rk_status rk_out_open_writer(rk_out_writer *write, void *user, rk_out **out, rk_error *err);

/* Writing remembers the first failure; rk_out_close reports it. */
void rk_out_write(rk_out *out, const char *text, size_t size);
void rk_out_text(rk_out *out, const char *text);
void rk_out_printf(rk_out *out, const char *format, ...) RK_PRINTF(2, 3);

/* Whether the output is a file whose name ends in .html, .htm or .html.gz. */
bool rk_out_is_page(const rk_out *out);

/*
 * Begins a page with places for JSON such as {"answer": "here"}, which rk_out_fill_place fills in
 * their order.  rk_out_close writes the rest; `page` must live until then.
 */
void rk_out_begin_page(rk_out *out, const char *page, size_t size);

/*
 * Writes the page up to the next place of that name.  What is written from here on stands there, in
 * a script element, so '<' becomes an escape of JSON.  Returns false, and writes nothing, if the
 * output has no page or no such place is left.
 */
bool rk_out_fill_place(rk_out *out, const char *name);

/* Marks the output as failed for lack of memory. */
void rk_out_fail_memory(rk_out *out);

/*
 * Closes and frees. After any failure since opening, no file is left, and the result is RK_ERR_IO
 * with the path.
 */
rk_status rk_out_close(rk_out *out, rk_error *err);

/* Discards the output and frees it; leaves no file. NULL is legal. */
void rk_out_abandon(rk_out *out);

#endif

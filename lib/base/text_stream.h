/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream that writes to memory. Unlike open_memstream in glibc, which drops text silently when
 * memory runs out, it reports the failure on closing.
 */
#ifndef RK_BASE_TEXT_STREAM_H
#define RK_BASE_TEXT_STREAM_H

#include "base/bytes.h"

#include <stdio.h>

typedef struct rk_text_stream {
    FILE *file; /* the stream; NULL if it could not be opened */
    rk_bytes bytes;
    char *text; /* where open_memstream is used */
    size_t size;
} rk_text_stream;

/* The stream must not move until it is closed.  Returns its file. */
FILE *rk_text_stream_open(rk_text_stream *stream);

/*
 * Closes it.  Returns the text, which the caller frees, and sets *size (not NULL) to its length;
 * NULL when memory ran out, at any time.
 */
char *rk_text_stream_close(rk_text_stream *stream, size_t *size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream into a text in memory.  open_memstream does the same but for this: in glibc, what there
 * is no memory for is left out, and neither ferror nor fclose say so.
 */
#ifndef RK_BASE_TEXT_STREAM_H
#define RK_BASE_TEXT_STREAM_H

#include "base/bytes.h"

#include <stdio.h>

typedef struct rk_text_stream {
    FILE *file; /* to write to; NULL: there was no memory to open it */
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

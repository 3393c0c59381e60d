/* SPDX-License-Identifier: Apache-2.0 */
/* In-memory streams on fopencookie or open_memstream, with write errors kept until closing. */
#define _GNU_SOURCE /* fopencookie */
#include "base/text_stream.h"

#include <stdlib.h>
#include <sys/types.h>

#ifdef __GLIBC__

static ssize_t write_bytes(void *stream, const char *text, size_t size)
{
    rk_bytes *bytes = &((rk_text_stream *)stream)->bytes;
    rk_bytes_add(bytes, text, size);
    return bytes->failed ? 0 : (ssize_t)size; /* 0: an error */
}

FILE *rk_text_stream_open(rk_text_stream *stream)
{
    *stream = (rk_text_stream){0};
    stream->file = fopencookie(stream, "w", (cookie_io_functions_t){.write = write_bytes});
    return stream->file;
}

char *rk_text_stream_close(rk_text_stream *stream, size_t *size)
{
    const bool broken = !stream->file || ferror(stream->file) != 0;
    const bool closed = stream->file && fclose(stream->file) == 0;
    stream->file = NULL;
    rk_bytes_add(&stream->bytes, "", 1); /* the end of the text */
    if (broken || !closed || stream->bytes.failed) {
        rk_bytes_clear(&stream->bytes);
        return NULL;
    }
    *size = stream->bytes.size - 1;
    return (char *)stream->bytes.data;
}

#else

FILE *rk_text_stream_open(rk_text_stream *stream)
{
    *stream = (rk_text_stream){0};
    stream->file = open_memstream(&stream->text, &stream->size);
    return stream->file;
}

char *rk_text_stream_close(rk_text_stream *stream, size_t *size)
{
    const bool broken = !stream->file || ferror(stream->file) != 0;
    const bool closed = stream->file && fclose(stream->file) == 0;
    stream->file = NULL;
    if (broken || !closed) {
        free(stream->text);
        return NULL;
    }
    *size = stream->size;
    return stream->text;
}

#endif

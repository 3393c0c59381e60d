/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer that threads and ranks exchange: values are appended to it and read back in order. */
#ifndef RK_BASE_BYTES_H
#define RK_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty.  Released with rk_bytes_clear. */
typedef struct rk_bytes {
    unsigned char *data; /* owned */
    size_t size, room;
    bool failed; /* out of memory; later additions do nothing */
} rk_bytes;

void rk_bytes_clear(rk_bytes *bytes);

/* Empties the buffer but keeps its memory. */
void rk_bytes_reset(rk_bytes *bytes);

void rk_bytes_add(rk_bytes *bytes, const void *data, size_t size);

/* The same as an rk_out_writer; `bytes` is an rk_bytes. */
void rk_bytes_take_in(void *bytes, const char *text, size_t size);
void rk_bytes_add_number(rk_bytes *bytes, uint64_t number);

/* Terminated text; NULL means "". */
void rk_bytes_add_text(rk_bytes *bytes, const char *text);

/*
 * Adds a word as a shell takes it apart again, between quotes where it has to be, and a blank
 * before it unless it is the first.
 */
void rk_bytes_add_word(rk_bytes *bytes, const char *word);

/* Reads from the front. Missing data reads as zero and sets `failed`. */
typedef struct rk_bytes_reader {
    const unsigned char *at;
    size_t left;
    bool failed;
} rk_bytes_reader;

rk_bytes_reader rk_bytes_read(const rk_bytes *bytes);
void rk_bytes_take(rk_bytes_reader *reader, void *out, size_t size);
uint64_t rk_bytes_take_number(rk_bytes_reader *reader);

/* Text that lives as long as the bytes. */
const char *rk_bytes_take_text(rk_bytes_reader *reader);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer with typed appends, and reads that check its bounds. */
#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

void rk_bytes_clear(rk_bytes *bytes)
{
    free(bytes->data);
    *bytes = (rk_bytes){0};
}

void rk_bytes_reset(rk_bytes *bytes)
{
    bytes->size = 0;
    bytes->failed = false;
}

static bool make_room(rk_bytes *bytes, size_t more)
{
    assert(bytes->size <= bytes->room);
    if (bytes->failed || more > SIZE_MAX / 4 - bytes->size) {
        bytes->failed = true;
        return false;
    }
    const size_t wanted = bytes->size + more;
    if (wanted <= bytes->room) {
        return true;
    }
    size_t room = bytes->room ? bytes->room : FIRST_ROOM;
    while (room < wanted) {
        room *= 2;
    }
    unsigned char *data = realloc(bytes->data, room);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->room = room;
    return true;
}

void rk_bytes_add(rk_bytes *bytes, const void *data, size_t size)
{
    if (size > 0 && make_room(bytes, size)) {
        memcpy(bytes->data + bytes->size, data, size);
        bytes->size += size;
    }
}

void rk_bytes_take_in(void *bytes, const char *text, size_t size)
{
    rk_bytes_add(bytes, text, size);
}

void rk_bytes_add_word(rk_bytes *bytes, const char *word)
{
    const bool plain = *word && word[strcspn(word, " \t\n\"'\\$`;&|<>()*?[]{}#~!")] == '\0';
    rk_bytes_add(bytes, " ", bytes->size > 0);
    if (plain) {
        rk_bytes_add(bytes, word, strlen(word));
        return;
    }
    rk_bytes_add(bytes, "'", 1);
    for (; *word; word++) {
        rk_bytes_add(bytes, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    }
    rk_bytes_add(bytes, "'", 1);
}

void rk_bytes_add_number(rk_bytes *bytes, uint64_t number)
{
    rk_bytes_add(bytes, &number, sizeof(number));
}

void rk_bytes_add_text(rk_bytes *bytes, const char *text)
{
    rk_bytes_add(bytes, text ? text : "", text ? strlen(text) + 1 : 1);
}

rk_bytes_reader rk_bytes_read(const rk_bytes *bytes)
{
    return (rk_bytes_reader){.at = bytes->data, .left = bytes->size};
}

void rk_bytes_take(rk_bytes_reader *reader, void *out, size_t size)
{
    if (reader->failed || size > reader->left) {
        reader->failed = true;
        memset(out, 0, size);
        return;
    }
    if (size > 0) {
        memcpy(out, reader->at, size);
        reader->at += size;
        reader->left -= size;
    }
}

uint64_t rk_bytes_take_number(rk_bytes_reader *reader)
{
    uint64_t number;
    rk_bytes_take(reader, &number, sizeof(number));
    return number;
}

const char *rk_bytes_take_text(rk_bytes_reader *reader)
{
    const char *text = (const char *)reader->at;
    const unsigned char *end = reader->left > 0 ? memchr(reader->at, '\0', reader->left) : NULL;
    if (reader->failed || !end) {
        reader->failed = true;
        return "";
    }
    reader->left -= (size_t)(end + 1 - reader->at);
    reader->at = end + 1;
    return text;
}

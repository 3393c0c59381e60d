/* SPDX-License-Identifier: Apache-2.0 */
/* Detects BOMs, UTF-16, archives and web pages in place of JSON, and numbers such as NaN. */
#include "io/json_fault.h"

#include <string.h>
#include <strings.h>

/* ---- whole texts ---------------------------------------------------------------------------- */

static bool starts_with(const char *text, size_t size, const char *start, size_t length)
{
    return size >= length && memcmp(text, start, length) == 0;
}

/* Past blanks. */
static size_t skip_blanks(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", text[at]) && text[at]) {
        at++;
    }
    return at;
}

const char *rk_json_foreign_text(const char *text, size_t size)
{
    static const struct {
        const char *start;
        size_t length;
        const char *message;
    } starts[] = {
        {"\xef\xbb\xbf", 3,
         "the file starts with a byte order mark (BOM); save it as UTF-8 without one"},
        {"\xff\xfe", 2, "the file is in UTF-16; save it as UTF-8"},
        {"\xfe\xff", 2, "the file is in UTF-16; save it as UTF-8"},
        {"version https://git-lfs", 23,
         "the file is a Git LFS pointer, not the document; run 'git lfs pull'"},
        {"PK\3\4", 4, "the file is a ZIP archive, not JSON; unpack it"},
        {"%PDF-", 5, "the file is a PDF document, not JSON"},
        {"SQLite format 3", 15, "the file is an SQLite database, not JSON"},
    };
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (starts_with(text, size, starts[i].start, starts[i].length)) {
            return starts[i].message;
        }
    }
    const size_t at = skip_blanks(text, size);
    if (at == size) {
        return "the file is empty; it must hold a JSON object";
    }
    return text[at] == '<' ? "the file is a web page or XML, not JSON; download the file itself "
                             "(on GitHub or Hugging Face: its \"raw\" link)"
                           : NULL;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

const char *rk_json_foreign_number(const char *text, size_t size, size_t place)
{
    static const char *const names[] = {"-Infinity", "Infinity", "NaN", "-inf", "inf", "nan"};
    size_t at = place < size ? place : size;
    while (at > 0 && (text[at - 1] == '-' || is_letter(text[at - 1]))) { /* to its start */
        at--;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);
        if (size - at >= length && strncasecmp(text + at, names[i], length) == 0 &&
            (size - at == length || !is_letter(text[at + length]))) {
            return names[i];
        }
    }
    return NULL;
}

/* Length of the name of a number at the text, 0: there is none. */
static size_t number_at(const char *text, size_t size)
{
    static const char *const names[] = {"-Infinity", "Infinity", "NaN"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);
        if (starts_with(text, size, names[i], length) &&
            (size == length || !is_letter(text[length]))) {
            return length;
        }
    }
    return 0;
}

size_t rk_json_replace_numbers(const char *text, size_t size, char *out)
{
    static const char null[] = "null";
    bool quoted = false;
    size_t used = 0;
    for (size_t at = 0; at < size; at++) {
        const size_t length = quoted ? 0 : number_at(text + at, size - at);
        if (length > 0) {
            memcpy(out + used, null, strlen(null));
            used += strlen(null);
            at += length - 1;
            continue;
        }
        if (quoted && text[at] == '\\' && at + 1 < size) {
            out[used++] = text[at++];
        } else if (text[at] == '"') {
            quoted = !quoted;
        }
        out[used++] = text[at];
    }
    return used;
}

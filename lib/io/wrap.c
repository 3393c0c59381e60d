/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps lines at word boundaries and indents continuations under their text. */
#include "io/wrap.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>

#define LABEL_WIDTH 10 /* of rk_write_label */

/* Where the text of a line begins: after its label, or after its blanks. */
static size_t indent_of(const char *line, size_t length)
{
    const size_t blanks = strspn(line, " "), word = strcspn(line, " \n");
    const bool labelled = blanks == 0 && word < LABEL_WIDTH && length > LABEL_WIDTH &&
                          word + strspn(line + word, " ") == LABEL_WIDTH;
    return labelled ? LABEL_WIDTH : blanks;
}

static bool is_row(const char *line, size_t length)
{
    if (length > 0 && line[0] == '|') {
        return true;
    }
    for (size_t i = 0; i + 1 < length; i++) {
        if (line[i] == ' ' && line[i + 1] == ' ') {
            return true;
        }
    }
    return false;
}

/* Where a line may end, from `start` on: at a blank, but not before "%". */
static size_t next_end(const char *text, size_t start)
{
    size_t end = start + strcspn(text + start, " \n");
    while (text[end] == ' ' && text[end + 1] == '%') {
        end += 2 + strcspn(text + end + 2, " \n");
    }
    return end;
}

size_t rk_count_fitting(const char *text, size_t length, size_t width)
{
    size_t fitting = 0;
    for (size_t end = 0; end < length; end++) {
        end = next_end(text, end);
        if (fitting > 0 && rk_count_characters(text, end) > width) {
            break;
        }
        fitting = end;
    }
    return fitting;
}

static void write_line(FILE *to, const char *line, size_t length, size_t width)
{
    const size_t indent = indent_of(line, length);
    (void)fwrite(line, 1, indent, to);
    line += indent;
    length -= indent;
    while (length > 0) {
        const size_t count = rk_count_fitting(line, length, width > indent ? width - indent : 1);
        (void)fwrite(line, 1, count, to);
        length -= count;
        line += count;
        if (length > 0) { /* a blank, which the line break replaces */
            length--;
            line++;
            (void)fprintf(to, "\n%*s", (int)indent, "");
        }
    }
}

void rk_write_wrapped(FILE *to, const char *text, int width)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        const size_t indent = indent_of(text, length);
        if (rk_count_characters(text, length) <= (size_t)width ||
            is_row(text + indent, length - indent)) {
            (void)fwrite(text, 1, length, to);
        } else {
            write_line(to, text, length, (size_t)width);
        }
        text += length;
        if (*text) {
            (void)fputc('\n', to);
            text++;
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include "base/error.h"
#include "base/text_stream.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP "  " /* between columns */

void rk_table_init(rk_table *table, const rk_table_column *columns, size_t column_count)
{
    assert(column_count > 0);
    *table = (rk_table){.columns = columns, .column_count = column_count};
}

void rk_table_clear(rk_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    *table = (rk_table){0};
}

/* ---- filling --------------------------------------------------------------------------- */

/* Makes room for one more cell. */
static bool reserve(rk_table *table)
{
    if (table->cell_count < table->room) {
        return true;
    }
    const size_t room = table->room ? 2 * table->room : 64;
    char **cells = realloc(table->cells, room * sizeof(*cells));
    if (!cells) {
        table->failed = true;
        return false;
    }
    table->cells = cells;
    table->room = room;
    return true;
}

void rk_table_cell(rk_table *table, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int length = vsnprintf(NULL, 0, format, list);
    char *cell = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (cell && reserve(table)) {
        (void)vsnprintf(cell, (size_t)length + 1, format, again);
        table->cells[table->cell_count++] = cell;
    } else {
        free(cell);
        table->failed = true;
    }
    va_end(again);
    va_end(list);
}

void rk_table_rule(rk_table *table)
{
    assert(table->failed || table->cell_count % table->column_count == 0);
    for (size_t i = 0; i < table->column_count && reserve(table); i++) {
        table->cells[table->cell_count++] = NULL;
    }
}

/* ---- writing --------------------------------------------------------------------------- */

/* Characters of a UTF-8 text: bytes that do not continue another one. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return width;
}

static size_t column_width(const rk_table *table, size_t column)
{
    size_t widest = width_of(table->columns[column].title);
    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        const size_t width = table->cells[i] ? width_of(table->cells[i]) : 0;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void pad(FILE *to, size_t count, const char *with)
{
    for (size_t i = 0; i < count; i++) {
        (void)fputs(with, to);
    }
}

static void write_rule(FILE *to, const size_t *widths, size_t count, const char *stroke)
{
    for (size_t c = 0; c < count; c++) {
        (void)fputs(c ? GAP : "", to);
        pad(to, widths[c], stroke);
    }
    (void)fputc('\n', to);
}

/* Writes one cell; the last one of a row gets no blanks behind it. */
static void write_aligned(FILE *to, const char *text, size_t width, rk_align align, bool last)
{
    const size_t blanks = width - width_of(text);
    if (align == RK_ALIGN_RIGHT) {
        pad(to, blanks, " ");
        (void)fputs(text, to);
    } else {
        (void)fputs(text, to);
        pad(to, last ? 0 : blanks, " ");
    }
}

static void write_table(FILE *to, const rk_table *table, const size_t *widths, bool terminal)
{
    const size_t n = table->column_count;
    const char *stroke = terminal ? "\u2500" : "-";
    (void)fputs(terminal ? "\033[1m" : "", to);
    for (size_t c = 0; c < n; c++) {
        (void)fputs(c ? GAP : "", to);
        write_aligned(to, table->columns[c].title, widths[c], table->columns[c].align, c + 1 == n);
    }
    (void)fputs(terminal ? "\033[0m\n" : "\n", to);
    write_rule(to, widths, n, stroke);
    for (size_t i = 0; i < table->cell_count; i++) {
        const size_t c = i % n;
        if (!table->cells[i]) {
            write_rule(to, widths, n, stroke);
            i += n - 1;
            continue;
        }
        (void)fputs(c ? GAP : "", to);
        write_aligned(to, table->cells[i], widths[c], table->columns[c].align, c + 1 == n);
        (void)fputs(c + 1 == n ? "\n" : "", to);
    }
}

rk_status rk_table_text(const rk_table *table, rk_table_style style, char **text, rk_error *err)
{
    size_t size;
    rk_text_stream stream;
    size_t *widths = table->failed ? NULL : calloc(table->column_count, sizeof(*widths));
    *text = NULL;
    if (widths && rk_text_stream_open(&stream)) {
        assert(table->cell_count % table->column_count == 0);
        for (size_t c = 0; c < table->column_count; c++) {
            widths[c] = column_width(table, c);
        }
        write_table(stream.file, table, widths, style == RK_TABLE_TERMINAL);
        *text = rk_text_stream_close(&stream, &size);
    }
    free(widths);
    return *text ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a table");
}

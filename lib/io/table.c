/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out text tables: column widths, alignment, and wide tables in parts with key columns. */
#include "io/table.h"

#include "base/error.h"
#include "base/list.h"
#include "base/text.h"
#include "base/text_stream.h"
#include "io/wrap.h"

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
    char **cells = rk_list_grow(table->cells, table->cell_count, &table->room, sizeof(*cells));
    table->failed |= !cells;
    table->cells = cells ? cells : table->cells;
    return cells;
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

static size_t width_of(const char *text)
{
    return rk_count_characters(text, strlen(text));
}

static size_t column_width(const rk_table *table, size_t column)
{
    assert(column < table->column_count);
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

/* Whether no two rows have the same cells in the first `keys` columns. */
static bool are_apart(const rk_table *table, size_t keys)
{
    const size_t n = table->column_count;
    for (size_t i = 0; i < table->cell_count; i += n) {
        for (size_t j = table->cells[i] ? i + n : table->cell_count; j < table->cell_count;
             j += n) {
            size_t c = 0;
            while (c < keys && table->cells[j] &&
                   strcmp(table->cells[i + c], table->cells[j + c]) == 0) {
                c++;
            }
            if (c == keys) {
                return false;
            }
        }
    }
    return true;
}

/* Width of the first `keys` columns, and of the widest of the others next to them. */
static size_t least_width(const size_t *widths, size_t count, size_t keys)
{
    assert(keys <= count);
    size_t used = 0, widest = 0;
    for (size_t c = 0; c < count; c++) {
        used += c < keys ? widths[c] + strlen(GAP) : 0;
        widest = c >= keys && widths[c] > widest ? widths[c] : widest;
    }
    return used + widest;
}

/*
 * The fewest leading columns that tell the rows of a split table apart, if every other column has
 * room next to them; otherwise the first alone.
 */
static size_t key_columns(const rk_table *table, const size_t *widths, int page)
{
    const size_t n = table->column_count;
    for (size_t k = 1; k < n && least_width(widths, n, k) <= (size_t)page; k++) {
        if (are_apart(table, k)) {
            return k;
        }
    }
    return 1;
}

/* The columns in one part of a table: the keys, and some others. */
struct part {
    const rk_table *table;
    size_t keys;
    const size_t *widths; /* of all columns */
    size_t first, past;   /* of those that are not keys */
    bool drawn;
};

/* The column after `c` in this part; its `past` after the last one. */
static size_t next_column(const struct part *part, size_t c)
{
    const size_t next = c + 1;
    return next == part->keys && next < part->first ? part->first : next;
}

/* How many columns from `first` on fit next to the keys: at least one. */
static size_t columns_with_room(const struct part *part, int page)
{
    size_t used = 0, past = part->first;
    for (size_t c = 0; c < part->keys; c++) {
        used += part->widths[c] + strlen(GAP);
    }
    do {
        used += part->widths[past++] + strlen(GAP);
    } while (past < part->table->column_count &&
             (page <= 0 || used + part->widths[past] <= (size_t)page));
    return past;
}

static void write_rule(FILE *to, const struct part *part)
{
    for (size_t c = 0; c < part->past; c = next_column(part, c)) {
        (void)fputs(c ? GAP : "", to);
        pad(to, part->widths[c], part->drawn ? "\u2500" : "-");
    }
    (void)fputc('\n', to);
}

/* Writes one cell, without trailing blanks in the last one of a row. */
static void write_aligned(FILE *to, const char *text, size_t width, rk_align align, bool last)
{
    const size_t used = width_of(text), blanks = used < width ? width - used : 0;
    if (align == RK_ALIGN_RIGHT) {
        pad(to, blanks, " ");
        (void)fputs(text, to);
    } else {
        (void)fputs(text, to);
        pad(to, last ? 0 : blanks, " ");
    }
}

static void write_titles(FILE *to, const struct part *part)
{
    const rk_table_column *columns = part->table->columns;
    (void)fputs(part->drawn ? "\033[1m" : "", to);
    for (size_t c = 0; c < part->past; c = next_column(part, c)) {
        (void)fputs(c ? GAP : "", to);
        write_aligned(to, columns[c].title, part->widths[c], columns[c].align, c + 1 == part->past);
    }
    (void)fputs(part->drawn ? "\033[0m\n" : "\n", to);
}

/* Writes the last cell of a row; words for which its column has no room go on below. */
static void write_last(FILE *to, const char *text, size_t width, rk_align align, size_t indent)
{
    size_t length = strlen(text);
    if (width_of(text) <= width) {
        write_aligned(to, text, width, align, true);
        return;
    }
    for (size_t count; length > 0; length -= count, text += count) {
        count = rk_count_fitting(text, length, width);
        (void)fwrite(text, 1, count, to);
        if (count < length) { /* a blank, which the line break replaces */
            count++;
            (void)fprintf(to, "\n%*s", (int)indent, "");
        }
    }
}

/* Empty cells at the end of a row are left out. */
static void write_row(FILE *to, const struct part *part, char *const *cells)
{
    size_t past = 0, used = 0;
    for (size_t c = 0; c < part->past; c = next_column(part, c)) {
        past = cells[c][0] ? c + 1 : past;
    }
    for (size_t c = 0; c < past; c = next_column(part, c)) {
        const rk_align align = part->table->columns[c].align;
        (void)fputs(c ? GAP : "", to);
        used += c ? strlen(GAP) : 0;
        if (c + 1 == past) {
            write_last(to, cells[c], part->widths[c], align, used);
        } else {
            write_aligned(to, cells[c], part->widths[c], align, false);
        }
        used += part->widths[c];
    }
    (void)fputc('\n', to);
}

static void write_part(FILE *to, const struct part *part)
{
    const rk_table *table = part->table;
    write_titles(to, part);
    write_rule(to, part);
    for (size_t i = 0; i < table->cell_count; i += table->column_count) {
        if (table->cells[i]) {
            write_row(to, part, &table->cells[i]);
        } else {
            write_rule(to, part);
        }
    }
}

enum { WORDS_WIDTH = 20 }; /* of a column of words, at least */

/* Limits the widths of columns of words to the room next to the first column. */
static void limit_widths(const rk_table *table, size_t *widths, int page)
{
    const size_t first = widths[0] + strlen(GAP);
    const size_t room = (size_t)page > first + WORDS_WIDTH ? (size_t)page - first : SIZE_MAX;
    for (size_t c = 1; page > 0 && c < table->column_count; c++) {
        const bool words = table->columns[c].align == RK_ALIGN_LEFT;
        widths[c] = words && widths[c] > room ? room : widths[c];
    }
}

static void write_table(FILE *to, const rk_table *table, size_t *widths, rk_table_style style)
{
    const size_t n = table->column_count;
    limit_widths(table, widths, style.width);
    struct part part = {
        .table = table, .keys = 1, .widths = widths, .drawn = style.drawn, .first = n > 1};
    if (style.width > 0 && columns_with_room(&part, style.width) < n) {
        part.keys = key_columns(table, widths, style.width);
    }
    for (part.first = n > 1 ? part.keys : 0; part.first < n; part.first = part.past) {
        (void)fputs(part.past > 0 ? "\n" : "", to);
        part.past = columns_with_room(&part, style.width);
        write_part(to, &part);
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
        write_table(stream.file, table, widths, style);
        *text = rk_text_stream_close(&stream, &size);
    }
    free(widths);
    return *text ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a table");
}

rk_status rk_write_table(FILE *to, rk_table *table, rk_table_style style, rk_error *err)
{
    char *text;
    const rk_status status = rk_table_text(table, style, &text, err);
    if (!status) {
        (void)fputs(text, to);
    }
    free(text);
    rk_table_clear(table);
    return status;
}

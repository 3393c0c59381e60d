/* SPDX-License-Identifier: Apache-2.0 */
/* Parses RFC 4180 CSV in place, from files, gzip or the catalogue, with errors by line and cell. */
#include "io/csv_in.h"

#include "base/error.h"
#include "base/list.h"
#include "io/catalogue.h"
#include "io/json.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TEXT_MAX = 256 << 20, READ_STEP = 64 << 10, COLUMN_MAX = 4096 };

/* ---- cells --------------------------------------------------------------------------------- */

/* Position of the reader in the text. */
typedef struct reader {
    char *at, *end;
    int line;
} reader;

typedef enum separator { NEXT_CELL, NEXT_ROW, BAD_CELL } separator;

/*
 * Whether a line ends at `at`; *size is the length of the line ending (0 at the end of the text).
 */
static bool at_line_end(const char *at, const char *end, size_t *size)
{
    *size = at == end ? 0 : *at == '\n' ? 1 : 2;
    return at == end || *at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n');
}

/* Unquotes a cell in place.  False when they do not close. */
static bool unquote(reader *r, char **out)
{
    for (r->at++; r->at < r->end; *(*out)++ = *r->at++) {
        if (*r->at == '"') {
            r->at++;
            if (r->at == r->end || *r->at != '"') {
                return true;
            }
        }
        r->line += *r->at == '\n';
    }
    return false;
}

/*
 * Terminates the cell at the reader in place and moves past its separator. The terminator may
 * overwrite the separator, which has been read by then.
 */
static separator cut_cell(reader *r, const char **fault)
{
    char *out = r->at;
    size_t size = 0;
    if (r->at < r->end && *r->at == '"') {
        if (!unquote(r, &out)) {
            *fault = "the quotes do not close";
            return BAD_CELL;
        }
    } else {
        for (; !at_line_end(r->at, r->end, &size) && *r->at != ','; *out++ = *r->at++) {
            if (*r->at == '"' || *r->at == '\0') {
                *fault = *r->at ? "there is a quote inside a cell that does not start with one"
                                : "the file holds a zero byte: it is not a text";
                return BAD_CELL;
            }
        }
    }
    if (at_line_end(r->at, r->end, &size)) {
        r->at += size;
        r->line++;
        *out = '\0';
        return NEXT_ROW;
    }
    if (*r->at != ',') {
        *fault = "text follows the closing quote";
        return BAD_CELL;
    }
    r->at++;
    *out = '\0';
    return NEXT_CELL;
}

static rk_status add_cell(rk_csv_in *table, size_t *count, size_t *room, char *cell, rk_error *err)
{
    char **cells = rk_list_grow(table->cells, *count, room, sizeof(*cells));
    if (!cells) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the table");
    }
    table->cells = cells;
    table->cells[(*count)++] = cell;
    return RK_OK;
}

/* A fault of cell `column` (from 1) of the row that starts on `line`. */
static rk_status fail_cell(rk_error *err, int line, size_t column, const char *fault)
{
    (void)rk_fail(err, RK_ERR_SYNTAX, "%s", fault);
    if (err) {
        err->line = line;
        err->column = (int)column;
    }
    return RK_ERR_SYNTAX;
}

/* Reports a row whose number of cells differs from the header's. */
static rk_status fail_width(rk_error *err, int line, size_t found, size_t wanted)
{
    assert(found != wanted);
    char fault[96];
    (void)snprintf(fault, sizeof(fault), "the row has %zu cells where the header has %zu", found,
                   wanted);
    return fail_cell(err, line, found, fault);
}

static rk_status cut_rows(rk_csv_in *table, char *text, size_t size, rk_error *err)
{
    reader r = {.at = text, .end = text + size, .line = 1};
    size_t count = 0, room = 0;
    while (r.at < r.end) {
        const int line = r.line;
        const size_t first = count;
        separator next = NEXT_CELL;
        for (size_t column = 0; next == NEXT_CELL; column++) {
            const char *fault = NULL;
            char *cell = r.at;
            next = cut_cell(&r, &fault);
            if (next == BAD_CELL) {
                return fail_cell(err, line, column + 1, fault);
            }
            if (column == COLUMN_MAX) {
                return fail_cell(err, line, column + 1, "more cells than a table can have");
            }
            rk_status status = add_cell(table, &count, &room, cell, err);
            if (status) {
                return status;
            }
        }
        if (table->columns == 0) {
            table->columns = count;
        } else if (count - first == 1 && table->columns > 1 && *table->cells[first] == '\0') {
            count = first; /* an empty line */
        } else if (count - first != table->columns) {
            return fail_width(err, line, count - first, table->columns);
        }
    }
    if (table->columns == 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the file is empty: a header of column names is missing");
    }
    table->rows = count / table->columns - 1;
    return RK_OK;
}

/* ---- texts and files ----------------------------------------------------------------------- */

static rk_status take_text(rk_csv_in *table, size_t size, rk_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark, which spreadsheets write */
    const size_t skip = size >= 3 && memcmp(table->text, mark, 3) == 0 ? 3 : 0;
    if (size > skip && table->text[skip] == '<') {
        return rk_fail(err, RK_ERR_INVALID,
                       "the file is a web page or XML, not CSV; download the file itself");
    }
    return cut_rows(table, table->text + skip, size - skip, err);
}

rk_status rk_csv_parse(const char *text, size_t size, const char *name, rk_csv_in *table,
                       rk_error *err)
{
    memset(table, 0, sizeof(*table));
    (void)rk_json_printable(name, table->name, sizeof(table->name));
    table->text = malloc(size + 1);
    rk_status status = RK_ERR_MEMORY;
    if (table->text) {
        memcpy(table->text, text, size);
        table->text[size] = '\0';
        status = take_text(table, size, err);
    } else {
        (void)rk_fail(err, RK_ERR_MEMORY, "not enough memory for the table");
    }
    if (status) {
        rk_error_set_file(err, table->name);
        rk_csv_in_clear(table);
    }
    return status;
}

static rk_status read_all(gzFile file, rk_csv_in *table, size_t *size, rk_error *err)
{
    size_t room = 0;
    for (;;) {
        if (*size > TEXT_MAX) {
            return rk_fail(err, RK_ERR_LIMIT, "the file holds more than %d MiB", TEXT_MAX >> 20);
        }
        if (room - *size <= READ_STEP) {
            room = 2 * room + 2 * READ_STEP;
            char *more = realloc(table->text, room);
            if (!more) {
                return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the table");
            }
            table->text = more;
        }
        const int got = gzread(file, table->text + *size, READ_STEP);
        if (got < 0) {
            int code;
            const char *why = gzerror(file, &code);
            return rk_fail(err, RK_ERR_IO, "cannot read: %s",
                           code == Z_ERRNO ? strerror(errno) : why);
        }
        if (got == 0) {
            table->text[*size] = '\0';
            return RK_OK;
        }
        *size += (size_t)got;
    }
}

rk_status rk_csv_load(const char *path, rk_csv_in *table, rk_error *err)
{
    size_t size = 0;
    memset(table, 0, sizeof(*table));
    (void)rk_json_printable(path, table->name, sizeof(table->name));
    errno = 0;
    gzFile file = gzopen(path, "rb");
    rk_status status;
    if (!file) {
        status = rk_fail(err, RK_ERR_IO, "cannot open: %s", strerror(errno ? errno : ENOMEM));
    } else {
        status = read_all(file, table, &size, err);
        if (gzclose_r(file) != Z_OK && !status) {
            status = rk_fail(err, RK_ERR_IO, "the compressed data ends too early");
        }
    }
    if (!status) {
        status = take_text(table, size, err);
    }
    if (status) {
        rk_error_set_file(err, table->name);
        rk_csv_in_clear(table);
    }
    return status;
}

/* Refuses a name that is neither an entry of the catalogue nor the name of a file. */
static rk_status fail_unknown(const char *name, const char *kind, rk_error *err)
{
    char shown[RK_JSON_TEXT_SIZE], known[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < rk_catalogue_count && used < sizeof(known); i++) {
        if (strcmp(rk_catalogue[i].kind, kind) == 0) {
            used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
                                     rk_catalogue[i].name);
        }
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "the catalogue has no table \"%s\" (it has %s); the name of a file ends in .csv "
                   "or .csv.gz",
                   rk_json_printable(name, shown, sizeof(shown)), known);
}

rk_status rk_csv_load_named(const char *name, const char *kind, rk_csv_in *table, rk_error *err)
{
    const rk_catalogue_entry *entry = rk_catalogue_find(kind, name);
    if (entry) {
        return rk_csv_parse(entry->text, entry->size, name, table, err);
    }
    if (strpbrk(name, "./")) {
        return rk_csv_load(name, table, err);
    }
    memset(table, 0, sizeof(*table));
    return fail_unknown(name, kind, err);
}

const char *rk_csv_cell_of(const rk_csv_in *table, size_t row, const char *column)
{
    assert(row < table->rows);
    for (size_t i = 0; i < table->columns; i++) {
        if (strcmp(table->cells[i], column) == 0) {
            return table->cells[(row + 1) * table->columns + i];
        }
    }
    return "";
}

void rk_csv_in_clear(rk_csv_in *table)
{
    free(table->cells);
    free(table->text);
    memset(table, 0, sizeof(*table));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "runs/table.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TEXT_MAX = 256 << 20, READ_STEP = 64 << 10, COLUMN_MAX = 256 };

const char *const rk_run_column_names[] = {
    "id",
    "part",
    "source",
    "commit_or_version",
    "model",
    "layers",
    "hidden",
    "ffn",
    "heads",
    "kv_heads",
    "head_dim",
    "vocab",
    "seq",
    "moe_experts",
    "moe_topk",
    "moe_ffn",
    "shared_experts",
    "accelerator",
    "n_accel",
    "gpus_per_node",
    "tp",
    "pp",
    "vpp",
    "cp",
    "ep",
    "etp",
    "dp",
    "mbs",
    "gbs",
    "seq_parallel",
    "recompute",
    "zero_or_fsdp",
    "precision",
    "other_flags",
    "outcome",
    "step_time_s",
    "tokens_per_s_per_gpu",
    "tflops_per_gpu",
    "mfu",
    "peak_mem_gib",
    "interconnect",
    "year",
    "tier",
    "split",
    NULL,
};

/* ---- cells --------------------------------------------------------------------------------- */

/* Where the reader stands in the text. */
typedef struct reader {
    char *at, *end;
    int line;
} reader;

typedef enum separator { NEXT_CELL, NEXT_ROW, BAD_CELL } separator;

/* Whether a line ends at `at`; *size gets the characters that say so (0 at the end of the text). */
static bool at_line_end(const char *at, const char *end, size_t *size)
{
    *size = at == end ? 0 : *at == '\n' ? 1 : 2;
    return at == end || *at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n');
}

/* Takes the quotes off a quoted cell in place.  False when they do not close. */
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
 * Ends the cell at the reader in place and steps behind its separator.  A terminating zero may take
 * the place of the separator: what follows is known by then.
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
                *fault = *r->at ? "a quote stands inside a cell that does not start with one"
                                : "the file holds a zero byte: it is no text";
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

static rk_status add_cell(rk_run_table *table, size_t *count, size_t *room, char *cell,
                          rk_error *err)
{
    if (*count == *room) {
        const size_t more = *room ? 2 * *room : 4096;
        char **cells = realloc(table->cells, more * sizeof(*cells));
        if (!cells) {
            return rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the table");
        }
        table->cells = cells;
        *room = more;
    }
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

/* Says of a row that has another number of cells than the header. */
static rk_status fail_width(rk_error *err, int line, size_t found, size_t wanted)
{
    char fault[96];
    (void)snprintf(fault, sizeof(fault), "the row has %zu cells where the header has %zu", found,
                   wanted);
    return fail_cell(err, line, found, fault);
}

static rk_status cut_rows(rk_run_table *table, char *text, size_t size, rk_error *err)
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
                return fail_cell(err, line, column + 1, "more cells than a table of runs can have");
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

/* ---- header -------------------------------------------------------------------------------- */

static rk_status read_header(rk_run_table *table, rk_error *err)
{
    for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
        table->at[column] = -1;
        for (size_t i = 0; i < table->columns; i++) {
            if (strcmp(table->cells[i], rk_run_column_names[column]) != 0) {
                continue;
            }
            if (table->at[column] >= 0) {
                return rk_fail(err, RK_ERR_INVALID, "the header names the column %s twice",
                               rk_run_column_names[column]);
            }
            table->at[column] = (int)i;
        }
    }
    return RK_OK;
}

static rk_status take_text(rk_run_table *table, size_t size, rk_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark that spreadsheets write */
    const size_t skip = size >= 3 && memcmp(table->text, mark, 3) == 0 ? 3 : 0;
    rk_status status = cut_rows(table, table->text + skip, size - skip, err);
    return status ? status : read_header(table, err);
}

rk_status rk_run_table_parse(const char *text, size_t size, const char *name, rk_run_table *table,
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
        (void)rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the table");
    }
    if (status) {
        rk_error_set_file(err, table->name);
        rk_run_table_clear(table);
    }
    return status;
}

/* ---- files --------------------------------------------------------------------------------- */

static rk_status read_all(gzFile file, rk_run_table *table, size_t *size, rk_error *err)
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
                return rk_fail(err, RK_ERR_MEMORY, "there is not enough memory for the table");
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

rk_status rk_run_table_load(const char *path, rk_run_table *table, rk_error *err)
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
        rk_run_table_clear(table);
    }
    return status;
}

void rk_run_table_clear(rk_run_table *table)
{
    free(table->cells);
    free(table->text);
    memset(table, 0, sizeof(*table));
}

/* ---- reading ------------------------------------------------------------------------------- */

const char *rk_run_cell(const rk_run_table *table, size_t row, rk_run_column column)
{
    const int at = table->at[column];
    return at < 0 ? "" : table->cells[(row + 1) * table->columns + (size_t)at];
}

rk_status rk_run_number(const rk_run_table *table, size_t row, rk_run_column column, double *value,
                        rk_error *err)
{
    const char *cell = rk_run_cell(table, row, column);
    char shown[RK_JSON_TEXT_SIZE], *end = NULL;
    if (cell[0] == '\0') {
        return RK_OK;
    }
    const double number = strtod(cell, &end);
    if (end == cell || *end != '\0' || !isfinite(number) || number < 0) {
        (void)rk_fail(err, RK_ERR_INVALID,
                      "row %zu, column %s: expected a number of at least 0, "
                      "found \"%s\"",
                      row + 1, rk_run_column_names[column],
                      rk_json_printable(cell, shown, sizeof(shown)));
        rk_error_set_file(err, table->name);
        return RK_ERR_INVALID;
    }
    *value = number;
    return RK_OK;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool rk_run_contains(const char *text, const char *part)
{
    const size_t length = strlen(part);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && lower(text[i]) == lower(part[i])) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return length == 0;
}

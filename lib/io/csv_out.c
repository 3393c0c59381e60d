/* SPDX-License-Identifier: Apache-2.0 */
/* Writes RFC 4180 CSV row by row, defuses spreadsheet formulas, and syncs files to disk. */
#include "io/csv_out.h"

#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rk_csv_out {
    rk_out *whole; /* owned; NULL: the table grows in `file`, or `write` gets the lines */
    FILE *file;    /* owned */
    rk_out_writer *write;
    void *user;
    rk_bytes line; /* owned; scratch */
    bool failed;   /* memory ran out */
    int failure;   /* errno of the first failure to write, or 0 */
    char name[256];
};

static rk_status create(const char *name, rk_csv_out **out, rk_error *err)
{
    *out = calloc(1, sizeof(**out));
    if (!*out) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to write a table");
    }
    (void)snprintf((*out)->name, sizeof((*out)->name), "%s", name);
    return RK_OK;
}

rk_status rk_csv_open(const char *path, rk_csv_out **out, rk_error *err)
{
    rk_status status = create(path, out, err);
    status = status ? status : rk_out_open(path, &(*out)->whole, err);
    if (status) {
        free(*out);
        *out = NULL;
    }
    return status;
}

rk_status rk_csv_open_growing(const char *path, rk_csv_out **out, rk_error *err)
{
    rk_csv_out *opened;
    rk_status status = create(path, &opened, err);
    *out = NULL;
    if (status) {
        return status;
    }
    if (rk_ends_with(path, ".gz")) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "a table that grows row by row is not compressed: leave out .gz");
    } else {
        opened->file = fopen(path, "w");
        status = opened->file
                     ? RK_OK
                     : rk_fail(err, RK_ERR_IO, "cannot open for writing: %s", strerror(errno));
    }
    if (status != RK_OK) {
        rk_error_set_file(err, opened->name);
        free(opened);
        return status;
    }
    *out = opened;
    return RK_OK;
}

rk_status rk_csv_open_writer(rk_out_writer *write, void *user, rk_csv_out **out, rk_error *err)
{
    const rk_status status = create("", out, err);
    if (!status) {
        (*out)->write = write;
        (*out)->user = user;
    }
    return status;
}

static void write_text(rk_csv_out *out, const void *text, size_t size)
{
    errno = 0;
    if (out->whole) {
        rk_out_write(out->whole, text, size);
    } else if (out->file) {
        /* later ones may succeed, and stdio keeps no reason */
        const bool fails = fwrite(text, 1, size, out->file) != size;
        out->failure = fails && !out->failure ? errno ? errno : EIO : out->failure;
    } else if (out->write) {
        out->write(out->user, text, size);
    }
}

/* Whether a spreadsheet would run a text as a formula (OWASP, "CSV Injection"). */
static bool is_formula(const char *text)
{
    char *end;
    if (*text == '+' || *text == '-') {
        (void)strtod(text, &end);
        return *end != '\0';
    }
    return *text && strchr("=@\t\r\n", *text);
}

/* Appends text as one cell of RFC 4180. */
static void add_cell(rk_bytes *line, const char *text)
{
    const bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    rk_bytes_add(line, "\"", quoted);
    rk_bytes_add(line, "'", is_formula(text));
    if (!quoted) {
        rk_bytes_add(line, text, strlen(text));
        return;
    }
    for (; *text; text++) {
        rk_bytes_add(line, "\"", *text == '"');
        rk_bytes_add(line, text, 1);
    }
    rk_bytes_add(line, "\"", quoted);
}

void rk_csv_cell(rk_out *out, const char *text)
{
    rk_bytes cell = {0};
    add_cell(&cell, text);
    if (cell.failed) {
        rk_out_fail_memory(out);
    } else {
        rk_out_write(out, (const char *)cell.data, cell.size);
    }
    rk_bytes_clear(&cell);
}

void rk_csv_add_line(rk_bytes *lines, const rk_value *row, size_t count)
{
    char buffer[RK_NUMBER_TEXT_SIZE];
    for (size_t i = 0; i < count; i++) {
        add_cell(lines, rk_value_format(&row[i], buffer));
        rk_bytes_add(lines, i + 1 < count ? "," : "\n", 1);
    }
}

void rk_csv_text(rk_csv_out *out, const char *lines)
{
    write_text(out, lines, strlen(lines));
}

/* Writes the current line and empties it. */
static void write_line(rk_csv_out *out)
{
    write_text(out, out->line.data, out->line.size);
    out->failed = out->failed || out->line.failed;
    rk_bytes_reset(&out->line);
}

void rk_csv_row(rk_csv_out *out, const rk_value *row, size_t count)
{
    rk_csv_add_line(&out->line, row, count);
    write_line(out);
}

void rk_csv_header(rk_csv_out *out, const rk_column *columns, size_t count)
{
    assert(count > 0);
    for (size_t i = 0; i < count; i++) {
        add_cell(&out->line, columns[i].name);
        rk_bytes_add(&out->line, i + 1 < count ? "," : "\n", 1);
    }
    write_line(out);
}

static rk_status fail_write(const rk_csv_out *out, rk_error *err)
{
    const rk_status status = rk_fail(err, RK_ERR_IO, "cannot write: %s", strerror(out->failure));
    rk_error_set_file(err, out->name);
    return status;
}

/* Whether the disk could not take what was written; a pipe or a device cannot be synced. */
static bool cannot_sync(FILE *file)
{
    return fsync(fileno(file)) != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO);
}

rk_status rk_csv_flush(rk_csv_out *out, rk_error *err)
{
    errno = 0;
    if (out->failed) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a line of the table");
    }
    const bool fails = out->file && (fflush(out->file) != 0 || ferror(out->file));
    out->failure = fails && !out->failure ? errno ? errno : EIO : out->failure;
    return out->failure ? fail_write(out, err) : RK_OK;
}

rk_status rk_csv_close(rk_csv_out *out, rk_error *err)
{
    if (!out) {
        return RK_OK;
    }
    rk_status status = rk_csv_flush(out, err);
    if (out->whole && status) {
        rk_out_abandon(out->whole);
    } else if (out->whole) {
        status = rk_out_close(out->whole, err);
    }
    errno = 0;
    if (out->file && cannot_sync(out->file)) {
        out->failure = errno;
    }
    if (out->file && fclose(out->file) != 0) {
        out->failure = errno ? errno : EIO;
    }
    if (!status && out->failure) {
        status = fail_write(out, err);
    }
    rk_bytes_clear(&out->line);
    free(out);
    return status;
}

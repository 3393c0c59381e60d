/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/csv_out.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rk_csv_out {
    FILE *file; /* owned, unless it is stdout */
    char name[256];
};

rk_status rk_csv_open(const char *path, rk_csv_out **out, rk_error *err)
{
    rk_status status = RK_OK;
    *out = NULL;
    rk_csv_out *opened = calloc(1, sizeof(*opened));
    if (!opened) {
        return rk_fail(err, RK_ERR_MEMORY, "there is not enough memory to open a file");
    }
    (void)snprintf(opened->name, sizeof(opened->name), "%s", path);
    if (rk_ends_with(path, ".gz")) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "a table that grows row by row is not compressed: leave out .gz");
    } else {
        opened->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
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

/* Writes text as one cell of RFC 4180. */
static void write_cell(FILE *file, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, file);
        return;
    }
    (void)fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') {
            (void)fputc('"', file);
        }
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

void rk_csv_row(rk_csv_out *out, const rk_value *row, size_t count)
{
    char buffer[RK_NUMBER_TEXT_SIZE];
    for (size_t i = 0; i < count; i++) {
        write_cell(out->file, rk_value_format(&row[i], buffer));
        (void)fputc(i + 1 < count ? ',' : '\n', out->file);
    }
}

void rk_csv_header(rk_csv_out *out, const rk_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        write_cell(out->file, columns[i].name);
        (void)fputc(i + 1 < count ? ',' : '\n', out->file);
    }
}

rk_status rk_csv_flush(rk_csv_out *out, rk_error *err)
{
    errno = 0;
    if (fflush(out->file) == 0 && !ferror(out->file)) {
        return RK_OK;
    }
    const rk_status status =
        rk_fail(err, RK_ERR_IO, "cannot write: %s", strerror(errno ? errno : EIO));
    rk_error_set_file(err, out->name);
    return status;
}

rk_status rk_csv_close(rk_csv_out *out, rk_error *err)
{
    if (!out) {
        return RK_OK;
    }
    rk_status status = rk_csv_flush(out, err);
    errno = 0;
    if (out->file != stdout && fclose(out->file) != 0 && status == RK_OK) {
        status = rk_fail(err, RK_ERR_IO, "cannot write: %s", strerror(errno ? errno : EIO));
        rk_error_set_file(err, out->name);
    }
    free(out);
    return status;
}

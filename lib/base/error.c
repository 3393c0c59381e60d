/* SPDX-License-Identifier: Apache-2.0 */
/* Formats error messages on one line, with status, path and file; and the library's version. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names from input may hold any character, but an error must fit on one line. */
static void make_one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            *text = '?';
        }
    }
}

RK_PRINTF(4, 0)
static rk_status fail(rk_error *err, rk_status code, const char *path, const char *format,
                      va_list args)
{
    if (err) {
        memset(err, 0, sizeof(*err));
        err->code = code;
        (void)snprintf(err->path, sizeof(err->path), "%s", path);
        (void)vsnprintf(err->message, sizeof(err->message), format, args);
        make_one_line(err->path);
        make_one_line(err->message);
    }
    return code;
}

rk_status rk_fail(rk_error *err, rk_status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, code, "", format, args);
    va_end(args);
    return code;
}

rk_status rk_fail_at(rk_error *err, rk_status code, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fail(err, code, path, format, args);
    va_end(args);
    return code;
}

void rk_error_set_file(rk_error *err, const char *file)
{
    if (err && err->file[0] == '\0') {
        (void)snprintf(err->file, sizeof(err->file), "%s", file);
        make_one_line(err->file);
    }
}

const char *rk_error_text(const rk_error *err, char *out, size_t size)
{
    char where[420] = "";
    if (err->file[0] && err->line > 0) {
        (void)snprintf(where, sizeof(where), "%s:%d:%d: ", err->file, err->line, err->column);
    } else if (err->file[0] && err->path[0]) {
        (void)snprintf(where, sizeof(where), "%s: %s: ", err->file, err->path);
    } else if (err->file[0] || err->path[0]) {
        (void)snprintf(where, sizeof(where), "%s: ", err->file[0] ? err->file : err->path);
    }
    (void)snprintf(out, size, "%s%s", where, err->message);
    return out;
}

const char *rk_version(void)
{
    return RK_VERSION;
}

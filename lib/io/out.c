/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear complete or do not appear at all. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "io/out.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 128 << 10, TEMPORARIES = 1000, PIECE_SIZE = 16 << 10 };

struct rk_out {
    gzFile file;          /* also for plain text, which zlib passes through; NULL: none */
    rk_out_writer *write; /* in place of a file; may be NULL then */
    void *user;
    char *piece;              /* owned; what `write` gets next */
    size_t piece_size;        /* of PIECE_SIZE */
    int synced;               /* the temporary file once more, which zlib closes; or -1 */
    char name[256];           /* as given, for messages */
    char target[PATH_MAX];    /* "" when the file is written directly */
    char temporary[PATH_MAX]; /* in the target's folder, on the same file system */
    int failure;              /* errno of the first failure, or 0 */
    const char *page;         /* the rest of a page around JSON, borrowed; NULL: there is none */
    size_t page_size;
};

/* Some file systems do not support it and return an error. */
static int sync_file(int file)
{
    return fsync(file) == 0 || errno == EINVAL || errno == ENOSYS || errno == EROFS ? 0 : -1;
}

/* Opens a new file in the target's folder, readable as the target was or as the umask wants. */
static int open_temporary(rk_out *out, const struct stat *old)
{
    for (int i = 0; i < TEMPORARIES; i++) {
        const int length = snprintf(out->temporary, sizeof(out->temporary), "%s.%ld-%d.tmp",
                                    out->target, (long)getpid(), i);
        if (length < 0 || (size_t)length >= sizeof(out->temporary)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 && old) {
            (void)fchmod(fd, old->st_mode & 0777);
        }
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

static int open_target(rk_out *out, const char *path)
{
    struct stat old;
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) {
        return fflush(stdout) ? -1 : dup(STDOUT_FILENO);
    }
    const bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
        return open(path, O_WRONLY | O_CLOEXEC);
    }
    if (exists) {
        /* A link stays a link, and a write-protected file as it is. */
        return access(path, W_OK) == 0 && realpath(path, out->target) ? open_temporary(out, &old)
                                                                      : -1;
    }
    const size_t length = strlen(path);
    if (length == 0 || length >= sizeof(out->target)) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    memcpy(out->target, path, length + 1);
    return open_temporary(out, NULL);
}

/* Syncs a folder, so that the new name in it survives a power cut. */
static int sync_folder(const char *file)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    const int length = !slash ? 1 : slash == file ? 1 : (int)(slash - file);
    (void)snprintf(folder, sizeof(folder), "%.*s", length, slash ? file : ".");
    const int open_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (open_folder < 0) {
        return errno == EACCES ? 0 : -1; /* a folder that may be written but not read */
    }
    const int failed = sync_file(open_folder);
    (void)close(open_folder);
    return failed;
}

/* Puts the complete file in place of the old one, on the disk as well. */
static int replace_target(const rk_out *out)
{
    return sync_file(out->synced) || rename(out->temporary, out->target) ||
           sync_folder(out->target);
}

rk_status rk_out_open(const char *path, rk_out **out, rk_error *err)
{
    rk_status status = RK_OK;
    rk_out *opened = calloc(1, sizeof(*opened));
    *out = NULL;
    if (!opened) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to open a file");
    }
    (void)snprintf(opened->name, sizeof(opened->name), "%s", path);
    const int fd = open_target(opened, path);
    opened->synced = fd >= 0 && opened->target[0] ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0) {
        status = rk_fail(err, RK_ERR_IO, "cannot open for writing: %s", strerror(errno));
        opened->temporary[0] = '\0';
    } else if (opened->target[0] && opened->synced < 0) {
        status = rk_fail(err, RK_ERR_IO, "cannot open for writing: %s", strerror(errno));
        (void)close(fd);
    } else {
        opened->file = gzdopen(fd, rk_ends_with(path, ".gz") ? "wb" : "wbT");
        if (!opened->file || gzbuffer(opened->file, BUFFER_SIZE)) {
            status = rk_fail(err, RK_ERR_MEMORY, "not enough memory to write a file");
        }
        if (!opened->file) {
            (void)close(fd);
        }
    }
    if (status) {
        rk_error_set_file(err, opened->name);
        rk_out_abandon(opened);
        return status;
    }
    *out = opened;
    return RK_OK;
}

rk_status rk_out_open_writer(rk_out_writer *write, void *user, rk_out **out, rk_error *err)
{
    rk_out *opened = calloc(1, sizeof(*opened));
    char *piece = malloc(PIECE_SIZE);
    *out = opened;
    if (!opened || !piece) {
        free(opened);
        free(piece);
        *out = NULL;
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to open an output");
    }
    opened->write = write;
    opened->user = user;
    opened->piece = piece;
    opened->synced = -1;
    return RK_OK;
}

static void flush_piece(rk_out *out)
{
    if (out->write && out->piece_size > 0) {
        out->write(out->user, out->piece, out->piece_size);
    }
    out->piece_size = 0;
}

/* Gathers small writes, as a call of `write` costs a program in another language microseconds. */
static void write_piece(rk_out *out, const char *text, size_t size)
{
    if (size > PIECE_SIZE - out->piece_size) {
        flush_piece(out);
    }
    if (size > 0 && size <= PIECE_SIZE) { /* the text of nothing may be NULL */
        memcpy(out->piece + out->piece_size, text, size);
        out->piece_size += size;
    } else if (out->write && size > 0) {
        out->write(out->user, text, size);
    }
}

static void write_plain(rk_out *out, const char *text, size_t size)
{
    if (!out->file) {
        write_piece(out, text, size);
        return;
    }
    errno = 0;
    if (!out->failure && size > 0 && gzfwrite(text, 1, size, out->file) != size) {
        out->failure = errno ? errno : EIO;
    }
}

void rk_out_write(rk_out *out, const char *text, size_t size)
{
    for (const char *found; out->page && size > 0 && (found = memchr(text, '<', size));) {
        write_plain(out, text, (size_t)(found - text));
        write_plain(out, "\\u003c", strlen("\\u003c"));
        size -= (size_t)(found + 1 - text);
        text = found + 1;
    }
    write_plain(out, text, size);
}

bool rk_out_is_page(const rk_out *out)
{
    return rk_ends_with(out->name, ".html") || rk_ends_with(out->name, ".htm") ||
           rk_ends_with(out->name, ".html.gz");
}

void rk_out_begin_page(rk_out *out, const char *page, size_t size)
{
    out->page = page;
    out->page_size = size;
}

bool rk_out_fill_place(rk_out *out, const char *name)
{
    char place[64];
    const int written = snprintf(place, sizeof(place), "{\"%s\": \"here\"}", name);
    const size_t length = written > 0 ? (size_t)written : 0;
    for (size_t i = 0; out->page && i + length <= out->page_size; i++) {
        if (memcmp(out->page + i, place, length) == 0) {
            write_plain(out, out->page, i);
            out->page += i + length;
            out->page_size -= i + length;
            return true;
        }
    }
    return false;
}

void rk_out_text(rk_out *out, const char *text)
{
    rk_out_write(out, text, strlen(text));
}

void rk_out_printf(rk_out *out, const char *format, ...)
{
    char line[512];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(line, sizeof(line), format, args);
    if (length >= 0 && (size_t)length < sizeof(line)) {
        rk_out_write(out, line, (size_t)length);
    } else {
        char *text = length < 0 ? NULL : malloc((size_t)length + 1);
        if (text) {
            (void)vsnprintf(text, (size_t)length + 1, format, again);
            rk_out_write(out, text, (size_t)length);
        } else {
            rk_out_fail_memory(out);
        }
        free(text);
    }
    va_end(again);
    va_end(args);
}

void rk_out_fail_memory(rk_out *out)
{
    out->failure = out->failure ? out->failure : ENOMEM;
}

rk_status rk_out_close(rk_out *out, rk_error *err)
{
    rk_status status = RK_OK;
    if (out->page) {
        write_plain(out, out->page, out->page_size);
    }
    flush_piece(out);
    errno = 0;
    if (out->file && gzclose_w(out->file) != Z_OK && !out->failure) {
        out->failure = errno ? errno : EIO;
    }
    out->file = NULL;
    if (!out->failure && out->target[0] && replace_target(out)) {
        out->failure = errno;
    }
    if (out->failure) {
        status = rk_fail(err, RK_ERR_IO, "cannot write: %s", strerror(out->failure));
        rk_error_set_file(err, out->name);
    } else {
        out->temporary[0] = '\0';
    }
    rk_out_abandon(out);
    return status;
}

void rk_out_abandon(rk_out *out)
{
    if (!out) {
        return;
    }
    if (out->file) {
        (void)gzclose_w(out->file);
    }
    if (out->synced >= 0) {
        (void)close(out->synced);
    }
    if (out->temporary[0]) {
        (void)unlink(out->temporary);
    }
    free(out->piece);
    free(out);
}

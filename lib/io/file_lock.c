/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX record locks (fcntl), checked against removal of the file by its last owner. */
#include "io/file_lock.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the open file is still the one under that name: its last owner may have removed it. */
static bool is_named(int file, const char *name)
{
    struct stat mine, named;
    return fstat(file, &mine) == 0 && stat(name, &named) == 0 && mine.st_dev == named.st_dev &&
           mine.st_ino == named.st_ino;
}

static rk_status fail_held(int file, rk_error *err)
{
    struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_GETLK, &held) == 0 && held.l_type != F_UNLCK) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "process %ld is writing this file: wait for it to end, or choose another file",
            (long)held.l_pid);
    }
    return rk_fail(
        err, RK_ERR_INVALID,
        "another process is writing this file: wait for it to end, or choose another file");
}

rk_status rk_file_lock_take(const char *path, rk_file_lock *lock, rk_error *err)
{
    const int length = snprintf(lock->name, sizeof(lock->name), "%s-lock", path);
    lock->file = -1;
    if (length < 0 || (size_t)length >= sizeof(lock->name)) {
        return rk_fail(err, RK_ERR_IO, "cannot lock: %s", strerror(ENAMETOOLONG));
    }
    for (;;) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        const int file = open(lock->name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0) {
            return rk_fail(err, RK_ERR_IO, "cannot create %s: %s", lock->name, strerror(errno));
        }
        if (fcntl(file, F_SETLK, &whole) != 0) {
            const bool held = errno == EACCES || errno == EAGAIN;
            const rk_status status =
                held ? fail_held(file, err)
                     : rk_fail(err, RK_ERR_IO, "cannot lock %s: %s", lock->name, strerror(errno));
            (void)close(file);
            return status;
        }
        if (is_named(file, lock->name)) {
            lock->file = file;
            return RK_OK;
        }
        (void)close(file);
    }
}

void rk_file_lock_release(rk_file_lock *lock)
{
    if (lock->file >= 0) {
        (void)unlink(lock->name);
        (void)close(lock->file);
        lock->file = -1;
    }
}

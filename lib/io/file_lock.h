/* SPDX-License-Identifier: Apache-2.0 */
/* One writer at a time for a file that several programs could write. */
#ifndef RK_IO_FILE_LOCK_H
#define RK_IO_FILE_LOCK_H

#include "reckon/reckon.h"

typedef struct rk_file_lock {
    int file; /* -1: not locked */
    char name[4096];
} rk_file_lock;

#define RK_FILE_LOCK_NONE ((rk_file_lock){.file = -1})

/*
 * Locks `path` for this process by the file PATH-lock, which the kernel unlocks when the process
 * ends, however it ends.  Errors: RK_ERR_INVALID while another process holds the lock.
 */
rk_status rk_file_lock_take(const char *path, rk_file_lock *lock, rk_error *err);

/* Removes PATH-lock; does nothing when the lock was not taken. */
void rk_file_lock_release(rk_file_lock *lock);

#endif

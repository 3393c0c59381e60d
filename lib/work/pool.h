/* SPDX-License-Identifier: Apache-2.0 */
/* A thread pool. A task is a buffer of bytes in and a buffer of bytes out. */
#ifndef RK_WORK_POOL_H
#define RK_WORK_POOL_H

#include "base/bytes.h"
#include "reckon/reckon.h"

#include <stdatomic.h>

typedef struct rk_task {
    uint64_t number; /* the giver's */
    int rank;        /* to whom it was given */
    rk_bytes bytes;  /* what is to be done */
    rk_bytes result; /* with RK_OK */
    rk_status status;
    rk_error error;
    struct rk_task *next;
} rk_task;

/* NULL: no memory. */
rk_task *rk_task_new(uint64_t number);

/* NULL is legal. */
void rk_task_free(rk_task *task);

/* Tasks in the order in which they came; all zero is empty. */
typedef struct rk_task_list {
    rk_task *first, *last;
} rk_task_list;

void rk_task_append(rk_task_list *list, rk_task *task);
rk_task *rk_task_take_first(rk_task_list *list);
void rk_task_list_free(rk_task_list *list); /* and its tasks */

/*
 * Does a task on thread `worker` (from 0).  `stop` turns true when the result is not wanted any
 * more; RK_ERR_STOPPED may be returned then.
 */
typedef rk_status rk_task_work(void *context, int worker, const rk_bytes *task, rk_bytes *result,
                               const atomic_bool *stop, rk_error *err);

typedef struct rk_pool rk_pool;

/* Starts `threads` threads (at least 1).  The caller frees *pool. */
rk_status rk_pool_start(int threads, rk_task_work *work, void *context, rk_pool **pool,
                        rk_error *err);

/* Stops the threads, waits for them, and frees the remaining tasks.  NULL is legal. */
void rk_pool_free(rk_pool *pool);

/* Hands a task over. */
void rk_pool_push(rk_pool *pool, rk_task *task);

/* Returns a finished task, waiting at most this many seconds for one; NULL if none finished. */
rk_task *rk_pool_pop(rk_pool *pool, double seconds);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads between a queue of tasks and a queue of results. */
#include "work/pool.h"

#include "base/error.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* ---- tasks ----------------------------------------------------------------------------------- */

rk_task *rk_task_new(uint64_t number)
{
    rk_task *task = calloc(1, sizeof(*task));
    if (task) {
        task->number = number;
    }
    return task;
}

void rk_task_free(rk_task *task)
{
    if (task) {
        rk_bytes_clear(&task->bytes);
        rk_bytes_clear(&task->result);
        free(task);
    }
}

void rk_task_append(rk_task_list *list, rk_task *task)
{
    task->next = NULL;
    if (list->last) {
        list->last->next = task;
    } else {
        list->first = task;
    }
    list->last = task;
}

rk_task *rk_task_take_first(rk_task_list *list)
{
    rk_task *task = list->first;
    if (task) {
        list->first = task->next;
        list->last = list->first ? list->last : NULL;
        task->next = NULL;
    }
    return task;
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    rk_pool *pool;
    int index;
    pthread_t thread;
};

struct rk_pool {
    rk_task_work *work;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t pushed, finished;
    rk_task_list todo, done; /* under lock */
    atomic_bool stop;
    struct worker *workers; /* owned */
    int started;
};

static void do_task(rk_pool *pool, int worker, rk_task *task)
{
    assert(worker >= 0);
    task->status =
        pool->work(pool->context, worker, &task->bytes, &task->result, &pool->stop, &task->error);
    if (task->status == RK_OK && task->result.failed) {
        task->status =
            rk_fail(&task->error, RK_ERR_MEMORY, "not enough memory for the result of a task");
    }
}

static void *worker_main(void *argument)
{
    struct worker *self = argument;
    rk_pool *pool = self->pool;
    (void)pthread_mutex_lock(&pool->lock);
    for (;;) {
        rk_task *task = NULL;
        while (!atomic_load(&pool->stop) && !(task = rk_task_take_first(&pool->todo))) {
            (void)pthread_cond_wait(&pool->pushed, &pool->lock);
        }
        if (!task) {
            break;
        }
        (void)pthread_mutex_unlock(&pool->lock);
        do_task(pool, self->index, task);
        (void)pthread_mutex_lock(&pool->lock);
        rk_task_append(&pool->done, task);
        (void)pthread_cond_signal(&pool->finished);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void init_conditions(rk_pool *pool)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pool->pushed, &attributes);
    (void)pthread_cond_init(&pool->finished, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&pool->lock, NULL);
}

rk_status rk_pool_start(int threads, rk_task_work *work, void *context, rk_pool **out,
                        rk_error *err)
{
    threads = threads > 1 ? threads : 1;
    rk_pool *pool = calloc(1, sizeof(*pool));
    struct worker *workers = calloc((size_t)threads, sizeof(*workers));
    *out = NULL;
    if (!pool || !workers) {
        free(pool);
        free(workers);
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %d threads", threads);
    }
    pool->work = work;
    pool->context = context;
    pool->workers = workers;
    atomic_init(&pool->stop, false);
    init_conditions(pool);

    /* Fewer threads than requested still complete all the work. */
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.pool = pool, .index = i};
        if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0) {
            break;
        }
        pool->started++;
    }
    if (pool->started == 0) {
        rk_pool_free(pool);
        return rk_fail(err, RK_ERR_MEMORY,
                       "no thread could be started: no memory for one, or too many run already");
    }
    *out = pool;
    return RK_OK;
}

void rk_task_list_free(rk_task_list *list)
{
    for (rk_task *task; (task = rk_task_take_first(list)) != NULL;) {
        rk_task_free(task);
    }
}

void rk_pool_free(rk_pool *pool)
{
    if (!pool) {
        return;
    }
    (void)pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    (void)pthread_cond_broadcast(&pool->pushed);
    (void)pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) {
        (void)pthread_join(pool->workers[i].thread, NULL);
    }
    rk_task_list_free(&pool->todo);
    rk_task_list_free(&pool->done);
    (void)pthread_cond_destroy(&pool->pushed);
    (void)pthread_cond_destroy(&pool->finished);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

void rk_pool_push(rk_pool *pool, rk_task *task)
{
    assert(task->next == NULL);
    (void)pthread_mutex_lock(&pool->lock);
    rk_task_append(&pool->todo, task);
    (void)pthread_cond_signal(&pool->pushed);
    (void)pthread_mutex_unlock(&pool->lock);
}

static struct timespec moment_in(double seconds)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    const long ns = t.tv_nsec + (long)((seconds - (double)(time_t)seconds) * 1e9);
    t.tv_sec += (time_t)seconds + ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    return t;
}

rk_task *rk_pool_pop(rk_pool *pool, double seconds)
{
    (void)pthread_mutex_lock(&pool->lock);
    rk_task *task = rk_task_take_first(&pool->done);
    if (!task && seconds > 0) {
        const struct timespec until = moment_in(seconds);
        int code = 0;
        while (code == 0 && !(task = rk_task_take_first(&pool->done))) {
            code = pthread_cond_timedwait(&pool->finished, &pool->lock, &until);
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return task;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads that draw units from an atomic counter, while the caller reports progress. */
#include "work/parallel.h"

#include "base/clock.h"
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TICK_NANOSECONDS 100000000
#define TICK_SECONDS     (1e-9 * TICK_NANOSECONDS)

/* One run: the queue of units is a counter; `running` lets the caller wait for the workers. */
struct pool {
    rk_parallel shared;
    atomic_uint_fast64_t next_unit;
    uint64_t unit_count;
    void (*work)(void *context, int worker, uint64_t unit, rk_parallel *shared);
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t finished;
    int running; /* under lock */
};

struct worker {
    struct pool *pool;
    int index;
    pthread_t thread;
};

int rk_core_count(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < 65536 ? (int)n : 1;
}

static void *worker_main(void *argument)
{
    struct worker *self = argument;
    struct pool *pool = self->pool;
    while (!atomic_load_explicit(&pool->shared.stop, memory_order_relaxed)) {
        const uint64_t unit = atomic_fetch_add(&pool->next_unit, 1);
        if (unit >= pool->unit_count) {
            break;
        }
        pool->work(pool->context, self->index, unit, &pool->shared);
    }
    (void)pthread_mutex_lock(&pool->lock);
    pool->running--;
    (void)pthread_cond_signal(&pool->finished);
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/*
 * Ticks are at whole tenths of a second of the clock, so that a search of many short runs gets them
 * too: counted from the start of a run, none would come in a shorter one.
 */
static double ticks_so_far(void)
{
    return floor(rk_wall_seconds() / TICK_SECONDS);
}

/* Waits for all workers, ticking ten times a second.  Returns whether a tick asked to stop. */
static bool wait_for_workers(struct pool *pool, bool (*tick)(void *user, uint64_t done), void *user)
{
    bool stopped = false;
    struct timespec next;
    (void)clock_gettime(CLOCK_REALTIME, &next);
    next.tv_nsec -= next.tv_nsec % TICK_NANOSECONDS;
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->running > 0) {
        if (!tick) {
            (void)pthread_cond_wait(&pool->finished, &pool->lock);
            continue;
        }
        next.tv_nsec += TICK_NANOSECONDS;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        int rc = 0;
        while (pool->running > 0 && rc != ETIMEDOUT) {
            rc = pthread_cond_timedwait(&pool->finished, &pool->lock, &next);
        }
        if (pool->running > 0) {
            (void)pthread_mutex_unlock(&pool->lock);
            if (!tick(user, atomic_load(&pool->shared.done))) {
                stopped = true;
                atomic_store(&pool->shared.stop, true);
            }
            (void)pthread_mutex_lock(&pool->lock);
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return stopped;
}

/* Runs all units on the calling thread, because starting another is slower than a small search. */
static rk_status
run_alone(uint64_t unit_count,
          void (*work)(void *context, int worker, uint64_t unit, rk_parallel *shared),
          void *context, bool (*tick)(void *user, uint64_t done), void *user, rk_error *err)
{
    rk_parallel shared;
    atomic_init(&shared.done, 0);
    atomic_init(&shared.stop, false);
    double ticks = tick ? ticks_so_far() : 0;
    for (uint64_t i = 0; i < unit_count && !atomic_load(&shared.stop); i++) {
        work(context, 0, i, &shared);
        const double before = ticks;
        ticks = tick ? ticks_so_far() : 0;
        if (ticks > before && !tick(user, atomic_load(&shared.done))) {
            return rk_fail(err, RK_ERR_STOPPED, "stopped before the end");
        }
    }
    return RK_OK;
}

rk_status
rk_parallel_run(int threads, uint64_t unit_count,
                void (*work)(void *context, int worker, uint64_t unit, rk_parallel *shared),
                void *context, bool (*tick)(void *user, uint64_t done), void *user, rk_error *err)
{
    assert(unit_count == 0 || work);
    if (threads <= 1) {
        return run_alone(unit_count, work, context, tick, user, err);
    }
    struct worker *workers = calloc((size_t)threads, sizeof(*workers));
    if (!workers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %d threads", threads);
    }
    struct pool pool = {.unit_count = unit_count, .work = work, .context = context};
    atomic_init(&pool.shared.done, 0);
    atomic_init(&pool.shared.stop, false);
    atomic_init(&pool.next_unit, 0);
    (void)pthread_mutex_init(&pool.lock, NULL);
    (void)pthread_cond_init(&pool.finished, NULL);

    /* Fewer threads than requested still complete all the work. */
    int started = 0;
    pool.running = threads;
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.pool = &pool, .index = i};
        if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0) {
            break;
        }
        started++;
    }
    (void)pthread_mutex_lock(&pool.lock);
    pool.running -= threads - started;
    (void)pthread_mutex_unlock(&pool.lock);

    rk_status status = RK_OK;
    if (started == 0) {
        status = rk_fail(err, RK_ERR_MEMORY,
                         "no thread could be started: no memory for one, or too many run already");
    } else if (wait_for_workers(&pool, tick, user)) {
        status = rk_fail(err, RK_ERR_STOPPED, "stopped before the end");
    }
    for (int i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    (void)pthread_cond_destroy(&pool.finished);
    (void)pthread_mutex_destroy(&pool.lock);
    free(workers);
    return status;
}

/* Progress of a search. */
struct ticker {
    const rk_search_control *control;
    uint64_t settled, total;
};

static bool tick_search(void *user, uint64_t done)
{
    const struct ticker *t = user;
    return t->control->progress(t->control->user, t->settled + done, t->total);
}

rk_status rk_parallel_search(const rk_search_control *control, uint64_t settled, uint64_t total,
                             int threads, uint64_t unit_count,
                             void (*work)(void *context, int worker, uint64_t unit,
                                          rk_parallel *shared),
                             void *context, rk_error *err)
{
    struct ticker ticker = {.control = control, .settled = settled, .total = total};
    return rk_parallel_run(threads, unit_count, work, context,
                           control && control->progress ? tick_search : NULL, &ticker, err);
}

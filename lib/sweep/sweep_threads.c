/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a sweep's threads, on all ranks. */
#include "base/error.h"
#include "sweep/run.h"

/* Receives the progress of a thread's search. */
struct ticker {
    atomic_uint_fast64_t *partial;
    uint64_t before; /* strategies of the task that are settled */
    const atomic_bool *stop;
};

static bool tick_search(void *user, uint64_t done, uint64_t total)
{
    const struct ticker *ticker = user;
    atomic_store(ticker->partial, ticker->before + (done < total ? done : total));
    return !atomic_load(ticker->stop);
}

static rk_status work_points(rk_sweep_worker *worker, rk_bytes_reader *task, struct ticker *ticker,
                             rk_bytes *result, rk_error *err)
{
    const rk_search_control control = {.threads = 1, .progress = tick_search, .user = ticker};
    rk_status status = RK_OK;
    while (task->left > 0 && status == RK_OK) {
        const uint64_t number = rk_bytes_take_number(task);
        bool kept = false;
        status = rk_sweep_worker_read(worker, number, &kept, err);
        if (status == RK_OK && kept) {
            status = rk_sweep_worker_settle(worker, &control, result, err);
        } else if (status == RK_OK) {
            rk_sweep_rows_begin(result, number, 0);
            rk_bytes_add_text(result, "");
        }
        if (status == RK_OK && atomic_load(ticker->stop)) {
            status = rk_fail(err, RK_ERR_STOPPED, "the sweep was stopped");
        }
        ticker->before = atomic_load(ticker->partial);
    }
    return status;
}

static rk_status work_slice(rk_sweep_worker *worker, rk_bytes_reader *task, struct ticker *ticker,
                            rk_bytes *result, rk_error *err)
{
    const uint64_t number = rk_bytes_take_number(task), round = rk_bytes_take_number(task);
    const uint64_t slice = rk_bytes_take_number(task), slices = rk_bytes_take_number(task);
    double floor;
    rk_bytes_take(task, &floor, sizeof(floor));
    const rk_search_control control = {.threads = 1,
                                       .progress = tick_search,
                                       .user = ticker,
                                       .slice = slice,
                                       .slices = slices,
                                       .floor = &floor};
    bool kept = false;
    const rk_status status = rk_sweep_worker_read(worker, number, &kept, err);
    return status == RK_OK ? rk_sweep_worker_slice(worker, (unsigned)round, &control, result, err)
                           : status;
}

rk_status rk_sweep_work(void *context, int thread, const rk_bytes *task, rk_bytes *result,
                        const atomic_bool *stop, rk_error *err)
{
    rk_sweep_running *run = context;
    rk_sweep_worker *worker = &run->workers[thread];
    struct ticker ticker = {.partial = &run->partial[thread], .stop = stop};
    rk_bytes_reader reader = rk_bytes_read(task);
    const uint64_t kind = rk_bytes_take_number(&reader);
    (void)rk_bytes_take_number(&reader); /* the place and the strategies are for rank 0 */
    (void)rk_bytes_take_number(&reader);
    const rk_status status = kind == RK_SWEEP_POINTS
                                 ? work_points(worker, &reader, &ticker, result, err)
                                 : work_slice(worker, &reader, &ticker, result, err);
    atomic_store(ticker.partial, 0);
    return status;
}

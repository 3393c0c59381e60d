/* SPDX-License-Identifier: Apache-2.0 */
/* Receives the results of a sweep's tasks and reports progress. */
#include "base/error.h"
#include "sweep/doc_parts.h"
#include "sweep/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- stopping ------------------------------------------------------------------------------ */

/* Saves everything before waiting for threads, because mpirun waits for a second only. */
static bool stop(rk_sweep_running *run)
{
    char text[RK_SWEEP_LIST_SIZE];
    (void)rk_sweep_writer_flush(&run->writer, true, NULL);
    if (run->options->stopped) {
        run->options->stopped(run->options->control.user,
                              rk_sweep_writer_missing(&run->writer, text, sizeof(text)));
    }
    return false;
}

/* ---- taking in ------------------------------------------------------------------------------- */

void rk_sweep_drop_cut(rk_sweep_running *run, struct rk_sweep_cut *cut)
{
    struct rk_sweep_cut **place = &run->cut;
    while (*place != cut) {
        place = &(*place)->next;
    }
    *place = cut->next;
    rk_top_clear(&cut->found.top);
    free(cut);
}

/* Makes the rows of a search once all its slices have arrived, or begins another round. */
static rk_status finish_cut(rk_sweep_running *run, struct rk_sweep_cut *cut, rk_error *err)
{
    rk_bytes rows = {0};
    bool kept = false, again = false;
    rk_status status = rk_sweep_worker_read(&run->finisher, cut->number, &kept, err);
    if (status == RK_OK) {
        status =
            rk_sweep_worker_finish(&run->finisher, cut->round, &cut->found, &rows, &again, err);
    }
    if (status == RK_OK && again) {
        cut->round++;
        cut->given = cut->taken = 0;
        rk_point_result_start(&run->finisher, cut->round, &cut->found);
        return RK_OK;
    }
    if (status == RK_OK) {
        status = rows.failed
                     ? rk_sweep_fail_memory(err)
                     : rk_sweep_writer_put(&run->writer, cut->place, rows.data, rows.size, err);
        run->progress.points_done++;
    }
    rk_bytes_clear(&rows);
    rk_sweep_drop_cut(run, cut);
    return status;
}

static rk_status take_slice(rk_sweep_running *run, uint64_t place, const rk_bytes *result,
                            rk_error *err)
{
    struct rk_sweep_cut *cut = run->cut;
    while (cut->place != place) {
        cut = cut->next;
    }
    const rk_status status =
        rk_point_result_add(&run->finisher, &cut->found, cut->taken == 0, result, err);
    cut->taken++;
    return status == RK_OK && cut->taken == cut->slices ? finish_cut(run, cut, err) : status;
}

rk_status rk_sweep_take_result(void *context, const rk_bytes *task, const rk_bytes *result,
                               rk_error *err)
{
    rk_sweep_running *run = context;
    rk_bytes_reader reader = rk_bytes_read(task);
    const uint64_t kind = rk_bytes_take_number(&reader), place = rk_bytes_take_number(&reader);
    run->progress.done += rk_bytes_take_number(&reader);
    rk_status status;
    if (kind == RK_SWEEP_SLICE) {
        status = take_slice(run, place, result, err);
    } else {
        run->progress.points_done += reader.left / sizeof(uint64_t);
        status = rk_sweep_writer_put(&run->writer, place, result->data, result->size, err);
    }
    if (status == RK_OK) {
        status = rk_sweep_writer_flush(&run->writer, false, err);
    }
    return status == RK_OK && !rk_sweep_report(run->options, &run->progress) && !stop(run)
               ? rk_fail(err, RK_ERR_STOPPED, "the sweep was stopped")
               : status;
}

/* ---- telling --------------------------------------------------------------------------------- */

bool rk_sweep_tick(void *context)
{
    rk_sweep_running *run = context;
    rk_sweep_progress progress = run->progress;
    for (int i = 0; i < run->threads; i++) {
        progress.done += atomic_load(&run->partial[i]);
    }
    progress.done = progress.done < progress.total ? progress.done : progress.total;
    /* a file error is returned with the next rows, or at the end */
    return rk_sweep_writer_flush(&run->writer, false, NULL) == RK_OK &&
           (rk_sweep_report(run->options, &progress) || stop(run));
}

void rk_sweep_lost(void *context, int rank, const rk_task_list *tasks)
{
    const rk_sweep_running *run = context;
    char text[RK_SWEEP_LIST_SIZE] = "";
    size_t used = 0;
    for (const rk_task *task = tasks->first; task && used < sizeof(text); task = task->next) {
        rk_bytes_reader reader = rk_bytes_read(&task->bytes);
        const bool slice = rk_bytes_take_number(&reader) == RK_SWEEP_SLICE;
        (void)rk_bytes_take_number(&reader);
        (void)rk_bytes_take_number(&reader);
        const uint64_t first = rk_bytes_take_number(&reader);
        uint64_t last = first;
        while (!slice && reader.left > 0) {
            last = rk_bytes_take_number(&reader);
        }
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 last > first ? "%s%" PRIu64 "-%" PRIu64 : "%s%" PRIu64,
                                 used ? ", " : "", first, last);
    }
    if (run->options->lost) {
        run->options->lost(run->options->control.user, rank, text);
    }
}

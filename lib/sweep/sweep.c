/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a sweep, starts its workers, and shares its points among threads and ranks. */
#include "sweep/sweep.h"

#include "base/error.h"
#include "sweep/doc_parts.h"
#include "sweep/run.h"
#include "work/parallel.h"

#include <stdlib.h>
#include <unistd.h>

rk_status rk_sweep_check(const rk_sweep_doc *doc, const rk_sweep_options *options,
                         rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_table table;
    unsigned char *kept = NULL;
    rk_status status = rk_sweep_table_init(doc, &table, err);
    if (status != RK_OK) {
        return status;
    }
    status = rk_sweep_check_all(&table, options, &kept, totals, err);
    if (status == RK_OK && options->control.resume && options->control.sqlite &&
        access(options->control.sqlite, F_OK) == 0) {
        status = rk_sweep_look_back(&table, kept, options, totals, err);
    }
    free(kept);
    rk_sweep_table_clear(&table);
    return status;
}

static rk_status start_workers(rk_sweep_running *run, rk_error *err)
{
    run->workers = calloc((size_t)run->threads, sizeof(*run->workers));
    run->partial = calloc((size_t)run->threads, sizeof(*run->partial));
    rk_status status = run->workers && run->partial ? RK_OK : rk_sweep_fail_memory(err);
    for (int i = 0; i < run->threads && status == RK_OK; i++) {
        atomic_init(&run->partial[i], 0);
        status = rk_sweep_worker_init(&run->workers[i], &run->table, err);
    }
    return status;
}

static rk_status start_first(rk_sweep_running *run, rk_error *err)
{
    const uint64_t slice = run->table.method->slice;
    unsigned char *kept = NULL;
    rk_status status = rk_sweep_check_all(&run->table, run->options, &kept, run->totals, err);
    if (status == RK_OK) {
        status = rk_sweep_worker_init(&run->reader, &run->table, err);
    }
    if (status == RK_OK) {
        status = rk_sweep_worker_init(&run->finisher, &run->table, err);
    }
    if (status == RK_OK) {
        status = rk_sweep_writer_open(&run->writer, &run->table, run->options, err);
    }
    if (status == RK_OK && run->options->control.resume) {
        rk_sweep_tell_missing(&run->writer, kept, run->options, run->totals);
    }
    free(kept);
    run->progress =
        (rk_sweep_progress){.points_total = run->totals->points, .total = run->totals->strategies};
    run->shared =
        run->threads > 1 || (run->options->control.team && run->options->control.team->size > 1);
    run->block = run->doc->mode.estimate ? UINT64_MAX : slice > 0 ? slice / 4 : 1;
    run->block_size =
        run->options->block_points > 0 && run->options->block_points < RK_SWEEP_BLOCK_POINTS
            ? (uint64_t)run->options->block_points
            : RK_SWEEP_BLOCK_POINTS;
    return status;
}

static void clear_run(rk_sweep_running *run)
{
    while (run->cut) {
        rk_sweep_drop_cut(run, run->cut);
    }
    for (int i = 0; i < run->threads && run->workers; i++) {
        rk_sweep_worker_clear(&run->workers[i]);
    }
    rk_sweep_worker_clear(&run->reader);
    rk_sweep_worker_clear(&run->finisher);
    free(run->workers);
    free(run->partial);
    rk_sweep_table_clear(&run->table);
}

static rk_status share(rk_sweep_running *run, rk_error *err)
{
    const rk_share_job job = {
        .context = run,
        .work = rk_sweep_work,
        .next = rk_sweep_next_task,
        .done = rk_sweep_take_result,
        .tick = rk_sweep_tick,
        .lost = rk_sweep_lost,
        .fingerprint = rk_share_fingerprint(rk_sweep_doc_text(run->doc)),
        .silent_seconds = run->options->silent_seconds,
    };
    return rk_share_run(&job, run->options->control.team, run->threads, err);
}

rk_status rk_sweep_run(const rk_sweep_doc *doc, const rk_sweep_options *options,
                       rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_running run = {.doc = doc, .options = options, .totals = totals};
    const bool first = !options->control.team || options->control.team->rank == 0;
    *totals = (rk_sweep_totals){.points = rk_sweep_doc_point_count(doc)};
    run.threads = options->control.threads > 0 ? (int)options->control.threads : rk_core_count();
    rk_status status = rk_sweep_table_init(doc, &run.table, err);
    if (status == RK_OK) {
        run.table.has_text = options->control.csv && !options->control.pareto;
        status = start_workers(&run, err);
    }
    if (status == RK_OK && first) {
        status = start_first(&run, err);
    }
    if (status == RK_OK) {
        status = share(&run, err);
    } else {
        rk_share_leave(options->control.team, err);
    }
    if (first && status == RK_OK) {
        status = rk_sweep_writer_finish(&run.writer, err);
    }
    if (first) {
        status = rk_sweep_writer_close(&run.writer, status, err);
        totals->resumed = run.writer.resumed;
        totals->fitting = run.writer.fitting;
    }
    clear_run(&run);
    return status;
}

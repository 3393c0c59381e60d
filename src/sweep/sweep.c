/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/sweep.h"

#include "base/error.h"
#include "base/parallel.h"
#include "base/share.h"
#include "sweep/doc_parts.h"
#include "sweep/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKS_PER_TICK 256 /* points read between two calls of progress */
#define BLOCK_POINTS    128 /* of one task, at most */
#define SLICES_MAX      64  /* of one search */
#define MISSING_SIZE    512 /* of the text that lists points */

/* ---- checking -------------------------------------------------------------------------------- */

static bool report(const rk_sweep_options *options, const rk_sweep_progress *progress)
{
    return !options->progress || options->progress(options->user, progress);
}

/* Reads a point and counts its strategies, 0 when it is dropped. */
static rk_status read_point(rk_sweep_worker *worker, uint64_t number, bool *kept,
                            uint64_t *strategies, rk_error *err)
{
    *strategies = 0;
    const rk_status status = rk_sweep_worker_read(worker, number, kept, err);
    return status == RK_OK && *kept ? rk_sweep_worker_count(worker, strategies, err) : status;
}

static rk_status check_points(rk_sweep_worker *worker, const rk_sweep_options *options,
                              rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_progress progress = {.checking = true, .points_total = totals->points};
    for (uint64_t i = 0; i < totals->points; i++) {
        uint64_t strategies = 0;
        bool kept = false;
        const rk_status status = read_point(worker, i, &kept, &strategies, err);
        if (status != RK_OK) {
            return status;
        }
        if (strategies > UINT64_MAX - totals->strategies) {
            return rk_fail(err, RK_ERR_LIMIT, "the sweep has more than 2^64 strategies");
        }
        totals->strategies += strategies;
        totals->dropped += !kept;
        progress.points_done = i + 1;
        if (i % CHECKS_PER_TICK == 0 && !report(options, &progress)) {
            return rk_fail(err, RK_ERR_STOPPED, "the sweep was stopped");
        }
    }
    return RK_OK;
}

static const rk_sweep_method *method_of(const rk_sweep_options *options)
{
    return options->method ? options->method : &rk_sweep_calculon;
}

static rk_status check(const rk_sweep_table *table, const rk_sweep_options *options,
                       rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_worker worker;
    *totals = (rk_sweep_totals){.points = rk_sweep_doc_point_count(table->doc)};
    rk_status status = rk_sweep_worker_init(&worker, table, err);
    if (status == RK_OK) {
        status = check_points(&worker, options, totals, err);
    }
    rk_sweep_worker_clear(&worker);
    return status;
}

rk_status rk_sweep_check(const rk_sweep_doc *doc, const rk_sweep_options *options,
                         rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_table table;
    rk_status status = rk_sweep_table_init(doc, method_of(options), &table, err);
    if (status == RK_OK) {
        status = check(&table, options, totals, err);
        rk_sweep_table_clear(&table);
    }
    return status;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* What a task is: all of some points, or a slice of the search at one. */
enum task_kind {
    POINTS, /* place, strategies, numbers of the points */
    SLICE,  /* place, strategies, number, round, slice, slices */
};

/* A search that is cut into slices. */
struct cut_search {
    uint64_t place, number, strategies;
    uint64_t slices, given, taken; /* of this round */
    unsigned round;
    rk_sweep_found found;
    struct cut_search *next;
};

/* A sweep that is running. */
struct run {
    const rk_sweep_doc *doc;
    const rk_sweep_options *options;
    rk_sweep_totals *totals;
    rk_sweep_table table;
    rk_sweep_worker *workers; /* owned; one of each thread */
    int threads;
    atomic_uint_fast64_t *partial; /* owned; strategies that each thread has settled in its task */

    /* of rank 0 */
    rk_sweep_progress progress;
    rk_sweep_writer writer;
    rk_sweep_worker reader;     /* goes through the points to hand them out */
    rk_sweep_worker finisher;   /* goes back to those of searches that were cut */
    uint64_t next;              /* point */
    struct cut_search *cut;     /* owned list */
    bool shared;                /* by more than one thread */
    uint64_t block, block_size; /* strategies of a block of points; points */
};

/* A point that is too large for a block, and what is read of it. */
struct next_point {
    uint64_t number, strategies;
    bool kept, finished;
};

static void begin_task(rk_bytes *task, enum task_kind kind, uint64_t place, uint64_t strategies)
{
    rk_bytes_add_number(task, (uint64_t)kind);
    rk_bytes_add_number(task, place);
    rk_bytes_add_number(task, strategies);
}

/* Gives out a slice of a search that is cut, if one is left. */
static bool give_slice(struct run *run, rk_bytes *task)
{
    for (struct cut_search *cut = run->cut; cut; cut = cut->next) {
        if (cut->given < cut->slices) {
            begin_task(task, SLICE, cut->place,
                       cut->round == 0 ? cut->strategies / cut->slices : 0);
            rk_bytes_add_number(task, cut->number);
            rk_bytes_add_number(task, cut->round);
            rk_bytes_add_number(task, cut->given++);
            rk_bytes_add_number(task, cut->slices);
            return true;
        }
    }
    return false;
}

static rk_status cut_search(struct run *run, const struct next_point *point, rk_error *err)
{
    const uint64_t slices = point->strategies / run->table.method->slice;
    struct cut_search *cut = calloc(1, sizeof(*cut));
    if (!cut) {
        return rk_sweep_fail_memory(err);
    }
    *cut = (struct cut_search){.number = point->number,
                               .strategies = point->strategies,
                               .slices = slices < SLICES_MAX ? slices : SLICES_MAX,
                               .next = run->cut};
    run->cut = cut;
    rk_sweep_found_start(&run->reader, 0, &cut->found);
    return rk_sweep_writer_reserve(&run->writer, point->number, point->number, false, &cut->place,
                                   err);
}

/* ---- handing out ----------------------------------------------------------------------------- */

/* Reads the next point as far as handing it out needs. */
static rk_status look_at(struct run *run, uint64_t number, struct next_point *point, rk_error *err)
{
    *point = (struct next_point){.number = number,
                                 .kept = true,
                                 .strategies = 1,
                                 .finished = rk_sweep_writer_has(&run->writer, number)};
    /* an estimate is small and the same everywhere; who does it finds out whether it is dropped */
    return run->doc->mode.estimate
               ? RK_OK
               : read_point(&run->reader, number, &point->kept, &point->strategies, err);
}

static bool is_cut(const struct run *run, const struct next_point *point)
{
    const uint64_t slice = run->table.method->slice;
    return run->shared && slice > 0 && !run->doc->mode.bounded && point->strategies >= 2 * slice;
}

/* Passes over points that are dropped or finished.  *found: one that is neither stands next. */
static rk_status skip_points(struct run *run, struct next_point *point, bool *found, rk_error *err)
{
    rk_status status = RK_OK;
    *found = false;
    while (run->next < run->totals->points && status == RK_OK && !*found) {
        status = look_at(run, run->next, point, err);
        if (status != RK_OK) {
            break;
        }
        if (point->kept && !point->finished) {
            *found = true;
            break;
        }
        if (point->finished) {
            uint64_t place;
            run->progress.resumed += point->strategies;
            run->progress.done += point->strategies;
            status = rk_sweep_writer_reserve(&run->writer, run->next, run->next, true, &place, err);
        }
        run->progress.points_done++;
        run->next++;
    }
    return status;
}

/* Puts neighbours together in a task until they are worth one. */
static rk_status give_block(struct run *run, struct next_point point, rk_bytes *task, rk_error *err)
{
    uint64_t numbers[BLOCK_POINTS], strategies = 0;
    size_t count = 0;
    bool found = true;
    rk_status status = RK_OK;
    while (found && count < run->block_size && strategies < run->block && status == RK_OK &&
           !is_cut(run, &point)) {
        numbers[count++] = point.number;
        strategies += point.strategies;
        run->next++;
        found = run->next < run->totals->points;
        if (found && count < run->block_size && strategies < run->block) {
            status = look_at(run, run->next, &point, err);
            found = point.kept && !point.finished;
        }
    }
    uint64_t place = 0;
    if (status == RK_OK) {
        status = rk_sweep_writer_reserve(&run->writer, numbers[0], numbers[count - 1], false,
                                         &place, err);
    }
    begin_task(task, POINTS, place, strategies);
    for (size_t i = 0; i < count; i++) {
        rk_bytes_add_number(task, numbers[i]);
    }
    return status;
}

static rk_status next_task(void *context, rk_bytes *task, rk_error *err)
{
    struct run *run = context;
    struct next_point point;
    bool found = false;
    if (give_slice(run, task) || rk_sweep_writer_is_full(&run->writer)) {
        return RK_OK;
    }
    rk_status status = skip_points(run, &point, &found, err);
    if (status != RK_OK || !found) {
        return status;
    }
    if (!is_cut(run, &point)) {
        return give_block(run, point, task, err);
    }
    run->next++;
    status = cut_search(run, &point, err);
    return status == RK_OK && !give_slice(run, task) ? rk_sweep_fail_memory(err) : status;
}

/* ---- working --------------------------------------------------------------------------------- */

/* What the search of a thread reports to. */
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
    const rk_search_control control = {
        .threads = 1, .progress = tick_search, .user = ticker, .slice = slice, .slices = slices};
    bool kept = false;
    const rk_status status = rk_sweep_worker_read(worker, number, &kept, err);
    return status == RK_OK ? rk_sweep_worker_slice(worker, (unsigned)round, &control, result, err)
                           : status;
}

static rk_status work(void *context, int thread, const rk_bytes *task, rk_bytes *result,
                      const atomic_bool *stop, rk_error *err)
{
    struct run *run = context;
    rk_sweep_worker *worker = &run->workers[thread];
    struct ticker ticker = {.partial = &run->partial[thread], .stop = stop};
    rk_bytes_reader reader = rk_bytes_read(task);
    const uint64_t kind = rk_bytes_take_number(&reader);
    (void)rk_bytes_take_number(&reader); /* the place and the strategies are for rank 0 */
    (void)rk_bytes_take_number(&reader);
    const rk_status status = kind == POINTS ? work_points(worker, &reader, &ticker, result, err)
                                            : work_slice(worker, &reader, &ticker, result, err);
    atomic_store(ticker.partial, 0);
    return status;
}

/* ---- stopping ------------------------------------------------------------------------------ */

/* Brings everything to safety before waiting for threads: mpirun waits for a second, not longer. */
static bool stop(struct run *run)
{
    char text[MISSING_SIZE];
    (void)rk_sweep_writer_flush(&run->writer, true, NULL);
    if (run->options->stopped) {
        run->options->stopped(run->options->user,
                              rk_sweep_writer_missing(&run->writer, text, sizeof(text)));
    }
    return false;
}

/* ---- taking in ------------------------------------------------------------------------------- */

/* Takes a search out of the list of those that are cut. */
static void drop_cut(struct run *run, struct cut_search *cut)
{
    struct cut_search **place = &run->cut;
    while (*place != cut) {
        place = &(*place)->next;
    }
    *place = cut->next;
    rk_top_clear(&cut->found.top);
    free(cut);
}

/* Makes the rows of a search whose slices are all there; or begins another round of them. */
static rk_status finish_cut(struct run *run, struct cut_search *cut, rk_error *err)
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
        rk_sweep_found_start(&run->finisher, cut->round, &cut->found);
        return RK_OK;
    }
    if (status == RK_OK) {
        status = rows.failed
                     ? rk_sweep_fail_memory(err)
                     : rk_sweep_writer_put(&run->writer, cut->place, rows.data, rows.size, err);
        run->progress.points_done++;
    }
    rk_bytes_clear(&rows);
    drop_cut(run, cut);
    return status;
}

static rk_status take_slice(struct run *run, uint64_t place, const rk_bytes *result, rk_error *err)
{
    struct cut_search *cut = run->cut;
    while (cut->place != place) {
        cut = cut->next;
    }
    const rk_status status =
        rk_sweep_found_add(&run->finisher, &cut->found, cut->taken == 0, result, err);
    cut->taken++;
    return status == RK_OK && cut->taken == cut->slices ? finish_cut(run, cut, err) : status;
}

static rk_status take_result(void *context, const rk_bytes *task, const rk_bytes *result,
                             rk_error *err)
{
    struct run *run = context;
    rk_bytes_reader reader = rk_bytes_read(task);
    const uint64_t kind = rk_bytes_take_number(&reader), place = rk_bytes_take_number(&reader);
    run->progress.done += rk_bytes_take_number(&reader);
    rk_status status;
    if (kind == SLICE) {
        status = take_slice(run, place, result, err);
    } else {
        run->progress.points_done += reader.left / sizeof(uint64_t);
        status = rk_sweep_writer_put(&run->writer, place, result->data, result->size, err);
    }
    if (status == RK_OK) {
        status = rk_sweep_writer_flush(&run->writer, false, err);
    }
    return status == RK_OK && !report(run->options, &run->progress) && !stop(run)
               ? rk_fail(err, RK_ERR_STOPPED, "the sweep was stopped")
               : status;
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool tick(void *context)
{
    struct run *run = context;
    rk_sweep_progress progress = run->progress;
    for (int i = 0; i < run->threads; i++) {
        progress.done += atomic_load(&run->partial[i]);
    }
    progress.done = progress.done < progress.total ? progress.done : progress.total;
    /* an error of the files comes back with the next rows, or at the end */
    return rk_sweep_writer_flush(&run->writer, false, NULL) == RK_OK &&
           (report(run->options, &progress) || stop(run));
}

static void lost(void *context, int rank, const rk_task_list *tasks)
{
    const struct run *run = context;
    char text[MISSING_SIZE] = "";
    size_t used = 0;
    for (const rk_task *task = tasks->first; task && used < sizeof(text); task = task->next) {
        rk_bytes_reader reader = rk_bytes_read(&task->bytes);
        const bool slice = rk_bytes_take_number(&reader) == SLICE;
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
        run->options->lost(run->options->user, rank, text);
    }
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static rk_status start_workers(struct run *run, rk_error *err)
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

static rk_status start_first(struct run *run, rk_error *err)
{
    const uint64_t slice = run->table.method->slice;
    rk_status status = check(&run->table, run->options, run->totals, err);
    if (status == RK_OK) {
        status = rk_sweep_worker_init(&run->reader, &run->table, err);
    }
    if (status == RK_OK) {
        status = rk_sweep_worker_init(&run->finisher, &run->table, err);
    }
    if (status == RK_OK) {
        status = rk_sweep_writer_open(&run->writer, &run->table, run->options, err);
    }
    run->progress =
        (rk_sweep_progress){.points_total = run->totals->points, .total = run->totals->strategies};
    run->shared = run->threads > 1 || (run->options->team && run->options->team->size > 1);
    run->block = run->doc->mode.estimate ? UINT64_MAX : slice > 0 ? slice / 4 : 1;
    run->block_size = run->options->block_points > 0 && run->options->block_points < BLOCK_POINTS
                          ? (uint64_t)run->options->block_points
                          : BLOCK_POINTS;
    return status;
}

static void clear_run(struct run *run)
{
    while (run->cut) {
        drop_cut(run, run->cut);
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

static rk_status share(struct run *run, rk_error *err)
{
    const rk_share_job job = {
        .context = run,
        .work = work,
        .next = next_task,
        .done = take_result,
        .tick = tick,
        .lost = lost,
        .fingerprint = rk_share_fingerprint(rk_sweep_doc_text(run->doc)),
        .silent_seconds = run->options->silent_seconds,
    };
    return rk_share_run(&job, run->options->team, run->threads, err);
}

rk_status rk_sweep_run(const rk_sweep_doc *doc, const rk_sweep_options *options,
                       rk_sweep_totals *totals, rk_error *err)
{
    struct run run = {.doc = doc, .options = options, .totals = totals};
    const bool first = !options->team || options->team->rank == 0;
    *totals = (rk_sweep_totals){.points = rk_sweep_doc_point_count(doc)};
    run.threads = options->threads > 0 ? options->threads : rk_core_count();
    rk_status status = rk_sweep_table_init(doc, method_of(options), &run.table, err);
    if (status == RK_OK) {
        run.table.has_text = options->csv_path && !options->pareto;
        status = start_workers(&run, err);
    }
    if (status == RK_OK && first) {
        status = start_first(&run, err);
    }
    if (status == RK_OK) {
        status = share(&run, err);
    } else {
        rk_share_leave(options->team, err);
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

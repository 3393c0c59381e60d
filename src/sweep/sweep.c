/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/sweep.h"

#include "base/error.h"
#include "calculon/execution.h"
#include "formats/csv_out.h"
#include "formats/sqlite_out.h"
#include "sweep/point.h"
#include "sweep/table.h"

#include <stdlib.h>

#define CHECKS_PER_TICK 256 /* points read between two calls of progress */

/* A sweep that is running. */
struct run {
    const rk_sweep_doc *doc;
    const rk_sweep_options *options;
    rk_sweep_totals *totals;
    rk_sweep_progress progress;
    rk_sweep_table table;
    rk_csv_out *csv;            /* NULL: none */
    rk_sqlite_out *sqlite;      /* NULL: none */
    rk_calculon_ranked *ranked; /* owned */
    size_t ranked_room;
};

static rk_status fail_stopped(rk_error *err)
{
    return rk_fail(err, RK_ERR_STOPPED, "the sweep was stopped");
}

static bool report(const rk_sweep_options *options, const rk_sweep_progress *progress)
{
    return !options->progress || options->progress(options->user, progress);
}

/* Reads a point, checks what its search would refuse, and counts its strategies. */
static rk_status read_point(rk_sweep_cursor *cursor, uint64_t number, rk_sweep_point *point,
                            bool *kept, uint64_t *strategies, rk_error *err)
{
    *strategies = 0;
    rk_status status = rk_sweep_point_read(cursor, number, point, kept, err);
    if (status != RK_OK || !*kept) {
        return status;
    }
    status = rk_calculon_sys_check(&point->sys, point->space.datatype, err);
    if (status == RK_OK) {
        status = rk_calculon_space_count(&point->app, &point->sys, &point->space, strategies, err);
    }
    return status == RK_OK ? RK_OK : rk_sweep_doc_fail_at(cursor->doc, number, err);
}

static rk_status check_points(rk_sweep_cursor *cursor, const rk_sweep_options *options,
                              rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_progress progress = {.checking = true, .points_total = totals->points};
    for (uint64_t i = 0; i < totals->points; i++) {
        rk_sweep_point point;
        uint64_t strategies = 0;
        bool kept = false;
        const rk_status status = read_point(cursor, i, &point, &kept, &strategies, err);
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
            return fail_stopped(err);
        }
    }
    return RK_OK;
}

rk_status rk_sweep_check(const rk_sweep_doc *doc, const rk_sweep_options *options,
                         rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_cursor cursor;
    *totals = (rk_sweep_totals){.points = rk_sweep_doc_point_count(doc)};
    rk_sweep_cursor_init(&cursor, doc);
    const rk_status status = check_points(&cursor, options, totals, err);
    rk_sweep_cursor_clear(&cursor);
    return status;
}

/* ---- one point ------------------------------------------------------------------------- */

/* Hands the row of the table to the files. */
static rk_status write_row(const struct run *run, rk_error *err)
{
    if (run->csv) {
        rk_csv_row(run->csv, run->table.row, run->table.count);
    }
    return run->sqlite ? rk_sqlite_add(run->sqlite, run->table.row, err) : RK_OK;
}

/* Makes the rows of a point safe: in the database first, from which the CSV can be made again. */
static rk_status end_point(const struct run *run, rk_error *err)
{
    const rk_status status = run->sqlite ? rk_sqlite_commit(run->sqlite, err) : RK_OK;
    return status == RK_OK && run->csv ? rk_csv_flush(run->csv, err) : status;
}

/* Fills the table with each ranked mapping in turn and writes it. */
static rk_status write_results(struct run *run, const rk_sweep_point *point, size_t count,
                               rk_error *err)
{
    rk_status status = count == 0 ? write_row(run, err) : RK_OK;
    for (size_t i = 0; i < count && status == RK_OK; i++) {
        const rk_calculon_exe *exe = &run->ranked[i].exe;
        rk_calculon_stats stats;
        rk_calculon_verdict verdict;
        status =
            rk_calculon_evaluate(&point->app, &point->sys, exe, &stats, NULL, NULL, &verdict, err);
        if (status == RK_OK) {
            rk_sweep_table_set_result(&run->table, i, exe, &stats);
            status = write_row(run, err);
        }
    }
    return status == RK_OK ? end_point(run, err) : status;
}

static bool tick(void *user, uint64_t done, uint64_t total)
{
    const struct run *run = user;
    rk_sweep_progress progress = run->progress;
    progress.done += done < total ? done : total;
    return report(run->options, &progress);
}

/* Makes room to rank the mappings of a point. */
static rk_status make_room(struct run *run, size_t room, rk_error *err)
{
    if (room <= run->ranked_room) {
        return RK_OK;
    }
    free(run->ranked);
    run->ranked = calloc(room, sizeof(*run->ranked));
    run->ranked_room = run->ranked ? room : 0;
    return run->ranked ? RK_OK
                       : rk_fail(err, RK_ERR_MEMORY, "no memory to rank %zu mappings", room);
}

static rk_status search_point(struct run *run, uint64_t number, const rk_sweep_point *point,
                              uint64_t strategies, rk_error *err)
{
    const rk_search_control control = {
        .threads = run->options->threads, .progress = tick, .user = run};
    const size_t wanted = (size_t)point->top;
    const size_t top = strategies < wanted ? (size_t)strategies : wanted;
    rk_search_counts counts = {0};
    size_t count = 0;
    rk_status status = make_room(run, top > 0 ? top : 1, err);
    if (status == RK_OK) {
        status = rk_calculon_search(&point->app, &point->sys, &point->space, &control, top,
                                    run->ranked, &count, &counts, err);
        if (status != RK_OK && status != RK_ERR_STOPPED) {
            return rk_sweep_doc_fail_at(run->doc, number, err);
        }
    }
    if (status == RK_OK) {
        rk_sweep_table_set_point(&run->table, run->doc, number, &counts);
        status = write_results(run, point, count, err);
    }
    run->totals->fitting += counts.good > 0;
    return status;
}

/* ---- points that are finished ---------------------------------------------------------- */

/* A row of the database is in the table. */
static rk_status copy_row(void *user, rk_error *err)
{
    struct run *run = user;
    (void)err;
    if (run->csv) {
        rk_csv_row(run->csv, run->table.row, run->table.count);
    }
    return RK_OK;
}

/* Takes a point from the database; *found says whether it is there. */
static rk_status resume_point(struct run *run, uint64_t number, uint64_t strategies, bool *found,
                              rk_error *err)
{
    *found = false;
    if (!run->options->resume || !run->sqlite) {
        return RK_OK;
    }
    const rk_status status =
        rk_sqlite_read(run->sqlite, number, run->table.row, copy_row, run, found, err);
    if (status == RK_OK && *found) {
        run->totals->resumed++;
        run->totals->fitting += run->table.row[run->table.good].integer > 0;
        run->progress.resumed += strategies;
    }
    return status;
}

/* ---- the sweep ------------------------------------------------------------------------- */

static rk_status run_points(struct run *run, rk_error *err)
{
    rk_sweep_cursor cursor;
    rk_status status = RK_OK;
    rk_sweep_cursor_init(&cursor, run->doc);
    for (uint64_t i = 0; i < run->totals->points && status == RK_OK; i++) {
        rk_sweep_point point;
        uint64_t strategies = 0;
        bool kept = false, found = false;
        status = read_point(&cursor, i, &point, &kept, &strategies, err);
        if (status == RK_OK && kept) {
            status = resume_point(run, i, strategies, &found, err);
        }
        if (status == RK_OK && kept && !found) {
            status = search_point(run, i, &point, strategies, err);
        }
        run->progress.points_done = i + 1;
        run->progress.done += strategies;
        if (status == RK_OK && !report(run->options, &run->progress)) {
            status = fail_stopped(err);
        }
    }
    rk_sweep_cursor_clear(&cursor);
    return status;
}

/* The database first: it may refuse, and the CSV file shall not be emptied then. */
static rk_status open_outputs(struct run *run, const rk_sqlite_layout *layout, rk_error *err)
{
    rk_status status = RK_OK;
    if (run->options->sqlite_path) {
        status = rk_sqlite_open(run->options->sqlite_path, run->options->resume, layout,
                                &run->sqlite, err);
    }
    if (status == RK_OK && run->options->csv_path) {
        status = rk_csv_open(run->options->csv_path, &run->csv, err);
    }
    if (status == RK_OK && run->csv) {
        rk_csv_header(run->csv, run->table.columns, run->table.count);
        status = rk_csv_flush(run->csv, err);
    }
    return status;
}

rk_status rk_sweep_run(const rk_sweep_doc *doc, const rk_sweep_options *options,
                       rk_sweep_totals *totals, rk_error *err)
{
    struct run run = {.doc = doc, .options = options, .totals = totals};
    rk_status status = rk_sweep_check(doc, options, totals, err);
    if (status == RK_OK) {
        status = rk_sweep_table_init(doc, &run.table, err);
    }
    const rk_sqlite_layout layout = {
        .document = rk_sweep_doc_text(doc),
        .point_count = totals->points,
        .columns = run.table.columns,
        .column_count = run.table.count,
        .point_column_count = run.table.point_count,
    };
    run.progress = (rk_sweep_progress){.points_total = totals->points, .total = totals->strategies};
    if (status == RK_OK) {
        status = open_outputs(&run, &layout, err);
    }
    if (status == RK_OK) {
        status = run_points(&run, err);
    }
    const rk_status closed = rk_csv_close(run.csv, status == RK_OK ? err : NULL);
    rk_sqlite_close(run.sqlite);
    rk_sweep_table_clear(&run.table);
    free(run.ranked);
    return status == RK_OK ? closed : status;
}

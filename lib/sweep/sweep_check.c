/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and checks all points before the first is settled, and finds those that an earlier run
 * finished.
 */
#include "base/error.h"
#include "sweep/doc_parts.h"
#include "sweep/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECKS_PER_TICK 256 /* points read between two calls of progress */

bool rk_sweep_report(const rk_sweep_options *options, const rk_sweep_progress *progress)
{
    return !options->control.progress || options->control.progress(options->control.user, progress);
}

/* `kept_points` gets a bit for each point that is not dropped. */
static rk_status check_points(rk_sweep_worker *worker, const rk_sweep_options *options,
                              unsigned char *kept_points, rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_progress progress = {.checking = true, .points_total = totals->points};
    for (uint64_t i = 0; i < totals->points; i++) {
        uint64_t strategies = 0;
        bool kept = false;
        const rk_status status = rk_sweep_worker_look(worker, i, &kept, &strategies, err);
        if (status != RK_OK) {
            return status;
        }
        if (strategies > UINT64_MAX - totals->strategies) {
            return rk_fail(err, RK_ERR_LIMIT, "the sweep has more than 2^64 strategies");
        }
        totals->strategies += strategies;
        totals->dropped += !kept;
        kept_points[i / 8] |= (unsigned char)(kept << i % 8);
        progress.points_done = i + 1;
        if (i % CHECKS_PER_TICK == 0 && !rk_sweep_report(options, &progress)) {
            return rk_fail(err, RK_ERR_STOPPED, "the sweep was stopped");
        }
    }
    return RK_OK;
}

rk_status rk_sweep_check_all(const rk_sweep_table *table, const rk_sweep_options *options,
                             unsigned char **kept, rk_sweep_totals *totals, rk_error *err)
{
    rk_sweep_worker worker;
    *totals = (rk_sweep_totals){.points = rk_sweep_doc_point_count(table->doc)};
    *kept = calloc(1, (size_t)(totals->points / 8 + 1));
    rk_status status = rk_sweep_worker_init(&worker, table, err);
    if (status == RK_OK) {
        status =
            *kept ? check_points(&worker, options, *kept, totals, err) : rk_sweep_fail_memory(err);
    }
    rk_sweep_worker_clear(&worker);
    return status;
}

void rk_sweep_tell_missing(const rk_sweep_writer *writer, const unsigned char *kept,
                           const rk_sweep_options *options, rk_sweep_totals *totals)
{
    char text[RK_SWEEP_LIST_SIZE] = "";
    size_t used = 0;
    uint64_t missing = 0, first = 0, last = 0; /* of a range of missing points */
    bool open = false;
    for (uint64_t i = 0; i <= totals->points; i++) {
        const bool is_kept = i < totals->points && (kept[i / 8] >> i % 8 & 1);
        const bool is_there = i < totals->points && rk_sweep_writer_has(writer, i);
        if (is_kept && !is_there) {
            first = open ? first : i;
            last = i;
            open = true;
            missing++;
        } else if (open && (is_there || i == totals->points)) {
            open = false;
            if (used < sizeof(text)) {
                used += (size_t)snprintf(text + used, sizeof(text) - used,
                                         last > first ? "%s%" PRIu64 "-%" PRIu64 : "%s%" PRIu64,
                                         used ? ", " : "", first, last);
            }
        }
    }
    totals->resumed = writer->resumed;
    if (options->resumed && writer->resumed > 0) {
        options->resumed(options->control.user, missing, text);
    }
}

rk_status rk_sweep_look_back(const rk_sweep_table *table, const unsigned char *kept,
                             const rk_sweep_options *options, rk_sweep_totals *totals,
                             rk_error *err)
{
    const rk_sweep_options files = {.control.sqlite = options->control.sqlite,
                                    .control.resume = true};
    rk_sweep_writer writer;
    rk_status status = rk_sweep_writer_open(&writer, table, &files, err);
    if (status == RK_OK) {
        rk_sweep_tell_missing(&writer, kept, options, totals);
    }
    return rk_sweep_writer_close(&writer, status, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon sweep`: a search at every point of a grid. */
#include "sweep/sweep.h"

#include "base/clock.h"
#include "base/error.h"
#include "command/commands.h"
#include "job/output_form.h"
#include "work/shared_work.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define MOST_THREADS 4096
#define MOST_SECONDS 86400

struct arguments {
    const char *grid, *output, *sqlite, *pareto;
    int64_t threads;
    double lost_after;
    bool resume, dry_run;
};

static const rk_option sweep_options[] = {
    RK_OPTION("grid", TEXT, offsetof(struct arguments, grid), .positional = true, .required = true,
              .value = "GRID.json", .help = "the search and the axes to vary"),
    RK_OPTION("output", TEXT, offsetof(struct arguments, output), .letter = 'o', .writes = true,
              .value = "FILE.csv",
              .help = "write CSV to a file; default: standard output, or none with --sqlite"),
    RK_OPTION("sqlite", TEXT, offsetof(struct arguments, sqlite), .writes = true,
              .value = "FILE.db", .help = "write an SQLite database"),
    RK_OPTION("pareto", TEXT, offsetof(struct arguments, pareto), .value = "COLUMN,...",
              .help =
                  "keep only the Pareto front of these columns: time, memory, rate, max:COLUMN..."),
    RK_OPTION("resume", FLAG, offsetof(struct arguments, resume),
              .help = "continue where an earlier run of this database stopped"),
    RK_OPTION("threads", COUNT, offsetof(struct arguments, threads), .letter = 't', .min = 1,
              .max = MOST_THREADS, .value = "N", .help = "threads to use; default: one per core"),
    RK_OPTION("lost-after", REAL, offsetof(struct arguments, lost_after), .max = MOST_SECONDS,
              .value = "SECONDS",
              .help = "silence after which a rank of mpirun counts as lost and others redo its "
                      "work; default: 60"),
    RK_OPTION("dry-run", FLAG, offsetof(struct arguments, dry_run),
              .help = "check all points, count them and their strategies, then stop"),
};

/* ---- progress ---------------------------------------------------------------------------- */

/*
 * Leaves out what an earlier run settled, so that the rate and the remaining time are about this
 * run.
 */
static bool show(void *user, const rk_sweep_progress *progress)
{
    rk_job *job = user;
    char note[80];
    rk_job_progress line = {
        .what = "points", .done = progress->points_done, .total = progress->points_total};
    if (!progress->checking) {
        (void)snprintf(note, sizeof(note), "%" PRIu64 " of %" PRIu64 " points done",
                       progress->points_done, progress->points_total);
        line = (rk_job_progress){.what = "strategies",
                                 .done = progress->done - progress->resumed,
                                 .total = progress->total - progress->resumed,
                                 .note = note};
    }
    return rk_control_report(rk_job_work(job), &line);
}

static void report_stopped(void *user, const char *points)
{
    rk_job_remark(user, "stopped%s%s", points[0] ? "; points begun and not finished: " : "",
                  points);
}

static void report_resumed(void *user, uint64_t missing, const char *points)
{
    rk_job_remark(user, "%" PRIu64 " points are missing%s%s", missing, missing > 0 ? ": " : "",
                  points);
}

static void report_lost(void *user, int rank, const char *points)
{
    rk_job_remark(user, "rank %d is lost; the others repeat its points: %s", rank,
                  points[0] ? points : "none");
}

/* ---- the command --------------------------------------------------------------------------- */

static rk_status check_arguments(void *arguments, rk_error *err)
{
    struct arguments *args = arguments;
    if (args->resume && !args->sqlite) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--resume needs the database of the earlier run: add --sqlite FILE.db");
    }
    if (!args->output && !args->sqlite) {
        args->output = "-";
    }
    return rk_output_check("output", args->output, 1U << RK_OUTPUT_CSV,
                           "a sweep is written as .csv, or with --sqlite as a database", err);
}

static rk_status write_counts(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_sweep_totals *totals = what;
    (void)style;
    (void)err;
    (void)fprintf(to, "points      %" PRIu64, totals->points - totals->dropped);
    if (totals->dropped > 0) {
        (void)fprintf(to, " of %" PRIu64 "; constraints drop the others", totals->points);
    }
    (void)fprintf(to, "\nstrategies  %" PRIu64 "\n", totals->strategies);
    return RK_OK;
}

static rk_status finish(rk_job *job, const struct arguments *args, const rk_sweep_totals *totals,
                        double seconds, rk_error *err)
{
    assert(seconds >= 0);
    if (!rk_control_is_first(rk_job_work(job))) {
        return RK_OK; /* rank 0 writes and reports */
    }
    if (args->dry_run) {
        rk_job_set_found(job, true);
        return rk_job_print(job, "-", write_counts, totals, err);
    }
    if (rk_job_is_drawn(job)) {
        rk_job_remark(job,
                      "%" PRIu64 " points (%" PRIu64 " finished before), %" PRIu64
                      " strategies, %.1f s; %" PRIu64 " points have a result",
                      totals->points - totals->dropped, totals->resumed, totals->strategies,
                      seconds, totals->fitting);
    }
    rk_job_set_found(job, totals->fitting > 0);
    if (totals->fitting == 0) {
        rk_job_remark(job, "nothing fits at any point");
    }
    return RK_OK;
}

static rk_status run_sweep(rk_job *job, void *arguments, rk_error *err)
{
    const struct arguments *args = arguments;
    rk_sweep_options options = {
        .control = {.csv = args->output,
                    .sqlite = args->sqlite,
                    .pareto = args->pareto,
                    .resume = args->resume,
                    .threads = rk_control_search(rk_job_work(job), "points", args->threads).threads,
                    .team = rk_control_team(rk_job_work(job)),
                    .progress = show,
                    .user = job},
        .silent_seconds = args->lost_after,
        .write = rk_job_write,
        .resumed = report_resumed,
        .lost = report_lost,
        .stopped = report_stopped,
    };
    rk_sweep_totals totals = {0};
    rk_sweep_doc *doc = NULL;
    const double started = rk_wall_seconds();
    if (args->dry_run && !rk_control_is_first(rk_job_work(job))) {
        return RK_OK;
    }
    rk_status status = rk_sweep_doc_load(args->grid, &doc, err);
    if (status) {
        rk_share_leave(options.control.team, err);
        return status;
    }
    status = args->dry_run ? rk_sweep_check(doc, &options, &totals, err)
                           : rk_sweep_run(doc, &options, &totals, err);
    rk_sweep_doc_free(doc);
    return status ? status : finish(job, args, &totals, rk_wall_seconds() - started, err);
}

const rk_command rk_command_sweep = {
    .name = "sweep",
    .purpose = "Plan or estimate over a grid of models, systems and strategies",
    .options = sweep_options,
    .option_count = sizeof(sweep_options) / sizeof(sweep_options[0]),
    .notes =
        "A grid is a question of 'reckon plan' with axes: options, members of\n"
        "\"strategy\", or numbers of documents by their path:\n\n"
        "  {\"model\": \"llama3-70b\", \"system\": \"h100\", \"global_batch\": 512,\n"
        "   \"axes\": [{\"key\": \"accelerators\", \"values\": [64, 128, 256]},\n"
        "            {\"key\": \"seq\", \"values\": [\"4k\", \"8k\"]},\n"
        "            {\"key\": \"system.memory.bandwidth_GBps\", \"values\": [3352, 8000]}]}\n\n"
        "Exit status: 0 done, 1 nothing fits at any point, 2 wrong usage or wrong input.",
    .is_shared = true,
    .size = sizeof(struct arguments),
    .complete = check_arguments,
    .run = run_sweep,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon sweep`: a search at every point of a grid. */
#include "sweep/sweep.h"

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/sweep_reckon.h"
#include "cli/team.h"
#include "work/share.h"

#include <inttypes.h>
#include <stdio.h>

#define MOST_THREADS   4096
#define REDRAW_SECONDS 0.1
#define MOST_SECONDS   86400

struct arguments {
    const char *grid, *output, *sqlite, *pareto;
    int64_t threads;
    double lost_after;
    bool resume, dry_run;
};

static const rk_option sweep_options[] = {
    {.name = "grid",
     .positional = true,
     .required = true,
     .offset = offsetof(struct arguments, grid),
     .value = "GRID.json",
     .help = "the search and the axes along which it varies"},
    {.name = "output",
     .letter = 'o',
     .offset = offsetof(struct arguments, output),
     .value = "FILE.csv",
     .help = "write a CSV table here (standard output, unless --sqlite is given)"},
    {.name = "sqlite",
     .offset = offsetof(struct arguments, sqlite),
     .value = "FILE.db",
     .help = "write a SQLite database here"},
    {.name = "pareto",
     .offset = offsetof(struct arguments, pareto),
     .value = "COLUMN,...",
     .help = "keep what nothing beats in all of these: time, memory, rate, max:COLUMN..."},
    {.name = "resume",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(struct arguments, resume),
     .help = "go on with the database where an earlier run stopped"},
    {.name = "threads",
     .letter = 't',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(struct arguments, threads),
     .min = 1,
     .max = MOST_THREADS,
     .value = "N",
     .help = "threads to use (one per core)"},
    {.name = "lost-after",
     .type = RK_OPTION_REAL,
     .offset = offsetof(struct arguments, lost_after),
     .max = MOST_SECONDS,
     .value = "SECONDS",
     .help = "of silence, for a rank of mpirun; others do again what it had (60)"},
    {.name = "dry-run",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(struct arguments, dry_run),
     .help = "check all points, count them and their strategies, and stop"},
};

const rk_command rk_command_sweep = {
    .name = "sweep",
    .purpose = "Search or estimate at every point of a grid of models, systems and strategies",
    .options = sweep_options,
    .option_count = sizeof(sweep_options) / sizeof(sweep_options[0]),
    .notes = "Exit status: 0 done, 1 nothing fits at any point, 2 wrong usage or wrong input.",
    .run = rk_cmd_sweep,
};

/* ---- progress -------------------------------------------------------------------------- */

struct display {
    rk_progress line;
    bool checking; /* what the line is about */
    bool dry_run;
    bool resumable;   /* there is a database */
    double redraw_at; /* on the clock of rk_wall_seconds */
};

static void start_display(struct display *display, bool checking)
{
    display->checking = checking;
    rk_progress_start(&display->line, checking ? "points" : "strategies");
}

/* What an earlier run settled is left out, so that rate and time left are those of this one. */
static bool show(void *user, const rk_sweep_progress *progress)
{
    struct display *display = user;
    if (display->checking != progress->checking) {
        rk_progress_end(&display->line);
        start_display(display, progress->checking);
    }
    const double now = rk_wall_seconds();
    if (now < display->redraw_at) {
        return rk_progress_signal_status() == 0;
    }
    display->redraw_at = now + REDRAW_SECONDS;
    if (progress->checking) {
        return rk_cli_progress(&display->line, progress->points_done, progress->points_total);
    }
    const bool go_on = rk_cli_progress(&display->line, progress->done - progress->resumed,
                                       progress->total - progress->resumed);
    if (display->line.shown) {
        (void)fprintf(stderr, ", %" PRIu64 " of %" PRIu64 " points done\033[K",
                      progress->points_done, progress->points_total);
    }
    return go_on;
}

/* ---- the command ----------------------------------------------------------------------- */

static int check_arguments(struct arguments *arguments)
{
    if (arguments->resume && !arguments->sqlite) {
        return rk_command_fail(&rk_command_sweep,
                               "--resume needs the database of the earlier run: add "
                               "--sqlite FILE.db");
    }
    if (!arguments->output && !arguments->sqlite) {
        arguments->output = "-";
    }
    return RK_PARSED;
}

/* Tells the outcome.  Returns the exit status. */
static int finish(const struct arguments *arguments, const rk_sweep_totals *totals, bool terminal,
                  double seconds)
{
    if (arguments->dry_run) {
        (void)printf("points      %" PRIu64, totals->points - totals->dropped);
        if (totals->dropped > 0) {
            (void)printf(" of %" PRIu64 "; constraints drop the others", totals->points);
        }
        (void)printf("\nstrategies  %" PRIu64 "\n", totals->strategies);
        return RK_EXIT_DONE;
    }
    if (terminal) {
        (void)fprintf(stderr,
                      "%" PRIu64 " points (%" PRIu64 " finished before), %" PRIu64
                      " strategies, %.1f s; %" PRIu64 " points have a result\n",
                      totals->points - totals->dropped, totals->resumed, totals->strategies,
                      seconds, totals->fitting);
    }
    rk_team_report(&rk_command_sweep);
    if (totals->fitting == 0) {
        (void)fputs("reckon sweep: nothing fits at any point\n", stderr);
        return RK_EXIT_NOTHING;
    }
    return RK_EXIT_DONE;
}

/* What the sweep tells of itself while it runs goes through the display. */
static void tell_stopped(void *user, const char *points)
{
    struct display *display = user;
    rk_progress_clear(&display->line);
    (void)fprintf(stderr, "reckon sweep: stopped%s%s%s\n",
                  points[0] ? "; points begun and not finished: " : "", points,
                  display->resumable ? "; --resume goes on from here" : "");
}

static void tell_resumed(void *user, uint64_t missing, const char *points)
{
    const struct display *display = user;
    if (display->line.terminal || rk_team_joined() || display->dry_run) {
        (void)fprintf(display->dry_run ? stdout : stderr,
                      display->dry_run ? "missing     %" PRIu64 "%s%s\n"
                                       : "reckon sweep: %" PRIu64 " points are missing%s%s\n",
                      missing, missing > 0 ? ": " : "", points);
    }
}

static void tell_lost(void *user, int rank, const char *points)
{
    struct display *display = user;
    rk_progress_clear(&display->line);
    (void)fprintf(stderr, "reckon sweep: rank %d is lost; the others do again its points: %s\n",
                  rank, points[0] ? points : "none");
}

/* What the first rank does: it reads, shares, writes and reports. */
static int run_first(const struct arguments *arguments, rk_sweep_options *options)
{
    struct display display = {.resumable = arguments->sqlite != NULL,
                              .dry_run = arguments->dry_run};
    rk_sweep_totals totals = {0};
    rk_sweep_doc *doc = NULL;
    rk_error err = {0};
    const double started = rk_wall_seconds();
    options->progress = show;
    options->resumed = tell_resumed;
    options->lost = tell_lost;
    options->stopped = tell_stopped;
    options->user = &display;
    start_display(&display, true);
    rk_status status = rk_sweep_doc_load(arguments->grid, &doc, &err);
    if (status == RK_OK) {
        options->method = doc->mode.reckon ? &rk_sweep_reckon : &rk_sweep_calculon;
        status = arguments->dry_run ? rk_sweep_check(doc, options, &totals, &err)
                                    : rk_sweep_run(doc, options, &totals, &err);
    } else {
        rk_share_leave(options->team, &err);
    }
    rk_progress_end(&display.line);
    rk_sweep_doc_free(doc);
    if (status == RK_ERR_STOPPED && rk_progress_signal_status() != 0) {
        return rk_progress_signal_status();
    }
    return status == RK_OK
               ? finish(arguments, &totals, display.line.terminal, rk_wall_seconds() - started)
               : rk_command_fail_error(&rk_command_sweep, &err);
}

/* What the others do: they take part, in silence.  What is wrong here, rank 0 tells. */
static int run_other(const struct arguments *arguments, rk_sweep_options *options)
{
    rk_sweep_totals totals;
    rk_sweep_doc *doc = NULL;
    rk_error err = {0};
    if (arguments->dry_run) {
        return RK_EXIT_DONE;
    }
    if (rk_sweep_doc_load(arguments->grid, &doc, &err) == RK_OK) {
        options->method = doc->mode.reckon ? &rk_sweep_reckon : &rk_sweep_calculon;
        (void)rk_sweep_run(doc, options, &totals, &err);
    } else {
        rk_share_leave(options->team, &err);
    }
    rk_sweep_doc_free(doc);
    return RK_EXIT_DONE;
}

int rk_cmd_sweep(int argc, char **argv)
{
    struct arguments arguments = {0};
    int done = rk_team_join(&rk_command_sweep);
    if (done == RK_PARSED) {
        done = rk_options_parse(&rk_command_sweep, argc, argv, &arguments);
    }
    if (done == RK_PARSED) {
        done = check_arguments(&arguments);
    }
    if (done != RK_PARSED) {
        return done;
    }
    rk_sweep_options options = {
        .csv_path = arguments.output,
        .sqlite_path = arguments.sqlite,
        .pareto = arguments.pareto,
        .resume = arguments.resume,
        .threads = rk_team_threads(arguments.threads),
        .team = rk_team_joined(),
        .silent_seconds = arguments.lost_after,
    };
    return rk_team_is_first() ? run_first(&arguments, &options) : run_other(&arguments, &options);
}

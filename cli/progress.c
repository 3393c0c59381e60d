/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line on a terminal, with rate and time left, and cancellation by SIGINT. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUIET_SECONDS  1.0
#define REDRAW_SECONDS 0.05

static const int stop_signals[] = {SIGINT, SIGTERM};
#define STOP_SIGNAL_COUNT (sizeof(stop_signals) / sizeof(stop_signals[0]))

/* The only state that a signal handler can reach. */
static volatile sig_atomic_t stopped_by;
static struct sigaction actions_before[STOP_SIGNAL_COUNT];

static void remember_signal(int number)
{
    stopped_by = number;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void rk_progress_start(rk_progress *progress)
{
    struct sigaction action = {.sa_handler = remember_signal};
    (void)sigemptyset(&action.sa_mask);
    stopped_by = 0;
    for (size_t i = 0; i < STOP_SIGNAL_COUNT; i++) {
        (void)sigaction(stop_signals[i], &action, &actions_before[i]);
    }
    *progress = (rk_progress){.started = now(), .terminal = isatty(STDERR_FILENO) == 1};
}

/* Writes a time left such as "8 s", "12 min" or "3 h 20 min". */
static const char *duration(double seconds, char *out, size_t size)
{
    if (seconds < 100) {
        (void)snprintf(out, size, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    } else if (seconds < 6000) {
        (void)snprintf(out, size, "%.0f min", seconds / 60);
    } else {
        const double hours = (double)(long long)(seconds / 3600);
        (void)snprintf(out, size, "%.0f h %.0f min", hours, (seconds - 3600 * hours) / 60);
    }
    return out;
}

/* Writes a rate such as "612", "5.31k" or "212M". */
static const char *rate_text(double rate, char *out, size_t size)
{
    static const char units[] = {'\0', 'k', 'M', 'G', 'T'};
    size_t unit = 0;
    for (; rate >= 1000 && unit + 1 < sizeof(units); unit++) {
        rate /= 1000;
    }
    (void)snprintf(out, size, "%.3g%.1s", rate, &units[unit]);
    return out;
}

static void draw(rk_progress *progress, const rk_job_progress *report, double elapsed)
{
    char rate[32], left[48];
    const double per_second = (double)report->done / elapsed;
    const double remaining =
        report->total > report->done ? (double)(report->total - report->done) / per_second : 0;
    (void)fprintf(stderr, "\r%3.0f %%, %s %s/s, %s left%s%s\033[K",
                  report->total ? 100 * (double)report->done / (double)report->total : 0,
                  rate_text(per_second, rate, sizeof(rate)), report->what,
                  duration(remaining, left, sizeof(left)), report->note ? ", " : "",
                  report->note ? report->note : "");
    (void)fflush(stderr);
    progress->shown = true;
}

bool rk_progress_show(rk_progress *progress, const rk_job_progress *report)
{
    const double time = now();
    if (!progress->what || strcmp(progress->what, report->what) != 0) {
        progress->what = report->what;
        progress->started = time;
    }
    const double elapsed = time - progress->started;
    if (progress->terminal && elapsed > QUIET_SECONDS && report->done > 0 &&
        time - progress->redrawn > REDRAW_SECONDS) {
        progress->redrawn = time;
        draw(progress, report, elapsed);
    }
    return !stopped_by;
}

void rk_progress_clear(rk_progress *progress)
{
    if (progress->shown) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        progress->shown = false;
    }
}

void rk_progress_end(rk_progress *progress)
{
    rk_progress_clear(progress);
    for (size_t i = 0; i < STOP_SIGNAL_COUNT; i++) {
        (void)sigaction(stop_signals[i], &actions_before[i], NULL);
    }
}

int rk_progress_signal_status(void)
{
    return stopped_by ? 128 + (int)stopped_by : 0;
}

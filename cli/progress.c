/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUIET_SECONDS 1.0

static const int stop_signals[] = {SIGINT, SIGTERM};
#define STOP_SIGNAL_COUNT (sizeof(stop_signals) / sizeof(stop_signals[0]))

/* The only state that a signal handler can reach. */
static volatile sig_atomic_t stopped_by;
static struct sigaction actions_before[STOP_SIGNAL_COUNT];

static void remember_signal(int number)
{
    stopped_by = number;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double rk_wall_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double rk_cpu_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

void rk_progress_start(rk_progress *progress, const char *what)
{
    struct sigaction action = {.sa_handler = remember_signal};
    (void)sigemptyset(&action.sa_mask);
    stopped_by = 0;
    for (size_t i = 0; i < STOP_SIGNAL_COUNT; i++) {
        (void)sigaction(stop_signals[i], &action, &actions_before[i]);
    }
    *progress = (rk_progress){
        .what = what, .started = rk_wall_seconds(), .terminal = isatty(STDERR_FILENO) == 1};
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

bool rk_cli_progress(void *user, uint64_t done, uint64_t total)
{
    rk_progress *progress = user;
    const double elapsed = rk_wall_seconds() - progress->started;
    if (progress->terminal && elapsed > QUIET_SECONDS && done > 0) {
        char rate[RK_NUMBER_TEXT_SIZE], left[48];
        const double per_second = (double)done / elapsed;
        const double remaining = total > done ? (double)(total - done) / per_second : 0;
        (void)fprintf(stderr, "\r%3.0f %%, %s %s/s, %s left\033[K",
                      total ? 100 * (double)done / (double)total : 0,
                      rk_human_text(per_second, RK_HUMAN_BASE10, rate), progress->what,
                      duration(remaining, left, sizeof(left)));
        (void)fflush(stderr);
        progress->shown = true;
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

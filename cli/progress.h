/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long job seen from the command line: one line on standard error, when that is a terminal and
 * the job takes longer than a second; and a clean stop when the person presses Ctrl-C.
 */
#ifndef RK_CLI_PROGRESS_H
#define RK_CLI_PROGRESS_H

#include "reckon/reckon.h"

typedef struct rk_progress {
    const char *what; /* counted things, e.g. "strategies" */
    double started;   /* on the clock of rk_wall_seconds */
    bool terminal, shown;
} rk_progress;

/* Seconds on a clock that only runs forward, and seconds of processor time of this process. */
double rk_wall_seconds(void);
double rk_cpu_seconds(void);

/*
 * Begins a job: from here on SIGINT and SIGTERM make rk_cli_progress return false instead of
 * ending the program.  One job at a time.
 */
void rk_progress_start(rk_progress *progress, const char *what);

/* The callback of rk_search_control; `user` is the rk_progress. */
bool rk_cli_progress(void *user, uint64_t done, uint64_t total);

/* Clears the line, so that something else can be told. */
void rk_progress_clear(rk_progress *progress);

/* Ends the job: clears the line and gives the signals back. */
void rk_progress_end(rk_progress *progress);

/* The exit status after a signal stopped a job (128 plus its number), 0 if none did. */
int rk_progress_signal_status(void);

#endif

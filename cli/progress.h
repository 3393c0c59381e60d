/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the progress of a long job: one line on standard error, if that is a terminal and the job
 * lasts more than a second. Ends the job cleanly when the user presses Ctrl-C.
 */
#ifndef RK_CLI_PROGRESS_H
#define RK_CLI_PROGRESS_H

#include "reckon/command.h"

typedef struct rk_progress {
    const char *what;        /* counted things, e.g. "strategies" */
    double started, redrawn; /* s, on a clock that only runs forward */
    bool terminal, shown;
} rk_progress;

/*
 * Begins a job: until it ends, SIGINT and SIGTERM make rk_progress_show return false instead of
 * ending the program.  One job at a time.
 */
void rk_progress_start(rk_progress *progress);

/* Draws the line, and returns whether to go on. */
bool rk_progress_show(rk_progress *progress, const rk_job_progress *report);

/* Clears the line so that other text can be written. */
void rk_progress_clear(rk_progress *progress);

/* Ends the job: clears the line and restores the signal handlers. */
void rk_progress_end(rk_progress *progress);

/* The exit status after a signal stopped a job (128 plus its number), 0 if none did. */
int rk_progress_signal_status(void);

#endif

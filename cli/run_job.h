/* SPDX-License-Identifier: Apache-2.0 */
/* A command line as a job of the library. */
#ifndef RK_CLI_RUN_JOB_H
#define RK_CLI_RUN_JOB_H

#include "reckon/command.h"

/*
 * Runs a command with its own argv (argv[0] is its name), and writes the answer to standard output.
 * `globals` has pairs of an option and its value that are set first, NULL-terminated; NULL: none.
 * Returns the exit status: `nothing` if the answer found nothing.
 */
int rk_run_job(const rk_command *command, int argc, char **argv, const char *const *globals,
               int nothing);

#endif

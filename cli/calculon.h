/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon calculon`: what the files of its commands share. */
#ifndef RK_CLI_CALCULON_H
#define RK_CLI_CALCULON_H

#include "cli/options.h"

#include <stdio.h>

#define RK_EXIT_MINUS_ONE 255 /* where the published tool returns -1: no answer */

/* Levels of messages, as Python's logging numbers them. */
enum { RK_LOG_INFO = 20, RK_LOG_CRITICAL = 50 };

typedef struct rk_calculon_log {
    FILE *file;
    int level; /* messages below it are dropped */
} rk_calculon_log;

/* Writes one line to the log when `level` is high enough. */
void rk_calculon_log_print(const rk_calculon_log *log, int level, const char *format, ...)
    RK_PRINTF(3, 4);

/* What an output path may end in; a NULL-terminated list. */
extern const char *const rk_calculon_json_endings[]; /* .json, .json.gz */
extern const char *const rk_calculon_csv_endings[];  /* .csv, .csv.gz */

/* Returns whether the path ends in one of the list. */
bool rk_calculon_path_ends(const char *path, const char *const *endings);

/* The commands.  Each takes its own argv (argv[0] is its name) and returns the exit status. */
int rk_calculon_llm(const rk_calculon_log *log, int argc, char **argv);
int rk_calculon_parameter_calculator(const rk_calculon_log *log, int argc, char **argv);
int rk_calculon_optimal_execution(const rk_calculon_log *log, int argc, char **argv);
int rk_calculon_all_executions(const rk_calculon_log *log, int argc, char **argv);
int rk_calculon_validation(const rk_calculon_log *log, int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The published command line: what its commands share. */
#ifndef RK_COMMAND_CALCULON_H
#define RK_COMMAND_CALCULON_H

#include "job/job.h"

/* Levels of messages, as Python's logging numbers them. */
enum { RK_LOG_INFO = 20, RK_LOG_CRITICAL = 50 };

/* The options before the name of a command; the struct of each command begins with them. */
typedef struct rk_calculon_globals {
    const char *log; /* file for messages; "-" or NULL: the answer */
    int verbosity;   /* index in the names of levels */
} rk_calculon_globals;

/* They are options of every command, without help: `calculon --help` lists them. */
#define RK_CALCULON_GLOBALS 2
extern const rk_option rk_calculon_global_options[RK_CALCULON_GLOBALS];

/* Where messages go. */
typedef struct rk_calculon_log {
    rk_out *out;
    int level; /* messages below it are dropped */
} rk_calculon_log;

rk_status rk_calculon_log_open(const rk_job *job, const rk_calculon_globals *globals,
                               rk_calculon_log *log, rk_error *err);

/* Closes the log; returns `status` if that is an error already. */
rk_status rk_calculon_log_close(rk_calculon_log *log, rk_status status, rk_error *err);

/* Writes one line to the log when `level` is high enough. */
void rk_calculon_log_print(const rk_calculon_log *log, int level, const char *format, ...)
    RK_PRINTF(3, 4);

/* The extensions that an output path may have; NULL-terminated. */
extern const char *const rk_calculon_json_endings[]; /* .json, .json.gz */
extern const char *const rk_calculon_csv_endings[];  /* .csv, .csv.gz */

/* Returns whether the path ends in one of the list. */
bool rk_calculon_path_ends(const char *path, const char *const *endings);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon calculon`: the published command line; its global options, its log and its version. */
#include "command/calculon.h"

#include "base/error.h"
#include "base/text.h"
#include "command/commands.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PUBLISHED_VERSION "0.1.0" /* version of the published tool that is reproduced */

const char *const rk_calculon_json_endings[] = {".json", ".json.gz", NULL};
const char *const rk_calculon_csv_endings[] = {".csv", ".csv.gz", NULL};

bool rk_calculon_path_ends(const char *path, const char *const *endings)
{
    for (size_t i = 0; endings[i]; i++) {
        if (rk_ends_with(path, endings[i])) {
            return true;
        }
    }
    return false;
}

/* Python's names of log levels. */
static const char *const level_names[] = {"INFO", "CRITICAL", "FATAL",  "ERROR", "WARNING",
                                          "WARN", "DEBUG",    "NOTSET", NULL};
static const int levels[] = {RK_LOG_INFO, RK_LOG_CRITICAL, RK_LOG_CRITICAL, 40, 30, 30, 10, 0};

#define PLACE(member) offsetof(rk_calculon_globals, member)

const rk_option rk_calculon_global_options[RK_CALCULON_GLOBALS] = {
    RK_OPTION("log", TEXT, PLACE(log), .writes = true, .value = "FILE"),
    RK_OPTION("verbosity", CHOICE, PLACE(verbosity), .choices = level_names, .value = "LEVEL"),
};

/* ---- the log --------------------------------------------------------------------------------- */

rk_status rk_calculon_log_open(const rk_job *job, const rk_calculon_globals *globals,
                               rk_calculon_log *log, rk_error *err)
{
    log->level = levels[globals->verbosity];
    return rk_job_open(job, globals->log, &log->out, err);
}

rk_status rk_calculon_log_close(rk_calculon_log *log, rk_status status, rk_error *err)
{
    rk_error late;
    const rk_status closed = rk_out_close(log->out, &late);
    if (!status && closed) {
        *err = late;
    }
    return status ? status : closed;
}

void rk_calculon_log_print(const rk_calculon_log *log, int level, const char *format, ...)
{
    char line[512], *text = line;
    va_list list, again;
    if (level < log->level) {
        return;
    }
    va_start(list, format);
    va_copy(again, list);
    const int length = vsnprintf(line, sizeof(line), format, list);
    if (length >= (int)sizeof(line) && (text = malloc((size_t)length + 1))) {
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    }
    rk_out_text(log->out, text ? text : line);
    rk_out_text(log->out, "\n");
    va_end(again);
    va_end(list);
    if (text != line) {
        free(text);
    }
}

/* ---- the commands ---------------------------------------------------------------------------- */

/* The options before the command, and the name of the command. */
struct globals {
    rk_calculon_globals globals;
    const char *command;
};

/* All commands and their aliases in braces, as the published tool lists them. */
#define COMMAND_NAMES                                                                              \
    "{llm,llm-optimal-execution,loe,llm-all-executions,lae,llm-parameter-calculator,lpc,"          \
    "llm-validation,lv,version,v}"

static const rk_option options[] = {
    RK_OPTION("log", TEXT, PLACE(log), .letter = 'l', .writes = true, .value = "FILE",
              .help = "where messages go; - is standard output, the default"),
    RK_OPTION("verbosity", CHOICE, PLACE(verbosity), .letter = 'v', .choices = level_names,
              .value = "LEVEL", .help = "messages of a lower level are dropped, INFO by default"),
    RK_OPTION("command", TEXT, offsetof(struct globals, command), .positional = true,
              .required = true, .value = COMMAND_NAMES " ...",
              .help = "one of those below, and its arguments"),
};

static rk_status refuse(rk_job *job, void *arguments, rk_error *err)
{
    (void)job;
    (void)arguments;
    return rk_fail(
        err, RK_ERR_INVALID,
        "run one of its commands instead, e.g. 'calculon llm': rk_command_find finds it");
}

const rk_command rk_command_calculon = {
    .name = "calculon",
    .purpose = "The command line of the published Calculon, drop-in",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .notes = "commands (COMMAND --help says more):\n"
             "  llm                             one model, mapping and system\n"
             "  llm-optimal-execution, loe      search for the best mappings\n"
             "  llm-all-executions, lae         table of all mappings that run\n"
             "  llm-parameter-calculator, lpc   size of a model\n"
             "  llm-validation, lv              compare with published measurements\n"
             "  version, v                      print the version",
    .size = sizeof(struct globals),
    .run = refuse,
};

static rk_status run_version(rk_job *job, void *arguments, rk_error *err)
{
    rk_calculon_log log;
    rk_out *out;
    rk_status status = rk_calculon_log_open(job, arguments, &log, err);
    if (status) {
        return status;
    }
    status = rk_job_open(job, "-", &out, err);
    if (!status) {
        rk_out_text(out, PUBLISHED_VERSION "\n");
        status = rk_out_close(out, err);
    }
    rk_job_set_found(job, true);
    return rk_calculon_log_close(&log, status, err);
}

const rk_command rk_command_calculon_version = {
    .name = "calculon version",
    .purpose = "Print the version of Calculon that this command replaces",
    .shared = rk_calculon_global_options,
    .shared_count = RK_CALCULON_GLOBALS,
    .size = sizeof(rk_calculon_globals),
    .run = run_version,
};

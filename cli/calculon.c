/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon calculon`: the published command line; global options and the table of commands. */
#include "cli/calculon.h"

#include "base/text.h"
#include "cli/commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#define PUBLISHED_VERSION "0.1.0" /* of the tool whose answers these are */

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

void rk_calculon_log_print(const rk_calculon_log *log, int level, const char *format, ...)
{
    if (level < log->level) {
        return;
    }
    va_list list;
    va_start(list, format);
    (void)vfprintf(log->file, format, list);
    (void)fputc('\n', log->file);
    va_end(list);
}

static int print_version(const rk_calculon_log *log, int argc, char **argv)
{
    (void)log;
    static const rk_command command = {
        .name = "calculon version",
        .purpose = "Print the version of the published tool that this one stands in for",
    };
    const int done = rk_options_parse(&command, argc, argv, NULL);
    if (done == RK_PARSED) {
        (void)puts(PUBLISHED_VERSION);
        return RK_EXIT_DONE;
    }
    return done;
}

static const struct {
    const char *name, *alias;
    int (*run)(const rk_calculon_log *log, int argc, char **argv);
    const char *purpose;
} commands[] = {
    {"llm", NULL, rk_calculon_llm, "one model, mapping and system"},
    {"llm-optimal-execution", "loe", rk_calculon_optimal_execution, "search for the best mappings"},
    {"llm-all-executions", "lae", rk_calculon_all_executions, "table of all mappings that run"},
    {"llm-parameter-calculator", "lpc", rk_calculon_parameter_calculator, "size of a model"},
    {"llm-validation", "lv", rk_calculon_validation, "compare with published measurements"},
    {"version", "v", print_version, "print the version"},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* Python's names of log levels. */
static const char *const level_names[] = {"INFO", "CRITICAL", "FATAL",  "ERROR", "WARNING",
                                          "WARN", "DEBUG",    "NOTSET", NULL};
static const int levels[] = {RK_LOG_INFO, RK_LOG_CRITICAL, RK_LOG_CRITICAL, 40, 30, 30, 10, 0};

/* Writes the list of commands that ends the help text. */
static const char *list_commands(char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "commands (COMMAND --help says more):");
    for (size_t i = 0; i < COMMAND_COUNT && used < size; i++) {
        char names[64];
        (void)snprintf(names, sizeof(names), "%s%s%s", commands[i].name,
                       commands[i].alias ? ", " : "", commands[i].alias ? commands[i].alias : "");
        used +=
            (size_t)snprintf(out + used, size - used, "\n  %-31s %s", names, commands[i].purpose);
    }
    return out;
}

/* The options before the command, and its name. */
struct globals {
    const char *log, *command;
    int verbosity;
};

/* All commands and their aliases in braces, as the published tool lists them. */
#define COMMAND_NAMES                                                                              \
    "{llm,llm-optimal-execution,loe,llm-all-executions,lae,llm-parameter-calculator,lpc,"          \
    "llm-validation,lv,version,v}"

static const rk_option options[] = {
    {.name = "log",
     .letter = 'l',
     .type = RK_OPTION_TEXT,
     .offset = offsetof(struct globals, log),
     .value = "FILE",
     .help = "where messages go; - is standard output, the default"},
    {.name = "verbosity",
     .letter = 'v',
     .type = RK_OPTION_CHOICE,
     .offset = offsetof(struct globals, verbosity),
     .choices = level_names,
     .value = "LEVEL",
     .help = "messages of a lower level are dropped, INFO by default"},
    {.name = "command",
     .positional = true,
     .required = true,
     .offset = offsetof(struct globals, command),
     .value = COMMAND_NAMES " ...",
     .help = "one of those below, and its arguments"},
};

/* Returns the index of the first argument that is neither a global option nor its value. */
static int find_command_word(int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-' && argv[i][1]) {
        const bool joined = argv[i][1] == '-' ? strchr(argv[i], '=') != NULL : argv[i][2] != '\0';
        const bool help = strcmp(argv[i], "-h") == 0 || strncmp(argv[i], "--h", 3) == 0;
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        i += joined || help ? 1 : 2;
    }
    return i < argc ? i : argc;
}

/* Returns the place of a command in the table, COMMAND_COUNT when there is none. */
static size_t find_command(const char *name)
{
    size_t i = 0;
    while (i < COMMAND_COUNT && strcmp(name, commands[i].name) != 0 &&
           (!commands[i].alias || strcmp(name, commands[i].alias) != 0)) {
        i++;
    }
    return i;
}

static int fail_command(const rk_command *command, const char *given)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
    }
    const char *nearest = rk_nearest_name(given, names, COMMAND_COUNT);
    return rk_command_fail(command, "unknown command '%s'; %s%s%s", given,
                           nearest ? "did you mean " : "'reckon calculon --help' lists them",
                           nearest ? nearest : "", nearest ? "?" : "");
}

/* Says that the log cannot be used.  Returns the exit status. */
static int fail_log(const rk_command *command, const char *path)
{
    return rk_command_fail(command, "cannot write the log to %s: %s",
                           strcmp(path, "-") == 0 ? "standard output" : path,
                           errno ? strerror(errno) : "output error");
}

int rk_cmd_calculon(int argc, char **argv)
{
    char list[640];
    const rk_command command = {
        .name = "calculon",
        .purpose = "The command line of the published Calculon: its documents, options and answers",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .notes = list_commands(list, sizeof(list)),
    };
    struct globals globals = {.log = "-"};
    const int first = find_command_word(argc, argv);
    const int done = rk_options_parse(&command, first < argc ? first + 1 : argc, argv, &globals);
    if (done != RK_PARSED) {
        return done;
    }
    const size_t chosen = find_command(globals.command);
    if (chosen == COMMAND_COUNT) {
        return fail_command(&command, globals.command);
    }
    rk_calculon_log log = {.file = stdout, .level = levels[globals.verbosity]};
    if (strcmp(globals.log, "-") != 0 && !(log.file = fopen(globals.log, "w"))) {
        return fail_log(&command, globals.log);
    }
    const int status = commands[chosen].run(&log, argc - first, argv + first);
    errno = 0;
    const bool broken = ferror(log.file) != 0;
    if ((log.file == stdout ? fflush(stdout) : fclose(log.file)) != 0 || broken) {
        return fail_log(&command, globals.log);
    }
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch of `reckon calculon`: global options of the published tool, then one of its commands. */
#include "calculon.h"

#include "arguments.h"
#include "run_job.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

/* Reads "-l FILE", "-lFILE", "--log FILE" or "--log=FILE", and the same of --verbosity. */
static const char *find_global(int count, char **argv, char letter, const char *name)
{
    const char *found = rk_arguments_find(count, argv, name);
    for (int i = 1; i < count && !found; i++) {
        if (argv[i][0] == '-' && argv[i][1] == letter) {
            found = argv[i][2] ? argv[i] + 2 : i + 1 < count ? argv[i + 1] : NULL;
        }
    }
    return found;
}

static int fail_unknown(const rk_command *command, const char *given, const char *name)
{
    const char *nearest = rk_command_suggest(name);
    return rk_fail_command(command, "unknown command '%s'; %s%s%s", given,
                           nearest ? "did you mean " : "'reckon calculon --help' lists them",
                           nearest ? nearest + strlen("calculon ") : "", nearest ? "?" : "");
}

int rk_run_calculon(int argc, char **argv)
{
    char name[128];
    const rk_command *calculon = rk_command_find("calculon");
    const int first = find_command_word(argc, argv);
    rk_job *job = NULL;
    rk_error err;
    int result = rk_job_create(calculon, &job, &err)
                     ? rk_fail_with(calculon, &err)
                     : rk_arguments_read(calculon, first < argc ? first + 1 : argc, argv, job);
    rk_job_free(job);
    if (result != RK_PARSED) {
        return result;
    }
    if (first == argc) {
        return rk_fail_command(calculon,
                               "a command is missing; 'reckon calculon --help' lists them");
    }
    (void)snprintf(name, sizeof(name), "calculon %s", argv[first]);
    const rk_command *command = rk_command_find(name);
    if (!command) {
        return fail_unknown(calculon, argv[first], name);
    }
    const char *globals[5] = {NULL};
    size_t count = 0;
    const char *log = find_global(first, argv, 'l', "log");
    const char *verbosity = find_global(first, argv, 'v', "verbosity");
    if (log) {
        globals[count++] = "log";
        globals[count++] = log;
    }
    if (verbosity) {
        globals[count++] = "verbosity";
        globals[count++] = verbosity;
    }
    return rk_run_job(command, argc - first, argv + first, globals, RK_EXIT_MINUS_ONE);
}

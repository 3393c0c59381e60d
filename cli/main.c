/* SPDX-License-Identifier: Apache-2.0 */
/* The main function of `reckon`: dispatches to commands, help and version. */
#include "arguments.h"
#include "calculon.h"
#include "complete.h"
#include "explore.h"
#include "help.h"
#include "process_team.h"
#include "run_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int fail_unknown(const char *given)
{
    const char *nearest = rk_command_suggest(given);
    (void)fprintf(stderr, "reckon: unknown command '%s'; ", given);
    if (nearest) {
        (void)fprintf(stderr, "did you mean %s?\n", nearest);
    } else {
        (void)fprintf(stderr, "'reckon help' lists the commands\n");
    }
    return RK_EXIT_USAGE;
}

/* `reckon help [COMMAND]`: argv[0] is "help". */
static int run_help(int argc, char **argv)
{
    const bool own = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (argc < 2 || own) {
        rk_write_overview(stdout);
        return RK_EXIT_DONE;
    }
    const rk_command *command = rk_command_find(argv[1]);
    if (!command) {
        return fail_unknown(argv[1]);
    }
    rk_write_command_help(stdout, command, argc > 2 && strcmp(argv[2], "--all") == 0);
    return RK_EXIT_DONE;
}

static int run_version(int argc, char **argv)
{
    if (argc > 1) {
        (void)fprintf(stderr, "reckon version: unexpected argument '%s'\n", argv[1]);
        return RK_EXIT_USAGE;
    }
    (void)printf("reckon %s\n", rk_version());
    return RK_EXIT_DONE;
}

/* Commands that are no jobs of the library. */
static const struct {
    const char *names[3];
    int (*run)(int argc, char **argv);
} own_commands[] = {
    {{"help", "--help", "-h"}, run_help}, {{"version", "--version", "-V"}, run_version},
    {{"calculon"}, rk_run_calculon},      {{"explore"}, rk_run_explore},
    {{"__complete"}, rk_run_complete},
};

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        rk_write_overview(stderr);
        return RK_EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof(own_commands) / sizeof(own_commands[0]); i++) {
        for (size_t j = 0; j < 3 && own_commands[i].names[j]; j++) {
            if (strcmp(argv[1], own_commands[i].names[j]) == 0) {
                return own_commands[i].run(argc - 1, argv + 1);
            }
        }
    }
    const rk_command *command = rk_command_find(argv[1]);
    return command ? rk_run_job(command, argc - 1, argv + 1, NULL, RK_EXIT_NOTHING)
                   : fail_unknown(argv[1]);
}

int main(int argc, char **argv)
{
    (void)signal(SIGXFSZ, SIG_IGN); /* a write beyond RLIMIT_FSIZE fails and is reported */
    int status = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        (void)fprintf(stderr, "reckon: cannot write to standard output%s%s\n", errno ? ": " : "",
                      errno ? strerror(errno) : "");
        status = RK_EXIT_USAGE;
    }
    return rk_team_end(status);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The front door of `reckon`: the table of commands, help and version. */
#include "cli/commands.h"

#include "base/text.h"
#include "cli/team.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COMMAND_MAX 32

static const rk_command calculon_command = {
    .name = "calculon",
    .purpose = "The command line of the published Calculon, drop-in",
    .run = rk_cmd_calculon,
};

static const rk_command sweep_command = {
    .name = "sweep",
    .purpose = "Search or estimate at every point of a grid of models, systems and strategies",
    .run = rk_cmd_sweep,
};

const rk_command *const rk_commands[] = {
    &rk_command_plan,      &rk_command_estimate, &rk_command_fit,      &rk_command_run,
    &rk_command_timeline,  &rk_command_comm,     &rk_command_explain,  &rk_command_design,
    &rk_command_shape,     &sweep_command,       &rk_command_plot,     &rk_command_validate,
    &rk_command_calibrate, &rk_command_list,     &rk_command_show,     &calculon_command,
    &rk_command_help,      &rk_command_version,  &rk_command_complete,
};
const size_t rk_command_count = sizeof(rk_commands) / sizeof(rk_commands[0]);

const rk_command *rk_command_find(const char *name)
{
    for (size_t i = 0; i < rk_command_count; i++) {
        if (strcmp(rk_commands[i]->name, name) == 0) {
            return rk_commands[i];
        }
    }
    return NULL;
}

/* ---- help and version ------------------------------------------------------------------ */

static void print_overview(FILE *to)
{
    (void)fputs("usage: reckon COMMAND [ARGUMENT...]\n\n"
                "What training a large language model will cost on a machine, and how to lay it "
                "out.\n\ncommands:\n",
                to);
    for (size_t i = 0; i + 1 < rk_command_count; i++) {
        (void)fprintf(to, "  %-10s %s\n", rk_commands[i]->name, rk_commands[i]->purpose);
    }
    (void)fputs("\n'reckon help COMMAND' says more.  Exit status: 0 done, 1 no feasible answer, "
                "2 wrong usage\nor wrong input.\n",
                to);
}

static int fail_unknown_command(const char *given)
{
    const char *names[COMMAND_MAX];
    for (size_t i = 0; i + 1 < rk_command_count; i++) {
        names[i] = rk_commands[i]->name;
    }
    const char *nearest = rk_nearest_name(given, names, rk_command_count - 1);
    (void)fprintf(stderr, "reckon: unknown command '%s'; ", given);
    if (nearest) {
        (void)fprintf(stderr, "did you mean %s?\n", nearest);
    } else {
        (void)fprintf(stderr, "'reckon help' lists the commands\n");
    }
    return RK_EXIT_USAGE;
}

typedef struct help_arguments {
    const char *command;
} help_arguments;

static const rk_option help_options[] = {
    {.name = "command",
     .positional = true,
     .offset = offsetof(help_arguments, command),
     .value = "COMMAND",
     .help = "what to explain"},
};

static int run_help(int argc, char **argv)
{
    help_arguments arguments = {0};
    const int done = rk_options_parse(&rk_command_help, argc, argv, &arguments);
    if (done != RK_PARSED) {
        return done;
    }
    if (!arguments.command) {
        print_overview(stdout);
        return RK_EXIT_DONE;
    }
    const rk_command *command = rk_command_find(arguments.command);
    if (!command) {
        return fail_unknown_command(arguments.command);
    }
    char name[64], option[] = "--help";
    (void)snprintf(name, sizeof(name), "%s", command->name);
    char *help[] = {name, option, NULL};
    return command->run(2, help);
}

const rk_command rk_command_help = {
    .name = "help",
    .purpose = "Explain a command",
    .options = help_options,
    .option_count = sizeof(help_options) / sizeof(help_options[0]),
    .run = run_help,
};

static int run_version(int argc, char **argv)
{
    const int done = rk_options_parse(&rk_command_version, argc, argv, NULL);
    if (done == RK_PARSED) {
        (void)printf("reckon %s\n", rk_version());
        return RK_EXIT_DONE;
    }
    return done;
}

const rk_command rk_command_version = {
    .name = "version",
    .purpose = "Print the version",
    .run = run_version,
};

/* ---- dispatch -------------------------------------------------------------------------- */

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return RK_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        name = rk_command_help.name;
    } else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        name = rk_command_version.name;
    }
    const rk_command *command = rk_command_find(name);
    return command ? command->run(argc - 1, argv + 1) : fail_unknown_command(name);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        (void)fprintf(stderr, "reckon: cannot write to standard output%s%s\n", errno ? ": " : "",
                      errno ? strerror(errno) : "");
        status = RK_EXIT_USAGE;
    }
    return rk_team_end(status);
}

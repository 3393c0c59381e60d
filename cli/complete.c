/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates for shell completion: commands, options and the values of options. */
#include "complete.h"

#include "arguments.h"

#include <stdio.h>
#include <string.h>

static void offer(const char *prefix, const char *candidate)
{
    if (strncmp(candidate, prefix, strlen(prefix)) == 0) {
        (void)puts(candidate);
    }
}

static void offer_commands(const char *prefix)
{
    const rk_command *command;
    for (size_t i = 0; (command = rk_command_at(i)); i++) {
        offer(prefix, rk_command_name(command));
    }
    offer(prefix, "explore");
    offer(prefix, "help");
    offer(prefix, "version");
    offer(prefix, "--help");
    offer(prefix, "--version");
}

/* Lists the values of an option; none if the shell should offer files. */
static void offer_values(const char *prefix, const rk_option_info *info)
{
    const char *name, *kind;
    for (size_t i = 0; info->choices && info->choices[i]; i++) {
        offer(prefix, info->choices[i]);
    }
    for (size_t i = 0; info->catalogue && (name = rk_catalogue_name(i, &kind)); i++) {
        if (strncmp(kind, info->catalogue, strlen(info->catalogue)) == 0) {
            offer(prefix, name);
        }
    }
}

static void offer_options(const char *prefix, const rk_command *command)
{
    const rk_option *option;
    char text[96];
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (!info.positional && info.help) {
            (void)snprintf(text, sizeof(text), "--%s", info.name);
            offer(prefix, text);
        }
    }
    offer(prefix, "--help");
}

/* Finds the option that `word` names and whose value is the next word. */
static bool expects_value(const rk_command *command, const char *word, rk_option_info *info)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_describe(option, info, sizeof(*info));
        const char letter[] = {'-', info->letter, '\0'};
        const bool named = (strncmp(word, "--", 2) == 0 && strcmp(word + 2, info->name) == 0) ||
                           (info->letter && strcmp(word, letter) == 0);
        if (named && !info->positional && info->value) {
            return true;
        }
    }
    return false;
}

static void offer_positional(const char *prefix, const rk_command *command)
{
    const rk_option *option;
    for (size_t i = 0; (option = rk_command_option(command, i)); i++) {
        rk_option_info info;
        rk_option_describe(option, &info, sizeof(info));
        if (info.positional) {
            offer_values(prefix, &info);
        }
    }
}

int rk_run_complete(int argc, char **argv)
{
    const char *last = argc > 1 ? argv[argc - 1] : "";
    rk_option_info info;
    if (argc <= 2 || strcmp(argv[1], "help") == 0) {
        offer_commands(last);
        return RK_EXIT_DONE;
    }
    const rk_command *command = rk_command_find(argv[1]);
    if (!command) {
        return RK_EXIT_DONE;
    }
    if (argc > 3 && expects_value(command, argv[argc - 2], &info)) {
        offer_values(last, &info);
    } else if (last[0] == '-') {
        offer_options(last, command);
    } else {
        offer_positional(last, command);
    }
    return RK_EXIT_DONE;
}

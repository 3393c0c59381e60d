/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reckon __complete WORD...`: what may stand for the last word, one candidate a line.  The
 * completion scripts of the shells ask it, so that they know nothing of the options themselves.
 */
#include "cli/commands.h"

#include "io/catalogue.h"

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
    for (size_t i = 0; i + 1 < rk_command_count; i++) {
        offer(prefix, rk_commands[i]->name);
    }
    offer(prefix, "--help");
    offer(prefix, "--version");
}

/* What may be the value of an option; nothing where the shell should offer files. */
static void offer_values(const char *prefix, const rk_option *option)
{
    for (size_t i = 0; option->choices && option->choices[i]; i++) {
        offer(prefix, option->choices[i]);
    }
    for (size_t i = 0; option->catalogue && i < rk_catalogue_count; i++) {
        if (strncmp(rk_catalogue[i].kind, option->catalogue, strlen(option->catalogue)) == 0) {
            offer(prefix, rk_catalogue[i].name);
        }
    }
}

static void offer_options(const char *prefix, const rk_command *command)
{
    char text[96];
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        if (!option->positional) {
            (void)snprintf(text, sizeof(text), "--%s", option->name);
            offer(prefix, text);
        }
    }
    offer(prefix, "--help");
}

/* The option that `word` names and that takes the next word as its value, or NULL. */
static const rk_option *expects_value(const rk_command *command, const char *word)
{
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        const char letter[] = {'-', option->letter, '\0'};
        const bool named = (strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0) ||
                           (option->letter && strcmp(word, letter) == 0);
        if (named && !option->positional && option->type != RK_OPTION_FLAG) {
            return option;
        }
    }
    return NULL;
}

static int run_complete(int argc, char **argv)
{
    const char *last = argc > 1 ? argv[argc - 1] : "";
    if (argc <= 2) {
        offer_commands(last);
        return RK_EXIT_DONE;
    }
    const rk_command *command = rk_command_find(argv[1]);
    if (command == &rk_command_help) {
        offer_commands(last);
    } else if (command) {
        const rk_option *option = argc > 3 ? expects_value(command, argv[argc - 2]) : NULL;
        if (option) {
            offer_values(last, option);
        } else if (last[0] == '-') {
            offer_options(last, command);
        } else {
            for (size_t i = 0; i < rk_command_option_count(command); i++) {
                const rk_option *positional = rk_command_option(command, i);
                if (positional->positional) {
                    offer_values(last, positional);
                }
            }
        }
    }
    return RK_EXIT_DONE;
}

const rk_command rk_command_complete = {
    .name = "__complete",
    .purpose = "Print completions of the last of some words, for the shell",
    .run = run_complete,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The help text of commands. */
#ifndef RK_CLI_HELP_H
#define RK_CLI_HELP_H

#include "reckon/command.h"

#include <stdio.h>

/* Usage and all commands. */
void rk_write_overview(FILE *to);

/*
 * One command: its usage, its purpose, its options and its notes; unless `all`, of many options the
 * common ones and the example alone.
 */
void rk_write_command_help(FILE *to, const rk_command *command, bool all);

#endif

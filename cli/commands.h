/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `reckon`: each takes its own argv (argv[0] is its name), returns an exit status.
 */
#ifndef RK_CLI_COMMANDS_H
#define RK_CLI_COMMANDS_H

#include "cli/options.h"

int rk_cmd_calculon(int argc, char **argv);
int rk_cmd_sweep(int argc, char **argv);

extern const rk_command rk_command_plan, rk_command_sweep, rk_command_list, rk_command_show;
extern const rk_command rk_command_estimate, rk_command_fit, rk_command_run, rk_command_calibrate;
extern const rk_command rk_command_timeline, rk_command_comm;
extern const rk_command rk_command_validate, rk_command_plot;
extern const rk_command rk_command_explain, rk_command_design, rk_command_shape;
extern const rk_command rk_command_help, rk_command_version, rk_command_complete;

/* All of them in the order of the help text; the last, rk_command_complete, is left out there. */
extern const rk_command *const rk_commands[];
extern const size_t rk_command_count;

/* Returns the command of that name, or NULL. */
const rk_command *rk_command_find(const char *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon calculon`: the published command line, with options before and after the command.
 */
#ifndef RK_CLI_CALCULON_H
#define RK_CLI_CALCULON_H

/* argv[0] is "calculon".  Returns the exit status. */
int rk_run_calculon(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon explore`: the address of the explorer, a page for the browser. */
#ifndef RK_CLI_EXPLORE_H
#define RK_CLI_EXPLORE_H

/* argv[0] is "explore".  Returns the exit status. */
int rk_run_explore(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Completions of a command line, for shells. */
#ifndef RK_CLI_COMPLETE_H
#define RK_CLI_COMPLETE_H

/*
 * `reckon __complete WORD...`: completions of the last word, one per line. The shells' completion
 * scripts call it, so that they need not know the options.
 */
int rk_run_complete(int argc, char **argv);

#endif

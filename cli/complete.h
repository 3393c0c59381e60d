/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RK_CLI_COMPLETE_H
#define RK_CLI_COMPLETE_H

/*
 * `reckon __complete WORD...`: what may stand for the last word, one candidate a line.  The
 * completion scripts of the shells ask it, so that they know nothing of the options themselves.
 */
int rk_run_complete(int argc, char **argv);

#endif

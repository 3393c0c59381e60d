/* SPDX-License-Identifier: Apache-2.0 */
/* Reads command lines into jobs, and reports errors on standard error. */
#ifndef RK_CLI_ARGUMENTS_H
#define RK_CLI_ARGUMENTS_H

#include "reckon/command.h"

/* Exit statuses. */
#define RK_EXIT_DONE      0
#define RK_EXIT_NOTHING   1   /* no feasible answer */
#define RK_EXIT_USAGE     2   /* wrong usage or wrong input */
#define RK_EXIT_MINUS_ONE 255 /* of `reckon calculon`, where the published tool returns -1 */

#define RK_PARSED (-1)

/*
 * Reads argv[1 .. argc-1], options and positional arguments in any order.  Returns RK_PARSED, or
 * the exit status when there is nothing left to do: RK_EXIT_DONE after --help, RK_EXIT_USAGE after
 * an error.
 */
int rk_arguments_read(const rk_command *command, int argc, char **argv, rk_job *job);

/* Whether "--flag", or how it begins, is among the arguments. */
bool rk_arguments_have(int argc, char **argv, const char *flag);

/* The value of an option that is given as "--name value" or "--name=value"; NULL: it is not. */
const char *rk_arguments_find(int argc, char **argv, const char *name);

/*
 * A word before all options, from 0, without the count of "64xh100"; NULL: there are fewer.
 */
const char *rk_arguments_word(int argc, char **argv, int index);

/* Writes "reckon NAME: message" to standard error, on rank 0 only.  Returns RK_EXIT_USAGE. */
int rk_fail_command(const rk_command *command, const char *format, ...) RK_PRINTF(2, 3);

/* The same with the text of an error. */
int rk_fail_with(const rk_command *command, const rk_error *err);

#endif

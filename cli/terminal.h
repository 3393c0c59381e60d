/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal that standard output is, if it is one. */
#ifndef RK_CLI_TERMINAL_H
#define RK_CLI_TERMINAL_H

#include <stdbool.h>

/* Whether to draw lines and use bold type: on a terminal that can, unless NO_COLOR is set. */
bool rk_terminal_is_drawn(void);

/* Columns of the terminal; 80 in a pipe. */
int rk_terminal_width(void);

#endif

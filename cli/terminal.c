/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH 80

bool rk_terminal_is_drawn(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    const bool plain = (no_color && no_color[0]) || !terminal || strcmp(terminal, "dumb") == 0;
    return isatty(STDOUT_FILENO) && !plain;
}

int rk_terminal_width(void)
{
    struct winsize size;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : PIPE_WIDTH;
}

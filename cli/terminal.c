/* SPDX-License-Identifier: Apache-2.0 */
/* Width of the terminal, and whether it can show drawings. */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH 80
#define WIDEST     10000

bool rk_terminal_is_drawn(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    const bool plain = (no_color && no_color[0]) || !terminal || strcmp(terminal, "dumb") == 0;
    return isatty(STDOUT_FILENO) && !plain;
}

/* The number of an environment variable that shells set; 0: it has none. */
static int columns_of_environment(void)
{
    const char *text = getenv("COLUMNS");
    const long columns = text ? strtol(text, NULL, 10) : 0;
    return columns > 0 && columns <= WIDEST ? (int)columns : 0;
}

int rk_terminal_width(void)
{
    struct winsize size;
    const int columns = columns_of_environment();
    if (columns > 0) {
        return columns;
    }
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : PIPE_WIDTH;
}

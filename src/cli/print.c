/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PIPE_WIDTH 80

rk_table_style rk_stdout_style(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    const bool plain = (no_color && no_color[0]) || !terminal || strcmp(terminal, "dumb") == 0;
    return isatty(STDOUT_FILENO) && !plain ? RK_TABLE_TERMINAL : RK_TABLE_PLAIN;
}

int rk_stdout_width(void)
{
    struct winsize size;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : PIPE_WIDTH;
}

rk_status rk_print_table(FILE *to, const rk_table *table, rk_table_style style, rk_error *err)
{
    char *text;
    const rk_status status = rk_table_text(table, style, &text, err);
    if (!status) {
        (void)fputs(text, to);
    }
    free(text);
    return status;
}

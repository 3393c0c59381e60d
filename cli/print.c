/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print.h"

#include "base/error.h"
#include "base/text_stream.h"
#include "io/out.h"

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

rk_status rk_print_text(const char *output, rk_text_writer *write, const void *what, rk_error *err)
{
    size_t size = 0;
    rk_text_stream stream;
    rk_out *out = NULL;
    const bool terminal = strcmp(output, "-") == 0 && rk_stdout_style() == RK_TABLE_TERMINAL;
    FILE *to = rk_text_stream_open(&stream);
    if (!to) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answer");
    }
    rk_status status =
        write(to, what, terminal ? RK_TABLE_TERMINAL : RK_TABLE_PLAIN, rk_stdout_width(), err);
    char *text = rk_text_stream_close(&stream, &size);
    if (!text && !status) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answer");
    }
    if (!status) {
        status = rk_out_open(output, &out, err);
    }
    if (!status) {
        rk_out_write(out, text, size);
        status = rk_out_close(out, err);
    }
    free(text);
    return status;
}

rk_status rk_print_table(FILE *to, rk_table *table, rk_table_style style, rk_error *err)
{
    char *text;
    const rk_status status = rk_table_text(table, style, &text, err);
    if (!status) {
        (void)fputs(text, to);
    }
    free(text);
    rk_table_clear(table);
    return status;
}

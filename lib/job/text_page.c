/* SPDX-License-Identifier: Apache-2.0 */
/* Lays texts for people out on a page, and colours their marks on a terminal. */
#include "job/text_page.h"

#include "base/error.h"
#include "base/text.h"
#include "base/text_stream.h"
#include "io/wrap.h"

#include <stdlib.h>
#include <string.h>

rk_status rk_page_make(rk_text_writer *write, const void *what, rk_table_style style, char **page,
                       rk_error *err)
{
    size_t size;
    rk_text_stream stream;
    FILE *to = rk_text_stream_open(&stream);
    const rk_status status = to ? write(to, what, style, err) : RK_OK;
    char *text = to ? rk_text_stream_close(&stream, &size) : NULL;
    if (text && rk_text_stream_open(&stream)) {
        rk_write_wrapped(stream.file, text, style.width);
        *page = rk_text_stream_close(&stream, &size);
    }
    free(text);
    return status  ? status
           : *page ? RK_OK
                   : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answer");
}

void rk_page_write(rk_out *out, const char *page, bool colored)
{
    static const char marks[] = RK_MARKS;
    static const char *const colors[] = {"\033[1;32m", "\033[1;33m", "\033[0m"};
    while (*page) {
        const size_t plain = strcspn(page, marks);
        rk_out_write(out, page, plain);
        page += plain;
        if (*page) {
            rk_out_text(out, colored ? colors[strchr(marks, *page) - marks] : "");
            page++;
        }
    }
}

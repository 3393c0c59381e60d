/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command for tests that compare errors: an error begins with its code, line, column and path,
 * of which the command says some, or none.  It is compiled with rk_error_text defined as
 * error_with_code, so that the header declares that one.
 */
#include "reckon/base.h"

#include <stdio.h>

#undef rk_error_text
extern const char *rk_error_text(const rk_error *err, char *out, size_t size);

const char *error_with_code(const rk_error *err, char *out, size_t size)
{
    char text[900];
    (void)snprintf(out, size, "error %d at %d:%d(%s): %s", (int)err->code, err->line, err->column,
                   err->path, rk_error_text(err, text, sizeof(text)));
    return out;
}

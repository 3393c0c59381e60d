/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share.  A broken invariant ends the program, as a sanitizer does. */
#ifndef RK_FUZZ_TARGET_H
#define RK_FUZZ_TARGET_H

#include "reckon/reckon.h"

#include <stdio.h>
#include <stdlib.h>

/* Called by libFuzzer, or by replay.c, with one input; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* An error is complete and can be shown on one line. */
static inline void require_sound_error(const rk_error *err, rk_status status)
{
    char line[1024];
    REQUIRE(err->code == status);
    REQUIRE(err->message[0] != '\0');
    REQUIRE((status == RK_ERR_SYNTAX) == (err->line > 0 && err->column > 0));
    (void)rk_error_text(err, line, sizeof(line));
    for (const char *c = line; *c; c++) {
        REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
}

#endif

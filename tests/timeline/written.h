/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures and traces of timelines as texts. */
#ifndef RK_TESTS_TIMELINE_WRITTEN_H
#define RK_TESTS_TIMELINE_WRITTEN_H

#include "timeline/operations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The text that `write` makes of a timeline; the caller frees it. */
static inline char *written(const rk_timeline *t, const char *title,
                            void (*write)(const rk_timeline *, const char *, rk_out *))
{
    char path[] = "/tmp/reckon-timeline-XXXXXX";
    rk_out *out;
    rk_error err;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(rk_out_open(path, &out, &err), RK_OK);
    write(t, title, out);
    assert_int_equal(rk_out_close(out, &err), RK_OK);
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    assert_int_equal(fseek(from, 0, SEEK_END), 0);
    const size_t size = (size_t)ftell(from);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    rewind(from);
    assert_int_equal(fread(text, 1, size, from), size);
    assert_int_equal(fclose(from), 0);
    assert_int_equal(unlink(path), 0);
    return text;
}

#endif

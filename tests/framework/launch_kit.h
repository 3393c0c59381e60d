/* SPDX-License-Identifier: Apache-2.0 */
/* Launch files as texts. */
#ifndef LAUNCH_KIT_H
#define LAUNCH_KIT_H

#include "../layer/blocks.h"

#include "framework/launch_file.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

static void read_file(const char *path, char *text)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail_msg("cannot open %s", path);
    }
    text[fread(text, 1, MOST - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("\"%s\" is not in\n%s", part, text);
    }
}

static rk_launch_notes notes; /* of the last file */

static rk_status launch_by(rk_launch_writer *write, const rk_model *model, const char *machine,
                           const rk_strategy *s, char *text, rk_error *err)
{
    char path[] = "/tmp/reckon-launch-XXXXXX";
    const rk_stack stack = stack_of("megatron-2025");
    rk_system system = system_of(machine);
    const rk_launch_file what = {model, &system, &stack, s, "a title", &notes};
    rk_out *out;
    const int file = mkstemp(path);
    notes.count = 0;
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    assert_int_equal(rk_out_open(path, &out, err), RK_OK);
    const rk_status status = write(&what, out, err);
    if (status) {
        rk_out_abandon(out);
    } else {
        assert_int_equal(rk_out_close(out, err), RK_OK);
        read_file(path, text);
    }
    (void)unlink(path);
    rk_system_clear(&system);
    return status;
}

#endif

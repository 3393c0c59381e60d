/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of Pai-Megatron-Patch.  Source: megatron_patch/arguments.py of
 * alibaba/Pai-Megatron-Patch, commit a098ca5a.
 */
#include "launch/read_megatron.h"

#include <string.h>

static int recognise(const rk_launch *launch)
{
    static const char *const flags[] = {"extra-vocab-size",   "patch-tokenizer-type",
                                        "max-padding-length", "train-mode",
                                        "n-head-kv",          NULL};
    const int own = rk_megatron_is_line(launch) ? rk_megatron_count_flags(launch, flags) : 0;
    return own > 0 ? 10 + 2 * own : 0;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_megatron_usual usual = {0};
    return rk_megatron_resolve(launch, &usual, err);
}

const rk_launch_reader rk_launch_reader_pai_megatron_patch = {
    .name = "pai-megatron-patch",
    .framework = "megatron",
    .tables = {"pai-megatron-patch", "megatron-lm"},
    .recognise = recognise,
    .resolve = resolve,
};

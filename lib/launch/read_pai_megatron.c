/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of Pai-Megatron-Patch.  Source: megatron_patch/arguments.py of
 * alibaba/Pai-Megatron-Patch, commit a098ca5a.
 */
#include "launch/read_megatron.h"

#include <limits.h>
#include <stddef.h>

static int recognise(const rk_launch *launch)
{
    static const char *const flags[] = {"extra-vocab-size",   "patch-tokenizer-type",
                                        "max-padding-length", "train-mode",
                                        "n-head-kv",          NULL};
    const int own = rk_megatron_is_line(launch) ? rk_launch_count_flags(launch, flags) : 0;
    return own > 0 ? 10 + 2 * own : 0;
}

/* The tokenizer's own entries and those that the launch adds, without padding. */
static void state_vocabulary(rk_launch *launch)
{
    const rk_launch_key *extra = rk_megatron_find(launch, "extra-vocab-size");
    const rk_launch_key *type = rk_megatron_find(launch, "patch-tokenizer-type");
    if (type && type->value) {
        const int64_t own =
            rk_launch_tokenizer_entries(rk_launch_format(launch, "%s@pai", type->value));
        const int64_t added = extra ? rk_megatron_count(launch, extra->name) : 0;
        if (own > 0) {
            rk_launch_state_count(launch, "model.vocab", own + added, RK_FACT_STATED, type);
        }
    }
}

/* Examples are padded to the length of a sequence, or to one that nothing counts. */
static void settle_padding(rk_launch *launch)
{
    const int64_t seq = rk_launch_count_of(launch, "seq");
    if (seq > 0 && rk_megatron_count(launch, "max-padding-length") != seq) {
        rk_launch_mark(launch, "max-padding-length", RK_KEY_UNREAD, NULL);
    }
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_megatron_usual usual = {.core = INT_MAX};
    state_vocabulary(launch);
    settle_padding(launch);
    return rk_megatron_resolve(launch, &usual, err);
}

const rk_launch_reader rk_launch_reader_pai_megatron_patch = {
    .name = "pai-megatron-patch",
    .framework = "megatron",
    .tables = {"pai-megatron-patch", "megatron-lm"},
    .recognise = recognise,
    .resolve = resolve,
};

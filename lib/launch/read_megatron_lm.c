/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of Megatron-LM.  Source: megatron/training/arguments.py of NVIDIA/Megatron-LM,
 * commit d98e8a64.
 */
#include "base/error.h"
#include "launch/read_megatron.h"

#include <string.h>

static int recognise(const rk_launch *launch)
{
    if (strncmp(rk_launch_program(launch), "pretrain_", strlen("pretrain_")) == 0) {
        return 5;
    }
    return rk_megatron_is_line(launch) ? 3 : 0;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_megatron_usual usual = {0};
    return rk_megatron_resolve(launch, &usual, err);
}

const rk_launch_reader rk_launch_reader_megatron_lm = {
    .name = "megatron-lm",
    .framework = "megatron",
    .tables = {"megatron-lm"},
    .recognise = recognise,
    .resolve = resolve,
};

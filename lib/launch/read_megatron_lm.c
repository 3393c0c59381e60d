/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of Megatron-LM.  Source: megatron/training/arguments.py of NVIDIA/Megatron-LM,
 * commit d98e8a64.
 */
#include "launch/launch.h"

#include <string.h>

static int recognise(const rk_launch *launch)
{
    return strncmp(rk_launch_program(launch), "pretrain_", strlen("pretrain_")) == 0 ? 5 : 0;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    (void)err;
    rk_launch_assume_count(launch, "tp", 1);
    rk_launch_assume_count(launch, "pp", 1);
    rk_launch_assume_count(launch, "cp", 1);
    rk_launch_assume_count(launch, "ep", 1);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_megatron_lm = {
    .name = "megatron-lm",
    .framework = "megatron",
    .tables = {"megatron-lm"},
    .recognise = recognise,
    .resolve = resolve,
};

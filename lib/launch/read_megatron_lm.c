/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of Megatron-LM.  Source: megatron/training/arguments.py of NVIDIA/Megatron-LM,
 * commit d98e8a64.
 */
#include "base/error.h"
#include "base/units.h"
#include "launch/read_megatron.h"

#include <string.h>

static int recognise(const rk_launch *launch)
{
    if (strncmp(rk_launch_program(launch), "pretrain_", strlen("pretrain_")) == 0) {
        return 5;
    }
    return rk_megatron_is_line(launch) ? 3 : 0;
}

/* Programs that train what is no decoder. */
static rk_status check_program(const rk_launch *launch, rk_error *err)
{
    static const char *const rows[][2] = {
        {"pretrain_t5", "an encoder with a decoder"}, {"pretrain_bert", "an encoder"},
        {"pretrain_ict", "a retrieval model"},        {"pretrain_retro", "a retrieval model"},
        {"pretrain_vision", "a vision model"},        {"pretrain_realm", "a retrieval model"},
    };
    const char *program = rk_launch_program(launch);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strncmp(program, rows[i][0], strlen(rows[i][0])) == 0) {
            return rk_fail(err, RK_ERR_INVALID,
                           "%s: %s trains %s, which is not priced; reckon predicts decoder models, "
                           "such as those of pretrain_gpt.py",
                           launch->name, program, rows[i][1]);
        }
    }
    return RK_OK;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_status status = check_program(launch, err);
    if (status) {
        return status;
    }
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of Megatron-LM.  Source: megatron/training/arguments.py of NVIDIA/Megatron-LM,
 * commit d98e8a64.
 */
#include "base/error.h"
#include "base/units.h"
#include "launch/launch_parts.h"
#include "launch/layer_list.h"
#include "launch/read_megatron.h"

#include <math.h>
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

/* ---- layers of a hybrid by shares ------------------------------------------------------------ */

/* Replaces blocks of Mamba-2 by a symbol, one wherever the distance between two has run out. */
static void spread(char *pattern, int64_t layers, double distance, char symbol)
{
    double left = distance;
    for (int64_t i = 0; i < layers; i++) {
        if (pattern[i] != 'M') {
            continue;
        }
        const bool here = left < 0.5;
        pattern[i] = here ? symbol : 'M';
        left += here ? distance : -1;
    }
}

/*
 * A model of blocks that is given by shares: attention lies evenly and neither first nor last,
 * networks evenly among the rest, ending with one.  Source: _allocate_auto of
 * megatron/core/ssm/mamba_hybrid_layer_allocation.py, core 0.8 to 0.15.
 */
static rk_status prepare(rk_launch *launch, rk_error *err)
{
    char pattern[RK_LAYER_MAX + 1];
    const double layers = rk_launch_number(launch, "num-layers", 0);
    const double attention = rk_launch_number(launch, "hybrid-attention-ratio", 0);
    const double networks = rk_launch_number(launch, "hybrid-mlp-ratio", 0);
    const bool hybrid = strncmp(rk_launch_program(launch), "pretrain_mamba", 14) == 0 ||
                        rk_launch_has(launch, "hybrid-attention-ratio");
    (void)err;
    if (!hybrid || layers < 1 || layers > RK_LAYER_MAX || !(attention >= 0 && networks >= 0) ||
        attention + networks > 1 || rk_launch_has(launch, "hybrid-override-pattern") ||
        rk_launch_has(launch, "hybrid-layer-pattern")) {
        return RK_OK;
    }
    const int64_t count = (int64_t)layers;
    const double a = rint(layers * attention), n = rint(layers * networks);
    memset(pattern, 'M', (size_t)count);
    pattern[count] = '\0';
    if (a > 0) {
        spread(pattern, count, (layers - a) / (a + 1), '*');
    }
    if (n > 0) {
        spread(pattern, count, (layers - a - n) / n, '-');
    }
    const rk_launch_key key = {.name = "hybrid-override-pattern",
                               .value = rk_launch_keep(launch, pattern)};
    rk_launch_add_key(launch, &key);
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
    .prepare = prepare,
    .resolve = resolve,
};

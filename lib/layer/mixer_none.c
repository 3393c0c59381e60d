/* SPDX-License-Identifier: Apache-2.0 */
/* No mixer: a layer that is a feed-forward network only (Nemotron-H, models of block-wise NAS). */
#include "layer/all_kinds.h"
#include "layer/empty_part.h"

static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    (void)type;
    (void)hidden;
    (void)seq;
    (void)reach;
    return 0;
}

static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)c;
    (void)type;
    *forward = *backward = 0;
}

const rk_mixer rk_mixer_none = {
    .part = RK_PART_NONE,
    .timed = true,
    .flops = flops,
    .kernels = kernels,
};

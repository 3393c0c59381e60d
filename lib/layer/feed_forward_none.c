/* SPDX-License-Identifier: Apache-2.0 */
/* No feed-forward network: a layer that is a mixer only (Nemotron-H, models of block-wise NAS). */
#include "layer/all_kinds.h"
#include "layer/empty_part.h"

static double regions(const rk_block_context *c, const rk_layer_type *type)
{
    (void)c;
    (void)type;
    return 0;
}

static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)type;
    *forward = RK_MIXER_KERNELS * c->stack->kernels_forward;
    *backward = RK_MIXER_KERNELS * c->stack->kernels_backward;
}

const rk_feed_forward rk_feed_forward_none = {
    .part = RK_PART_NONE,
    .regions = regions,
    .kernels = kernels,
};

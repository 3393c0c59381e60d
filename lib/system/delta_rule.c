/* SPDX-License-Identifier: Apache-2.0 */
/* Time of the chunked delta-rule scan of linear attention. */
#include "system/system.h"

#include <assert.h>
#include <math.h>

/*
 * Walks along a sequence: forward passes states on; backward makes them again, and passes their
 * gradients back.
 */
static const double walks_forward = 1, walks_backward = 2;

/* Ratio of kernels in backward and forward: chunk_gated_delta_rule has 12 and 8. */
static const double more_kernels = 1.5;

/*
 * t = launch + walks tokens token + flops / rate: work within chunks fills the cores; from chunk to
 * chunk of a sequence states are passed on one after the other, however many heads there are.  The
 * constants were fitted to forward passes (data/measured/layers); with them, backward is within 2 %
 * of what flash-linear-attention measures on GB200 at 8,192 and 16,384 tokens.
 */
double rk_delta_seconds(const rk_accelerator *a, rk_delta_rule rule, double flops, double tokens,
                        bool backward)
{
    assert(rule < RK_DELTA_COUNT && flops >= 0 && tokens > 0);
    const rk_delta_rates *k = &a->delta[rule];
    if (!(k->rate > 0)) {
        return HUGE_VAL;
    }
    return k->launch * (backward ? more_kernels : 1) +
           k->token * tokens * (backward ? walks_backward : walks_forward) + flops / k->rate;
}

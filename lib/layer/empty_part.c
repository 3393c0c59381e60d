/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a layer that does nothing has no sizes, no parameters, no operators. */
#include "layer/empty_part.h"

#include "base/error.h"

rk_status rk_none_check(const rk_layer_type *type, rk_error *err)
{
    if (!type->mixer->part.shapes && !type->feed_forward->part.shapes) {
        return rk_fail_at(err, RK_ERR_INVALID, "mixer",
                          "a layer has neither a mixer nor a feed-forward network: leave it out");
    }
    return RK_OK;
}

void rk_none_count(const rk_layer_type *type, int64_t hidden, rk_layer_params *params)
{
    (void)type;
    (void)hidden;
    (void)params;
}

void rk_none_unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                     double *copied)
{
    (void)type;
    (void)hidden;
    (void)t;
    (void)whole;
    (void)copied;
}

double rk_none_features(const rk_layer_type *type, double hidden)
{
    (void)type;
    (void)hidden;
    return 0;
}

void rk_none_add(rk_cost_builder *x, const rk_layer_type *type)
{
    (void)x;
    (void)type;
}

double rk_none_transient(const rk_block_context *c, const rk_layer_type *type)
{
    (void)c;
    (void)type;
    return 0;
}

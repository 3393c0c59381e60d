/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a layer that does nothing; inside lib/layer only. */
#ifndef RK_LAYER_EMPTY_PART_H
#define RK_LAYER_EMPTY_PART_H

#include "layer/operators.h"

rk_status rk_none_check(const rk_layer_type *type, rk_error *err);
void rk_none_count(const rk_layer_type *type, int64_t hidden, rk_layer_params *params);
void rk_none_unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                     double *copied);
double rk_none_features(const rk_layer_type *type, double hidden);
void rk_none_add(rk_cost_builder *x, const rk_layer_type *type);
double rk_none_transient(const rk_block_context *c, const rk_layer_type *type);

#define RK_PART_NONE                                                                               \
    {                                                                                              \
        .name = "none", .check = rk_none_check, .count = rk_none_count,                            \
        .unsplit = rk_none_unsplit, .features = rk_none_features, .add = rk_none_add,              \
        .transient = rk_none_transient                                                             \
    }

#endif

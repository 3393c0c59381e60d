/* SPDX-License-Identifier: Apache-2.0 */
/* Models that differ from one of the catalogue in blocks, heads and widths. */
#ifndef RK_METHOD_RESHAPE_H
#define RK_METHOD_RESHAPE_H

#include "model/model.h"

/*
 * The model of `like` with other blocks and heads of another size: kept are the kinds of layers and
 * their shares, keys and values, experts, the ratios of widths to the hidden size, the vocabulary.
 * `feedforward`: width over hidden size of the first kind of layer; 0: as in `like`.  False when
 * there is none: heads that do not divide by key heads, widths that are not whole.
 */
bool rk_model_reshape(const rk_model *like, double feedforward, int64_t blocks, int64_t heads,
                      int64_t head_size, rk_model *out);

#endif

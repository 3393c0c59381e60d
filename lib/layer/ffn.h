/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the feed-forward kinds; inside lib/layer only. */
#ifndef RK_LAYER_FFN_H
#define RK_LAYER_FFN_H

#include "layer/operators.h"

/* Parameters of a network of width f: (gated ? 3 : 2) h f, and its biases. */
int64_t rk_ffn_matrices(int64_t h, int64_t f, bool gated);
int64_t rk_ffn_biases(int64_t h, int64_t f, bool gated);

/* Input plus output features of its linears; gate and up are one. */
double rk_ffn_features(double h, double width, bool gated);

/*
 * Activation between the two linears on `elements` outputs: a gated one reads two and writes one
 * forward, reads three and writes two backward; a plain one reads and writes one, then reads two
 * and writes one.  Of its inputs, `inputs_again` are recomputed.
 */
void rk_add_activation(rk_cost_builder *x, rk_part part, const rk_ffn_shape *ffn, double elements,
                       double inputs_again);

/*
 * Tiles of the tokens that a dense network takes one after the other: of as many as the hidden size
 * has elements (DeepSpeed's TiledMLP as axolotl and TRL call it); otherwise 1.
 */
double rk_ffn_tiles(const rk_block_context *c);

/* A dense network of `width`, sharded over the tensor ranks. */
void rk_add_ffn(rk_cost_builder *x, const rk_ffn_shape *ffn, double width);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the mixers with softmax attention; inside lib/layer only. */
#ifndef RK_LAYER_ATTENTION_H
#define RK_LAYER_ATTENTION_H

#include "layer/operators.h"

/* Fills c->attention: of the stack's kernel, which accelerators that it does not list have not. */
void rk_attention_set_rates(rk_block_context *c);

/* Elements per token on one rank of queries, keys, values and of the output of attention. */
typedef struct rk_attention_widths {
    double query, key, value, output;
} rk_attention_widths;

/* On one of `t` tensor ranks. */
rk_attention_widths rk_attention_widths_of(const rk_attention_shape *attention, double t);

/*
 * The linears of MLA, with what they keep, and of grouped attention.  Absorbed: the products that
 * make keys and values of latents are done with queries and outputs instead.
 */
void rk_add_latent_projections(rk_cost_builder *x, const rk_attention_shape *attention,
                               bool absorbed);
void rk_add_grouped_projections(rk_cost_builder *x, const rk_attention_shape *attention);

/* Core attention, context parallelism and the output projection. */
void rk_add_attention_core(rk_cost_builder *x, const rk_attention_shape *attention);

/* Functions of rk_mixer: the scores of attention that is not fused, and model FLOPs. */
double rk_attention_transient(const rk_block_context *c, const rk_layer_type *type);
double rk_attention_flops_of(const rk_layer_type *type, int64_t hidden, int64_t seq,
                             rk_flop_reach reach);

/* Checks the sizes that every kind of softmax attention has. */
rk_status rk_attention_check(const rk_attention_shape *attention, rk_error *err);

#endif

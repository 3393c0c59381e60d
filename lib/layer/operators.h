/* SPDX-License-Identifier: Apache-2.0 */
/* Adding the cost of one operator to that of a block; inside lib/layer only. */
#ifndef RK_LAYER_OPERATORS_H
#define RK_LAYER_OPERATORS_H

#include "layer/operator_list.h"
#include "layer/precision.h"

/* A block being priced. */
typedef struct rk_cost_builder {
    const rk_block_context *c;
    bool adapts; /* what is added to RK_PART_LINEAR has adapters */
    rk_cost cost;
    rk_operator_list *list; /* gets an entry for what is added; NULL: nobody asks */
} rk_cost_builder;

/*
 * Lists what the cost has grown by since the entry before as an operator of this kind and size,
 * with shape->bytes moved in forward.  There must be a list: `if (x->list)` keeps it out of
 * searches.
 */
void rk_note(rk_cost_builder *x, const rk_operator *shape, double backward_bytes);

/* Remembers a message for the next entry of one. */
void rk_note_message(rk_operator_list *list, rk_collective op, double bytes, int64_t ranks);

/* Lists a message, a step of recomputation, or tensors that are kept. */
static inline void rk_note_kind(rk_cost_builder *x, rk_operator_kind kind, rk_part part)
{
    if (x->list) {
        const rk_operator entry = {.kind = kind, .part = part};
        rk_note(x, &entry, 0);
    }
}

/* Whether selective recompute covers a module (RK_MODULE_...). */
bool rk_recomputes(const rk_strategy *strategy, unsigned module);

/* Bytes kept for backward or, where their module is recomputed (`again`), made again for it. */
void rk_save(rk_cost_builder *x, bool again, double bytes);

/* Repeats in backward what forward has added since `before`. */
void rk_repeat(rk_cost_builder *x, const rk_cost *before);

/*
 * The forward of a linear once more in backward, where recompute by operators covers it: of the
 * products of a layer in their order (queries, keys, values, output, gate, up, down) the second,
 * fourth and sixth.
 */
void rk_add_product_again(rk_cost_builder *x, double M, double N, double K);

/*
 * Checkpoints what was added since `before`: forward runs again, nothing of it is kept but what
 * the caller saves.
 */
void rk_checkpoint(rk_cost_builder *x, const rk_cost *before);

/*
 * A linear of K input and N output features for M rows, in `precision`: forward (M,N,K), gradient
 * by input (M,K,N), gradient by weight (N,K,M) accumulated unless the model is frozen; with casts
 * where the precision is low, and with an adapter where linears have them.
 */
void rk_add_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M, double N,
                   double K);

/* The same where the output is summed over the tensor group: an adapter adds to the sum. */
void rk_add_row_linear(rk_cost_builder *x, rk_precision precision, double M, double N, double K);

/* The same for `groups` experts of M rows each in one launch. */
void rk_add_grouped_linear(rk_cost_builder *x, rk_precision precision, double groups, double M,
                           double N, double K);

/* Memory-bound work of so many bytes in each pass. */
void rk_add_stream(rk_cost_builder *x, rk_part part, double forward_bytes, double backward_bytes);

/* Visible communication, s. */
void rk_add_comm(rk_cost_builder *x, rk_part part, double forward, double backward);

/* Time of a collective on a group; `bytes` as rk_collective_seconds takes them. */
double rk_comm_seconds(const rk_cost_builder *x, rk_collective op, double bytes,
                       const rk_group *group);

/*
 * Kernels of the mixer half of a layer with softmax attention over those of a dense layer, in the
 * forward of Megatron Core: norm, queries-keys-values, both rotations, attention, output, residual
 * of 7 + norm, up, activation, down, residual.
 */
#define RK_MIXER_KERNELS (7.0 / 12)

/*
 * Host-bound floor: the passes take at least the launch of their kernels, combined by a p-norm of
 * 6 with the device time, so that the bound sets in smoothly.
 */
void rk_add_host_floor(rk_cost_builder *x, double kernels_forward, double kernels_backward);

/* Adds the matrices of a part of a layer that Muon orthogonalizes, where it is the optimizer. */
void rk_add_orthogonalization(rk_cost_builder *x, const rk_part_kind *part,
                              const rk_layer_type *type);

#endif

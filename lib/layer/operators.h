/* SPDX-License-Identifier: Apache-2.0 */
/* Emitting the operators of a block; inside lib/layer only. */
#ifndef RK_LAYER_OPERATORS_H
#define RK_LAYER_OPERATORS_H

#include "layer/precision.h"
#include "layer/price.h"

/* A block whose operators are being emitted. */
typedef struct rk_cost_builder {
    const rk_block_context *c;
    bool adapts;      /* what is added to RK_PART_LINEAR has adapters */
    bool stops;       /* recomputing the layer stops before the last product of its network */
    bool holds_input; /* attention keeps what the linear reads, whether or not an adapter does */
    double network;   /* bytes that the network behind the mixer keeps, and what it recomputes */
    rk_cost cost;
    rk_cost spared;         /* times, FLOPs and messages of forward that it therefore leaves out */
    rk_operator_list *list; /* receives the operators; NULL: not needed */
} rk_cost_builder;

/*
 * Adds what a layer does besides its mixer, but neither parameters nor launches: types of the same
 * work (rk_same_work) share it.
 */
void rk_add_passes(rk_cost_builder *x, const rk_layer_type *type);

/* A layer with these passes; `whole` fills cost[1], the layer checkpointed at its input. */
void rk_block_layer(const rk_cost_builder *passes, const rk_layer_type *type, bool whole,
                    rk_cost cost[2]);

/* Prices an operator, adds it to the cost of the block, and lists it. */
void rk_emit(rk_cost_builder *x, const rk_operator *o);

/*
 * Leaves the last product of a network, (M,N,K), out of what recomputing the layer repeats, if the
 * stack stops there: checkpoints of PyTorch run until the last tensor that backward needs is
 * available again, an input of this product.  With an adapter on it, that is the adapter's own
 * input.
 */
void rk_spare_last_product(rk_cost_builder *x, double M, double N, double K);

/*
 * Emits messages of a pass, of which `visible` seconds in all are not hidden by other work; all
 * passes but the one for weights may have some.
 */
void rk_send(rk_cost_builder *x, rk_pass pass, rk_part part, double visible,
             const rk_message *messages, int count);

/* Whether selective recompute covers a module (RK_MODULE_...). */
bool rk_recomputes(const rk_strategy *strategy, unsigned module);

/* Bytes kept for backward or, where their module is recomputed (`again`), recomputed for it. */
void rk_save(rk_cost_builder *x, bool again, double bytes);

/*
 * Bytes per element that backward keeps of the input of a linear in low precision or not, for its
 * weight gradient: the cast one where the weight learns.  The gradient of the input needs the
 * weight alone, so a frozen linear keeps nothing (PyTorch saves the operands of a product for
 * gradients that are asked for; Transformer Engine, module/linear.py and layernorm_linear.py, where
 * weight.requires_grad), unless its adapter (`adapts`) reads the input in 16 bits, and
 * not what dropout leaves.
 */
double rk_kept_input_bytes(const rk_block_context *c, bool adapts);

/*
 * Bytes per element that a norm keeps beside an input in the type of activations: `normalised` are
 * those of what it reads and makes.  Operator by operator the input is in fp32, and the normalised
 * one is kept for the gradient of the weight (transformers 5.17, modeling_llama.py: LlamaRMSNorm).
 */
double rk_wide_norm_bytes(const rk_block_context *c, double normalised);

/* Repeats in backward what forward has added since `before`. */
void rk_repeat(rk_cost_builder *x, const rk_cost *before);

/*
 * The forward of a linear once more in backward, where recompute by operators covers it: of the
 * products of a layer in their order (queries, keys, values, output, gate, up, down) the second,
 * fourth and sixth.
 */
void rk_add_product_again(rk_cost_builder *x, double M, double N, double K, bool summed);

/*
 * Checkpoints what was added since `before`: forward runs again, and only what the caller saves is
 * kept.
 */
void rk_checkpoint(rk_cost_builder *x, const rk_cost *before);

/*
 * A linear of K input and N output features for M rows, in `precision`: forward (M,N,K), gradient
 * of the input (M,K,N), weight gradient (N,K,M) accumulated unless the model is frozen; with casts
 * where the precision is low, and with an adapter where linears have them.
 */
void rk_add_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M, double N,
                   double K);

/* The same where so many modules with an adapter each share the input, as gate and up do. */
void rk_add_shared_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M,
                          double N, double K, int modules);

/*
 * The same of a linear whose input passes no gradient on and that has no adapter: forward and
 * weight gradient.
 */
void rk_add_detached_linear(rk_cost_builder *x, rk_precision precision, double M, double N,
                            double K);

/* The same where the output is summed over the tensor group: an adapter adds to the sum. */
void rk_add_row_linear(rk_cost_builder *x, rk_precision precision, double M, double N, double K);

/* The same for `groups` experts of M rows each in one launch. */
void rk_add_grouped_linear(rk_cost_builder *x, rk_precision precision, double groups, double M,
                           double N, double K);

/* `count` times `groups` products of M x N x K in a pass and in wide precision, at a share of the
 * rate. */
void rk_add_products(rk_cost_builder *x, rk_part part, rk_pass pass, int count, double groups,
                     double M, double N, double K, double share);

/* Memory-bound work of so many bytes in each pass. */
void rk_add_stream(rk_cost_builder *x, rk_part part, double forward_bytes, double backward_bytes);

/*
 * Context parallelism by heads: all-to-all of `in` bytes of inputs and `out` bytes of outputs of a
 * rank, mirrored backward, visible.
 */
void rk_add_exchange(rk_cost_builder *x, double in, double out);

/*
 * Share of a dense layer's kernels in its half with softmax attention, counted in the forward of
 * Megatron Core (transformer_layer.py, with Transformer Engine): norm, queries-keys-values, two
 * rotations, attention, output, residual, 7; and norm, up, activation, down, residual, 5.
 */
#define RK_MIXER_KERNELS (7.0 / 12)

/* Whether kernels write directly into the memory of their peers (userbuffers): one domain only. */
bool rk_overlaps_tensor(const rk_block_context *context);

/* Kernels of a pass, how many of them graphs do not hold, and how many others are the mixer's. */
typedef struct rk_kernels {
    double all, loose, mixer;
} rk_kernels;

/* The modules of graphs, RK_GRAPH_ bits, any of which holds mixer and network of a layer. */
typedef struct rk_graph_modules {
    unsigned mixer, network;
} rk_graph_modules;

/*
 * Whether experts are padded to a capacity, so that the host knows their rows before routing.
 * DeepEP, which de-duplicates and returns counts, drops what is above a capacity and pads nothing:
 * Megatron Core (transformer_config.py) refuses moe_pad_expert_input_to_capacity with it.
 */
bool rk_pads_experts(const rk_block_context *context);

/* Whether graphs of layers, if there are any, hold one of these modules. */
bool rk_graphs_hold(const rk_strategy *strategy, unsigned modules);

/* Host-bound floor: the passes take at least the launch of their kernels. */
void rk_add_host_floor(rk_cost_builder *x, rk_graph_modules graphed, rk_kernels forward,
                       rk_kernels backward);

/* Adds the matrices of a part of a layer that Muon, if it is the optimizer, orthogonalizes. */
void rk_add_orthogonalization(rk_cost_builder *x, const rk_part_kind *part,
                              const rk_layer_type *type);

#endif

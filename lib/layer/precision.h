/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linears in 8 and 4 bits (rk_is_low): what the scaled copies of their operands take, and what
 * casting moves. Attention, router, embedding and head stay in 16 bits.  Sources: Transformer
 * Engine, "Performance considerations" of low-precision training; model specification 1.5.7, 3.7
 * and 6.6.
 */
#ifndef RK_LAYER_PRECISION_H
#define RK_LAYER_PRECISION_H

#include "stack/stack.h"
#include "strategy/strategy.h"

#define RK_FP32_BYTES 4.0 /* of a weight, a gradient, a moment or a hidden state in fp32 */

/*
 * Bytes of an element of activations, and of their gradients and messages: 4 in fp32 and TF32,
 * which rounds operands inside the matrix engine only, otherwise 2.
 */
double rk_activation_bytes(const rk_strategy *strategy);

/* The precision of what low-precision recipes leave as it is. */
rk_precision rk_wide_precision(const rk_strategy *strategy);

/*
 * Bytes of an element of a linear's input that is kept for its weight gradient: of the copy that
 * gradient reads, with its share of the scales; of an activation where the linear is not in low
 * precision.
 */
double rk_saved_input_bytes(const rk_strategy *strategy);

/* ---- weights ------------------------------------------------------------------------------- */

/* Bytes of an element of one copy of a weight in low precision, with its share of the scales. */
double rk_low_weight_bytes(const rk_strategy *strategy);

/* Copies that the GEMMs of a step read: along rows, and along columns if separate. */
double rk_low_weight_copies(const rk_strategy *strategy, const rk_accelerator *accelerator);

/*
 * Whether the copy of a weight along columns is the one along rows, transposed in every backward
 * pass, and is not kept (Megatron Core: disable_parameter_transpose_cache).  Scales of rows do not
 * serve columns.
 */
bool rk_transposes_again(const rk_strategy *strategy, const rk_accelerator *accelerator,
                         const rk_stack *stack);

/* Whether weights travel as the copy along rows; otherwise they do as they are written. */
bool rk_gathers_low(const rk_strategy *strategy);

/* Bytes per parameter that data parallelism gathers of weights of linears in low precision. */
double rk_low_gather_bytes(const rk_strategy *strategy);

/* ---- casts --------------------------------------------------------------------------------- */

/*
 * Bytes read and written per element of an activation, or of the gradient of one, to make all its
 * copies from 16 bits.
 */
double rk_cast_bytes(const rk_strategy *strategy, const rk_accelerator *accelerator);

/* The same per element of a weight, for `copies` copies from 16 bits. */
double rk_weight_cast_bytes(const rk_strategy *strategy, double copies);

/* Bytes read and written per weight in NF4 to make it one of 16 bits, for every GEMM; else 0. */
double rk_dequantised_bytes(const rk_strategy *strategy, const rk_stack *stack);

/* Time of the stack's kernels relative to that. */
double rk_cast_passes(const rk_strategy *strategy, const rk_stack *stack);

#endif

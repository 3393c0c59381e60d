/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of FP8 and FP4 operands, copies and scales, and the traffic of casts. */
#include "layer/precision.h"

/* Bytes of an element in 16 bits, from which low precision is cast. */
#define WIDE_BYTES 2.0

/* A number format with its scales. */
struct format {
    double element;                   /* bytes */
    double input_scale, weight_scale; /* bytes per element */
    bool own_scale;                   /* the scale of a tensor is found in a pass over it first */
    bool input_by_row, weight_by_row; /* scaled along rows: columns need a copy of their own */
    bool gathered;                    /* a copy along rows yields the one along columns */
};

static const struct format fp8_formats[] = {
    [RK_FP8_TENSORWISE] = {.element = 1, .own_scale = true, .gathered = true},
    [RK_FP8_DELAYED] = {.element = 1, .gathered = true},
    [RK_FP8_BLOCKWISE] = {.element = 1,
                          .input_scale = 4.0 / 128,
                          .weight_scale = 4.0 / (128 * 128),
                          .input_by_row = true,
                          .gathered = true},
    [RK_FP8_MX] = {.element = 1,
                   .input_scale = 1.0 / 32,
                   .weight_scale = 1.0 / 32,
                   .input_by_row = true,
                   .weight_by_row = true},
};

static const struct format nvfp4_format = {
    .element = 0.5,
    .input_scale = 1.0 / 16,
    .weight_scale = 1.0 / 16,
    .own_scale = true,
    .input_by_row = true,
    .weight_by_row = true,
};

/*
 * Bytes of a frozen weight.  NF4 of QLoRA (arXiv 2305.14314): 4 bits and a scale of 32 bits for 64
 * weights; or, quantised again, of 8 bits, and one of 32 bits for 256 scales.  GPTQ (arXiv
 * 2210.17323): 4 bits, a scale in 16 bits and a zero in 4 for 128.  LLM.int8 (arXiv 2208.07339): 8
 * bits; scales of whole rows are next to nothing.
 */
static const double frozen_bytes[RK_FROZEN_COUNT] = {
    [RK_FROZEN_NF4] = 0.5 + 1.0 / 64 + 4.0 / (64 * 256),
    [RK_FROZEN_NF4_PLAIN] = 0.5 + 4.0 / 64,
    [RK_FROZEN_INT4] = 0.5 + (2 + 0.5) / 128,
    [RK_FROZEN_INT8] = 1,
};

/* Of a strategy in low precision. */
static const struct format *format_of(const rk_strategy *strategy)
{
    return strategy->precision == RK_FP4 ? &nvfp4_format : &fp8_formats[strategy->fp8_recipe];
}

double rk_activation_bytes(const rk_strategy *strategy)
{
    return rk_is_full(strategy->precision) ? 4 : 2;
}

rk_precision rk_wide_precision(const rk_strategy *strategy)
{
    return rk_is_low(strategy->precision) ? RK_BF16 : strategy->precision;
}

double rk_saved_input_bytes(const rk_strategy *strategy)
{
    const struct format *f = format_of(strategy);
    return rk_is_low(strategy->precision) ? f->element + f->input_scale
                                          : rk_activation_bytes(strategy);
}

double rk_low_weight_bytes(const rk_strategy *strategy)
{
    const struct format *f = format_of(strategy);
    return strategy->nf4_weights ? frozen_bytes[strategy->frozen_type]
                                 : f->element + f->weight_scale;
}

double rk_low_weight_copies(const rk_strategy *strategy, const rk_accelerator *accelerator)
{
    if (strategy->nf4_weights) {
        return 1;
    }
    return format_of(strategy)->weight_by_row || accelerator->fp8_one_layout ? 2 : 1;
}

bool rk_transposes_again(const rk_strategy *strategy, const rk_accelerator *accelerator,
                         const rk_stack *stack)
{
    return stack->transposes_again && !format_of(strategy)->weight_by_row &&
           rk_low_weight_copies(strategy, accelerator) > 1;
}

bool rk_gathers_low(const rk_strategy *strategy)
{
    return strategy->nf4_weights || (strategy->low_weights && format_of(strategy)->gathered);
}

double rk_low_gather_bytes(const rk_strategy *strategy)
{
    return rk_gathers_low(strategy) ? rk_low_weight_bytes(strategy) : strategy->states.gather;
}

/* Reading a tensor in 16 bits, once more where its scale is found first. */
static double read_bytes(const struct format *f)
{
    return WIDE_BYTES * (f->own_scale ? 2 : 1);
}

double rk_cast_bytes(const rk_strategy *strategy, const rk_accelerator *accelerator)
{
    const struct format *f = format_of(strategy);
    const double copies = f->input_by_row || accelerator->fp8_one_layout ? 2 : 1;
    return read_bytes(f) + copies * (f->element + f->input_scale);
}

double rk_weight_cast_bytes(const rk_strategy *strategy, double copies)
{
    return read_bytes(format_of(strategy)) + copies * rk_low_weight_bytes(strategy);
}

double rk_dequantised_bytes(const rk_strategy *strategy, const rk_stack *stack)
{
    return strategy->nf4_weights
               ? stack->unpack_passes * (frozen_bytes[strategy->frozen_type] + WIDE_BYTES)
               : 0;
}

double rk_cast_passes(const rk_strategy *strategy, const rk_stack *stack)
{
    if (strategy->precision == RK_FP4) {
        return stack->fp4_cast_passes;
    }
    return strategy->fp8_recipe == RK_FP8_MX ? stack->mx_cast_passes : stack->cast_passes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by feed-forward networks: a network of two or three matrices, and its activation.
 * Letters: T tokens of a microbatch on a context-parallel rank, h hidden, f width.
 */
#include "layer/ffn.h"

#include <assert.h>
#include <math.h>

/* FP8 without a scale, to which Megatron Core casts what it keeps. */
#define LOW_INPUT_BYTES 1.0

/*
 * Keeps `saved` inputs of an activation, in elements, and those that backward recomputes.
 * With low_activations a kernel casts what is kept to FP8, and one casts it back in backward, whole
 * for as long as the layer runs (Megatron Core, activation_func_fp8_input_store).
 */
static void save_inputs(rk_cost_builder *x, const rk_ffn_shape *ffn, double saved, double again)
{
    const double wide = x->c->written;
    const bool low = x->c->strategy->low_activations && ffn->gated;
    rk_save(x, false, (low ? LOW_INPUT_BYTES : wide) * saved);
    rk_save(x, true, wide * (low ? saved + again : again));
    if (low) {
        const double cast = (wide + LOW_INPUT_BYTES) * saved;
        rk_add_stream(x, RK_PART_CAST, cast, cast);
    }
}

void rk_add_activation(rk_cost_builder *x, rk_part part, const rk_ffn_shape *ffn, double elements,
                       double inputs_again)
{
    assert(elements >= 0 && inputs_again >= 0 && inputs_again <= 2);
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const bool again = rk_recomputes(s, RK_MODULE_ACTIVATION), gated = ffn->gated;
    /* A captured step runs the compiled form of a clamped activation. */
    const bool clamped = ffn->clamped && !s->graph_step;
    const double passes =
        (clamped ? stack->clamped_passes : stack->activation_passes) * x->c->written * elements;
    const rk_cost before = x->cost;
    rk_add_stream(x, part, passes * (gated ? 3 : 2), passes * (gated ? 5 : 3));
    if (again) {
        rk_repeat(x, &before);
    }
    save_inputs(x, ffn, elements * ((gated ? 2 : 1) - inputs_again), elements * inputs_again);
    rk_save(x, again, gated && stack->keeps_activation ? x->c->written * elements : 0);
    const bool adapts = x->adapts && part != RK_PART_EXPERT;
    rk_save(x, again, rk_kept_input_bytes(x->c, adapts) * elements);
}

double rk_ffn_tiles(const rk_block_context *c)
{
    return c->stack->tiled_mlp ? ceil(c->tokens / (double)c->model->hidden) : 1;
}

/* Forward keeps nothing of a tile, and runs again in its backward. */
static void tile(rk_cost_builder *x, const rk_cost *before)
{
    if (x->c->stack->tiled_mlp) {
        rk_checkpoint(x, before);
        x->cost.unsaved =
            before->unsaved + (x->cost.unsaved - before->unsaved) / rk_ffn_tiles(x->c);
    }
}

void rk_add_ffn(rk_cost_builder *x, const rk_ffn_shape *ffn, double width)
{
    assert(width > 0);
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, f = width / (double)s->tp;
    const bool operators = ffn->gated && rk_recomputes(s, RK_MODULE_OPERATORS);
    const rk_cost before = x->cost;
    rk_add_shared_linear(x, RK_PART_LINEAR, s->precision, T, (ffn->gated ? 2 : 1) * f, h,
                         ffn->gated ? 2 : 1);
    /* gate and up are two matrices as large as down */
    x->cost.matrix_params = before.matrix_params;
    x->cost.dequantised = before.dequantised;
    rk_add_activation(x, RK_PART_STREAM, ffn, T * f, operators ? 1 : 0);
    rk_add_row_linear(x, s->precision, T, h, f);
    if (operators) { /* of gate, up and down the second is recomputed, the last is kept */
        rk_add_product_again(x, T, f, h, false);
        rk_save(x, false, x->c->stack->drops_outputs ? 0 : x->c->element * T * h);
    }
    tile(x, &before);
}

int64_t rk_ffn_matrices(int64_t h, int64_t f, bool gated)
{
    return (gated ? 3 : 2) * h * f;
}

int64_t rk_ffn_biases(int64_t h, int64_t f, bool gated)
{
    return (gated ? 2 : 1) * f + h;
}

double rk_ffn_features(double h, double width, bool gated)
{
    return h + (gated ? 2 : 1) * width + width + h;
}

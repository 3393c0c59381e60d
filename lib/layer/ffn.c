/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What feed-forward networks share: a network of two or three matrices, and its activation.
 * Letters: T tokens of a microbatch on a context-parallel rank, h hidden, f width.
 */
#include "layer/ffn.h"

void rk_add_activation(rk_cost_builder *x, rk_part part, const rk_ffn_shape *ffn, double elements,
                       double inputs_again)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const bool again = rk_recomputes(s, RK_MODULE_ACTIVATION), gated = ffn->gated;
    /* A captured step runs the compiled form of a clamped activation. */
    const bool clamped = ffn->clamped && !s->graph_step;
    const double passes =
        (clamped ? stack->clamped_passes : stack->activation_passes) * x->c->element * elements;
    const rk_cost before = x->cost;
    rk_add_stream(x, part, passes * (gated ? 3 : 2), passes * (gated ? 5 : 3));
    if (again) {
        rk_repeat(x, &before);
    }
    rk_save(x, false, x->c->element * elements * ((gated ? 2 : 1) - inputs_again));
    rk_save(x, true, x->c->element * elements * inputs_again);
    rk_save(x, again, gated && stack->keeps_activation ? x->c->element * elements : 0);
    rk_save(x, again, rk_saved_input_bytes(s) * elements);
}

void rk_add_ffn(rk_cost_builder *x, const rk_ffn_shape *ffn, double width)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, f = width / (double)s->tp;
    const bool operators = ffn->gated && rk_recomputes(s, RK_MODULE_OPERATORS);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, (ffn->gated ? 2 : 1) * f, h);
    rk_add_activation(x, RK_PART_STREAM, ffn, T * f, operators ? 1 : 0);
    rk_add_row_linear(x, s->precision, T, h, f);
    if (operators) { /* of gate, up and down the second is recomputed, the last is kept */
        rk_add_product_again(x, T, f, h);
        rk_save(x, false, x->c->element * T * h);
    }
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

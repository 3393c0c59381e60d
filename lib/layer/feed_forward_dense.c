/* SPDX-License-Identifier: Apache-2.0 */
/* A feed-forward network of two matrices, or of three with a gate. */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/ffn.h"

static const rk_field fields[] = {
    RK_LAYER_SIZE(ffn, ffn.width, "width of the dense FFN"),
    RK_LAYER_FLAG(gated, ffn.gated, "FFN and experts have three matrices, not two; default true"),
    RK_LAYER_FLAG(clamped, ffn.clamped, "the activation of FFN and experts limits its inputs"),
    RK_LAYER_FLAG(ffn_bias, ffn.bias, "the dense FFN has biases"),
    RK_LAYER_SIZE(activation_scalars, ffn.activation_scalars,
                  "learned numbers in the activation of the dense FFN"),
};

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_size_range sizes[] = {
        {"ffn", type->ffn.width, 1, RK_WIDTH_MAX},
        {"activation_scalars", type->ffn.activation_scalars, 0, RK_WIDTH_MAX},
    };
    const rk_named_count moe[] = {
        {"top_k", type->moe.top_k},
        {"expert_ffn", type->moe.expert_width},
        {"shared_experts", type->moe.shared_experts},
        {"shared_ffn", type->moe.shared_width},
        {"expert_groups", type->moe.expert_groups},
        {"route_groups", type->moe.route_groups},
        {"shared_gate", type->moe.shared_gate},
        {"router_bias", type->moe.router_bias},
        {"expert_bias", type->moe.expert_bias},
    };
    const rk_status status = rk_check_foreign(moe, COUNT(moe), "experts", err);
    if (!status && type->ffn.width == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "ffn",
                          "a layer has neither a dense FFN (\"ffn\") nor \"experts\"");
    }
    return status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
}

static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_ffn_shape *ffn = &type->ffn;
    const int64_t matrices = rk_ffn_matrices(h, ffn->width, ffn->gated);
    p->ffn = matrices + (ffn->bias ? rk_ffn_biases(h, ffn->width, ffn->gated) : 0);
    p->ffn += ffn->activation_scalars;
    p->gemm += matrices;
    p->counted += matrices;
}

/* The bias behind the sum over tensor ranks is whole, and so are learned scalars. */
static void unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied)
{
    (void)t;
    (void)copied;
    *whole += (type->ffn.bias ? hidden : 0) + (double)type->ffn.activation_scalars;
}

static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    out[0] = (rk_matrix){(double)type->ffn.width, h, type->ffn.gated ? 3 : 2, false};
    return 1;
}

static double features(const rk_layer_type *type, double h)
{
    return rk_ffn_features(h, (double)type->ffn.width, type->ffn.gated);
}

static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const double width = (double)type->ffn.width;
    rk_add_ffn(x, &type->ffn, width);
    rk_spare_last_product(x, x->c->tokens, (double)x->c->model->hidden,
                          width / (double)x->c->strategy->tp);
}

/* The gradients of what enters and leaves the activation; what it took from the output side is
 * free by then. */
static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const double tokens = c->tokens / rk_ffn_tiles(c);
    const double inner = (double)type->ffn.width / (double)c->strategy->tp * tokens;
    const double more = c->strategy->adapter_rank > 0 ? c->stack->inner_tensors : 0;
    return c->element * inner * (type->ffn.gated ? 2 + more : 1);
}

static double regions(const rk_block_context *c, const rk_layer_type *type)
{
    (void)c;
    (void)type;
    return 1;
}

static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)type;
    *forward = c->stack->kernels_forward;
    *backward = c->stack->kernels_backward;
}

const rk_feed_forward rk_feed_forward_dense = {
    .part = {.name = "dense",
             .shapes = RK_SHAPE_FFN | RK_SHAPE_WIDTH,
             .fields = fields,
             .field_count = COUNT(fields),
             .check = check,
             .count = count,
             .unsplit = unsplit,
             .features = features,
             .matrices = matrices,
             .add = add,
             .transient = transient},
    .module = RK_MODULE_MLP,
    .regions = regions,
    .kernels = kernels,
};

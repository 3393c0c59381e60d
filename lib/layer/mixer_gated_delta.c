/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated DeltaNet: Qwen3-Next, Qwen3.5 and 3.6.  Letters: h hidden; n_k heads of keys of d_k
 * elements, n_v heads of values of d_v, K = n_k d_k, V = n_v d_v, C tokens of a chunk.  A
 * projection makes queries, keys, values, an output gate, and two numbers a head; a convolution
 * runs over queries, keys and values; the chunked delta rule is followed by a gated norm and the
 * output projection. Sources: arXiv 2412.06464; the kernels of flash-linear-attention
 * (gated_delta_rule) for what is executed and moved; Megatron Core (gated_delta_net.py,
 * training.py) for what is kept, exchanged and counted.
 */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

/* ---- sizes --------------------------------------------------------------------------------- */

/* K. */
static int64_t keys(const rk_recurrence_shape *r)
{
    return r->key_heads * r->key_size;
}

/* V. */
static int64_t values(const rk_recurrence_shape *r)
{
    return r->heads * r->value_size;
}

/* Outputs of the projection: queries, keys, values, gate; beta and decay of every head. */
static int64_t projected(const rk_recurrence_shape *r)
{
    return 2 * keys(r) + 2 * values(r) + 2 * r->heads;
}

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_recurrence_shape *r = &type->recurrence;
    (void)hidden;
    (void)path;
    (void)err;
    r->key_heads = r->key_heads ? r->key_heads : r->heads;
    return RK_OK;
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    return rk_recurrence_check(&type->recurrence, err);
}

/* ---- parameters and FLOPs ------------------------------------------------------------------ */

/* Megatron-LM counts the convolution as weights. */
static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const int64_t convolved = 2 * keys(r) + values(r), taps = convolved * r->conv_width;
    const int64_t matrices = h * projected(r) + values(r) * h;
    /* bias of the decay, A, norm of the output */
    const int64_t vectors = 2 * r->heads + r->value_size + (r->conv_bias ? convolved : 0);
    p->attention = matrices + taps + vectors;
    p->gemm += matrices;
    p->counted += matrices + taps;
}

/* Forward 8 n_v d_v^2 in Megatron-LM; training three times that. */
static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_recurrence_shape *r = &type->recurrence;
    (void)hidden;
    (void)seq;
    (void)reach;
    return 3 * 8 * (double)(r->heads * r->value_size * r->value_size);
}

static double features(const rk_layer_type *type, double h)
{
    const rk_recurrence_shape *r = &type->recurrence;
    return h + (double)projected(r) + (double)values(r) + h;
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * Executed per token and head of values: forward 6 d_k d_v + 6 C d_k + 4 C d_v + C^2, backward 16
 * d_k d_v + 20 C d_k + 10 C d_v + 4 C^2, with whole chunks and what backward makes again.  Moved by
 * the delta rule: 5.5 elements of d_k and of d_v, 2 C and 2 d_k d_v / C; backward about 2.5 times
 * that.  The convolution reads and writes its channels, then reads two and writes one; the gated
 * norm reads two tensors and writes one, then reads three and writes two.
 * Kept: outputs of projection and convolution; queries and keys normalised, for every head of
 * values; decay in fp32 and beta; the products within chunks; the input of the gated norm.
 */
static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double e = x->c->element, n = (double)r->heads, C = (double)r->chunk;
    const double dk = (double)r->key_size, dv = (double)r->value_size;
    const double V = (double)values(r), convolved = 2 * (double)keys(r) + V;
    const double conv = 2 * (double)r->conv_width * convolved;
    const double bytes = e * n * (5.5 * (dk + dv) + 2 * C + 2 * dk * dv / C);
    const rk_recurrence work = {
        .projected = (double)projected(r),
        .inner = V,
        .streamed_forward = e * (2 * convolved + 3 * V),
        .streamed_backward = e * (3 * convolved + 5 * V),
        .kept = e * ((double)projected(r) + convolved + 2 * n * dk + C * n + V) + (4 + 4 + e) * n,
        .scan = {.flop_share = x->c->stack->delta_flop_share,
                 .stream_share = x->c->stack->delta_stream_share,
                 .flops_forward = n * (6 * dk * dv + 6 * C * dk + 4 * C * dv + C * C) + conv,
                 .flops_backward =
                     n * (16 * dk * dv + 20 * C * dk + 10 * C * dv + 4 * C * C) + 2 * conv,
                 .bytes_forward = bytes,
                 .bytes_backward = 2.5 * bytes,
                 .kernels_forward = 8,
                 .kernels_backward = 12},
    };
    rk_add_recurrence(x, &work);
}

/* States of chunks and their gradients. */
static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double states = (double)(values(r) * r->key_size) / (double)r->chunk;
    return 2 * c->element * states * c->tokens / (double)c->strategy->tp;
}

/* Heads of keys split, too, over tensor and context ranks. */
static int64_t unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp)
{
    const rk_recurrence_shape *r = &type->recurrence;
    return r->heads % (tp * cp) != 0 ? r->heads : r->key_heads % (tp * cp) != 0 ? r->key_heads : 0;
}

/* Norm, projection, two norms of queries and keys, gate, 8 of the delta rule with its convolution,
 * gated norm, output, residual. */
static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)c;
    (void)type;
    *forward = 8 + 8;
    *backward = 2 * 8 + 12;
}

const rk_mixer rk_mixer_gated_delta = {
    .part = {.name = "gated_delta",
             .shapes = RK_SHAPE_RECURRENCE,
             .fields = rk_recurrence_fields,
             .field_count = RK_RECURRENCE_FIELD_COUNT,
             .claims = rk_recurrence_claims,
             .complete = complete,
             .check = check,
             .count = count,
             .unsplit = rk_recurrence_unsplit,
             .features = features,
             .matrices = rk_recurrence_matrices,
             .add = add,
             .transient = transient},
    .flops = flops,
    .unsplittable = unsplittable,
    .kernels = kernels,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kimi delta attention (KDA): a gated delta rule whose decay is a vector.  Letters: h hidden; n
 * heads of d elements, D = n d, C tokens of a chunk.  Projections make queries, keys, values, the
 * decay (of low rank), an output gate (of low rank, or whole) and beta; three convolutions; the
 * chunked rule; a gated norm; the output projection. Sources: Kimi Linear (arXiv 2510.26692); the
 * kernels of flash-linear-attention (kda, gla); Megatron-Bridge (flop_utils.py) for what is
 * counted.
 */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

/* D. */
static int64_t inner(const rk_recurrence_shape *r)
{
    return r->heads * r->value_size;
}

/* Outputs of the linears of the hidden state: queries, keys, values, beta, the way down to the
 * decay, and the output gate or the way down to it. */
static double projected(const rk_recurrence_shape *r)
{
    const double D = (double)inner(r), d = (double)r->value_size;
    return 3 * D + (double)r->heads + d + (r->full_gate ? D : d);
}

/* Linears d -> D: the decay, and a gate of low rank. */
static int ways_up(const rk_recurrence_shape *r)
{
    return r->full_gate ? 1 : 2;
}

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_recurrence_shape *r = &type->recurrence;
    (void)hidden;
    (void)path;
    (void)err;
    r->key_heads = r->key_heads ? r->key_heads : r->heads;
    r->key_size = r->key_size ? r->key_size : r->value_size;
    return RK_OK;
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const rk_sized sizes[] = {
        {"state_key_heads", r->key_heads, r->heads, r->heads},
        {"state_key_size", r->key_size, r->value_size, r->value_size},
    };
    const rk_status status = rk_recurrence_check(r, err);
    return status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
}

/* ---- parameters and FLOPs ------------------------------------------------------------------ */

/* Megatron-Bridge counts a whole output gate whatever its rank. */
static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const int64_t D = inner(r), d = r->value_size, low = h * d + d * D;
    const int64_t taps = 3 * D * r->conv_width, beta = h * r->heads;
    const int64_t matrices = 4 * h * D + low + beta + (r->full_gate ? h * D : low);
    /* A, bias of the decay, norm of the output */
    const int64_t vectors = r->heads + D + d + (r->conv_bias ? 3 * D : 0);
    p->attention = matrices + taps + vectors;
    p->gemm += matrices;
    p->counted += 5 * h * D + beta + low + taps;
}

/* Forward 8 n d^2 in Megatron-Bridge; training three times that. */
static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_recurrence_shape *r = &type->recurrence;
    (void)hidden;
    (void)seq;
    (void)reach;
    return 3 * 8 * (double)(inner(r) * r->value_size);
}

static double features(const rk_layer_type *type, double h)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double D = (double)inner(r), d = (double)r->value_size;
    return h + projected(r) + ways_up(r) * (d + D) + D + h;
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * As the gated delta rule with d_k = d_v, n_k = n_v; the vector of decays makes its kernels 1.4
 * times as long forward and 1.7 times backward (chunk_gla over chunk_gdn on GB200).
 * Kept: outputs of the projections and convolutions; queries and keys normalised; the decay; the
 * two products within chunks; the input of the gated norm.
 */
static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double e = x->c->element, n = (double)r->heads, C = (double)r->chunk;
    const double d = (double)r->value_size, D = (double)inner(r);
    const double conv = 2 * (double)r->conv_width * 3 * D, more = 1.4, more_backward = 1.7;
    const double bytes = e * n * (11 * d + 2 * C + 2 * d * d / C);
    const rk_recurrence work = {
        .projected = projected(r),
        .inner = D,
        .streamed_forward = e * (6 * D + 3 * D),
        .streamed_backward = e * (9 * D + 5 * D),
        .kept = e * (4 * D + 3 * D + 2 * D + D + 2 * C * n + D),
        .scan = {.flop_share = x->c->stack->delta_flop_share,
                 .stream_share = x->c->stack->delta_stream_share,
                 .flops_forward = n * (6 * d * d + 10 * C * d + C * C) + conv,
                 .flops_backward = n * (16 * d * d + 30 * C * d + 4 * C * C) + 2 * conv,
                 .bytes_forward = more * bytes,
                 .bytes_backward = more_backward * 2.5 * bytes,
                 .kernels_forward = 10,
                 .kernels_backward = 14},
    };
    const rk_strategy *s = x->c->strategy;
    for (int i = 0; i < ways_up(r); i++) {
        rk_add_linear(x, RK_PART_LINEAR, s->precision, x->c->tokens, D / (double)s->tp, d);
    }
    rk_add_recurrence(x, &work);
}

/* States of chunks and their gradients. */
static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double states = (double)(inner(r) * r->key_size) / (double)r->chunk;
    return 2 * c->element * states * c->tokens / (double)c->strategy->tp;
}

/* No framework splits a sequence here. */
static int64_t unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp)
{
    const rk_recurrence_shape *r = &type->recurrence;
    return cp > 1 || r->heads % tp != 0 ? r->heads : 0;
}

/* Norm, projections, norms of queries and keys, gates, the rule with its convolutions, gated norm,
 * output, residual. */
static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)c;
    (void)type;
    *forward = 10 + 10;
    *backward = 2 * 10 + 14;
}

const rk_mixer rk_mixer_kimi_delta = {
    .part = {.name = "kimi_delta",
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lightning attention: linear attention with a fixed decay per head (MiniMax-Text-01, Ling linear).
 * Letters: h hidden; n heads of d elements, D = n d, B tokens of a chunk.  One projection makes
 * queries, keys, values and the output gate; a norm follows, then the output projection.
 * Sources: arXiv 2501.08313 and its code for parameters; flash-linear-attention (simple_gla) for
 * what is executed and kept.
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
        {"conv_width", r->conv_width, 0, 0},
    };
    const rk_status status = rk_recurrence_check(r, err);
    return status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
}

/* ---- parameters and FLOPs ------------------------------------------------------------------ */

static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const int64_t D = inner(&type->recurrence), matrices = 5 * h * D;
    p->attention = matrices + D; /* norm of the output */
    p->gemm += matrices;
    p->counted += matrices;
}

/* Update and reading of the state, 4 n d^2 forward; training three times that. */
static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_recurrence_shape *r = &type->recurrence;
    (void)hidden;
    (void)seq;
    (void)reach;
    return 3 * 4 * (double)(inner(r) * r->value_size);
}

static double features(const rk_layer_type *type, double h)
{
    const double D = (double)inner(&type->recurrence);
    return h + 4 * D + D + h;
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * Executed per token and head: forward 4 d^2 + 4 B d on whole chunks, backward 2.5 times that.
 * Moved: queries, keys, values, output and the states of chunks; the norm and its gate.
 * Kept: queries, keys, values and gate, the output before its norm.
 */
static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double e = x->c->element, n = (double)r->heads, B = (double)r->chunk;
    const double d = (double)r->value_size, D = (double)inner(r), backward = 2.5;
    const double executed = n * (4 * d * d + 4 * B * d);
    const double bytes = e * (4 * D + 2 * n * d * d / B);
    const rk_recurrence work = {
        .projected = 4 * D,
        .inner = D,
        .streamed_forward = e * 3 * D,
        .streamed_backward = e * 5 * D,
        .kept = e * (4 * D + D),
        .scan = {.flop_share = x->c->stack->delta_flop_share,
                 .stream_share = x->c->stack->delta_stream_share,
                 .flops_forward = executed,
                 .flops_backward = backward * executed,
                 .bytes_forward = bytes,
                 .bytes_backward = backward * bytes,
                 .kernels_forward = 3,
                 .kernels_backward = 6},
    };
    rk_add_recurrence(x, &work);
}

/* States of chunks and their gradients. */
static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double states = (double)(inner(r) * r->key_size) / (double)r->chunk;
    return 2 * c->element * states * c->tokens / (double)c->strategy->tp;
}

/* Norm, projection, activation, the scan, gated norm, output, residual. */
static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)c;
    (void)type;
    *forward = 6 + 3;
    *backward = 2 * 6 + 6;
}

const rk_mixer rk_mixer_lightning = {
    .part = {.name = "lightning",
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
    .unsplittable = rk_recurrence_unsplittable,
    .kernels = kernels,
};

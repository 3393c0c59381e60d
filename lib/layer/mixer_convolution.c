/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated short convolution (LFM2): y = C conv(B x), with B, C and x from one projection of the
 * hidden state, and an output projection.  Letters: h hidden, w taps. Source: the LFM2 classes of
 * transformers, and LFM2's technical report.
 */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_recurrence_shape *r = &type->recurrence;
    (void)path;
    (void)err;
    r->heads = r->key_heads = r->heads ? r->heads : hidden; /* channels */
    r->key_size = r->value_size = r->chunk = 1;
    return RK_OK;
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const rk_sized sizes[] = {
        {"state_heads", r->heads, 1, RK_WIDTH_MAX},
        {"conv_width", r->conv_width, 1, 1 << 10},
    };
    return rk_check_sizes(sizes, COUNT(sizes), err);
}

/* ---- parameters and FLOPs ------------------------------------------------------------------ */

static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const int64_t n = r->heads, matrices = h * 3 * n + n * h;
    p->attention = matrices + n * r->conv_width + (r->conv_bias ? 4 * n + h : 0);
    p->gemm += matrices;
    p->counted += matrices;
}

/* Convolution and two gates: (2 w + 2) h forward; training three times that. */
static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_recurrence_shape *r = &type->recurrence;
    (void)hidden;
    (void)seq;
    (void)reach;
    return 3 * (2 * (double)r->conv_width + 2) * (double)r->heads;
}

static double features(const rk_layer_type *type, double h)
{
    const double n = (double)type->recurrence.heads;
    return h + 3 * n + n + h;
}

/* ---- operators ----------------------------------------------------------------------------- */

/* One fused kernel reads three tensors and writes one; backward reads four and writes three.  Kept:
 * what the projection makes. */
static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double e = x->c->element, n = (double)r->heads;
    const double executed = (2 * (double)r->conv_width + 2) * n;
    const rk_recurrence work = {
        .projected = 3 * n,
        .inner = n,
        .kept = e * 3 * n,
        .scan = {.flop_share = x->c->stack->scan_flop_share,
                 .stream_share = x->c->stack->scan_stream_share,
                 .flops_forward = executed,
                 .flops_backward = 2 * executed,
                 .bytes_forward = e * 4 * n,
                 .bytes_backward = e * 7 * n,
                 .kernels_forward = 1,
                 .kernels_backward = 1},
    };
    rk_add_recurrence(x, &work);
}

static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    return c->element * 3 * (double)type->recurrence.heads * c->tokens / (double)c->strategy->tp;
}

/* Norm, projection, convolution, output, residual. */
static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)c;
    (void)type;
    *forward = 5;
    *backward = 2 * 5;
}

const rk_mixer rk_mixer_convolution = {
    .part = {.name = "convolution",
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

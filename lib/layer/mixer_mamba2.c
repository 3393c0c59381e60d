/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mamba-2, state space duality: Nemotron-H, Nemotron-3, Granite 4, Bamba, Falcon-H1, Zamba2.
 * Letters: T tokens of a microbatch on a context-parallel rank, h hidden, t tensor parallel; n
 * heads of P elements, d = n P; G groups of B and C of N elements, Q tokens of a chunk.  A
 * projection makes z, x, B, C and dt of the hidden state; a convolution runs over x, B and C; the
 * scan is followed by a gated norm and the output projection. Sources: arXiv 2405.21060; the
 * kernels of state-spaces/mamba (ssd_*.py) for what is executed and moved; Megatron Core
 * (mamba_mixer.py, mamba_context_parallel.py, training.py) for what is kept, exchanged and counted.
 */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

/* ---- sizes --------------------------------------------------------------------------------- */

/* d = n P. */
static int64_t inner(const rk_recurrence_shape *r)
{
    return r->heads * r->value_size;
}

/* B and C: 2 G N. */
static int64_t keys(const rk_recurrence_shape *r)
{
    return 2 * r->key_heads * r->key_size;
}

/* Outputs of the projection: z, x, B, C, dt. */
static int64_t projected(const rk_recurrence_shape *r)
{
    return 2 * inner(r) + keys(r) + r->heads;
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

/*
 * FLOP conventions follow Megatron-LM, which takes d = 2 h for whatever the heads have
 * (mamba_layer_flops in training.py).
 */
static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const int64_t d = inner(r), convolved = d + keys(r), taken = 2 * h;
    const int64_t matrices = h * projected(r) + d * h;
    int64_t vectors = convolved * r->conv_width + (r->conv_bias ? convolved : 0);
    vectors += 3 * r->heads; /* bias of dt, A, D */
    vectors += d;            /* gated norm */
    p->attention = matrices + vectors;
    p->gemm += matrices;
    p->counted += h * (2 * taken + keys(r) + r->heads) + taken * h;
}

/* Forward 7 d N, d = 2 h as above; training three times that. */
static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    (void)seq;
    (void)reach;
    return 3 * 7 * 2 * (double)hidden * (double)type->recurrence.key_size;
}

static double features(const rk_layer_type *type, double h)
{
    const rk_recurrence_shape *r = &type->recurrence;
    return h + (double)projected(r) + (double)inner(r) + h;
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * The scan and what is around it.  Executed per token: forward d (4 N + Q) + 2 G Q N (states of
 * chunks and reading them 2 P N each a head, the causal product within a chunk Q P, C B' of whole
 * chunks), backward d (10 N + 3 Q) + 6 G Q N, which makes C B' and states again.  Moved per token:
 * convolution in and out; x and B read, states of chunks written in fp32, passed on, read; C B'
 * written and read; x, z read, the output before and after its gate written; the gated norm; two
 * copies between layouts.  Backward about 2.5 times that.
 */
static void add_scan(rk_cost_builder *x, const rk_recurrence_shape *r, double t)
{
    const double e = x->c->element, T = x->c->tokens;
    const double d = (double)inner(r) / t, bc = (double)keys(r) / t, n = (double)r->heads / t;
    const double N = (double)r->key_size, Q = (double)r->chunk, G = (double)r->key_heads / t;
    const double states = d * N / Q, products = G * Q;
    const double conv = 2 * (double)r->conv_width * (d + bc);
    const double bytes = 2 * e * (d + bc)                        /* convolution */
                         + e * (d + bc / 2) + 4 * states         /* states of chunks */
                         + 4 * states + e * states               /* passed on */
                         + e * bc + 4 * products                 /* C B' */
                         + 2 * e * d + e * states + 4 * products /* read: x, z, states, C B' */
                         + 2 * e * d                             /* outputs */
                         + 2 * e * d                             /* gated norm */
                         + 2 * e * (2 * d + bc + n) + 2 * e * d; /* copies */
    const double backward = 2.5;
    const rk_scan scan = {
        .flop_share = x->c->stack->scan_flop_share,
        .stream_share = x->c->stack->scan_stream_share,
        .flops_forward = T * (d * (4 * N + Q) + 2 * G * Q * N + conv),
        .flops_backward = T * (d * (10 * N + 3 * Q) + 6 * G * Q * N + 2 * conv),
        .bytes_forward = T * bytes,
        .bytes_backward = backward * T * bytes,
        .kernels_forward = 9,
        .kernels_backward = 18,
    };
    rk_add_scan(x, &scan);
}

/*
 * Kept: what the projection makes, the output before its gate and after, the input of the output
 * projection.  The kernels make the rest again: convolution, dt, states.
 */
static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, t = (double)s->tp;
    const double c = (double)s->cp, e = x->c->element;
    const double d = (double)inner(r) / t, made = (double)projected(r) / t;
    const double groups = (double)r->key_heads / t;
    /* where context ranks outnumber groups, these are repeated */
    const double repeats = groups < c ? c / groups : 1;
    const double sent = made + (repeats - 1) * (double)keys(r) / t;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, made, h);
    rk_add_head_exchange(x, e * T * sent, e * T * d);
    add_scan(x, r, t);
    rk_add_row_linear(x, s->precision, T, h, d);
    rk_save(x, false, e * T * made);
    rk_save(x, false, 2 * e * T * d);
    rk_save(x, false, rk_saved_input_bytes(s) * T * d);
}

/* States of chunks in fp32 and in 16 bits, and their gradients: 2 (4 + 2) d N / Q per token. */
static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const double states = (double)inner(r) * (double)r->key_size / (double)r->chunk;
    return 2 * (4 + 2) * states * c->tokens / (double)c->strategy->tp;
}

/*
 * Norm, projection, residual; 6 kernels of the scan (convolution, sums, states, passing, C B',
 * output), gated norm, two copies; output projection.  Backward of the scan about 18.
 */
static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    (void)c;
    (void)type;
    *forward = 4 + 9;
    *backward = 2 * 4 + 18;
}

const rk_mixer rk_mixer_mamba2 = {
    .part = {.name = "mamba2",
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

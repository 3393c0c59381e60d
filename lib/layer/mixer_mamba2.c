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
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

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

/*
 * FLOP conventions follow Megatron-LM, which assumes d = 2 h regardless of the heads and counts 7 d
 * N for the scan (mamba_layer_flops in training.py).
 */
static void fill_size(const rk_recurrence_shape *r, int64_t h, rk_recurrence_size *size)
{
    const int64_t d = inner(r), taken = 2 * h;
    *size = (rk_recurrence_size){
        .projected = projected(r),
        .inner = d,
        .convolved = d + keys(r),
        .vectors = 3 * r->heads + (r->bare_output ? 0 : d), /* bias of dt, A, D; gated norm */
        .counted = h * (2 * taken + keys(r) + r->heads) + taken * h,
        .scan_flops = 7 * taken * r->key_size,
    };
}

/*
 * The scan and what is around it.  Executed per token: forward d (4 N + Q) + 2 G Q N (states of
 * chunks and reading them 2 P N each a head, the causal product within a chunk Q P, C B' of whole
 * chunks), backward d (10 N + 3 Q) + 6 G Q N, which makes C B' and states again.  Moved per token:
 * convolution in and out; x and B read, states of chunks written in fp32, passed on, read; C B'
 * written and read; x, z read, the output before and after its gate written; the gated norm; two
 * copies between layouts.
 */
static rk_scan scan_of(const rk_block_context *c, const rk_recurrence_shape *r)
{
    const double e = c->element, d = (double)inner(r), bc = (double)keys(r);
    const double n = (double)r->heads, N = (double)r->key_size, Q = (double)r->chunk;
    const double G = (double)r->key_heads, states = d * N / Q, products = G * Q;
    const double conv = 2 * (double)r->conv_width * (d + bc);
    const double bytes = 2 * e * (d + bc)                        /* convolution */
                         + e * (d + bc / 2) + 4 * states         /* states of chunks */
                         + 4 * states + e * states               /* passed on */
                         + e * bc + 4 * products                 /* C B' */
                         + 2 * e * d + e * states + 4 * products /* read: x, z, states, C B' */
                         + 2 * e * d                             /* outputs */
                         + (r->bare_output ? 0 : 2 * e * d)      /* gated norm */
                         + 2 * e * (2 * d + bc + n) + 2 * e * d; /* copies */
    return (rk_scan){
        .flop_share = c->stack->scan_flop_share,
        .stream_share = c->stack->scan_stream_share,
        .flops_forward = d * (4 * N + Q) + 2 * G * Q * N + conv,
        .flops_backward = d * (10 * N + 3 * Q) + 6 * G * Q * N + 2 * conv,
        .bytes_forward = bytes,
        .bytes_backward = RK_SCAN_BACKWARD * bytes,
        /* convolution, sums, states, passing, C B', output; gated norm, two copies */
        .kernels_forward = r->bare_output ? 6 + 2 : 6 + 1 + 2,
        .kernels_backward = r->bare_output ? 16 : 18, /* two gradients for each */
    };
}

/*
 * Kept: what the projection makes, the output before its gate and after.  The kernels make the rest
 * again: convolution, dt, states.  Temporaries: states of chunks in fp32 and in 16 bits, and their
 * gradients.
 */
static void fill_work(const rk_block_context *c, const rk_recurrence_shape *r,
                      rk_recurrence_work *work)
{
    const double d = (double)inner(r), made = (double)projected(r), cp = (double)c->strategy->cp;
    /* where context ranks outnumber groups, these are repeated */
    const double groups = (double)r->key_heads / (double)c->strategy->tp;
    const double repeats = groups < cp ? cp / groups : 1;
    const double states = d * (double)r->key_size / (double)r->chunk;
    *work = (rk_recurrence_work){
        .exchanged = made + (repeats - 1) * (double)keys(r),
        .kept = c->element * made + (r->bare_output ? 1 : 2) * c->element * d,
        .transient = 2 * (4 + 2) * states,
        .scan = scan_of(c, r),
    };
}

/* Launches: norm, projection, output, residual, and the scan. */
static const rk_recurrence_kind kind = {.convolution = true,
                                        .state_space = true,
                                        .launches_forward = 4 + 9,
                                        .launches_backward = 2 * 4 + 18,
                                        .size = fill_size,
                                        .work = fill_work};

const rk_mixer rk_mixer_mamba2 = RK_RECURRENCE("mamba2", kind);

rk_layer_type rk_mamba2_alone(const rk_layer_type *type)
{
    rk_layer_type alone = *type;
    alone.mixer = &rk_mixer_mamba2;
    return alone;
}

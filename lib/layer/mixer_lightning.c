/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lightning attention: linear attention with a fixed decay per head (MiniMax-Text-01, Ling linear).
 * Letters: h hidden; n heads of d elements, D = n d, B tokens of a chunk.  One projection makes
 * queries, keys, values and the output gate; a norm follows, then the output projection.
 * Sources: arXiv 2501.08313 and its code for parameters; flash-linear-attention (simple_gla) for
 * what is executed and kept.
 */
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

/* D. */
static int64_t inner(const rk_recurrence_shape *r)
{
    return r->heads * r->value_size;
}

/* Queries, keys, values, gate.  FLOPs: update and reading of the state, 4 n d^2. */
static void fill_size(const rk_recurrence_shape *r, int64_t h, rk_recurrence_size *size)
{
    const int64_t D = inner(r), projected = 4 * D;
    *size = (rk_recurrence_size){
        .projected = projected,
        .inner = D,
        .vectors = D, /* norm of the output */
        .counted = h * projected + D * h,
        .scan_flops = 4 * D * r->value_size,
    };
}

/*
 * Executed per token and head: forward 4 d^2 + 4 B d on whole chunks.  Moved: queries, keys,
 * values, output and the states of chunks; the norm and its gate.  Kept: queries, keys, values and
 * gate, the output before its norm.  Temporaries: states of chunks and their gradients.  The
 * kernels are flash-linear-attention's too, products within chunks and states passed on: they have
 * the rates of the gated delta rule, within 12 % of what is measured on GB200 where those are.
 */
static void fill_work(const rk_block_context *c, const rk_recurrence_shape *r,
                      rk_recurrence_work *work)
{
    const double e = c->element, n = (double)r->heads, B = (double)r->chunk;
    const double d = (double)r->value_size, D = (double)inner(r);
    const double executed = n * (4 * d * d + 4 * B * d);
    const double bytes = e * (4 * D + 2 * n * d * d / B);
    *work = (rk_recurrence_work){
        .streamed_forward = e * 3 * D,
        .streamed_backward = e * 5 * D,
        .kept = e * (4 * D + D),
        .transient = 2 * e * (D * d / B),
        .scan = {.rule = RK_DELTA_GATED,
                 .flop_share = c->stack->delta_flop_share,
                 .stream_share = c->stack->delta_stream_share,
                 .flops_forward = executed,
                 .flops_backward = RK_SCAN_BACKWARD * executed,
                 .bytes_forward = bytes,
                 .bytes_backward = RK_SCAN_BACKWARD * bytes,
                 .kernels_forward = 3,
                 .kernels_backward = 6},
    };
}

/* Launches: norm, projection, activation, gated norm, output, residual; the scan. */
static const rk_recurrence_kind kind = {.square = true,
                                        .launches_forward = 6 + 3,
                                        .launches_backward = 2 * 6 + 6,
                                        .size = fill_size,
                                        .work = fill_work};

const rk_mixer rk_mixer_lightning = RK_RECURRENCE("lightning", kind);

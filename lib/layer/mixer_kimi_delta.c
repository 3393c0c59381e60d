/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kimi delta attention (KDA): a gated delta rule whose decay is a vector.  Letters: h hidden; n
 * heads of d elements, D = n d, C tokens of a chunk.  Projections make queries, keys, values, the
 * decay and an output gate (each of low rank, or whole) and beta; three convolutions; the chunked
 * rule; a gated norm; the output projection.  Sources: Kimi Linear (arXiv 2510.26692); the
 * kernels of flash-linear-attention (kda, gla); Megatron-Bridge (flop_utils.py) for what is
 * counted.
 */
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

/* D. */
static int64_t inner(const rk_recurrence_shape *r)
{
    return r->heads * r->value_size;
}

/*
 * The linears of the hidden state make queries, keys, values, beta, and the decay and the output
 * gate or the way down to each; the ways up make what is of low rank.
 * Megatron-Bridge counts a whole output gate at any rank, and 8 n d^2 for the rule.
 */
static void fill_size(const rk_recurrence_shape *r, int64_t h, rk_recurrence_size *size)
{
    const int64_t D = inner(r), d = r->value_size, convolved = 3 * D;
    *size = (rk_recurrence_size){
        .projected = 3 * D + r->heads + (r->full_decay ? D : d) + (r->full_gate ? D : d),
        .inner = D,
        .raised = !r->full_decay + !r->full_gate,
        .rank = d,
        .convolved = convolved,
        .vectors = r->heads + D + d, /* A, bias of the decay, norm of the output */
        .counted = 5 * h * D + h * r->heads + (r->full_decay ? h * D : h * d + d * D) +
                   convolved * r->conv_width,
        .scan_flops = 8 * D * d,
    };
}

/*
 * As the gated delta rule with d_k = d_v, n_k = n_v.  Where chunk_kda is not measured, the vector
 * of decays makes its kernels 1.4 times as long forward and 1.7 times backward (chunk_gla over
 * chunk_gdn on GB200, README of flash-linear-attention at bc3b101d).
 * Kept: outputs of the projections and convolutions; queries and keys normalised; the decay; the
 * two products within chunks; the input of the gated norm.  Temporaries: states of chunks and their
 * gradients.
 */
static void fill_work(const rk_block_context *c, const rk_recurrence_shape *r,
                      rk_recurrence_work *work)
{
    const double e = c->element, n = (double)r->heads, C = (double)r->chunk;
    const double d = (double)r->value_size, D = (double)inner(r);
    const double conv = 2 * (double)r->conv_width * 3 * D, more = 1.4, more_backward = 1.7;
    const double bytes = e * n * (11 * d + 2 * C + 2 * d * d / C);
    *work = (rk_recurrence_work){
        .streamed_forward = e * (6 * D + 3 * D),
        .streamed_backward = e * (9 * D + 5 * D),
        .kept = e * (4 * D + 3 * D + 2 * D + D + 2 * C * n + D),
        .transient = 2 * e * (D * d / C),
        .scan = {.rule = RK_DELTA_KIMI,
                 .flop_share = c->stack->delta_flop_share,
                 .stream_share = c->stack->delta_stream_share,
                 .flops_forward = n * (6 * d * d + 10 * C * d + C * C) + conv,
                 .flops_backward = n * (16 * d * d + 30 * C * d + 4 * C * C) + 2 * conv,
                 .bytes_forward = more * bytes,
                 .bytes_backward = more_backward * RK_SCAN_BACKWARD * bytes,
                 .kernels_forward = 10,
                 .kernels_backward = 14},
    };
}

/* No framework splits a sequence here. */
static int64_t unsplittable(const rk_recurrence_shape *r, int64_t tp, int64_t cp)
{
    return cp > 1 || r->heads % tp != 0 ? r->heads : 0;
}

/* Launches: norm, five projections, norms of queries and keys, gate, gated norm, output, residual;
 * the rule with its convolutions. */
static const rk_recurrence_kind kind = {.square = true,
                                        .convolution = true,
                                        .launches_forward = 10 + 10,
                                        .launches_backward = 2 * 10 + 14,
                                        .size = fill_size,
                                        .work = fill_work,
                                        .unsplittable = unsplittable};

const rk_mixer rk_mixer_kimi_delta = RK_RECURRENCE("kimi_delta", kind);

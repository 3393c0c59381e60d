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
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

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

/* Megatron-LM counts the convolution as weights, and 8 n_v d_v^2 for the rule. */
static void fill_size(const rk_recurrence_shape *r, int64_t h, rk_recurrence_size *size)
{
    const int64_t convolved = 2 * keys(r) + values(r);
    *size = (rk_recurrence_size){
        .projected = projected(r),
        .inner = values(r),
        .convolved = convolved,
        .vectors = 2 * r->heads + r->value_size, /* bias of the decay, A; norm of the output */
        .counted = h * projected(r) + values(r) * h + convolved * r->conv_width,
        .scan_flops = 8 * r->heads * r->value_size * r->value_size,
    };
}

/*
 * Executed per token and head of values: forward 6 d_k d_v + 6 C d_k + 4 C d_v + C^2, backward 16
 * d_k d_v + 20 C d_k + 10 C d_v + 4 C^2, with whole chunks and what backward recomputes.  Moved by
 * the delta rule: 5.5 elements of d_k and of d_v, 2 C and 2 d_k d_v / C.  The convolution reads and
 * writes its channels, then reads two and writes one; the gated norm reads two tensors and writes
 * one, then reads three and writes two.
 * Kept: outputs of projection and convolution; queries and keys normalised, for every head of
 * values; decay in fp32 and beta; the products within chunks; the input of the gated norm.
 * Temporaries: states of chunks and their gradients.
 */
static void fill_work(const rk_block_context *c, const rk_recurrence_shape *r,
                      rk_recurrence_work *work)
{
    const double e = c->element, n = (double)r->heads, C = (double)r->chunk;
    const double dk = (double)r->key_size, dv = (double)r->value_size;
    const double V = (double)values(r), convolved = 2 * (double)keys(r) + V;
    const double conv = 2 * (double)r->conv_width * convolved;
    const double bytes = e * n * (5.5 * (dk + dv) + 2 * C + 2 * dk * dv / C);
    *work = (rk_recurrence_work){
        .streamed_forward = e * (2 * convolved + 3 * V),
        .streamed_backward = e * (3 * convolved + 5 * V),
        .kept = e * ((double)projected(r) + convolved + 2 * n * dk + C * n + V) + (4 + 4 + e) * n,
        .transient = 2 * e * (V * dk / C),
        .scan = {.rule = RK_DELTA_GATED,
                 .flop_share = c->stack->delta_flop_share,
                 .stream_share = c->stack->delta_stream_share,
                 .flops_forward = n * (6 * dk * dv + 6 * C * dk + 4 * C * dv + C * C) + conv,
                 .flops_backward =
                     n * (16 * dk * dv + 20 * C * dk + 10 * C * dv + 4 * C * C) + 2 * conv,
                 .bytes_forward = bytes,
                 .bytes_backward = RK_SCAN_BACKWARD * bytes,
                 .kernels_forward = 8,
                 .kernels_backward = 12},
    };
}

/* Heads of keys split, too, over tensor and context ranks. */
static int64_t unsplittable(const rk_recurrence_shape *r, int64_t tp, int64_t cp)
{
    return r->heads % (tp * cp) != 0 ? r->heads : r->key_heads % (tp * cp) != 0 ? r->key_heads : 0;
}

/* Launches: norm, projection, two norms of queries and keys, gate, gated norm, output, residual;
 * the delta rule with its convolution. */
static const rk_recurrence_kind kind = {.convolution = true,
                                        .launches_forward = 8 + 8,
                                        .launches_backward = 2 * 8 + 12,
                                        .size = fill_size,
                                        .work = fill_work,
                                        .unsplittable = unsplittable};

const rk_mixer rk_mixer_gated_delta = RK_RECURRENCE("gated_delta", kind);

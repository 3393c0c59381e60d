/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated short convolution (LFM2): y = C conv(B x), with B, C and x from one projection of the
 * hidden state, and an output projection.  Letters: h hidden, w taps. Source: the LFM2 classes of
 * transformers, and LFM2's technical report.
 */
#include "base/error.h"
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

/* Channels are heads of one element. */
static void complete(rk_recurrence_shape *r, int64_t hidden)
{
    r->heads = r->key_heads = r->heads ? r->heads : hidden;
    r->key_size = r->value_size = r->chunk = 1;
}

static rk_status check(const rk_recurrence_shape *r, rk_error *err)
{
    const rk_size_range sizes[] = {
        {"state_heads", r->heads, 1, RK_WIDTH_MAX},
        {"conv_width", r->conv_width, 1, 1 << 10},
    };
    return rk_check_sizes(sizes, sizeof(sizes) / sizeof(sizes[0]), err);
}

/* Executed per token and channel: convolution and two gates. */
static int64_t executed(const rk_recurrence_shape *r)
{
    return (2 * r->conv_width + 2) * r->heads;
}

/* B, C, x.  Where the convolution has a bias, so have both linears. */
static void fill_size(const rk_recurrence_shape *r, int64_t h, rk_recurrence_size *size)
{
    const int64_t n = r->heads, projected = 3 * n;
    *size = (rk_recurrence_size){
        .projected = projected,
        .inner = n,
        .convolved = n,
        .conv_bias = projected + h,
        .counted = h * projected + n * h,
        .scan_flops = executed(r),
    };
}

/* One fused kernel reads three tensors and writes one; backward reads four and writes three.  Kept:
 * what the projection makes.  Temporaries: its gradient. */
static void fill_work(const rk_block_context *c, const rk_recurrence_shape *r,
                      rk_recurrence_work *work)
{
    const double e = c->element, n = (double)r->heads;
    *work = (rk_recurrence_work){
        .kept = e * 3 * n,
        .transient = e * 3 * n,
        .scan = {.flop_share = c->stack->scan_flop_share,
                 .stream_share = c->stack->scan_stream_share,
                 .flops_forward = (double)executed(r),
                 .flops_backward = 2 * (double)executed(r),
                 .bytes_forward = e * 4 * n,
                 .bytes_backward = e * 7 * n,
                 .kernels_forward = 1,
                 .kernels_backward = 1},
    };
}

/* Launches: norm, projection, convolution, output, residual; two gradients for each. */
static const rk_recurrence_kind kind = {.convolution = true,
                                        .launches_forward = 5,
                                        .launches_backward = 2 * 5,
                                        .size = fill_size,
                                        .work = fill_work,
                                        .complete = complete,
                                        .check = check};

const rk_mixer rk_mixer_convolution = RK_RECURRENCE("convolution", kind);

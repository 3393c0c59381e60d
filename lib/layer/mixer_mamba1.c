/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mamba-1, selective scan: Jamba, Falcon-Mamba.  Letters: h hidden, d channels, N elements of the
 * state of a channel, r rank of dt, w taps.  A projection makes x and z; a convolution runs over x;
 * a second projection makes the r inputs of dt, B and C from its output, a third one dt; then come
 * the scan and the output projection.  Sources: arXiv 2312.00752; selective_scan of
 * state-spaces/mamba for what is executed, moved and kept; the classes of Jamba and Falcon-Mamba in
 * transformers for parameters.
 */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/recurrence.h"

/* Channels are heads of one element; dt has rank h / 16 where no size says it. */
static void complete(rk_recurrence_shape *r, int64_t hidden)
{
    enum { CHANNELS_PER_WIDTH = 2, WIDTH_PER_RANK = 16 }; /* defaults of the paper's code */
    r->heads = r->heads ? r->heads : CHANNELS_PER_WIDTH * hidden;
    r->step_rank = r->step_rank ? r->step_rank : (hidden + WIDTH_PER_RANK - 1) / WIDTH_PER_RANK;
    r->key_heads = r->value_size = 1;
    r->chunk = r->chunk ? r->chunk : 1;
}

static rk_status check(const rk_recurrence_shape *r, rk_error *err)
{
    const rk_size_range sizes[] = {
        {"state_heads", r->heads, 1, RK_WIDTH_MAX},
        {"state_key_size", r->key_size, 1, RK_HEAD_SIZE_MAX},
        {"step_rank", r->step_rank, 1, RK_RANK_MAX},
        {"conv_width", r->conv_width, 1, 1 << 10},
    };
    return rk_check_sizes(sizes, COUNT(sizes), err);
}

static int64_t read_back(const rk_recurrence_shape *r)
{
    return r->step_rank + 2 * r->key_size; /* inputs of dt, B, C */
}

/*
 * A step multiplies the state by its decay, exp(dt A), adds dt B x, and reads C h: 9 FLOPs per
 * element of the state, on vector units.  The times are bound by bytes.
 */
static int64_t executed(const rk_recurrence_shape *r)
{
    return 9 * r->heads * r->key_size;
}

static void fill_size(const rk_recurrence_shape *r, int64_t h, rk_recurrence_size *size)
{
    const int64_t d = r->heads, inner = d * (read_back(r) + r->step_rank);
    *size = (rk_recurrence_size){
        .projected = 2 * d,
        .inner = d,
        .read = read_back(r),
        .raised = 1,
        .rank = r->step_rank,
        .convolved = d,
        .vectors = d + d * r->key_size + d + (r->inner_norms ? read_back(r) : 0), /* dt; A; D */
        .counted = 2 * h * d + inner + d * h,
        .scan_flops = executed(r),
    };
}

/*
 * One kernel reads x, z and dt, B and C, and writes y: e (4 d + 2 N) bytes; backward moves 2.5
 * times as much.  The convolution reads and writes d.  Kept: what the projection makes, the output
 * of the convolution, dt, B and C, and the output before its gate; a state in fp32 for each chunk
 * of 2048 tokens is next to nothing.  Temporaries: the gradient of the projection.
 */
static void fill_work(const rk_block_context *c, const rk_recurrence_shape *r,
                      rk_recurrence_work *work)
{
    const double e = c->element, d = (double)r->heads, back = (double)read_back(r);
    const double bytes = e * (4 * d + 2 * (double)r->key_size);
    const double conv = 2 * (double)r->conv_width * d;
    *work = (rk_recurrence_work){
        .kept = e * (2 * d + d + back + d + d),
        .transient = e * 2 * d,
        .streamed_forward = 2 * e * d,
        .streamed_backward = 3 * e * d,
        .scan = {.flop_share = c->stack->scan_flop_share,
                 .stream_share = c->stack->scan_stream_share,
                 .flops_forward = (double)executed(r) + conv,
                 .flops_backward = RK_SCAN_BACKWARD * (double)executed(r) + 2 * conv,
                 .bytes_forward = bytes,
                 .bytes_backward = RK_SCAN_BACKWARD * bytes,
                 .kernels_forward = 1,
                 .kernels_backward = 1},
    };
}

/* Channels split over tensor ranks; Megatron Core has no context parallelism for it. */
static int64_t unsplittable(const rk_recurrence_shape *r, int64_t tp, int64_t cp)
{
    return cp > 1 || r->heads % tp != 0 ? r->heads : 0;
}

/* Launches: norm, three projections, convolution, scan, output, residual; two gradients each. */
static const rk_recurrence_kind kind = {.convolution = true,
                                        .state_space = true,
                                        .launches_forward = 8,
                                        .launches_backward = 2 * 8,
                                        .size = fill_size,
                                        .work = fill_work,
                                        .complete = complete,
                                        .check = check,
                                        .unsplittable = unsplittable};

const rk_mixer rk_mixer_mamba1 = RK_RECURRENCE("mamba1", kind);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrences over a state, run in chunks: within a chunk by matrix products, from chunk to chunk
 * by passing the state on.
 */
#include "layer/recurrence.h"

#include "base/error.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>

const rk_field rk_recurrence_fields[RK_RECURRENCE_FIELD_COUNT] = {
    RK_LAYER_SIZE(state_heads, recurrence.heads, "heads of a recurrence"),
    RK_LAYER_SIZE(state_key_heads, recurrence.key_heads,
                  "groups of its heads that share keys; default state_heads"),
    RK_LAYER_SIZE(state_key_size, recurrence.key_size,
                  "elements of a key; of Mamba-2 the size of the state"),
    RK_LAYER_SIZE(state_value_size, recurrence.value_size, "elements of a value, per head"),
    RK_LAYER_SIZE(conv_width, recurrence.conv_width, "taps of the convolution before it"),
    RK_LAYER_FLAG(conv_bias, recurrence.conv_bias, "the convolution has a bias"),
    RK_LAYER_SIZE(chunk, recurrence.chunk, "tokens of a chunk of a recurrence"),
    RK_LAYER_FLAG(full_gate, recurrence.full_gate, "the output gate is not of low rank"),
    RK_LAYER_FLAG(full_decay, recurrence.full_decay, "the decay is not of low rank"),
    RK_LAYER_SIZE(step_rank, recurrence.step_rank, "Mamba-1: rank of dt; default hidden / 16"),
    RK_LAYER_FLAG(inner_norms, recurrence.inner_norms, "Mamba-1: norms of dt, B and C"),
    RK_LAYER_FLAG(bare_output, recurrence.bare_output, "Mamba-2: the output is not normed"),
};

/* ---- sizes --------------------------------------------------------------------------------- */

static rk_recurrence_size size_of(const rk_layer_type *type, int64_t hidden)
{
    rk_recurrence_size size = {.projected = 0};
    type->mixer->recurrence->size(&type->recurrence, hidden, &size);
    return size;
}

static rk_recurrence_work work_of(const rk_block_context *c, const rk_layer_type *type)
{
    rk_recurrence_work work = {.kept = 0};
    type->mixer->recurrence->work(c, &type->recurrence, &work);
    return work;
}

rk_status rk_recurrence_complete(rk_layer_type *type, int64_t hidden, const char *path,
                                 rk_error *err)
{
    const rk_recurrence_kind *kind = type->mixer->recurrence;
    rk_recurrence_shape *r = &type->recurrence;
    (void)path;
    (void)err;
    if (kind->complete) {
        kind->complete(r, hidden);
        return RK_OK;
    }
    r->key_heads = r->key_heads ? r->key_heads : r->heads;
    if (kind->square) {
        r->key_size = r->key_size ? r->key_size : r->value_size;
    }
    return RK_OK;
}

rk_status rk_recurrence_check(const rk_layer_type *type, rk_error *err)
{
    enum { CHUNK_MAX = 1 << 16, TAPS_MAX = 1 << 10 };
    const rk_recurrence_kind *kind = type->mixer->recurrence;
    const rk_recurrence_shape *r = &type->recurrence;
    if (kind->check) {
        return kind->check(r, err);
    }
    const rk_size_range sizes[] = {
        {"state_heads", r->heads, 1, RK_HEADS_MAX},
        {"state_key_heads", r->key_heads, kind->square ? r->heads : 1, r->heads},
        {"state_key_size", r->key_size, 1, RK_HEAD_SIZE_MAX},
        {"state_value_size", r->value_size, 1, RK_HEAD_SIZE_MAX},
        {"conv_width", r->conv_width, 0, kind->convolution ? TAPS_MAX : 0},
        {"chunk", r->chunk, 1, CHUNK_MAX},
    };
    const rk_size_range square = {"state_key_size", r->key_size, r->value_size, r->value_size};
    const rk_status status = rk_check_sizes(sizes, COUNT(sizes), err);
    if (!status && r->heads % r->key_heads != 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "state_key_heads",
                          "heads share keys evenly: expected a divisor of state_heads = %" PRId64
                          ", found %" PRId64,
                          r->heads, r->key_heads);
    }
    return status || !kind->square ? status : rk_check_sizes(&square, 1, err);
}

int64_t rk_recurrence_unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp)
{
    const rk_recurrence_kind *kind = type->mixer->recurrence;
    const rk_recurrence_shape *r = &type->recurrence;
    const int64_t ranks = tp * cp;
    if (kind->unsplittable) {
        return kind->unsplittable(r, tp, cp);
    }
    if (r->heads % ranks != 0) {
        return r->heads;
    }
    /* over context ranks, groups may be copied */
    const bool even = r->key_heads % ranks == 0 || ranks % r->key_heads == 0;
    return r->key_heads % tp == 0 && even ? 0 : r->key_heads;
}

/* ---- parameters and FLOPs ------------------------------------------------------------------ */

void rk_recurrence_count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const rk_recurrence_size size = size_of(type, h);
    const int64_t matrices =
        h * size.projected + size.raised * size.rank * size.inner + size.inner * (size.read + h);
    p->attention = matrices + size.convolved * r->conv_width + size.vectors +
                   (r->conv_bias ? size.convolved + size.conv_bias : 0);
    p->gemm += matrices;
    p->counted += size.counted;
}

void rk_recurrence_unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                           double *copied)
{
    (void)t; /* all is split but the norms of Mamba-1 */
    (void)copied;
    *whole += type->recurrence.inner_norms ? (double)size_of(type, (int64_t)hidden).read : 0;
}

double rk_recurrence_features(const rk_layer_type *type, double h)
{
    const rk_recurrence_size size = size_of(type, (int64_t)h);
    return h + (double)size.projected + (double)(size.raised * (size.rank + size.inner)) +
           (double)(size.read > 0 ? size.inner + size.read : 0) + (double)size.inner + h;
}

/* That of the input holds several things at once. */
int rk_recurrence_matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    out[0] = (rk_matrix){h, (double)size_of(type, (int64_t)h).inner, 1, false};
    return 1;
}

/* Training is three times forward: the gradients of both factors of a product. */
double rk_recurrence_flops(const rk_layer_type *type, int64_t hidden, int64_t seq,
                           rk_flop_reach reach)
{
    (void)seq;
    (void)reach;
    return 3 * (double)size_of(type, hidden).scan_flops;
}

/* ---- operators ----------------------------------------------------------------------------- */

/* Bytes of the elements that kernels of delta rules were measured with. */
static const double measured_bytes = 2;

static void add_scan(rk_cost_builder *x, const rk_scan *scan, double each)
{
    assert(each > 0);
    rk_operator o = {
        .kind = RK_OPERATOR_SCAN,
        .part = RK_PART_ATTENTION,
        .precision = rk_wide_precision(x->c->strategy),
        .M = x->c->tokens,
        .flops = each * scan->flops_forward,
        .bytes = each * scan->bytes_forward,
        .share = scan->flop_share,
        .stream_share = scan->stream_share,
        .kernels = scan->kernels_forward,
        .rule = x->c->element == measured_bytes ? scan->rule : RK_DELTA_NONE,
        .sequence = (double)rk_strategy_reach(x->c->strategy),
    };
    rk_emit(x, &o);
    o.pass = RK_PASS_BACKWARD;
    o.flops = each * scan->flops_backward;
    o.bytes = each * scan->bytes_backward;
    o.kernels = scan->kernels_backward;
    rk_emit(x, &o);
}

/* A linear of the channels, whose few outputs are summed over the tensor ranks, visibly. */
static void add_read(rk_cost_builder *x, double T, double read, double inner)
{
    const rk_message sum =
        rk_message_of(x->c, RK_COLL_ALL_REDUCE, RK_GROUP_TENSOR, x->c->element * T * read, 1);
    rk_add_row_linear(x, x->c->strategy->precision, T, read, inner);
    rk_send(x, RK_PASS_FORWARD, RK_PART_TP, sum.seconds, &sum, 1);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_TP, sum.seconds, &sum, 1);
}

void rk_recurrence_add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, t = (double)s->tp;
    const rk_recurrence_size size = size_of(type, x->c->model->hidden);
    const rk_recurrence_work work = work_of(x->c, type);
    const double made = (double)size.projected / t, inner = (double)size.inner / t, each = T / t;
    const double exchanged = work.exchanged > 0 ? work.exchanged / t : made;
    for (int64_t i = 0; i < size.raised; i++) {
        rk_add_linear(x, RK_PART_LINEAR, s->precision, T, inner, (double)size.rank);
    }
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, made, h);
    if (size.read > 0) {
        add_read(x, T, (double)size.read, inner);
    }
    rk_add_exchange(x, x->c->element * T * exchanged, x->c->element * T * inner);
    add_scan(x, &work.scan, each);
    rk_add_stream(x, RK_PART_STREAM, each * work.streamed_forward, each * work.streamed_backward);
    rk_add_row_linear(x, s->precision, T, h, inner);
    rk_save(x, false, each * work.kept);
    rk_save(x, false, rk_kept_input_bytes(x->c, x->adapts) * T * inner);
}

double rk_recurrence_transient(const rk_block_context *c, const rk_layer_type *type)
{
    return work_of(c, type).transient * c->tokens / (double)c->strategy->tp;
}

void rk_recurrence_launches(const rk_block_context *c, const rk_layer_type *type, double *forward,
                            double *backward)
{
    (void)c;
    *forward = type->mixer->recurrence->launches_forward;
    *backward = type->mixer->recurrence->launches_backward;
}

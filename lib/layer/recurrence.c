/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrences over a state, run in chunks: within a chunk by matrix products, from chunk to chunk
 * by passing the state on.
 */
#include "layer/recurrence.h"

#include "base/error.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>

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
};

rk_status rk_recurrence_check(const rk_recurrence_shape *shape, rk_error *err)
{
    enum { CHUNK_MAX = 1 << 16, TAPS_MAX = 1 << 10 };
    const rk_sized sizes[] = {
        {"state_heads", shape->heads, 1, RK_HEADS_MAX},
        {"state_key_heads", shape->key_heads, 1, shape->heads},
        {"state_key_size", shape->key_size, 1, RK_HEAD_SIZE_MAX},
        {"state_value_size", shape->value_size, 1, RK_HEAD_SIZE_MAX},
        {"conv_width", shape->conv_width, 0, TAPS_MAX},
        {"chunk", shape->chunk, 1, CHUNK_MAX},
    };
    const rk_status status = rk_check_sizes(sizes, COUNT(sizes), err);
    if (!status && shape->heads % shape->key_heads != 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "state_key_heads",
                          "heads share keys evenly: expected a divisor of state_heads = %" PRId64
                          ", found %" PRId64,
                          shape->heads, shape->key_heads);
    }
    return status;
}

int64_t rk_recurrence_unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp)
{
    const rk_recurrence_shape *r = &type->recurrence;
    const int64_t ranks = tp * cp;
    if (r->heads % ranks != 0) {
        return r->heads;
    }
    /* over context ranks, groups may be copied */
    const bool even = r->key_heads % ranks == 0 || ranks % r->key_heads == 0;
    return r->key_heads % tp == 0 && even ? 0 : r->key_heads;
}

/* Seconds of one pass. */
static double scan_seconds(const rk_cost_builder *x, const rk_scan *scan, double flops,
                           double bytes, double kernels)
{
    const rk_accelerator *a = &x->c->system->accelerator;
    const double rate = a->gemm[rk_wide_precision(x->c->strategy)].peak * scan->flop_share;
    return fmax(flops / rate, bytes / (a->memory_bandwidth * scan->stream_share)) +
           kernels * a->kernel_seconds;
}

void rk_add_scan(rk_cost_builder *x, const rk_scan *scan)
{
    x->cost.forward.part[RK_PART_ATTENTION] +=
        scan_seconds(x, scan, scan->flops_forward, scan->bytes_forward, scan->kernels_forward);
    x->cost.backward.part[RK_PART_ATTENTION] +=
        scan_seconds(x, scan, scan->flops_backward, scan->bytes_backward, scan->kernels_backward);
    x->cost.flops_forward += scan->flops_forward;
    x->cost.flops_backward += scan->flops_backward;
    if (x->list) {
        const rk_operator entry = {.kind = RK_OPERATOR_SCAN,
                                   .part = RK_PART_ATTENTION,
                                   .M = x->c->tokens,
                                   .bytes = scan->bytes_forward};
        rk_note(x, &entry, scan->bytes_backward);
    }
}

void rk_add_head_exchange(rk_cost_builder *x, double in, double out)
{
    const double c = (double)x->c->strategy->cp;
    const rk_group *group = &x->c->groups[RK_GROUP_CONTEXT];
    if (x->c->strategy->cp == 1) {
        return;
    }
    const double once = rk_comm_seconds(x, RK_COLL_ALL_TO_ALL, in, group) +
                        rk_comm_seconds(x, RK_COLL_ALL_TO_ALL, out, group);
    rk_add_comm(x, RK_PART_CP, once, once);
    x->cost.sent_forward.context += (c - 1) / c * (in + out);
    x->cost.sent_backward.context += (c - 1) / c * (in + out);
    rk_note_kind(x, RK_OPERATOR_MESSAGE, RK_PART_CP);
}

void rk_add_recurrence(rk_cost_builder *x, const rk_recurrence *r)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, t = (double)s->tp;
    const double made = r->projected / t, inner = r->inner / t, each = T / t;
    rk_scan scan = r->scan;
    scan.flops_forward *= each;
    scan.flops_backward *= each;
    scan.bytes_forward *= each;
    scan.bytes_backward *= each;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, made, h);
    rk_add_head_exchange(x, x->c->element * T * made, x->c->element * T * inner);
    rk_add_scan(x, &scan);
    rk_add_stream(x, RK_PART_STREAM, each * r->streamed_forward, each * r->streamed_backward);
    rk_add_row_linear(x, s->precision, T, h, inner);
    rk_save(x, false, each * r->kept);
    rk_save(x, false, rk_saved_input_bytes(s) * T * inner);
}

void rk_recurrence_unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                           double *copied)
{
    (void)type;
    (void)hidden;
    (void)t;
    (void)whole;
    (void)copied;
}

bool rk_recurrence_claims(const rk_layer_type *type)
{
    (void)type;
    return false;
}

int rk_recurrence_matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    out[0] =
        (rk_matrix){h, (double)(type->recurrence.heads * type->recurrence.value_size), 1, false};
    return 1;
}

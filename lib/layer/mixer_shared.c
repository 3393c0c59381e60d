/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state-space layer with a transformer block whose weights several layers share (Zamba2, arXiv
 * 2411.15242): attention reads the hidden state and the embedding side by side, 2 h wide; a network
 * follows; every use has its own projection of the result, which is added to the input of Mamba-2,
 * and its own adapters.  A layer owns the weights of its block or borrows them from an earlier
 * layer without a copy: it computes with them, and its gradients add to the owner's. Letters: T
 * tokens of a microbatch on a context-parallel rank, h hidden, n heads of d elements, F width of
 * the network, r rank of the adapters, t tensor parallel.  Sizes: the modelling class of
 * transformers (modeling_zamba2.py).
 */
#include "base/extremes.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/attention.h"
#include "layer/ffn.h"
#include "layer/recurrence.h"

#include <assert.h>

static const rk_field fields[] = {
    RK_LAYER_FLAG(borrowed_block, shared.borrowed,
                  "the weights of a shared block are those of an earlier layer"),
    RK_LAYER_SIZE(block_adapter_rank, shared.adapter_rank,
                  "rank of the adapters that every use of a shared block has"),
    RK_LAYER_FLAG(attention_adapters, shared.attention_adapters,
                  "queries, keys and values of a shared block have adapters, too"),
};

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_layer_type states = rk_mamba2_alone(type);
    const rk_status status = rk_mixer_mamba2.part.complete(&states, hidden, path, err);
    type->recurrence = states.recurrence;
    return status ? status : rk_mixer_grouped.part.complete(type, 2 * hidden, path, err);
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_size_range sizes[] = {
        {"ffn", type->ffn.width, 1, RK_WIDTH_MAX},
        {"block_adapter_rank", type->shared.adapter_rank, 0, RK_RANK_MAX},
    };
    const rk_layer_type states = rk_mamba2_alone(type);
    rk_status status = rk_mixer_mamba2.part.check(&states, err);
    status = status ? status : rk_mixer_grouped.part.check(type, err);
    return status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Outputs of queries, keys and values. */
static int64_t made(const rk_attention_shape *a)
{
    const int64_t qk = rk_attention_qk_size(a), v = rk_attention_value_size(a);
    return a->query_heads * qk + a->kv_heads * (qk + v);
}

/* Inputs of the output projection. */
static int64_t mixed(const rk_attention_shape *a)
{
    return a->query_heads * rk_attention_value_size(a);
}

static int64_t block_matrices(const rk_layer_type *type, int64_t h)
{
    return 2 * h * made(&type->attention) + mixed(&type->attention) * h +
           rk_ffn_matrices(h, type->ffn.width, type->ffn.gated);
}

/* The projections into the adapters, which tensor ranks do not split, and out. */
static int64_t adapters_in(const rk_layer_type *type, int64_t h)
{
    return type->shared.adapter_rank * (h + (type->shared.attention_adapters ? 3 * 2 * h : 0));
}

static int64_t adapters_out(const rk_layer_type *type)
{
    return type->shared.adapter_rank *
           ((type->ffn.gated ? 2 : 1) * type->ffn.width +
            (type->shared.attention_adapters ? made(&type->attention) : 0));
}

/* Norms of the block, of 2 h and of h, are counted with its weights. */
static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const int64_t block = block_matrices(type, h);
    const int64_t own = h * h + adapters_in(type, h) + adapters_out(type);
    rk_mixer_mamba2.part.count(&states, h, p);
    p->attention += own + (type->shared.borrowed ? 0 : block);
    p->norms += type->shared.borrowed ? 0 : 2 * h + h;
    p->gemm += block + own;
    p->counted += block + own;
}

/* Every rank has the projection of the result whole. */
static void unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    rk_mixer_mamba2.part.unsplit(&states, hidden, t, whole, copied);
    *whole += hidden * hidden + (double)adapters_in(type, (int64_t)hidden);
}

static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const rk_attention_shape *a = &type->attention;
    const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
    const double n = (double)a->query_heads, kv = (double)a->kv_heads;
    int found = rk_mixer_mamba2.part.matrices(&states, h, out);
    out[found++] = (rk_matrix){h, h, 1, false};
    if (!type->shared.borrowed) {
        out[found++] = (rk_matrix){n * qk, 2 * h, 1, false};
        out[found++] = (rk_matrix){kv * qk, 2 * h, 1, false};
        out[found++] = (rk_matrix){kv * v, 2 * h, 1, false};
        out[found++] = (rk_matrix){h, n * v, 1, false};
        out[found++] = (rk_matrix){(double)type->ffn.width, h, type->ffn.gated ? 3 : 2, false};
    }
    return found;
}

static double features(const rk_layer_type *type, double h)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const double attention =
        2 * h + (double)made(&type->attention) + (double)mixed(&type->attention) + h;
    const double network = rk_ffn_features(h, (double)type->ffn.width, type->ffn.gated);
    const double own = 2 * h + (type->shared.borrowed ? 0 : attention + network);
    return own + rk_mixer_mamba2.part.features(&states, h);
}

static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    return rk_attention_flops_of(type, hidden, seq, reach) +
           rk_mixer_mamba2.flops(&states, hidden, seq, reach);
}

static int64_t unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    return type->attention.kv_heads % tp != 0 ? type->attention.kv_heads
                                              : rk_mixer_mamba2.unsplittable(&states, tp, cp);
}

/* Those of a whole layer of attention and network; copy, projection and sum, twice backward. */
static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    rk_mixer_mamba2.kernels(c, &states, forward, backward);
    *forward += c->stack->kernels_forward + 3;
    *backward += c->stack->kernels_backward + 2 * 3;
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * A norm over `width` elements of tokens on the sequence shard: half of what a pair of norms with
 * residual sums moves.  Its input and its output are kept.
 */
static void add_norm(rk_cost_builder *x, double width)
{
    const rk_stack *stack = x->c->stack;
    const double elements = x->c->local_tokens * width, wide = x->c->width * elements;
    rk_add_stream(x, RK_PART_STREAM, stack->norm_forward / 2 * wide,
                  stack->norm_backward / 2 * wide);
    rk_save(x, false, x->c->element * elements);
    rk_save(x, rk_recomputes(x->c->strategy, RK_MODULE_NORM),
            rk_saved_input_bytes(x->c->strategy) * elements);
}

/* Two adapter products on linears of `from` inputs and `to` outputs on this rank. */
static void add_adapter(rk_cost_builder *x, double rank, double count, double from, double to)
{
    assert(rank >= 0 && count > 0);
    const rk_strategy *s = x->c->strategy;
    if (rank > 0) {
        rk_add_linear(x, RK_PART_LINEAR, s->precision, x->c->tokens, count * rank, from);
        rk_add_linear(x, RK_PART_LINEAR, s->precision, x->c->tokens, to, rank);
        rk_save(x, false, x->c->element * x->c->tokens * count * rank);
    }
}

static void add_block(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_strategy *s = x->c->strategy;
    const rk_attention_shape *a = &type->attention;
    const double T = x->c->tokens, h = (double)x->c->model->hidden,
                 r = (double)type->shared.adapter_rank;
    const rk_attention_widths w = rk_attention_widths_of(a, (double)s->tp);
    const double projections = w.query + w.key + w.value,
                 f = (double)type->ffn.width / (double)s->tp;
    const double local = x->c->local_tokens, copy = 2 * x->c->element * local * 2 * h;
    rk_add_stream(x, RK_PART_STREAM, copy, copy); /* hidden state and embedding, side by side */
    add_norm(x, 2 * h);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, projections, 2 * h);
    rk_save(x, false, x->c->element * T * projections);
    add_adapter(x, type->shared.attention_adapters ? r : 0, 3, 2 * h, projections);
    rk_add_attention_core(x, a);
    add_norm(x, h);
    rk_add_ffn(x, &type->ffn, (double)type->ffn.width);
    add_adapter(x, r, 1, h, (type->ffn.gated ? 2 : 1) * f);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, local, h, h);
    rk_save(x, false, rk_saved_input_bytes(s) * local * h);
    rk_add_stream(x, RK_PART_STREAM, 3 * x->c->element * local * h, 3 * x->c->element * local * h);
}

static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    add_block(x, type);
    rk_mixer_mamba2.part.add(x, &states);
}

static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const double attention = rk_attention_transient(c, type);
    const double network = rk_feed_forward_dense.part.transient(c, type);
    const double scan = rk_mixer_mamba2.part.transient(c, &states);
    const double block = rk_max(attention, network);
    return block > scan ? block : scan;
}

/* Attention, network and Mamba-2 gather the tokens and sum the results each. */
const rk_mixer rk_mixer_shared = {
    .part = {.name = "shared",
             .shapes = RK_SHAPE_ATTENTION | RK_SHAPE_RECURRENCE | RK_SHAPE_FFN | RK_SHAPE_WIDTH,
             .fields = fields,
             .field_count = COUNT(fields),
             .complete = complete,
             .check = check,
             .count = count,
             .unsplit = unsplit,
             .features = features,
             .matrices = matrices,
             .add = add,
             .transient = transient},
    .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM | RK_MODULE_ACTIVATION |
               RK_MODULE_OPERATORS | RK_MODULE_PROJECTION,
    .regions = 3,
    .projects = true,
    .flops = flops,
    .unsplittable = unsplittable,
    .kernels = kernels,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of DeepSeek-V4: n query heads of d elements share one head that is key and value.  A
 * query sees a window of tokens and, with a compression ratio m, entries that represent m tokens
 * each: the best ones that an indexer picks (CSA) or all entries (HCA).  The output goes through a
 * grouped projection of low rank.  Letters: T tokens of a microbatch on a context-parallel rank, s
 * of a sequence, h hidden, w window, g groups of outputs, o their rank, n_I index heads of d_I
 * elements, k entries that are picked.  Entries of CSA are made of two windows that overlap.
 * Sources: modular_deepseek_v4.py of transformers; Megatron-Bridge (flop_utils.py, "dsv4_hybrid")
 * for what is counted.
 */
#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/sparse.h"

#include <assert.h>
#include <math.h>

/* ---- documents ----------------------------------------------------------------------------- */

static const rk_field fields[] = {
    RK_LAYER_SIZE(compress_ratio, attention.ratio,
                  "tokens that an entry of compressed attention stands for; default none"),
    RK_LAYER_SIZE(out_rank, attention.out_rank,
                  "compressed attention: rank of the output projection of a group"),
    RK_LAYER_SIZE(out_groups, attention.out_groups, "groups of this projection"),
};

static bool claims(const rk_layer_type *type)
{
    return type->attention.out_rank != 0;
}

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    type->attention.kv_heads = 1;
    return rk_mixer_grouped.part.complete(type, hidden, path, err);
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_attention_shape *a = &type->attention;
    const bool picks = a->index.keys > 0;
    const rk_size_range sizes[] = {
        {"q_rank", a->q_rank, 1, RK_RANK_MAX},
        {"head_size", a->head_size, 1, RK_HEAD_SIZE_MAX},
        {"window", a->window, 1, RK_TOKENS_MAX},
        {"compress_ratio", a->ratio, picks ? 1 : 0, RK_TOKENS_MAX},
        {"out_rank", a->out_rank, 1, RK_RANK_MAX},
        {"out_groups", a->out_groups, 1, a->query_heads},
        {"kv_heads", a->kv_heads, 1, 1},
    };
    const rk_named_count latent[] = {
        {"kv_rank", a->kv_rank},
        {"nope_size", a->nope_size},
        {"rope_size", a->rope_size},
        {"value_size", a->value_size},
    };
    rk_status status = rk_attention_check(a, err);
    status = status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
    status = status ? status : rk_check_foreign(latent, COUNT(latent), "kv_rank", err);
    return status || !picks ? status : rk_index_check(a, err);
}

/* ---- parameters ---------------------------------------------------------------------------- */

static bool picks(const rk_attention_shape *a)
{
    return a->index.keys > 0;
}

/* Elements that a token gives to entries: values and scores of one window, or of two. */
static int64_t compressor_width(const rk_attention_shape *a, int64_t size)
{
    return (picks(a) ? 2 : 1) * 2 * size;
}

/* The compressors: h outputs to elements of `size`; positions of each token of a window; norm. */
static int64_t compressor_vectors(const rk_attention_shape *a, int64_t size)
{
    return a->ratio * compressor_width(a, size) / 2 + size;
}

/* Weights that every tensor rank has: of key and value, latent of queries, compressor, indexer. */
static int64_t whole_matrices(const rk_attention_shape *a, int64_t h)
{
    const int64_t d = a->head_size, nI = a->index.heads, dI = a->index.size;
    int64_t sum = h * a->q_rank + h * d;
    sum += a->ratio > 0 ? h * compressor_width(a, d) : 0;
    sum += picks(a) ? h * compressor_width(a, dI) + a->q_rank * nI * dI + h * nI : 0;
    return sum;
}

static int64_t whole_vectors(const rk_attention_shape *a)
{
    int64_t sum = a->q_rank + a->head_size;
    sum += a->ratio > 0 ? compressor_vectors(a, a->head_size) : 0;
    sum += picks(a) ? compressor_vectors(a, a->index.size) : 0;
    return sum;
}

static int64_t split_matrices(const rk_attention_shape *a, int64_t h)
{
    const int64_t inner = a->query_heads * a->head_size;
    return a->q_rank * inner + inner * a->out_rank + a->out_groups * a->out_rank * h;
}

static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_attention_shape *a = &type->attention;
    const int64_t matrices = whole_matrices(a, h) + split_matrices(a, h);
    p->attention = matrices + whole_vectors(a) + (a->sinks ? a->query_heads : 0);
    p->gemm += matrices;
    p->counted += matrices;
}

static void unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied)
{
    const rk_attention_shape *a = &type->attention;
    (void)t;
    (void)copied;
    *whole += (double)(whole_matrices(a, (int64_t)hidden) + whole_vectors(a));
}

static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_attention_shape *a = &type->attention;
    const double d = (double)a->head_size, inner = (double)a->query_heads * d;
    const double r = (double)a->q_rank, groups = (double)a->out_groups;
    int count = 0;
    out[count++] = (rk_matrix){r, h, 1, false};
    out[count++] = (rk_matrix){inner, r, 1, false};
    out[count++] = (rk_matrix){d, h, 1, false};
    out[count++] = (rk_matrix){(double)a->out_rank, inner / groups, groups, false};
    out[count++] = (rk_matrix){h, groups * (double)a->out_rank, 1, false};
    if (a->ratio > 0) {
        out[count++] = (rk_matrix){(double)compressor_width(a, a->head_size), h, 1, false};
    }
    if (picks(a)) {
        out[count++] = (rk_matrix){(double)compressor_width(a, a->index.size), h, 1, false};
        out[count++] = (rk_matrix){(double)(a->index.heads * a->index.size), r, 1, false};
    }
    assert(count <= RK_MATRIX_MAX);
    return count;
}

static double features(const rk_layer_type *type, double h)
{
    const rk_attention_shape *a = &type->attention;
    const double d = (double)a->head_size, inner = (double)a->query_heads * d;
    const double r = (double)a->q_rank, low = (double)(a->out_groups * a->out_rank);
    return (h + r) + (r + inner) + (h + d) + (inner + low) + (low + h);
}

/* ---- FLOPs --------------------------------------------------------------------------------- */

/* Entries outside its window that a query attends to on average. */
static double entries(const rk_attention_shape *a, double s)
{
    assert(s > 0);
    const double m = (double)a->ratio, k = rk_min((double)a->index.keys, s / m);
    if (a->ratio == 0) {
        return 0;
    }
    return picks(a) ? k * (1 - m * k / (2 * s)) : s / (2 * m);
}

/* Those that a kernel visits: the whole list, or what the causal mask leaves. */
static double visited(const rk_attention_shape *a, double s)
{
    return picks(a) ? rk_min((double)a->index.keys, s / (double)a->ratio) : entries(a, s);
}

/*
 * Training FLOPs per token: three times products with w keys and with the entries, and scores of
 * the indexer, which are counted with all s / m entries.
 */
static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_attention_shape *a = &type->attention;
    const double s = (double)seq, n = (double)a->query_heads, d = (double)a->head_size;
    const double pairs = n * ((double)a->window + entries(a, s)) * 2 * d;
    const double scores =
        picks(a) ? s / (double)a->ratio * (double)(a->index.heads * a->index.size) : 0;
    (void)hidden;
    (void)reach;
    return 3 * 2 * (pairs + scores);
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * The way down to the latent of queries and to key and value, compressors, the way up.  Kept: the
 * latent before and after its norm, key and value before and after, what entries are made of,
 * queries.
 */
static void add_projections(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, e = x->c->element;
    const double d = (double)a->head_size, r = (double)a->q_rank;
    const double queries = (double)a->query_heads / (double)s->tp * d;
    const double pooled = a->ratio > 0 ? (double)compressor_width(a, a->head_size) : 0;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, r, h);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, d, h);
    const rk_cost before = x->cost;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, queries, r);
    if (rk_recomputes(s, RK_MODULE_MLA_UP)) {
        rk_repeat(x, &before);
    }
    rk_save(x, false, e * T * (r + 2 * d) + rk_kept_input_bytes(x->c, x->adapts) * T * r);
    rk_save(x, rk_recomputes(s, RK_MODULE_MLA_UP), e * T * queries);
    rk_add_stream(x, RK_PART_STREAM, 2 * e * T * (queries + d), 2 * e * T * (queries + d));
    if (pooled > 0) {
        const bool adapts = x->adapts;
        x->adapts = false;
        rk_add_linear(x, RK_PART_LINEAR, rk_wide_precision(s), T, pooled, h);
        x->adapts = adapts;
        rk_add_stream(x, RK_PART_STREAM, e * T * pooled, 2 * e * T * pooled);
        rk_save(x, false, e * T * pooled);
    }
}

/* The indexer scores the entries before a query, half of all on average, and learns like the
 * indexer of DeepSeek sparse attention. */
static void add_indexer(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden,
                 reach = (double)rk_strategy_reach(s);
    const double each = 2 * (double)(a->index.heads * (a->index.size + 1));
    const double queries = (double)(a->index.heads * a->index.size);
    const double pooled = (double)compressor_width(a, a->index.size);
    const double heads = (double)a->query_heads / (double)s->tp;
    rk_add_detached_linear(x, s->precision, T, queries, (double)a->q_rank);
    rk_add_detached_linear(x, rk_wide_precision(s), T, pooled + (double)a->index.heads, h);
    rk_add_index_work(x, &(rk_index_work){.seen = reach / (2 * (double)a->ratio),
                                          .visited = visited(a, reach),
                                          .each = each,
                                          .teacher = 2 * heads * (double)a->head_size,
                                          .kept = queries + pooled,
                                          .weights = (double)a->index.heads});
}

static void add_core(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const rk_accelerator *device = &x->c->system->accelerator;
    const double heads = (double)a->query_heads / (double)s->tp, tile = device->sparse.head_tile;
    const double reach = (double)rk_strategy_reach(s), padded = ceil(heads / tile) * tile;
    const double keys = rk_min((double)a->window, reach) + visited(a, reach);
    rk_add_picked(x, 4 * x->c->tokens * keys * heads * (double)a->head_size, heads / padded);
}

/* The output: g products of n d / g inputs and o outputs, then one of g o. */
static void add_output(rk_cost_builder *x, const rk_attention_shape *a, bool again)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, t = (double)s->tp;
    const double inner = (double)(a->query_heads * a->head_size);
    const double low = (double)(a->out_groups * a->out_rank) / t;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, low, inner / (double)a->out_groups);
    rk_add_row_linear(x, s->precision, T, h, low);
    rk_save(x, again, x->c->element * T * inner / t + 4 * T * (double)a->query_heads / t);
    rk_save(x, false, rk_kept_input_bytes(x->c, x->adapts) * T * low);
}

static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_attention_shape *a = &type->attention;
    const bool again = rk_recomputes(x->c->strategy, RK_MODULE_CORE_ATTENTION);
    add_projections(x, a);
    if (picks(a)) {
        add_indexer(x, a);
    }
    rk_add_index_gathers(x, a, (double)a->head_size);
    const rk_cost before = x->cost;
    add_core(x, a);
    if (again) {
        rk_repeat(x, &before);
    }
    add_output(x, a, again);
}

const rk_mixer rk_mixer_compressed = {
    .part = {.name = "compressed",
             .shapes = RK_SHAPE_ATTENTION,
             .fields = fields,
             .field_count = COUNT(fields),
             .claims = claims,
             .complete = complete,
             .check = check,
             .count = count,
             .unsplit = unsplit,
             .features = features,
             .matrices = matrices,
             .add = add,
             .transient = rk_sparse_transient},
    .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_MLA_UP,
    .flops = flops,
    .kernels = rk_sparse_kernels,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-head latent attention (MLA): keys and values, and mostly queries, are made from low-rank
 * latents.  Letters: T tokens of a microbatch on a context-parallel rank, h hidden, n heads.
 * Source: DeepSeek-V2 (arXiv 2405.04434).
 */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/attention.h"

#include <assert.h>
#include <inttypes.h>

/* ---- documents ----------------------------------------------------------------------------- */

static const rk_field fields[] = {
    RK_LAYER_SIZE(q_rank, attention.q_rank, "MLA: latent of queries; default not compressed"),
    RK_LAYER_SIZE(kv_rank, attention.kv_rank, "MLA: latent of keys and values"),
    RK_LAYER_SIZE(nope_size, attention.nope_size, "MLA: elements per head without position"),
    RK_LAYER_SIZE(rope_size, attention.rope_size, "MLA: elements per head with position"),
};

static bool claims(const rk_layer_type *type)
{
    return rk_attention_is_latent(&type->attention);
}

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_attention_shape *a = &type->attention;
    char member[RK_JSON_PATH_SIZE];
    (void)hidden;
    if (a->kv_heads == 0) {
        a->kv_heads = a->query_heads;
    }
    return a->head_size == 0
               ? RK_OK
               : rk_fail_at(err, RK_ERR_INVALID, rk_json_path_member(path, "head_size", member),
                            "latent attention (kv_rank) has nope_size, rope_size and "
                            "value_size in place of head_size");
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_attention_shape *a = &type->attention;
    const rk_size_range sizes[] = {
        {"kv_rank", a->kv_rank, 1, RK_RANK_MAX},
        {"q_rank", a->q_rank, 0, RK_RANK_MAX},
        {"nope_size", a->nope_size, 1, RK_HEAD_SIZE_MAX},
        {"rope_size", a->rope_size, 0, RK_HEAD_SIZE_MAX},
        {"value_size", a->value_size, 1, RK_HEAD_SIZE_MAX},
    };
    const rk_status status = rk_attention_check(a, err);
    if (status) {
        return status;
    }
    if (a->kv_heads != a->query_heads) {
        return rk_fail_at(err, RK_ERR_INVALID, "kv_heads",
                          "latent attention (kv_rank) has as many key and value heads as query "
                          "heads: expected %" PRId64 ", found %" PRId64,
                          a->query_heads, a->kv_heads);
    }
    if (a->qk_norm != RK_QK_NORM_NONE) {
        return rk_fail_at(err, RK_ERR_INVALID, "qk_norm",
                          "latent attention (kv_rank) normalises its latents: expected \"none\"");
    }
    return rk_check_sizes(sizes, COUNT(sizes), err);
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* FLOP conventions count the norms of the latents among the weights, as Megatron does. */
static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_attention_shape *a = &type->attention;
    const int64_t n = a->query_heads, qk = rk_attention_qk_size(a), v = a->value_size;
    const int64_t norms = a->q_rank + a->kv_rank;
    int64_t matrices = n * v * h; /* out */
    matrices += a->q_rank > 0 ? h * a->q_rank + a->q_rank * n * qk : h * n * qk;
    matrices += h * (a->kv_rank + a->rope_size) + a->kv_rank * n * (a->nope_size + v);
    matrices += a->output_gate ? h * n * v : 0;
    matrices += a->relative_positions ? h * n * qk : 0;
    int64_t vectors = (a->sinks ? n : 0) + norms;
    vectors += a->bias_out ? h : 0;
    vectors += a->bias_qkv ? a->q_rank + a->kv_rank + a->rope_size : 0; /* of the way down */
    p->attention = matrices + vectors;
    p->gemm += matrices;
    p->counted += matrices + norms;
}

/* The way down to latents, with its norms and biases, is whole on every tensor rank. */
static void unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied)
{
    const rk_attention_shape *a = &type->attention;
    const double down = (double)(a->q_rank + a->kv_rank + a->rope_size);
    (void)t;
    (void)copied;
    *whole += a->bias_out ? hidden : 0;
    *whole += (hidden + (a->bias_qkv ? 1 : 0)) * down + (double)(a->q_rank + a->kv_rank);
}

static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_attention_shape *a = &type->attention;
    const double n = (double)a->query_heads, qk = (double)rk_attention_qk_size(a);
    const double v = (double)a->value_size, q_rank = (double)a->q_rank, rank = (double)a->kv_rank;
    int count = 0;
    if (q_rank > 0) {
        out[count++] = (rk_matrix){q_rank, h, 1, false};
    }
    out[count++] = (rk_matrix){n * qk, q_rank > 0 ? q_rank : h, 1, false};
    out[count++] = (rk_matrix){rank + (double)a->rope_size, h, 1, false};
    out[count++] = (rk_matrix){n * ((double)a->nope_size + v), rank, 1, false};
    out[count++] = (rk_matrix){h, n * v, a->output_gate ? 2 : 1, false};
    assert(count <= RK_MATRIX_MAX);
    return count;
}

static double features(const rk_layer_type *type, double h)
{
    const rk_attention_shape *a = &type->attention;
    const double n = (double)a->query_heads, v = (double)a->value_size;
    const double qk = (double)rk_attention_qk_size(a);
    const double q = (double)a->q_rank, rank = (double)a->kv_rank, rope = (double)a->rope_size;
    const double queries = q > 0 ? h + q + q + n * qk : h + n * qk;
    return queries + h + rank + rope + rank + n * ((double)a->nope_size + v) + (n * v + h);
}

/* ---- operators ----------------------------------------------------------------------------- */

void rk_add_latent_projections(rk_cost_builder *x, const rk_attention_shape *a, bool absorbed)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, t = (double)s->tp;
    const double heads = (double)a->query_heads / t;
    const double q_rank = (double)a->q_rank, rank = (double)a->kv_rank;
    const double rope = (double)a->rope_size;
    const bool up = rk_recomputes(s, RK_MODULE_MLA_UP);
    const rk_attention_widths w = rk_attention_widths_of(a, t);

    if (a->q_rank) {
        rk_add_linear(x, RK_PART_LINEAR, s->precision, T, q_rank, h);
    }
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, rank + rope, h);
    const rk_cost before = x->cost;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, w.query, a->q_rank ? q_rank : h);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, heads * (double)a->nope_size + w.value, rank);
    if (up) {
        rk_repeat(x, &before);
    }
    /* latents before and after their norms; queries, keys (rope broadcast), values */
    rk_save(x, false, x->c->element * T * (q_rank + rank + rope));
    rk_save(x, false, rk_kept_input_bytes(x->c, x->adapts) * T * (q_rank + rank));
    /* absorbed, all heads share one key, the latent */
    const double key = absorbed ? rank + rope : w.key;
    rk_save(x, up, x->c->element * T * (absorbed ? w.query : w.query + w.key + w.value));
    const double turned = 2 * x->c->element * T * (w.query + key);
    rk_add_stream(x, RK_PART_STREAM, turned, turned);
}

static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    rk_add_latent_projections(x, &type->attention, false);
    rk_add_attention_core(x, &type->attention);
}

const rk_mixer rk_mixer_latent = {
    .part = {.name = "latent",
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
             .transient = rk_attention_transient},
    .modules =
        RK_MODULE_CORE_ATTENTION | RK_MODULE_MLA_UP | RK_MODULE_OPERATORS | RK_MODULE_PROJECTION,
    .timed = true,
    .projects = true,
    .flops = rk_attention_flops_of,
};

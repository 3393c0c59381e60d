/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax attention over n_q query heads that share n_kv heads of keys and values: MHA, GQA, MQA.
 * Letters: T tokens of a microbatch on a context-parallel rank, h hidden, n_q and n_kv heads with d
 * elements of keys and d_v of values.
 */
#include "base/error.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/attention.h"

#include <assert.h>
#include <inttypes.h>

/* ---- documents ----------------------------------------------------------------------------- */

static const char *const qk_norm_names[] = {"none", "head", "full", "head_bias", NULL};

static const char *const kv_source_names[] = {"own", "keys", "borrowed", NULL};

static const rk_field fields[] = {
    RK_LAYER_SIZE(heads, attention.query_heads,
                  "query heads; required where a layer has attention"),
    RK_LAYER_SIZE(kv_heads, attention.kv_heads, "key and value heads; default heads"),
    RK_LAYER_SIZE(head_size, attention.head_size, "elements per head; default hidden / heads"),
    RK_LAYER_SIZE(value_size, attention.value_size, "elements per value head; default head_size"),
    RK_LAYER_SIZE(window, attention.window, "tokens that a query sees; default all before it"),
    RK_LAYER_FLAG(chunked, attention.chunked, "the window is a fixed chunk"),
    RK_LAYER_CHOICE(qk_norm, attention.qk_norm, qk_norm_names, "of queries and keys; default none"),
    RK_LAYER_FLAG(bias_qkv, attention.bias_qkv, "biases of queries, keys and values"),
    RK_LAYER_FLAG(bias_out, attention.bias_out, "bias of the output projection"),
    RK_LAYER_FLAG(sinks, attention.sinks, "a learned logit per query head"),
    RK_LAYER_FLAG(output_gate, attention.output_gate, "the output of attention is gated"),
    RK_LAYER_FLAG(capped_scores, attention.capped_scores, "a tanh limits the scores of attention"),
    RK_LAYER_FLAG(head_gate, attention.head_gate, "a number gates the output of each head"),
    RK_LAYER_CHOICE(kv_source, attention.kv_source, kv_source_names,
                    "of keys and values: own; keys, which are values too; borrowed of an earlier "
                    "layer; default own"),
    RK_LAYER_FLAG(relative_positions, attention.relative_positions, "a projection of positions"),
};

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_attention_shape *a = &type->attention;
    char member[RK_JSON_PATH_SIZE];
    if (a->kv_heads == 0) {
        a->kv_heads = a->query_heads;
    }
    if (a->head_size == 0 && a->query_heads > 0) {
        if (hidden % a->query_heads != 0) {
            return rk_fail_at(err, RK_ERR_INVALID, rk_json_path_member(path, "head_size", member),
                              "the key \"head_size\" is missing, and hidden = %" PRId64
                              " is not a multiple of heads = %" PRId64,
                              hidden, a->query_heads);
        }
        a->head_size = hidden / a->query_heads;
    }
    return RK_OK;
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_attention_shape *a = &type->attention;
    const rk_size_range sizes[] = {
        {"head_size", a->head_size, 1, RK_HEAD_SIZE_MAX},
        {"value_size", a->value_size, 0, RK_HEAD_SIZE_MAX},
    };
    const rk_named_count latent[] = {
        {"q_rank", a->q_rank},
        {"nope_size", a->nope_size},
        {"rope_size", a->rope_size},
    };
    rk_status status = rk_attention_check(a, err);
    if (status) {
        return status;
    }
    if (a->query_heads % a->kv_heads != 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "kv_heads",
                          "query heads share key and value heads evenly: expected a divisor of "
                          "heads = %" PRId64 ", found %" PRId64,
                          a->query_heads, a->kv_heads);
    }
    if (a->qk_norm > RK_QK_NORM_HEAD_BIAS) {
        return rk_fail_at(err, RK_ERR_INVALID, "qk_norm", "unknown kind %d", (int)a->qk_norm);
    }
    status = rk_check_foreign(latent, COUNT(latent), "kv_rank", err);
    return status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Elements that a layer projects to for one head of keys and values. */
static int64_t projected_size(const rk_attention_shape *a)
{
    switch (a->kv_source) {
    case RK_KV_KEYS:
        return rk_attention_qk_size(a);
    case RK_KV_BORROWED:
        return 0;
    default:
        return rk_attention_qk_size(a) + rk_attention_value_size(a);
    }
}

/* Norms of queries, and of keys where the layer makes them. */
static int64_t normed(const rk_attention_shape *a)
{
    return a->kv_source == RK_KV_BORROWED ? 1 : 2;
}

/* Weights of norms over one head, which all heads share: gains, and biases where they have them. */
static int64_t head_norms(const rk_attention_shape *a)
{
    const int64_t each = normed(a) * rk_attention_qk_size(a);
    switch (a->qk_norm) {
    case RK_QK_NORM_HEAD:
        return each;
    case RK_QK_NORM_HEAD_BIAS:
        return 2 * each;
    default:
        return 0;
    }
}

static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_attention_shape *a = &type->attention;
    const int64_t n = a->query_heads, kv = a->kv_heads;
    const int64_t qk = rk_attention_qk_size(a), v = rk_attention_value_size(a);
    const int64_t made = kv * projected_size(a), keys = normed(a) == 2 ? kv * qk : 0;
    int64_t matrices = n * v * h + h * n * qk + h * made; /* out; queries; keys, values */
    matrices += a->output_gate ? h * n * v : 0;
    matrices += a->head_gate ? h * n : 0;
    matrices += a->relative_positions ? h * n * qk : 0;
    int64_t vectors = a->sinks ? n : 0;
    vectors += a->bias_out ? h : 0;
    vectors += a->bias_qkv ? n * qk + made : 0;
    vectors += head_norms(a);
    vectors += a->qk_norm == RK_QK_NORM_FULL ? n * qk + keys : 0;
    p->attention = matrices + vectors;
    p->gemm += matrices;
    p->counted += matrices;
}

/* Norms over a head and the bias behind the sum over tensor ranks are whole; if tensor ranks
 * outnumber key and value heads, ranks hold copies. */
static void unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied)
{
    const rk_attention_shape *a = &type->attention;
    const double heads = (double)a->kv_heads / t;
    const double size = (double)projected_size(a);
    *whole += a->bias_out ? hidden : 0;
    *whole += (double)head_norms(a);
    *copied += heads >= 1 ? 0 : (hidden + (a->bias_qkv ? 1 : 0)) * size * (1 - heads);
}

/* Queries, keys, values and a gate of the output are one linear, relative positions another. */
static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_attention_shape *a = &type->attention;
    const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
    const double n = (double)a->query_heads, kv = (double)a->kv_heads;
    int count = 0;
    out[count++] = (rk_matrix){n * qk, h, a->relative_positions ? 2 : 1, false};
    if (a->kv_source != RK_KV_BORROWED) {
        out[count++] = (rk_matrix){kv * qk, h, 1, false};
    }
    if (a->kv_source == RK_KV_OWN) {
        out[count++] = (rk_matrix){kv * v, h, 1, false};
    }
    if (a->head_gate) {
        out[count++] = (rk_matrix){n, h, 1, false};
    }
    out[count++] = (rk_matrix){h, n * v, a->output_gate ? 2 : 1, false};
    assert(count <= RK_MATRIX_MAX);
    return count;
}

static double features(const rk_layer_type *type, double h)
{
    const rk_attention_shape *a = &type->attention;
    const double n = (double)a->query_heads, kv = (double)a->kv_heads;
    const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
    const double gate = (a->output_gate ? n * v : 0) + (a->head_gate ? n : 0);
    const double positions = a->relative_positions ? h + n * qk : 0;
    return h + n * qk + kv * (double)projected_size(a) + gate + positions + (n * v + h);
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * Borrowed keys and values are kept by the layer that makes them; values that are the keys are a
 * tensor of their own all the same, because keys are normed and turned by their positions.
 */
void rk_add_grouped_projections(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden;
    const rk_attention_widths w = rk_attention_widths_of(a, (double)s->tp);
    const double gate = (a->output_gate ? w.output : 0) +
                        (a->head_gate ? (double)a->query_heads / (double)s->tp : 0);
    const bool borrowed = a->kv_source == RK_KV_BORROWED;
    const double key = borrowed ? 0 : w.key, value = borrowed ? 0 : w.value;
    const double made = w.query + key + (a->kv_source == RK_KV_OWN ? value : 0) + gate;
    const double qk = T * (w.query + key);
    const bool operators = rk_recomputes(s, RK_MODULE_OPERATORS);
    /* adapters in fp32 are those of peft, on projections that are not joined */
    const int apart = 1 + (key > 0) + (made > w.query + key + gate);
    rk_add_shared_linear(x, RK_PART_LINEAR, s->precision, T, made, h,
                         s->adapter_bytes > x->c->element ? apart : 1);
    if (key > 0) {
        rk_add_product_again(x, T, key, h, false);
    }
    const rk_cost before = x->cost;
    /* keys, and queries with their positions, are made from what is kept of the products */
    const double element = x->c->element, passed = x->c->stack->qk_passes * element * qk;
    rk_save(x, false, element * T * (w.query + value + gate));
    rk_save(x, operators, element * T * key);
    x->cost.unsaved += operators ? element * T * w.query : 0;
    if (a->relative_positions) {
        rk_add_linear(x, RK_PART_LINEAR, s->precision, T, w.query, h);
    } else if (!x->c->model->learned_positions) {
        rk_add_stream(x, RK_PART_STREAM, 2 * passed, 2 * passed);
    }
    if (a->qk_norm != RK_QK_NORM_NONE) {
        rk_add_stream(x, RK_PART_STREAM, 2 * passed, 3 * passed);
        rk_save(x, rk_recomputes(s, RK_MODULE_NORM),
                (element + rk_wide_norm_bytes(x->c, element)) * qk);
    }
    if (operators) {
        rk_repeat(x, &before);
    }
}

static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    rk_add_grouped_projections(x, &type->attention);
    rk_add_attention_core(x, &type->attention);
}

const rk_mixer rk_mixer_grouped = {
    .part = {.name = "grouped",
             .shapes = RK_SHAPE_ATTENTION,
             .fields = fields,
             .field_count = COUNT(fields),
             .complete = complete,
             .check = check,
             .count = count,
             .unsplit = unsplit,
             .features = features,
             .matrices = matrices,
             .add = add,
             .transient = rk_attention_transient},
    .modules =
        RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM | RK_MODULE_OPERATORS | RK_MODULE_PROJECTION,
    .timed = true,
    .projects = true,
    .flops = rk_attention_flops_of,
};

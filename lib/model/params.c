/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact parameter counts.  Letters as in model.h; every formula enumerates the tensors of a layer,
 * so a published count is met to the last parameter.  Sizes are those that rk_model_check accepts:
 * no product below overflows.
 */
#include "model/model.h"

/* Weights of one norm over the residual stream. */
static int64_t norm_params(const rk_model *model)
{
    switch (model->norm) {
    case RK_NORM_LAYER:
        return 2 * model->hidden;
    case RK_NORM_LAYER_NO_WEIGHT:
        return 0;
    default:
        return model->hidden;
    }
}

/* The matrices of an attention layer. */
static int64_t attention_matrices(const rk_attention_shape *a, int64_t h)
{
    const int64_t n = a->query_heads, qk = rk_attention_qk_size(a), v = rk_attention_value_size(a);
    int64_t sum = n * v * h; /* out */
    if (a->kind == RK_ATTENTION_LATENT) {
        sum += a->q_rank > 0 ? h * a->q_rank + a->q_rank * n * qk : h * n * qk;
        sum += h * (a->kv_rank + a->rope_size) + a->kv_rank * n * (a->nope_size + v);
    } else {
        sum += h * n * qk + h * a->kv_heads * (qk + v);
    }
    sum += a->output_gate ? h * n * v : 0;
    sum += a->relative_positions ? h * n * qk : 0;
    return sum;
}

/* The vectors of an attention layer: biases, norms of queries, keys and latents, sinks. */
static int64_t attention_vectors(const rk_attention_shape *a, int64_t h)
{
    const int64_t n = a->query_heads, qk = rk_attention_qk_size(a), v = rk_attention_value_size(a);
    int64_t sum = a->sinks ? n : 0;
    sum += a->bias_out ? h : 0;
    if (a->kind == RK_ATTENTION_LATENT) {
        sum += a->q_rank + a->kv_rank;                                  /* norms */
        sum += a->bias_qkv ? a->q_rank + a->kv_rank + a->rope_size : 0; /* of the way down */
        return sum;
    }
    sum += a->bias_qkv ? n * qk + a->kv_heads * (qk + v) : 0;
    sum += a->qk_norm == RK_QK_NORM_HEAD ? 2 * qk : 0;
    sum += a->qk_norm == RK_QK_NORM_FULL ? (n + a->kv_heads) * qk : 0;
    return sum;
}

/* A feed-forward network of width f: (gated ? 3 : 2) h f. */
static int64_t ffn_matrices(int64_t h, int64_t f, bool gated)
{
    return (gated ? 3 : 2) * h * f;
}

static int64_t ffn_biases(int64_t h, int64_t f, bool gated)
{
    return (gated ? 2 : 1) * f + h;
}

rk_layer_params rk_layer_params_of(const rk_model *model, const rk_layer_type *type)
{
    const int64_t h = model->hidden;
    const rk_ffn_shape *ffn = &type->ffn;
    const rk_moe_shape *moe = &type->moe;
    rk_layer_params p = {.norms = model->norms_per_layer * norm_params(model)};

    p.gemm = attention_matrices(&type->attention, h);
    p.attention = p.gemm + attention_vectors(&type->attention, h);
    if (rk_layer_is_moe(type)) {
        const int64_t each = ffn_matrices(h, moe->expert_width, ffn->gated);
        const int64_t shared = moe->shared_experts * ffn_matrices(h, moe->shared_width, ffn->gated);
        p.expert_each =
            each + (moe->expert_bias ? ffn_biases(h, moe->expert_width, ffn->gated) : 0);
        p.experts = moe->experts * p.expert_each;
        p.shared = shared + (moe->shared_gate ? h : 0);
        p.router = h * moe->experts + (moe->router_bias ? moe->experts : 0);
        p.gemm += moe->top_k * each + shared;
    } else {
        const int64_t matrices = ffn_matrices(h, ffn->width, ffn->gated);
        p.ffn = matrices + (ffn->bias ? ffn_biases(h, ffn->width, ffn->gated) : 0);
        p.gemm += matrices;
    }
    const int64_t always = p.attention + p.ffn + p.shared + p.router + p.norms;
    p.total = always + p.experts;
    p.active = always + moe->top_k * p.expert_each;
    return p;
}

rk_end_params rk_end_params_of(const rk_model *model)
{
    const int64_t table = model->vocab * model->hidden;
    return (rk_end_params){
        .embedding = table + (model->embedding_norm ? norm_params(model) : 0),
        .positions = model->learned_positions * model->hidden,
        .head = (model->tied ? 0 : table) + (model->head_bias ? model->vocab : 0),
        .final_norm = model->final_norm ? norm_params(model) : 0,
        .mtp_norms = 3 * norm_params(model),
    };
}

/*
 * MTP modules: each a layer like the last of the model, the 2h x h projection of hidden state and
 * embedding, and three norms.
 */
static int64_t mtp_params(const rk_model *model, int64_t layer, int64_t norms)
{
    return model->mtp_layers * (layer + 2 * model->hidden * model->hidden + norms);
}

rk_model_params rk_model_params_of(const rk_model *model)
{
    const int64_t table = model->vocab * model->hidden;
    rk_layer_params of_type[RK_LAYER_TYPE_MAX];
    rk_model_params p = {.ends = rk_end_params_of(model)};
    const rk_end_params *e = &p.ends;
    int64_t active_layers = 0;

    for (int i = 0; i < model->type_count; i++) {
        of_type[i] = rk_layer_params_of(model, &model->types[i]);
    }
    for (int i = 0; i < model->layers; i++) {
        p.layers += of_type[model->type_of[i]].total;
        active_layers += of_type[model->type_of[i]].active;
    }
    const rk_layer_params *last = &of_type[model->type_of[model->layers - 1]];
    const int64_t ends = e->embedding + e->positions + e->head + e->final_norm;
    p.mtp = mtp_params(model, last->total, e->mtp_norms);
    p.mtp_active = mtp_params(model, last->active, e->mtp_norms);
    p.total = ends + p.layers;
    p.active = ends + active_layers;
    p.active_without_embedding = p.active - (model->tied ? 0 : table);
    return p;
}

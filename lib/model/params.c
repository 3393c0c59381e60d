/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact parameter counts.  Letters as in model.h; every kind enumerates the tensors of its part of
 * a layer, so a published count is met to the last parameter.  Sizes are those that rk_model_check
 * accepts: no product below overflows.
 */
#include "model/kinds.h"

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

int rk_layer_norms(const rk_model *model, const rk_layer_type *type)
{
    const bool whole = type->mixer->part.shapes && type->feed_forward->part.shapes;
    return whole ? model->norms_per_layer : (model->norms_per_layer + 1) / 2;
}

bool rk_model_has_experts(const rk_model *model)
{
    bool found = false;
    for (int i = 0; i < model->type_count; i++) {
        found = found || rk_layer_is_moe(&model->types[i]);
    }
    return found;
}

/* Streams of the residual, n; 1: plain. */
int64_t rk_model_streams(const rk_model *model)
{
    return model->streams > 0 ? model->streams : 1;
}

/*
 * Hyper-connections (arXiv 2512.24880): before mixer and network each, a product of all streams
 * makes n weights to read, n to write and n x n to mix the streams, with as many biases and a
 * factor of each kind.
 */
static int64_t connection_params(const rk_model *model)
{
    const int64_t n = model->streams, maps = n * n + 2 * n;
    return n > 0 ? 2 * (maps * n * model->hidden + maps + 3) : 0;
}

/* Parameters that read the streams at the end of the model: n weights, with biases and a factor. */
static int64_t connection_end_params(const rk_model *model)
{
    const int64_t n = model->streams;
    return n > 0 ? n * n * model->hidden + n + 1 : 0;
}

rk_layer_params rk_layer_params_of(const rk_model *model, const rk_layer_type *type)
{
    rk_layer_params p = {.norms = rk_layer_norms(model, type) * norm_params(model)};
    const int64_t beside = 2 * model->hidden * model->layer_embedding; /* gate and projection */
    type->mixer->part.count(type, model->hidden, &p);
    type->feed_forward->part.count(type, model->hidden, &p);
    p.norms += connection_params(model);
    p.norms += (model->layer_embedding ? norm_params(model) : 0) + model->layer_scalar;
    p.ffn += beside;
    p.gemm += beside;
    p.counted += beside;
    const int64_t always = p.attention + p.ffn + p.shared + p.router + p.norms;
    p.total = always + p.experts;
    p.active = always + (int64_t)(rk_moe_reached(&type->moe) * (double)p.expert_each);
    return p;
}

rk_end_params rk_end_params_of(const rk_model *model)
{
    const int64_t width = rk_model_embedding_width(model), table = model->vocab * width;
    const int64_t projection = width != model->hidden ? width * model->hidden : 0;
    const int64_t of_layers = model->layers * model->layer_embedding;
    const int64_t second =
        of_layers * (model->vocab + model->hidden) + model->layer_embedding; /* table; projection */
    return (rk_end_params){
        .embedding = table + projection + second + (model->embedding_norm ? norm_params(model) : 0),
        .positions = model->learned_positions * model->hidden,
        .head = (model->tied ? 0 : table) + projection + (model->head_bias ? model->vocab : 0),
        .final_norm = (model->final_norm ? norm_params(model) : 0) + connection_end_params(model),
        .mtp_norms = 3 * norm_params(model) + connection_end_params(model),
    };
}

/*
 * MTP modules: each its layers, the 2h x h projection of hidden state and
 * embedding, and three norms.
 */
static int64_t mtp_params(const rk_model *model, int64_t layers, int64_t norms)
{
    return model->mtp_layers * (layers + 2 * model->hidden * model->hidden + norms);
}

rk_model_params rk_model_params_of(const rk_model *model)
{
    const int64_t table = model->vocab * rk_model_embedding_width(model);
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
    uint8_t mtp[RK_MTP_LAYERS_MAX];
    int64_t module = 0, module_active = 0;
    const int each = rk_model_mtp_types(model, mtp);
    for (int i = 0; i < each; i++) {
        module += of_type[mtp[i]].total;
        module_active += of_type[mtp[i]].active;
    }
    const int64_t ends = e->embedding + e->positions + e->head + e->final_norm;
    p.mtp = mtp_params(model, module, e->mtp_norms);
    p.mtp_active = mtp_params(model, module_active, e->mtp_norms);
    p.total = ends + p.layers;
    p.active = ends + active_layers;
    const int64_t of_layers = model->vocab * model->layers * model->layer_embedding; /* looked up */
    p.active_without_embedding = p.active - (model->tied ? 0 : table) - of_layers;
    return p;
}

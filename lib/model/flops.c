/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model FLOPs under the conventions in use.  All take 6 FLOPs per weight and token (a multiply-add
 * forward, two backward) and three times the forward FLOPs of core attention; they differ in which
 * weights they count and in how many keys they let a query see.  Sources: Megatron-LM's
 * num_floating_point_operations (training.py; attention was counted in full before commit
 * 8873b55d6a of 2025-03-06), which knows no windows; the FLOPs that Megatron-Bridge's tables imply,
 * which do (gpt-oss 120B: 32.61e9 a token); PaLM, appendix B; torchtitan's models/utils.py;
 * nanotron's get_flops.
 */
#include "model/kinds.h"

#include <assert.h>

const char *const rk_flop_convention_names[] = {
    "megatron", "full", "palm", "torchtitan", "nanotron", "megatron-bridge", NULL};

typedef enum weight_kind {
    WEIGHTS_GEMM,         /* matrices of the layers and the head, tied or not */
    WEIGHTS_ALL,          /* all active parameters */
    WEIGHTS_NO_EMBEDDING, /* all but an untied input table */
} weight_kind;

typedef struct counting {
    weight_kind weights;
    int64_t vocab_multiple; /* the head is padded to a multiple of this */
    rk_flop_reach reach;
    bool mtp; /* modules of multi-token prediction are counted */
} counting;

static const counting countings[RK_FLOP_CONVENTION_COUNT] = {
    [RK_FLOPS_MEGATRON] = {WEIGHTS_GEMM, 128, RK_REACH_HALF, true},
    [RK_FLOPS_FULL] = {WEIGHTS_GEMM, 128, RK_REACH_ALL, true},
    [RK_FLOPS_PALM] = {WEIGHTS_ALL, 1, RK_REACH_ALL, true},
    [RK_FLOPS_TORCHTITAN] = {WEIGHTS_NO_EMBEDDING, 1, RK_REACH_ALL, false},
    [RK_FLOPS_NANOTRON] = {WEIGHTS_GEMM, 1, RK_REACH_ALL, false},
    [RK_FLOPS_BRIDGE] = {WEIGHTS_GEMM, 128, RK_REACH_WINDOW, true},
};

/* Tokens of the window of a sequence of s tokens, or of a chunk. */
static double window_of(const rk_attention_shape *a, double s)
{
    return a->window > 0 && (double)a->window < s ? (double)a->window : s;
}

double rk_attention_span(const rk_attention_shape *attention, int64_t seq)
{
    assert(seq >= 1);
    const double s = (double)seq, w = window_of(attention, s);
    if (attention->chunked) {
        const double rest = (double)(seq % (int64_t)w), chunks = (s - rest) / w;
        return (chunks * w * w + rest * rest) / (2 * s);
    }
    return w - w * w / (2 * s);
}

double rk_selected_span(int64_t keys, int64_t seq)
{
    const double s = (double)seq, k = (double)keys;
    return seq <= keys ? (s + 1) / 2 : k - k * (k - 1) / (2 * s);
}

/* FLOPs per pair of a query and a key: a product of keys and one of values in every head. */
static double pair_flops(const rk_attention_shape *a)
{
    return 2.0 * (double)a->query_heads *
           (double)(rk_attention_qk_size(a) + rk_attention_value_size(a));
}

double rk_attention_flops(const rk_attention_shape *attention, int64_t seq)
{
    return pair_flops(attention) * (double)seq * rk_attention_span(attention, seq);
}

double rk_attention_training_flops(const rk_attention_shape *a, int64_t seq, rk_flop_reach reach)
{
    switch (reach) {
    case RK_REACH_WINDOW:
        return 3 * pair_flops(a) * rk_attention_span(a, seq);
    case RK_REACH_HALF:
        return 3 * pair_flops(a) * ((double)seq / 2);
    default:
        return 3 * pair_flops(a) * (double)seq;
    }
}

/* Layers of each type, including so many modules of multi-token prediction. */
static void count_layers(const rk_model *model, int modules, int *count)
{
    assert(modules >= 0);
    uint8_t mtp[RK_MTP_LAYERS_MAX];
    const int each = rk_model_mtp_types(model, mtp);
    for (int i = 0; i < model->type_count; i++) {
        count[i] = 0;
    }
    if (model->type_count == 1) {
        count[0] = model->layers;
    }
    for (int i = 0; i < model->layers && model->type_count > 1; i++) {
        count[model->type_of[i]]++;
    }
    for (int i = 0; i < each; i++) {
        count[mtp[i]] += modules;
    }
}

/* Whether layers are blocks of a single part, as in Megatron-LM's hybrid models. */
static bool is_hybrid(const rk_model *model)
{
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        if (!type->mixer->part.shapes || !type->feed_forward->part.shapes) {
            return true;
        }
    }
    return false;
}

/* The weights that the convention multiplies each token by; MTP runs the head once more. */
static double counted_weights(const rk_model *model, const counting *c, const int *layers)
{
    if (c->weights != WEIGHTS_GEMM) {
        const rk_model_params p = rk_model_params_of(model);
        return (double)(c->weights == WEIGHTS_ALL ? p.active : p.active_without_embedding) +
               (c->mtp ? (double)p.mtp_active : 0);
    }
    const double h = (double)model->hidden, mtp = c->mtp ? model->mtp_layers : 0;
    const int64_t unit = c->vocab_multiple;
    const double width = (double)rk_model_embedding_width(model), both = 2 * width * h;
    const double projections = model->embedding_width > 0 ? both : 0;
    const double head = width * (double)((model->vocab + unit - 1) / unit * unit);
    /* Megatron-LM counts no projection of modules in its formula of hybrids (training.py) */
    const double joined = is_hybrid(model) ? 0 : 2 * h * h + 3 * h;
    double sum = head + projections + h * (double)(model->layers * model->layer_embedding);
    sum += mtp * (joined + head);
    for (int i = 0; i < model->type_count; i++) {
        sum += layers[i] * (double)rk_layer_params_of(model, &model->types[i]).counted;
    }
    return sum;
}

static double flops_per_token(const rk_model *model, int64_t seq, rk_flop_convention convention,
                              double per_weight)
{
    assert(seq >= 1 && per_weight > 0);
    const counting *c = &countings[convention];
    int layers[RK_LAYER_TYPE_MAX];
    count_layers(model, c->mtp ? model->mtp_layers : 0, layers);
    double sum = per_weight * counted_weights(model, c, layers);
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        sum += layers[i] * type->mixer->flops(type, model->hidden, seq, c->reach);
    }
    return sum;
}

double rk_model_flops_per_token(const rk_model *model, int64_t seq, rk_flop_convention convention)
{
    return flops_per_token(model, seq, convention, 6);
}

double rk_model_frozen_flops_per_token(const rk_model *model, int64_t seq,
                                       rk_flop_convention convention)
{
    return flops_per_token(model, seq, convention, 4);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face models with linear attention or short convolutions between layers of softmax
 * attention.  Sources: the configuration and modelling classes of transformers, and the published
 * code of MiniMax-Text-01 and Kimi Linear.
 */
#include "base/units.h"
#include "model/hf_table.h"

#include <string.h>

/* Tokens of a chunk, which no file says: of flash-linear-attention, and of MiniMax's code. */
enum { DELTA_CHUNK = 64, LIGHTNING_CHUNK = 256 };

/* ---- layers -------------------------------------------------------------------------------- */

/* Refuses words for layers that are neither softmax attention nor of the other kind. */
static rk_status check_words(const hf_draft *draft, rk_error *err)
{
    static const char *const known[] = {"full_attention", "attention", "linear_attention", "conv"};
    const json_t *words = rk_hf_find(draft, "layer_types");
    char found[RK_JSON_TEXT_SIZE];
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        size_t at = 0;
        while (word && at < COUNT(known) && strcmp(word, known[at]) != 0) {
            at++;
        }
        if (!word || at == COUNT(known)) {
            return rk_hf_fail(draft, "layer_types", err, "layer %zu: reckon cannot express %s", i,
                              rk_json_describe(json_array_get(words, i), found));
        }
    }
    return RK_OK;
}

/*
 * Lays out layers whose mixer is `other` where softmax[i] is false.  Both of draft->layer's widths
 * of networks are filled; moe[i] says which one a layer has.
 */
static rk_status lay_out(hf_draft *draft, const bool softmax[RK_LAYER_MAX], const char *other,
                         rk_error *err)
{
    enum { SOFTMAX = 1, EXPERTS = 2, KINDS = 4 };
    bool moe[RK_LAYER_MAX] = {false};
    rk_layer_type kinds[KINDS];
    uint8_t kind_of[RK_LAYER_MAX];
    const int layers = (int)draft->size[HF_LAYERS];
    const char *attention = draft->layer.attention.kv_rank > 0 ? "latent" : "grouped";
    rk_status status = check_words(draft, err);
    status = status ? status : rk_hf_mark_experts(draft, layers, moe, err);
    for (int i = 0; i < layers; i++) {
        kind_of[i] = (uint8_t)((softmax[i] ? SOFTMAX : 0) | (moe[i] ? EXPERTS : 0));
    }
    for (int kind = 0; !status && kind < KINDS; kind++) {
        kinds[kind] = draft->layer;
        if (kind & EXPERTS) {
            kinds[kind].ffn.width = 0;
        } else {
            kinds[kind].moe = (rk_moe_shape){0};
        }
        status = rk_layer_choose_kinds(&kinds[kind], draft->kinds,
                                       kind & SOFTMAX ? attention : other, NULL, err);
    }
    if (!status) {
        rk_model_set_layers(&draft->model, kinds, kind_of, layers);
    }
    return status;
}

/* Whether a list of words calls layer i softmax attention; `usual` without a list. */
static bool is_softmax(const json_t *words, int i, bool usual)
{
    const char *word = json_string_value(json_array_get(words, (size_t)i));
    return json_array_size(words) == 0
               ? usual
               : word && (strcmp(word, "full_attention") == 0 || strcmp(word, "attention") == 0);
}

/* ---- families ------------------------------------------------------------------------------ */

/* Sizes of a gated delta rule, `usual` where the file is silent. */
static rk_status read_delta(hf_draft *draft, const rk_recurrence_shape *usual, rk_error *err)
{
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const hf_slot sizes[] = {
        {"linear_num_value_heads", usual->heads, &r->heads},
        {"linear_num_key_heads", usual->key_heads, &r->key_heads},
        {"linear_key_head_dim", usual->key_size, &r->key_size},
        {"linear_value_head_dim", usual->value_size, &r->value_size},
        {"linear_conv_kernel_dim", usual->conv_width, &r->conv_width},
    };
    rk_status status = rk_hf_read_slots(draft, sizes, COUNT(sizes), err);
    r->chunk = DELTA_CHUNK;
    return status;
}

/* Qwen3-Next and Qwen3.5: gated DeltaNet, and one layer of gated attention in four. */
static rk_status lay_out_qwen(hf_draft *draft, rk_error *err)
{
    static const rk_recurrence_shape usual = {
        .heads = 32, .key_heads = 16, .key_size = 128, .value_size = 128, .conv_width = 4};
    bool softmax[RK_LAYER_MAX] = {false};
    const json_t *words = rk_hf_find(draft, "layer_types");
    int64_t interval = 4;
    rk_status status = read_delta(draft, &usual, err);
    status = status ? status : rk_hf_read_or(draft, "full_attention_interval", 4, &interval, err);
    status = status ? status
                    : rk_hf_read_flag(draft, (hf_flag){"attn_output_gate", true},
                                      &draft->layer.attention.output_gate, err);
    for (int i = 0; i < (int)draft->size[HF_LAYERS]; i++) {
        softmax[i] = is_softmax(words, i, interval > 0 && (i + 1) % interval == 0);
    }
    return status ? status : lay_out(draft, softmax, "gated_delta", err);
}

/*
 * OLMo Hybrid: as many heads of the delta rule as of attention, keys of 3/4 of their size and
 * values of twice that; one layer in four has attention, and so has the last.
 */
static rk_status lay_out_olmo_hybrid(hf_draft *draft, rk_error *err)
{
    bool softmax[RK_LAYER_MAX] = {false};
    const json_t *words = rk_hf_find(draft, "layer_types");
    const int layers = (int)draft->size[HF_LAYERS];
    const int64_t heads = draft->size[HF_HEADS];
    rk_recurrence_shape usual = {.heads = heads, .key_heads = heads, .conv_width = 4};
    rk_status status = rk_hf_read_or(draft, "linear_num_key_heads", heads, &usual.key_heads, err);
    if (!status && usual.key_heads > 0) {
        status =
            rk_hf_read_or(draft, "linear_key_head_dim",
                          3 * draft->size[HF_HIDDEN] / (4 * usual.key_heads), &usual.key_size, err);
    }
    usual.value_size = 2 * usual.key_size;
    status = status ? status : read_delta(draft, &usual, err);
    for (int i = 0; i < layers; i++) {
        softmax[i] = is_softmax(words, i, (i + 1) % 4 == 0 || i == layers - 1);
    }
    return status ? status : lay_out(draft, softmax, "gated_delta", err);
}

/* LFM2 rounds two thirds of the width that its file gives up to a multiple. */
static rk_status adjust_lfm2(hf_draft *draft, rk_error *err)
{
    bool adjusts = true;
    const json_t *width = rk_hf_find(draft, "block_ff_dim");
    const json_t *multiplier = rk_hf_find(draft, "block_ffn_dim_multiplier");
    const json_t *multiple = rk_hf_find(draft, "block_multiple_of");
    const rk_status status =
        rk_hf_read_flag(draft, (hf_flag){"block_auto_adjust_ff_dim", true}, &adjusts, err);
    const int64_t step = multiple ? json_integer_value(multiple) : 256;
    int64_t f = width ? json_integer_value(width) : draft->size[HF_FFN];
    if (status || !adjusts) {
        return status;
    }
    f = 2 * f / 3;
    if (multiplier && json_number_value(multiplier) > 0 && json_number_value(multiplier) < 64) {
        f = (int64_t)(json_number_value(multiplier) * (double)f);
    }
    if (step < 1 || step > 1 << 20 || f < 1 || f > 1 << 22) {
        return rk_hf_fail(draft, "block_multiple_of", err,
                          "expected an integer above 0, and a width of the FFN above 0");
    }
    draft->size[HF_FFN] = (f + step - 1) / step * step;
    return RK_OK;
}

/* LFM2: gated short convolutions, and attention by a list of words or of layers. */
static rk_status lay_out_lfm2(hf_draft *draft, rk_error *err)
{
    bool softmax[RK_LAYER_MAX] = {false};
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const json_t *words = rk_hf_find(draft, "layer_types");
    const json_t *indices = rk_hf_find(draft, "full_attn_idxs");
    rk_status status = rk_hf_read_or(draft, "conv_L_cache", 3, &r->conv_width, err);
    status = status ? status
                    : rk_hf_read_flag(draft, (hf_flag){"tie_embedding", draft->model.tied},
                                      &draft->model.tied, err);
    status =
        status ? status : rk_hf_read_flag(draft, (hf_flag){"conv_bias", false}, &r->conv_bias, err);
    r->heads = r->key_heads = draft->size[HF_HIDDEN]; /* channels */
    r->key_size = r->value_size = r->chunk = 1;
    for (int i = 0; i < (int)draft->size[HF_LAYERS]; i++) {
        softmax[i] = is_softmax(words, i, false);
    }
    for (size_t i = 0; i < json_array_size(indices); i++) {
        const json_int_t layer = json_integer_value(json_array_get(indices, i));
        if (layer >= 0 && layer < draft->size[HF_LAYERS]) {
            softmax[layer] = true;
        }
    }
    return status ? status : lay_out(draft, softmax, "convolution", err);
}

/* MiniMax-Text-01: lightning attention (0) and softmax attention (1), or words for them. */
static rk_status lay_out_minimax(hf_draft *draft, rk_error *err)
{
    bool softmax[RK_LAYER_MAX] = {false};
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const json_t *numbers = rk_hf_find(draft, "attn_type_list");
    const json_t *words = rk_hf_find(draft, "layer_types");
    const json_t *chunk = rk_hf_find(draft, "block_size");
    const size_t layers = (size_t)draft->size[HF_LAYERS];
    r->heads = r->key_heads = draft->layer.attention.query_heads;
    r->key_size = r->value_size = draft->layer.attention.head_size;
    r->chunk = chunk && json_integer_value(chunk) > 0 ? json_integer_value(chunk) : LIGHTNING_CHUNK;
    if (json_array_size(numbers) < layers && json_array_size(words) < layers) {
        return rk_hf_fail(draft, "attn_type_list", err,
                          "expected an element for each of the %zu layers", layers);
    }
    for (size_t i = 0; i < layers; i++) {
        softmax[i] = numbers ? json_integer_value(json_array_get(numbers, i)) != 0
                             : is_softmax(words, (int)i, false);
    }
    return lay_out(draft, softmax, "lightning", err);
}

/*
 * Ling-3.0: Kimi delta attention between layers of latent attention, whose heads are gated by one
 * number each.  Its decay and output gate are whole matrices where there is `no_kda_lora`; queries
 * and keys are normalised without weights.
 */
static rk_status read_kimi_delta(hf_draft *draft, rk_error *err)
{
    static const char gate[] = "gated_attention_proj_granularity_type";
    rk_recurrence_shape *r = &draft->layer.recurrence;
    if (rk_hf_find(draft, gate)) {
        rk_hf_note(draft, "gates of the heads of latent attention", gate);
    }
    rk_status status = rk_hf_read_flag(draft, (hf_flag){"no_kda_lora", false}, &r->full_gate, err);
    r->full_decay = r->full_gate;
    return status ? status : rk_hf_read_or(draft, "short_conv_kernel_size", 4, &r->conv_width, err);
}

/*
 * Ling and Ring with linear attention: of every group of layers the last has softmax attention, and
 * so have layers behind the last whole group.
 */
static rk_status lay_out_ling(hf_draft *draft, rk_error *err)
{
    bool softmax[RK_LAYER_MAX] = {false};
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const int64_t layers = draft->size[HF_LAYERS];
    const bool kimi = rk_hf_find(draft, "no_kda_lora") || rk_hf_find(draft, "kda_lower_bound");
    int64_t group = 1;
    rk_status status = rk_hf_read_key(draft, "layer_group_size", &group, err);
    group = group > 0 ? group : 1;
    r->heads = r->key_heads = draft->size[HF_HEADS];
    r->key_size = r->value_size = draft->size[HF_HEAD_SIZE] != 0 ? draft->size[HF_HEAD_SIZE]
                                                                 : draft->layer.attention.head_size;
    r->chunk = DELTA_CHUNK;
    if (kimi || draft->size[HF_KV_RANK] > 0) { /* use_qk_norm is of linear attention */
        draft->layer.attention.qk_norm = RK_QK_NORM_NONE;
    }
    status = status || !kimi ? status : read_kimi_delta(draft, err);
    for (int64_t i = 0; i < layers; i++) {
        softmax[i] = (i + 1) % group == 0 || i >= layers / group * group;
    }
    return status ? status : lay_out(draft, softmax, kimi ? "kimi_delta" : "lightning", err);
}

/* Kimi Linear: lists of layers that count from 1. */
static rk_status lay_out_kimi(hf_draft *draft, rk_error *err)
{
    bool softmax[RK_LAYER_MAX] = {false};
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const json_t *full = rk_hf_find(draft, "linear_attn_config.full_attn_layers");
    const json_t *latent = rk_hf_find(draft, "routed_expert_hidden_size");
    rk_status status = rk_hf_read_key(draft, "linear_attn_config.num_heads", &r->heads, err);
    status =
        status ? status : rk_hf_read_key(draft, "linear_attn_config.head_dim", &r->key_size, err);
    status = status ? status
                    : rk_hf_read_key(draft, "linear_attn_config.short_conv_kernel_size",
                                     &r->conv_width, err);
    status = status
                 ? status
                 : rk_hf_read_flag(draft, (hf_flag){"linear_attn_config.use_full_rank_gate", false},
                                   &r->full_gate, err);
    status = status ? status
                    : rk_hf_read_flag(draft, (hf_flag){"mla_use_output_gate", false},
                                      &draft->layer.attention.output_gate, err);
    if (!status && latent && draft->layer.moe.experts > 0) {
        status = rk_hf_read_size(draft, "routed_expert_hidden_size", latent,
                                 &draft->layer.moe.latent, err);
    }
    r->key_heads = r->heads;
    r->value_size = r->key_size;
    r->chunk = DELTA_CHUNK;
    for (size_t i = 0; i < json_array_size(full); i++) {
        const json_int_t layer = json_integer_value(json_array_get(full, i));
        if (layer >= 1 && layer <= draft->size[HF_LAYERS]) {
            softmax[layer - 1] = true;
        }
    }
    if (rk_hf_find(draft, "attn_res_block_size")) {
        rk_hf_note(draft, "residuals over blocks of layers", "attn_res_block_size");
    }
    if (draft->layer.moe.latent > 0 && json_is_true(rk_hf_find(draft, "latent_moe_use_norm"))) {
        rk_hf_note(draft, "norms of the latents of experts", "latent_moe_use_norm");
    }
    return status ? status : lay_out(draft, softmax, "kimi_delta", err);
}

/* ---- the rows ------------------------------------------------------------------------------ */

#define QWEN_LINEAR                                                                                \
    .norms = 2, HEAD_NORMS, ATTENTION_BIASES, .reads = reads_qwen, .lay_out = lay_out_qwen

const hf_special rk_hf_linear_specials[] = {
    {"qwen3_next", NULL, lay_out_qwen},  {"olmo_hybrid", NULL, lay_out_olmo_hybrid},
    {"lfm2", adjust_lfm2, lay_out_lfm2}, {"lfm2_moe", NULL, lay_out_lfm2},
    {"minimax", NULL, lay_out_minimax},  {"ling", NULL, lay_out_ling},
    {"kimi", NULL, lay_out_kimi},        {NULL, NULL, NULL},
};

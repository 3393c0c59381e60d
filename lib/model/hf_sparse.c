/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face models whose attention picks its keys by an indexer.  Sources: the configuration and
 * modelling classes of transformers, the released code of DeepSeek-V3.2-Exp, GLM-5 and MiniMax-M3.
 */
#include "base/units.h"
#include "model/hf_table.h"

#include <string.h>

/* The ratio of DeepSeek-V4's layers whose entries an indexer picks. */
enum { V4_PICKED = 4 };

/* How the attention of a layer finds its keys. */
enum { KEYS_ALL, KEYS_PICKED, KEYS_SHARED, KEYS_KINDS };

/*
 * Lays out layers with experts or without whose keys are found in the way keys[i]; draft->layer has
 * both networks and the indexer.
 */
static rk_status lay_out(hf_draft *draft, const uint8_t keys[RK_LAYER_MAX], rk_error *err)
{
    enum { KINDS = 2 * KEYS_KINDS };
    bool moe[RK_LAYER_MAX] = {false};
    rk_layer_type kinds[KINDS];
    uint8_t kind_of[RK_LAYER_MAX];
    const int layers = (int)draft->size[HF_LAYERS];
    const rk_status status = rk_hf_mark_experts(draft, layers, moe, err);
    for (int i = 0; i < layers; i++) {
        kind_of[i] = (uint8_t)(2 * keys[i] + (moe[i] ? 1 : 0));
    }
    for (int kind = 0; kind < KINDS; kind++) {
        rk_layer_type *type = &kinds[kind];
        *type = draft->layer;
        if (kind / 2 == KEYS_ALL) {
            type->attention.index = (rk_index_shape){0};
        }
        type->attention.index.shared = kind / 2 == KEYS_SHARED;
        if (kind % 2) {
            type->ffn.width = 0;
        } else {
            type->moe = (rk_moe_shape){0};
        }
        rk_layer_set_kinds(type, draft->kinds);
    }
    if (status) {
        return status;
    }
    rk_model_set_layers(&draft->model, kinds, kind_of, layers);
    if (keys[layers - 1] == KEYS_SHARED) { /* MTP picks its own */
        const uint8_t picks = (uint8_t)(2 * KEYS_PICKED + (moe[layers - 1] ? 1 : 0));
        return rk_model_set_mtp(&draft->model, kinds, &picks, 1, err);
    }
    return RK_OK;
}

/* Says which layers take the keys of an indexer below, by a list of words or a rule. */
static rk_status mark_shared(const hf_draft *draft, uint8_t keys[RK_LAYER_MAX], rk_error *err)
{
    const json_t *words = rk_hf_find(draft, "indexer_types");
    int64_t every = 0, first = 0;
    rk_status status = rk_hf_read_or(draft, "index_topk_freq", 0, &every, err);
    status = status ? status : rk_hf_read_or(draft, "index_skip_topk_offset", 0, &first, err);
    if (words && json_array_size(words) < (size_t)draft->size[HF_LAYERS]) {
        return rk_hf_fail(draft, "indexer_types", err, "expected a word for each layer");
    }
    for (int i = 0; i < (int)draft->size[HF_LAYERS]; i++) {
        const char *word = json_string_value(json_array_get(words, (size_t)i));
        const bool late = every > 1 && i >= first && (i - first + 1) % every != 0;
        const bool shared = words ? word && strcmp(word, "shared") == 0 : late;
        keys[i] = shared ? KEYS_SHARED : KEYS_PICKED;
    }
    return status;
}

/* DeepSeek sparse attention: all layers. */
static rk_status lay_out_dsa(hf_draft *draft, rk_error *err)
{
    uint8_t keys[RK_LAYER_MAX] = {0};
    rk_index_shape *index = &draft->layer.attention.index;
    rk_status status = rk_hf_read_key(draft, "index_n_heads", &index->heads, err);
    status = status ? status : rk_hf_read_key(draft, "index_head_dim", &index->size, err);
    status = status ? status : rk_hf_read_key(draft, "index_topk", &index->keys, err);
    status = status ? status : mark_shared(draft, keys, err);
    return status ? status : lay_out(draft, keys, err);
}

/* MiniMax-M3: blocks of keys, in the layers of a list. */
static rk_status lay_out_minimax_m3(hf_draft *draft, rk_error *err)
{
    uint8_t keys[RK_LAYER_MAX] = {0};
    int64_t blocks = 0, local = 0, first = 0;
    rk_index_shape *index = &draft->layer.attention.index;
    const json_t *marks = rk_hf_find(draft, "sparse_attention_config.sparse_attention_freq");
    const hf_slot sizes[] = {
        {"sparse_attention_config.sparse_num_index_heads", HF_NEEDED, &index->heads},
        {"sparse_attention_config.sparse_index_dim", HF_NEEDED, &index->size},
        {"sparse_attention_config.sparse_block_size", HF_NEEDED, &index->block},
        {"sparse_attention_config.sparse_topk_blocks", HF_NEEDED, &blocks},
        {"sparse_attention_config.sparse_local_block", 0, &local},
        {"sparse_attention_config.sparse_init_block", 0, &first},
    };
    rk_status status = rk_hf_read_slots(draft, sizes, COUNT(sizes), err);
    if (!status && json_array_size(marks) < (size_t)draft->size[HF_LAYERS]) {
        return rk_hf_fail(draft, "sparse_attention_config.sparse_attention_freq", err,
                          "expected an element for each layer");
    }
    if (!status && (index->block > RK_TOKENS_MAX || blocks + local + first > RK_TOKENS_MAX)) {
        return rk_hf_fail(draft, "sparse_attention_config.sparse_topk_blocks", err,
                          "the blocks are larger than any sequence");
    }
    index->keys = (blocks + local + first) * index->block;
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        const json_t *mark = json_array_get(marks, (size_t)i);
        keys[i] = json_integer_value(mark) != 0 ? KEYS_PICKED : KEYS_ALL;
    }
    return status ? status : lay_out(draft, keys, err);
}

/* The kinds of layers of DeepSeek-V4: by the ratio, and with a router bias or a hash table. */
static rk_status v4_layer(const hf_draft *draft, int64_t ratio, bool hashed, rk_layer_type *type,
                          rk_error *err)
{
    int64_t picked = 0;
    *type = draft->layer;
    type->ffn.width = 0;
    type->moe.router_bias = !hashed;
    type->attention.ratio = ratio;
    if (ratio == V4_PICKED) {
        const rk_status status = rk_hf_read_key(draft, "index_topk", &picked, err);
        type->attention.index.keys = picked;
        if (status) {
            return status;
        }
    } else {
        type->attention.index = (rk_index_shape){0};
    }
    return rk_layer_choose_kinds(type, draft->kinds, "compressed", "experts", err);
}

static rk_status read_v4(hf_draft *draft, int64_t *hashed, rk_error *err)
{
    rk_attention_shape *a = &draft->layer.attention;
    const hf_slot sizes[] = {
        {"q_lora_rank", HF_NEEDED, &a->q_rank},
        {"o_lora_rank", HF_NEEDED, &a->out_rank},
        {"o_groups", HF_NEEDED, &a->out_groups},
        {"index_n_heads", HF_NEEDED, &a->index.heads},
        {"index_head_dim", HF_NEEDED, &a->index.size},
        {"sliding_window", HF_NEEDED, &a->window},
        {"hc_mult", HF_NEEDED, &draft->model.streams},
        {"num_hash_layers", 0, hashed},
    };
    rk_status status = rk_hf_read_slots(draft, sizes, COUNT(sizes), err);
    a->kv_heads = 1;
    a->sinks = true;
    return status;
}

static rk_status lay_out_v4(hf_draft *draft, rk_error *err)
{
    rk_layer_type kinds[RK_LAYER_TYPE_MAX], mtp;
    uint8_t kind_of[RK_LAYER_MAX];
    const json_t *ratios = rk_hf_find(draft, "compress_ratios");
    const int layers = (int)draft->size[HF_LAYERS];
    int64_t hashed = 0, ratio = 0;
    int used = 0;
    rk_status status = read_v4(draft, &hashed, err);
    if (!status && json_array_size(ratios) < (size_t)layers) {
        return rk_hf_fail(draft, "compress_ratios", err, "expected an element for each layer");
    }
    for (int i = 0; !status && i < layers; i++) {
        rk_layer_type type;
        int found = 0;
        status = rk_hf_read_size(draft, "compress_ratios", json_array_get(ratios, (size_t)i),
                                 &ratio, err);
        status = status ? status : v4_layer(draft, ratio, i < hashed, &type, err);
        while (!status && found < used && memcmp(&kinds[found], &type, sizeof(type)) != 0) {
            found++;
        }
        if (!status && found == RK_LAYER_TYPE_MAX) {
            return rk_hf_fail(draft, "compress_ratios", err, "expected at most %d kinds of layers",
                              RK_LAYER_TYPE_MAX);
        }
        if (!status && found == used) {
            kinds[used++] = type;
        }
        kind_of[i] = (uint8_t)found;
    }
    if (status) {
        return status;
    }
    if (hashed > 0) {
        rk_hf_note(draft, "integer tables of hash routing", "num_hash_layers");
    }
    rk_model_set_layers(&draft->model, kinds, kind_of, layers);
    status = v4_layer(draft, 0, false, &mtp, err);
    const uint8_t alone = 0;
    return status || draft->model.mtp_layers == 0
               ? status
               : rk_model_set_mtp(&draft->model, &mtp, &alone, 1, err);
}

/* ---- the rows ------------------------------------------------------------------------------ */

const hf_special rk_hf_sparse_specials[] = {
    {"dsa", NULL, lay_out_dsa},
    {"v4", NULL, lay_out_v4},
    {"minimax_m3", NULL, lay_out_minimax_m3},
    {NULL, NULL, NULL},
};

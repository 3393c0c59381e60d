/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face models whose layers differ in their kind: state-space layers between layers of
 * attention, and blocks of a single part.  Sources: the
 * configuration and modelling classes of transformers; DeciLM (arXiv 2411.19146).
 */
#include "base/units.h"
#include "model/hf_layout.h"
#include "model/hf_table.h"

#include <math.h>
#include <string.h>

/* The keys of Mamba-2, which two groups of families spell differently. */
typedef struct mamba_keys {
    const char *heads, *head_size, *state_size, *groups, *taps, *bias, *chunk;
    int64_t default_chunk;
    /* of the class, where the file is silent; a size of heads of 0: expand h / heads */
    int64_t usual_heads, usual_head_size, usual_state, usual_groups, usual_taps;
} mamba_keys;

static const mamba_keys nemotron_keys = {
    "mamba_num_heads",
    "mamba_head_dim",
    "ssm_state_size",
    "n_groups",
    "conv_kernel",
    "use_conv_bias",
    "chunk_size",
    128,
    128,
    64,
    128,
    8,
    4,
};
static const mamba_keys granite_keys = {
    "mamba_n_heads",
    "mamba_d_head",
    "mamba_d_state",
    "mamba_n_groups",
    "mamba_d_conv",
    "mamba_conv_bias",
    "mamba_chunk_size",
    256,
    128,
    0,
    256,
    1,
    4,
};
static const mamba_keys mamba2_keys = {
    "num_heads",
    "head_dim",
    "state_size",
    "n_groups",
    "conv_kernel",
    "use_conv_bias",
    "chunk_size",
    256,
    128,
    64,
    128,
    8,
    4,
};

/* ---- layers -------------------------------------------------------------------------------- */

/* Reads how many times the channels are the hidden size, where the file says it. */
static rk_status read_expand(const hf_draft *draft, const char *key, int64_t *out, rk_error *err)
{
    enum { EXPAND_MAX = 1024 };
    const rk_status status = rk_hf_read_or(draft, key, *out, out, err);
    return status || (*out > 0 && *out <= EXPAND_MAX)
               ? status
               : rk_hf_fail(draft, key, err, "expected an integer from 1 to %d", EXPAND_MAX);
}

/* Fills the recurrence of draft->layer. */
static rk_status read_mamba(hf_draft *draft, const mamba_keys *keys, rk_error *err)
{
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const json_t *size = rk_hf_find(draft, keys->head_size);
    const bool follows = json_is_string(size) || (!size && keys->usual_head_size == 0); /* "auto" */
    int64_t expand = 2;
    const hf_slot sizes[] = {
        {keys->heads, keys->usual_heads, &r->heads},
        {keys->state_size, keys->usual_state, &r->key_size},
        {keys->groups, keys->usual_groups, &r->key_heads},
        {keys->taps, keys->usual_taps, &r->conv_width},
        {keys->chunk, keys->default_chunk, &r->chunk},
    };
    rk_status status = read_expand(draft, "mamba_expand", &expand, err);
    status = status ? status : rk_hf_read_slots(draft, sizes, COUNT(sizes), err);
    if (!status && follows) {
        r->value_size = r->heads > 0 ? expand * draft->size[HF_HIDDEN] / r->heads : 0;
    } else if (!status) {
        status = rk_hf_read_or(draft, keys->head_size, keys->usual_head_size, &r->value_size, err);
    }
    return status ? status
                  : rk_hf_read_flag(draft, (hf_flag){keys->bias, true}, &r->conv_bias, err);
}

/* ---- families ------------------------------------------------------------------------------ */

/* The block of Nemotron-H that a letter or a word of a list means. */
static const struct {
    char letter;
    const char *word, *mixer, *feed_forward;
} blocks[] = {
    {'M', "mamba", "mamba2", "none"},
    {'*', "attention", "grouped", "none"},
    {'-', "mlp", "none", "dense"},
    {'E', "moe", "none", "experts"},
};

static rk_status append_block(const hf_draft *draft, rk_hf_layout *to, char letter,
                              const char *word, rk_error *err)
{
    for (size_t i = 0; i < COUNT(blocks); i++) {
        if (word ? strcmp(word, blocks[i].word) == 0 : letter == blocks[i].letter) {
            return rk_hf_append_kinds(draft, to, &draft->layer, blocks[i].mixer,
                                      blocks[i].feed_forward, err);
        }
    }
    return rk_hf_fail(draft, word ? "layers_block_type" : "hybrid_override_pattern", err,
                      "block %d is none of mamba (M), attention (*), mlp (-) and moe (E)",
                      to->layers);
}

/*
 * Modules of multi-token prediction: blocks in a pattern of their own, or behind the main one, with
 * a slash before each module; modules of Nemotron 3 have attention and experts.
 */
static rk_status lay_out_modules(hf_draft *draft, const char *behind, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    const json_t *words = rk_hf_find(draft, "mtp_layers_block_type");
    const char *own = json_string_value(rk_hf_find(draft, "mtp_hybrid_override_pattern"));
    const size_t listed = json_array_size(words);
    rk_status status = RK_OK;
    if (behind[0] == '/') {
        draft->model.mtp_layers = 0;
        for (const char *at = behind; *at; at++) {
            draft->model.mtp_layers += *at == '/';
        }
        own = behind + 1;
    }
    const char *letters = own ? own : "*E";
    const size_t count = listed > 0 ? 0 : strcspn(letters, "/");
    if (draft->model.mtp_layers == 0) {
        return RK_OK;
    }
    for (size_t i = 0; !status && i < count; i++) {
        status = append_block(draft, &to, letters[i], NULL, err);
    }
    for (size_t i = 0; !status && i < listed; i++) {
        const char *word = json_string_value(json_array_get(words, i));
        status = append_block(draft, &to, 0, word ? word : "", err);
    }
    return status ? status : rk_model_set_mtp(&draft->model, to.types, to.type_of, to.layers, err);
}

/* Nemotron-H and Nemotron 3: every block has a mixer or a feed-forward network. */
static rk_status lay_out_nemotron_h(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    rk_moe_shape *moe = &draft->layer.moe;
    const char *letters = json_string_value(rk_hf_find(draft, "hybrid_override_pattern"));
    const json_t *words = rk_hf_find(draft, "layers_block_type");
    const json_t *latent = rk_hf_find(draft, "moe_latent_size");
    const json_t *shared = rk_hf_find(draft, "moe_shared_expert_intermediate_size");
    rk_status status = read_mamba(draft, &nemotron_keys, err);
    if (!status && latent && moe->experts > 0) {
        status = rk_hf_read_size(draft, "moe_latent_size", latent, &moe->latent, err);
    }
    if (!status && shared && moe->shared_experts > 0) {
        status = rk_hf_read_size(draft, "moe_shared_expert_intermediate_size", shared,
                                 &moe->shared_width, err);
    }
    draft->layer.ffn.width = draft->size[HF_FFN];
    /* '|' ends a pipeline stage, '/' the main model: modules of multi-token prediction follow */
    const size_t main = letters ? strcspn(letters, "/") : 0;
    for (size_t i = 0; !status && i < main; i++) {
        status = letters[i] == '|' ? RK_OK : append_block(draft, &to, letters[i], NULL, err);
    }
    for (size_t i = 0; !status && !letters && i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        status = append_block(draft, &to, 0, word ? word : "", err);
    }
    status = status ? status : rk_hf_finish(draft, &to, err);
    return status ? status : lay_out_modules(draft, letters ? &letters[main] : "", err);
}

/* Whether layer i has attention: by words, or by a list of the layers that do. */
static bool has_attention(const hf_draft *draft, int i)
{
    const json_t *words = rk_hf_find(draft, "layer_types");
    const json_t *indices = rk_hf_find(draft, "attn_layer_indices");
    words = words ? words : rk_hf_find(draft, "layers_block_type");
    const char *word = json_string_value(json_array_get(words, (size_t)i));
    for (size_t j = 0; j < json_array_size(indices); j++) {
        if (json_integer_value(json_array_get(indices, j)) == i) {
            return true;
        }
    }
    return word && (strcmp(word, "attention") == 0 || strcmp(word, "full_attention") == 0);
}

/* Granite 4 and Bamba: state-space layers and attention, each followed by a network. */
static rk_status lay_out_granite_hybrid(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    rk_layer_type *layer = &draft->layer;
    rk_status status = read_mamba(draft, &granite_keys, err);
    if (layer->moe.experts > 0) {
        layer->ffn.width = 0;
    } else if (draft->size[HF_SHARED_FFN] > 0) {
        layer->ffn.width = draft->size[HF_SHARED_FFN];
    }
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        status =
            rk_hf_append_kinds(draft, &to, layer, has_attention(draft, i) ? "grouped" : "mamba2",
                               layer->moe.experts > 0 ? "experts" : "dense", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/*
 * Falcon-H1: attention and Mamba-2 side by side in every layer; the channels may be given, and
 * their norm may be missing.
 */
static rk_status lay_out_falcon_h1(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const json_t *channels = rk_hf_find(draft, "mamba_d_ssm");
    bool normed = false;
    int64_t width = 0;
    rk_status status = read_mamba(draft, &granite_keys, err);
    status =
        status ? status : rk_hf_read_flag(draft, (hf_flag){"mamba_rms_norm", false}, &normed, err);
    r->bare_output = !normed;
    if (!status && channels && r->heads > 0 &&
        !json_is_integer(rk_hf_find(draft, "mamba_d_head"))) {
        status = rk_hf_read_size(draft, "mamba_d_ssm", channels, &width, err);
        r->value_size = width / r->heads;
    }
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        status = rk_hf_append_kinds(draft, &to, &draft->layer, "parallel", "dense", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* Mamba-2 alone. */
static rk_status lay_out_mamba2(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    rk_status status = read_mamba(draft, &mamba2_keys, err);
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        status = rk_hf_append_kinds(draft, &to, &draft->layer, "mamba2", "none", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* ---- Mamba-1 --------------------------------------------------------------------------------- */

/* Spellings of Mamba-1, of Jamba and of Falcon-Mamba. */
static const char *const jamba_keys[] = {"mamba_d_state", "mamba_d_conv", "mamba_dt_rank",
                                         "mamba_expand", "mamba_conv_bias"};
static const char *const mamba1_keys[] = {"state_size", "conv_kernel", "time_step_rank", "expand",
                                          "use_conv_bias"};

static rk_status read_optional(const hf_draft *draft, const char *key, int64_t *out, rk_error *err)
{
    const json_t *value = rk_hf_find(draft, key);
    return value && !json_is_string(value) ? rk_hf_read_size(draft, key, value, out, err) : RK_OK;
}

/* Fills the recurrence of draft->layer, of `channels` or, if that is 0, of as many times the hidden
 * size as the file says; a rank that is "auto" is hidden / 16, rounded up. */
static rk_status read_mamba1(hf_draft *draft, const char *const *keys, int64_t channels,
                             rk_error *err)
{
    rk_recurrence_shape *r = &draft->layer.recurrence;
    const int64_t h = draft->size[HF_HIDDEN];
    int64_t expand = 2;
    r->key_size = 16;
    r->conv_width = 4;
    r->step_rank = (h + 15) / 16;
    rk_status status = read_optional(draft, keys[0], &r->key_size, err);
    status = status ? status : read_optional(draft, keys[1], &r->conv_width, err);
    status = status ? status : read_optional(draft, keys[2], &r->step_rank, err);
    status = status ? status : read_expand(draft, keys[3], &expand, err);
    status = status ? status : rk_hf_read_flag(draft, (hf_flag){keys[4], true}, &r->conv_bias, err);
    r->heads = channels > 0 ? channels : expand * h;
    r->key_heads = r->value_size = r->chunk = 1;
    return status;
}

/* Whether layer i is one of every `period`, from `offset` on. */
static bool is_nth(int i, int64_t period, int64_t offset)
{
    return period > 0 && i >= offset && (i - offset) % period == 0;
}

/* Jamba: one layer of attention in a period, experts in every second layer, norms of dt, B, C. */
static rk_status lay_out_jamba(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    int64_t period = 8, offset = 4, expert_period = 2, expert_offset = 1;
    rk_status status = read_mamba1(draft, jamba_keys, 0, err);
    draft->layer.recurrence.inner_norms = true;
    status = status ? status : read_optional(draft, "attn_layer_period", &period, err);
    status = status ? status : read_optional(draft, "attn_layer_offset", &offset, err);
    status = status ? status : read_optional(draft, "expert_layer_period", &expert_period, err);
    status = status ? status : read_optional(draft, "expert_layer_offset", &expert_offset, err);
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        const bool experts =
            draft->layer.moe.experts > 1 && is_nth(i, expert_period, expert_offset);
        rk_layer_type layer = draft->layer;
        layer.moe = experts ? layer.moe : (rk_moe_shape){0};
        layer.ffn.width = experts ? 0 : draft->size[HF_FFN];
        status =
            rk_hf_append_kinds(draft, &to, &layer, is_nth(i, period, offset) ? "grouped" : "mamba1",
                               experts ? "experts" : "dense", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* Mamba and Falcon-Mamba: Mamba-1 alone. */
static rk_status lay_out_mamba1(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    const int64_t width = rk_hf_find(draft, "intermediate_size") ? draft->size[HF_FFN] : 0;
    rk_status status = read_mamba1(draft, mamba1_keys, width, err);
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        status = rk_hf_append_kinds(draft, &to, &draft->layer, "mamba1", "none", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* ---- Zamba2 ---------------------------------------------------------------------------------- */

static const mamba_keys zamba2_keys = {
    "n_mamba_heads",
    "mamba_headdim",
    "mamba_d_state",
    "mamba_ngroups",
    "mamba_d_conv",
    "use_conv_bias",
    "chunk_size",
    256,
    8,
    0,
    64,
    1,
    4,
};

/* Every head is of 1/n of the hidden state and the embedding together; keys are not shared. */
static rk_status adapt_zamba2(hf_draft *draft, rk_error *err)
{
    int64_t *size = draft->size;
    const int64_t heads = size[HF_HEADS] > 0 ? size[HF_HEADS] : 1;
    size[HF_KV_HEADS] = size[HF_HEADS];
    return rk_hf_read_or(draft, "attention_head_dim", 2 * size[HF_HIDDEN] / heads,
                         &size[HF_HEAD_SIZE], err);
}

/* Whether a shared block runs with layer i: by a list of layers or by words. */
static bool is_hybrid(const hf_draft *draft, int i)
{
    const json_t *list = rk_hf_find(draft, "hybrid_layer_ids");
    const json_t *words = rk_hf_find(draft, "layers_block_type");
    const char *word = json_string_value(json_array_get(words, (size_t)i));
    bool listed = false;
    for (size_t j = 0; j < json_array_size(list); j++) {
        listed = listed || json_integer_value(json_array_get(list, j)) == i;
    }
    return json_array_size(list) > 0 ? listed : word && strcmp(word, "hybrid") == 0;
}

/* The blocks take turns: the first layers that use them own them, all others borrow. */
static rk_status lay_out_zamba2(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    rk_shared_shape *shared = &draft->layer.shared;
    int64_t shared_blocks = 1, used = 0;
    bool adapts = true;
    rk_status status = read_mamba(draft, &zamba2_keys, err);
    status = status ? status : rk_hf_read_or(draft, "num_mem_blocks", 1, &shared_blocks, err);
    status =
        status ? status : rk_hf_read_or(draft, "adapter_rank", 128, &shared->adapter_rank, err);
    status = status
                 ? status
                 : rk_hf_read_flag(draft, (hf_flag){"use_shared_mlp_adapter", true}, &adapts, err);
    status = status ? status
                    : rk_hf_read_flag(draft, (hf_flag){"use_shared_attention_adapter", false},
                                      &shared->attention_adapters, err);
    shared->adapter_rank = adapts ? shared->adapter_rank : 0;
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        rk_layer_type layer = draft->layer;
        const bool hybrid = is_hybrid(draft, i);
        layer.shared.borrowed = used >= shared_blocks;
        if (!hybrid) {
            layer.shared = (rk_shared_shape){0};
        }
        used += hybrid;
        status = rk_hf_append_kinds(draft, &to, &layer, hybrid ? "shared" : "mamba2", "none", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* ---- the files of Mamba's authors ------------------------------------------------------------ */

static const char *const author_keys[] = {"ssm_cfg.d_state", "ssm_cfg.d_conv", "ssm_cfg.dt_rank",
                                          "ssm_cfg.expand", "ssm_cfg.conv_bias"};

/* Mamba-2 as its authors spell it: heads follow from their size. */
static rk_status read_authors_mamba2(hf_draft *draft, rk_error *err)
{
    rk_recurrence_shape *r = &draft->layer.recurrence;
    int64_t expand = 2;
    const hf_slot sizes[] = {
        {"ssm_cfg.d_state", 128, &r->key_size}, {"ssm_cfg.d_conv", 4, &r->conv_width},
        {"ssm_cfg.ngroups", 1, &r->key_heads},  {"ssm_cfg.headdim", 64, &r->value_size},
        {"ssm_cfg.chunk_size", 256, &r->chunk},
    };
    rk_status status = read_expand(draft, "ssm_cfg.expand", &expand, err);
    status = status ? status : rk_hf_read_slots(draft, sizes, COUNT(sizes), err);
    r->heads = r->value_size > 0 ? expand * draft->size[HF_HIDDEN] / r->value_size : 0;
    return status
               ? status
               : rk_hf_read_flag(draft, (hf_flag){"ssm_cfg.conv_bias", true}, &r->conv_bias, err);
}

/* The vocabulary is padded to a multiple; tying has a key of its own. */
static rk_status adapt_authors(hf_draft *draft, rk_error *err)
{
    int64_t multiple = 8;
    const rk_status status = rk_hf_read_or(draft, "pad_vocab_size_multiple", 8, &multiple, err);
    if (!status && multiple > 0) {
        draft->size[HF_VOCAB] = (draft->size[HF_VOCAB] + multiple - 1) / multiple * multiple;
    }
    return status
               ? status
               : rk_hf_read_flag(draft, (hf_flag){"tie_embeddings", true}, &draft->model.tied, err);
}

static rk_status lay_out_authors(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    const char *layer = json_string_value(rk_hf_find(draft, "ssm_cfg.layer"));
    const bool second = layer && strcmp(layer, "Mamba2") == 0;
    rk_status status =
        second ? read_authors_mamba2(draft, err) : read_mamba1(draft, author_keys, 0, err);
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        status = rk_hf_append_kinds(draft, &to, &draft->layer, second ? "mamba2" : "mamba1", "none",
                                    err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* ---- the rows ------------------------------------------------------------------------------ */

const hf_special rk_hf_hybrid_specials[] = {
    {"nemotron_h", NULL, lay_out_nemotron_h},
    {"granite_hybrid", NULL, lay_out_granite_hybrid},
    {"falcon_h1", NULL, lay_out_falcon_h1},
    {"mamba2", NULL, lay_out_mamba2},
    {"jamba", NULL, lay_out_jamba},
    {"mamba1", NULL, lay_out_mamba1},
    {"zamba2", adapt_zamba2, lay_out_zamba2},
    {"authors", adapt_authors, lay_out_authors},
    {NULL, NULL, NULL},
};

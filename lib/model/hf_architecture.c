/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Architectures of Hugging Face as documents (data/architectures).  Their sources are the
 * configuration and modelling classes of the transformers library, and the published modelling code
 * of architectures outside it.
 */
#include "base/error.h"
#include "base/units.h"
#include "io/fields.h"
#include "model/hf_table.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* ---- parts ----------------------------------------------------------------------------------- */

/* true, or {"key": "attention_bias", "default": false}: what a key says. */
static rk_status read_flag(const json_t *value, const char *path, void *out, rk_error *err)
{
    hf_flag *flag = out;
    char found[RK_JSON_TEXT_SIZE];
    const json_t *key = json_object_get(value, "key"), *usual = json_object_get(value, "default");
    if (json_is_boolean(value)) {
        *flag = (hf_flag){NULL, json_is_true(value)};
        return RK_OK;
    }
    if (!json_is_string(key) || !json_is_boolean(usual)) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected true, or an object of \"key\" and \"default\", found %s",
                          rk_json_describe(value, found));
    }
    *flag = (hf_flag){json_string_value(key), json_is_true(usual)};
    return RK_OK;
}

/* Sizes of the class, where a file is silent. */
static rk_status read_defaults(const json_t *value, const char *path, void *out, rk_error *err)
{
#define SIZE(key, place)                                                                           \
    RK_FIELD(key, INT, (place) * sizeof(int64_t), .optional = true, .max = (double)HF_SIZE_MOST)
    static const rk_field sizes[] = {
        SIZE("vocab", HF_VOCAB),
        SIZE("hidden", HF_HIDDEN),
        SIZE("ffn", HF_FFN),
        SIZE("layers", HF_LAYERS),
        SIZE("heads", HF_HEADS),
        SIZE("kv_heads", HF_KV_HEADS),
        SIZE("head_size", HF_HEAD_SIZE),
        SIZE("value_size", HF_VALUE_SIZE),
        SIZE("context", HF_CONTEXT),
        SIZE("q_rank", HF_Q_RANK),
        SIZE("kv_rank", HF_KV_RANK),
        SIZE("nope_size", HF_NOPE_SIZE),
        SIZE("rope_size", HF_ROPE_SIZE),
        SIZE("experts", HF_EXPERTS),
        SIZE("top_k", HF_TOP_K),
        SIZE("expert_ffn", HF_EXPERT_FFN),
        SIZE("shared_experts", HF_SHARED_EXPERTS),
        SIZE("shared_ffn", HF_SHARED_FFN),
        SIZE("expert_groups", HF_EXPERT_GROUPS),
        SIZE("route_groups", HF_ROUTE_GROUPS),
        SIZE("dense_ffn", HF_DENSE_FFN),
        SIZE("dense_first", HF_DENSE_FIRST),
        SIZE("moe_every", HF_MOE_EVERY),
        SIZE("mtp", HF_MTP),
        SIZE("mtp_depth", HF_MTP_DEPTH),
        SIZE("window", HF_WINDOW),
        SIZE("chunk", HF_CHUNK),
        SIZE("window_period", HF_WINDOW_PERIOD),
        SIZE("window_from", HF_WINDOW_FROM),
        SIZE("window_heads", HF_WINDOW_HEADS),
        SIZE("window_kv_heads", HF_WINDOW_KV_HEADS),
        SIZE("window_head_size", HF_WINDOW_HEAD_SIZE),
        SIZE("window_value_size", HF_WINDOW_VALUE_SIZE),
    };
#undef SIZE
    static_assert(COUNT(sizes) == HF_SIZE_COUNT, "a name for each size");
    return rk_fields_read(value, path, sizes, COUNT(sizes), RK_UNKNOWN_NEVER, out, err);
}

static const hf_special *const specials[] = {
    rk_hf_adapt_specials,   rk_hf_hybrid_specials, rk_hf_linear_specials,
    rk_hf_sharing_specials, rk_hf_sparse_specials, rk_hf_widths_specials,
};

static rk_status read_code(const json_t *value, const char *path, void *out, rk_error *err)
{
    const hf_special **special = out;
    const char *name = json_string_value(value);
    char found[RK_JSON_TEXT_SIZE];
    for (size_t i = 0; name && i < COUNT(specials); i++) {
        for (const hf_special *at = specials[i]; at->name; at++) {
            if (strcmp(at->name, name) == 0) {
                *special = at;
                return RK_OK;
            }
        }
    }
    return rk_fail_at(err, RK_ERR_INVALID, path,
                      "expected the code of a family in lib/model, found %s; leave it out",
                      rk_json_describe(value, found));
}

static rk_status read_keys(const json_t *value, const char *path, void *out, rk_error *err)
{
    const json_t **keys = out;
    char found[RK_JSON_TEXT_SIZE];
    *keys = value;
    return json_is_array(value)
               ? RK_OK
               : rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of keys, found %s",
                            rk_json_describe(value, found));
}

static rk_status read_type(const json_t *value, const char *path, void *out, rk_error *err)
{
    const char **type = out;
    char found[RK_JSON_TEXT_SIZE];
    *type = json_string_value(value);
    return *type ? RK_OK
                 : rk_fail_at(err, RK_ERR_INVALID, path, "expected a text, found %s",
                              rk_json_describe(value, found));
}

/* ---- the document ---------------------------------------------------------------------------- */

static const char *const norm_names[] = {"rms", "layer", "layer_without_bias", "layer_without_gain",
                                         NULL};
static const char *const qk_norm_names[] = {"none", "head", "full", "head_with_bias", NULL};
static const char *const window_names[] = {"never", "always", "late", "periodic", "chunks", NULL};

#define FIELD(field_type, member, ...)                                                             \
    RK_FIELD(#member, field_type, offsetof(hf_architecture, member), .optional = true, __VA_ARGS__)
#define SWITCH(member, text) FIELD(BOOL, member, .help = text)
#define FLAG(member, text)   FIELD(CUSTOM, member, .read = read_flag, .help = text)

static const rk_field fields[] = {
    RK_FIELD("type", CUSTOM, offsetof(hf_architecture, type), .read = read_type,
             .help = "model_type of the file"),
    FIELD(ENUM, norm, .names = norm_names, .help = "of the residual stream; default: rms"),
    RK_FIELD("norms", INT, offsetof(hf_architecture, norms), .max = 8, .help = "norms of a layer"),
    SWITCH(tied, "where tie_word_embeddings is silent"),
    SWITCH(plain, "feed-forward parts of two matrices, without a gate"),
    FLAG(parallel, "attention and feed-forward part side by side"),
    SWITCH(embedding_norm, "a norm follows the embedding"),
    SWITCH(head_bias, "the output layer has a bias"),
    SWITCH(wide_gain, "norms multiply by their gains in fp32"),
    SWITCH(capped, "a tanh limits scores of attention and logits, where the file is silent"),
    SWITCH(positions, "a table of positions is learned"),
    FIELD(INT, spare_positions, .max = 1 << 20, .help = "its rows beyond the context"),
    FIELD(INT, ffn_multiple, .max = 64,
          .help = "width of the feed-forward part over hidden, where the file is silent"),
    SWITCH(first_is_text, "sizes may be lists, of which the first is that of text"),
    FLAG(bias_qkv, "biases of queries, keys and values"),
    FLAG(bias_out, "bias of the output projection of attention"),
    FLAG(bias_ffn, "biases of the feed-forward part"),
    FLAG(normalises_qk, "queries and keys have norms"),
    FIELD(ENUM, qk_norm, .names = qk_norm_names, .help = "of which kind"),
    FLAG(output_gate, "the output of attention is gated elementwise"),
    FLAG(head_gate, "the output of attention is gated by one number a head"),
    FLAG(sinks, "attention sinks of full layers"),
    FLAG(window_sinks, "of windowed layers"),
    FIELD(ENUM, window, .names = window_names, .help = "which layers see a window"),
    SWITCH(has_experts, "it may have experts"),
    SWITCH(ffn_is_expert, "intermediate_size is the width of an expert"),
    SWITCH(shared_gate, "shared experts have a gate"),
    SWITCH(expert_bias, "experts have biases"),
    FLAG(router_bias, "bias of the router"),
    SWITCH(clamped, "the activation limits its inputs"),
    RK_FIELD("code", CUSTOM, offsetof(hf_architecture, special), .optional = true,
             .read = read_code, .help = "the code of a family, for what the rest cannot say"),
    FIELD(CUSTOM, reads, .read = read_keys, .help = "keys that it reads besides"),
    FIELD(CUSTOM, defaults, .read = read_defaults,
          .help = "sizes of the class, where the file is silent"),
};

rk_status rk_hf_architecture_read(const json_t *object, hf_architecture *architecture,
                                  rk_error *err)
{
    *architecture = (hf_architecture){.type = NULL};
    return rk_fields_read(object, "", fields, COUNT(fields), RK_UNKNOWN_REFUSE, architecture, err);
}

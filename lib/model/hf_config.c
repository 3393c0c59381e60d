/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a config.json of Hugging Face in five steps: find the language model in the file, refuse
 * what cannot be expressed, find the architecture, read sizes (any spelling, else the default of
 * the class) and flags, and lay out the layers.
 */
#include "model/hf_config.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "model/hf_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A file says how far a model may look, not how long its training sequences were. */
enum { TRAINING_CONTEXT_MAX = 8192 };

/* Where a file that holds more than a language model keeps it. */
static const char *const nested_configs[] = {
    "text_config", "llm_config",   "language_config",   "thinker_config.text_config",
    "lm_config",   "llama_config", "text_model_config", "language_model_config",
};

/* ---- the language model and its architecture --------------------------------------------- */

static void find_language_model(hf_draft *draft)
{
    draft->config = draft->root;
    for (size_t i = 0; i < COUNT(nested_configs); i++) {
        const json_t *nested = rk_hf_value(draft->root, nested_configs[i]);
        if (json_is_object(nested)) {
            draft->config = nested;
            draft->path = nested_configs[i];
            return;
        }
    }
}

/* Whether a value has no effect: null, false, 0, or nothing inside. */
static bool is_void(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_number(value) && !(json_number_value(value) > 0)) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* Whether the architecture reads a key in its own way. */
static bool reads_itself(const hf_draft *draft, const char *key)
{
    const json_t *reads = draft->architecture ? draft->architecture->reads : NULL;
    for (size_t i = 0; i < json_array_size(reads); i++) {
        const char *read = json_string_value(json_array_get(reads, i));
        if (read && strcmp(read, key) == 0) {
            return true;
        }
    }
    return false;
}

static rk_status refuse_inexpressible(hf_draft *draft, rk_error *err)
{
    for (size_t i = 0; i < rk_hf_refusal_count; i++) {
        if (!reads_itself(draft, rk_hf_refusals[i].name) &&
            !is_void(rk_hf_value(draft->config, rk_hf_refusals[i].name))) {
            return rk_hf_fail(
                draft, rk_hf_refusals[i].name, err,
                "this model has %s, which reckon does not read for a model of this type yet",
                rk_hf_refusals[i].text);
        }
    }
    return RK_OK;
}

static bool is_known_key(const char *key)
{
    for (size_t i = 0; i < rk_hf_alias_count; i++) {
        if (strcmp(rk_hf_aliases[i].name, key) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < rk_hf_harmless_count; i++) {
        if (strcmp(rk_hf_harmless_keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a key belongs to pictures, sound or film, which are left out. */
static bool is_of_other_input(const char *key)
{
    static const char *const beginnings[] = {"audio_", "image_", "img_",     "mm_",
                                             "patch_", "pixel_", "spatial_", "temporal_",
                                             "video_", "vision_"};
    for (size_t i = 0; i < COUNT(beginnings); i++) {
        if (strncmp(key, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a key looks like a size of a layer, or like a choice of layers or experts. */
static bool is_structural(const char *key)
{
    static const char *const endings[] = {"_heads", "_dim",   "_size",  "_rank",    "_pattern",
                                          "_freq",  "_types", "_every", "_interval"};
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (rk_ends_with(key, endings[i])) {
            return true;
        }
    }
    const char *layer = strstr(key, "layer");
    return strstr(key, "expert") || (layer && !strstr(layer, "norm"));
}

/* Whether a flag may give a layer more weights: of a type that is known, its row knows. */
static bool is_of_weights(const char *key)
{
    return (strstr(key, "bias") && strcmp(key, "attention_bias") != 0 &&
            strcmp(key, "mlp_bias") != 0) ||
           (strstr(key, "norm") && strcmp(key, "use_qk_norm") != 0 && !strstr(key, "topk")) ||
           strstr(key, "gate");
}

/*
 * Keys that look like sizes of a layer and are not known.  The class of a known type reads none but
 * its own, so they are noted.  In a file whose type is not known one may make another model: it is
 * refused, and every other integer and list but the numbers of tokens is noted, and flags that may
 * give a layer more weights.
 */
static rk_status refuse_unknown_sizes(hf_draft *draft, rk_error *err)
{
    json_t *config = (json_t *)(uintptr_t)draft->config; /* jansson iterates over no const object */
    for (void *at = json_object_iter(config); at; at = json_object_iter_next(config, at)) {
        const char *key = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        const bool sizes = json_is_integer(value) || json_is_array(value);
        if (is_void(value) || is_known_key(key) || reads_itself(draft, key) ||
            is_of_other_input(key)) {
            continue;
        }
        if (!sizes && draft->note_guess && json_is_true(value) && is_of_weights(key)) {
            rk_hf_note(draft, "a key that is not known", key);
        }
        if (!sizes) {
            continue;
        }
        if (is_structural(key) && !draft->note_guess) {
            rk_hf_note(draft, "a key that is not known", key);
        } else if (is_structural(key)) {
            return rk_hf_fail(draft, key, err,
                              "reckon does not know what this key does to the layers; take it out "
                              "if it does nothing");
        }
        if (draft->note_guess && !rk_hf_is_ordinary(key)) {
            rk_hf_note(draft, "a key that is not known", key);
        }
    }
    return RK_OK;
}

static const json_t *given_type(const hf_draft *draft)
{
    const json_t *type = rk_hf_find(draft, "model_type");
    return type ? type : json_array_get(rk_hf_find(draft, "architectures"), 0);
}

/* The architecture that an object names: by its type, or by its class if the type says nothing. */
static const char *named_by(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "model_type"));
    const char *class_name =
        json_string_value(json_array_get(json_object_get(object, "architectures"), 0));
    const char *found = type ? rk_hf_find_type(type) : NULL;
    return found || !class_name ? found : rk_hf_find_class(class_name);
}

/* A language model that names no type of its own is of the type of the file around it. */
static const char *named_around(const json_t *root)
{
    char text_type[64];
    const char *type = json_string_value(json_object_get(root, "model_type"));
    (void)snprintf(text_type, sizeof(text_type), "%s_text", type ? type : "");
    const char *found = rk_hf_find_type(text_type);
    return found ? found : named_by(root);
}

static void find_type(hf_draft *draft)
{
    char reason[HF_REASON_SIZE];
    const char *name = json_string_value(given_type(draft));
    const json_t *type = rk_hf_find(draft, "model_type");
    if (name) {
        draft->type = named_by(draft->config);
        draft->note_class = draft->type && type && !rk_hf_find_type(json_string_value(type));
    } else if (draft->config != draft->root && !given_type(draft)) {
        draft->type = named_around(draft->root);
    } else if (rk_hf_find(draft, "ssm_cfg")) {
        draft->type = rk_hf_find_type(RK_HF_MAMBA_AUTHORS);
    }
    if (name && !draft->type && !rk_hf_reason_against(name, reason)) {
        draft->note_guess = rk_hf_is_like_llama(draft);
        draft->type = draft->note_guess ? RK_HF_LIKE_LLAMA : NULL;
    }
}

/* The architecture of the person, or the document of the type that the file names. */
static rk_status find_architecture(hf_draft *draft, rk_error *err)
{
    rk_status status = RK_OK;
    if (!draft->own) {
        find_type(draft);
        status =
            draft->type ? rk_json_load(draft->type, "architectures", &draft->document, err) : RK_OK;
    }
    const json_t *object = draft->own ? draft->own : draft->document.root;
    if (!status && object) {
        status = rk_hf_architecture_read(object, &draft->read, err);
        draft->architecture = status ? NULL : &draft->read;
    }
    return status;
}

/* Refuses a type whose layers rk_model lacks. */
static rk_status refuse_by_type(hf_draft *draft, rk_error *err)
{
    char reason[HF_REASON_SIZE];
    const char *name = json_string_value(given_type(draft));
    return name && !draft->architecture && rk_hf_reason_against(name, reason)
               ? rk_hf_fail(draft, rk_hf_find(draft, "model_type") ? "model_type" : "architectures",
                            err, "models of type \"%.40s\" have %s, which reckon does not read yet",
                            name, reason)
               : RK_OK;
}

static rk_status require_architecture(hf_draft *draft, rk_error *err)
{
    const json_t *type = rk_hf_find(draft, "model_type"), *given = given_type(draft);
    const char *name = json_string_value(given), *key = type ? "model_type" : "architectures";
    char found[RK_JSON_TEXT_SIZE];
    if (draft->architecture) {
        return RK_OK;
    }
    const char *nearest = name ? rk_hf_nearest_type(name) : NULL;
    return rk_hf_fail(
        draft, key, err,
        "expected an architecture of Hugging Face that reckon knows, found %s%s%s%s; describe it "
        "in architecture.json beside the file (see data/architectures), or the model in a model "
        "document of reckon (see data/models)",
        given ? rk_json_describe(given, found) : "nothing", nearest ? "; near it is \"" : "",
        nearest ? nearest : "", nearest ? "\"" : "");
}

/* ---- sizes and flags --------------------------------------------------------------------- */

/* Returns the element of a list whose elements are all the same, else the value as it is. */
static const json_t *same_for_all(const json_t *value)
{
    const json_t *first = json_array_get(value, 0);
    for (size_t i = 1; i < json_array_size(value); i++) {
        if (!json_equal(first, json_array_get(value, i))) {
            return value;
        }
    }
    return first ? first : value;
}

/*
 * Fills draft->size: of every size the first spelling that is not null, 0 if all present spellings
 * are null, and the default of the class if none is present.
 */
static rk_status read_sizes(hf_draft *draft, rk_error *err)
{
    bool given[HF_SIZE_COUNT] = {false};
    memcpy(draft->size, draft->architecture->defaults, sizeof(draft->size));
    for (size_t i = 0; i < rk_hf_alias_count; i++) {
        const hf_size size = (hf_size)rk_hf_aliases[i].value;
        const json_t *value = rk_hf_find_raw(draft, rk_hf_aliases[i].name);
        /* A pattern may also be a string, which hf_layers.c reads. */
        if (!value || given[size] || (size == HF_WINDOW_PERIOD && json_is_string(value)) ||
            (json_is_array(value) && reads_itself(draft, rk_hf_aliases[i].name))) {
            continue;
        }
        if (json_is_null(value) || json_is_false(value)) {
            draft->size[size] = 0;
            continue;
        }
        given[size] = true;
        value = draft->architecture->first_is_text && json_array_size(value) > 0
                    ? json_array_get(value, 0)
                    : same_for_all(value);
        const rk_status status =
            rk_hf_read_size(draft, rk_hf_aliases[i].name, value, &draft->size[size], err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

/* Whether a number limits scores or logits: what a key says, or `usual` where it is absent. */
static bool read_cap(const hf_draft *draft, const char *key, bool usual)
{
    const json_t *value = rk_hf_find_raw(draft, key);
    return value ? json_number_value(value) > 0 : usual;
}

static rk_status read_flags(hf_draft *draft, rk_error *err)
{
    const hf_architecture *a = draft->architecture;
    rk_layer_type *layer = &draft->layer;
    bool normalises_qk = false;
    const struct {
        hf_flag flag;
        bool *out;
    } flags[] = {
        {a->bias_qkv, &layer->attention.bias_qkv},
        {a->bias_out, &layer->attention.bias_out},
        {a->bias_ffn, &layer->ffn.bias},
        {a->sinks, &layer->attention.sinks},
        {a->router_bias, &layer->moe.router_bias},
        {a->output_gate, &layer->attention.output_gate},
        {a->head_gate, &layer->attention.head_gate},
        {a->normalises_qk, &normalises_qk},
        {a->parallel, &draft->model.parallel_block},
        {{"tie_word_embeddings", a->tied}, &draft->model.tied},
    };
    for (size_t i = 0; i < COUNT(flags); i++) {
        const rk_status status = rk_hf_read_flag(draft, flags[i].flag, flags[i].out, err);
        if (status) {
            return status;
        }
    }
    layer->attention.qk_norm = normalises_qk ? a->qk_norm : RK_QK_NORM_NONE;
    layer->ffn.gated = !a->plain;
    layer->ffn.clamped = a->clamped;
    layer->moe.shared_gate = a->shared_gate;
    layer->moe.expert_bias = a->expert_bias;
    draft->model.norm = a->norm;
    draft->model.norms_per_layer = (int)a->norms;
    draft->model.final_norm = true;
    draft->model.embedding_norm = a->embedding_norm;
    draft->model.head_bias = a->head_bias;
    draft->model.wide_gain = a->wide_gain;
    draft->model.capped_logits = read_cap(draft, "final_logit_softcapping", a->capped);
    layer->attention.capped_scores = read_cap(draft, "attn_logit_softcapping", a->capped);
    return RK_OK;
}

/* ---- what follows from them --------------------------------------------------------------- */

static rk_status derive_attention(hf_draft *draft, rk_error *err)
{
    rk_attention_shape *a = &draft->layer.attention;
    const int64_t *size = draft->size;
    a->query_heads = size[HF_HEADS];
    a->kv_heads = size[HF_KV_HEADS] != 0 ? size[HF_KV_HEADS] : size[HF_HEADS];
    a->value_size = size[HF_VALUE_SIZE];
    if (size[HF_KV_RANK] != 0) {
        a->kv_heads = size[HF_HEADS]; /* files give anything here */
        a->q_rank = size[HF_Q_RANK];
        a->kv_rank = size[HF_KV_RANK];
        a->nope_size = size[HF_NOPE_SIZE];
        a->rope_size = size[HF_ROPE_SIZE];
        return RK_OK;
    }
    a->head_size = size[HF_HEAD_SIZE];
    if (a->head_size == 0 && a->query_heads > 0) {
        if (size[HF_HIDDEN] % a->query_heads != 0) {
            return rk_hf_fail(draft, "head_dim", err,
                              "this key is missing, and the width %" PRId64
                              " is not a multiple of the %" PRId64 " heads",
                              size[HF_HIDDEN], a->query_heads);
        }
        a->head_size = size[HF_HIDDEN] / a->query_heads;
    }
    return RK_OK;
}

static rk_status derive_ffn(hf_draft *draft, rk_error *err)
{
    const hf_architecture *a = draft->architecture;
    const int64_t *size = draft->size;
    const int64_t ffn = size[HF_FFN] != 0 ? size[HF_FFN] : a->ffn_multiple * size[HF_HIDDEN];
    rk_moe_shape *moe = &draft->layer.moe;
    if (!a->has_experts && size[HF_EXPERTS] > 1) {
        return rk_hf_fail(draft, "model_type", err,
                          "the file has %" PRId64
                          " experts, but models of type \"%s\" have none: one of the two is wrong",
                          size[HF_EXPERTS], a->type);
    }
    draft->layer.ffn.width = a->ffn_is_expert ? size[HF_DENSE_FFN] : ffn;
    if (!a->has_experts || size[HF_EXPERTS] == 0) {
        draft->layer.ffn.width = ffn;
        draft->layer.moe = (rk_moe_shape){0};
        return RK_OK;
    }
    moe->experts = size[HF_EXPERTS];
    moe->top_k = size[HF_TOP_K];
    moe->expert_width = a->ffn_is_expert ? ffn : size[HF_EXPERT_FFN];
    moe->shared_experts = size[HF_SHARED_FFN] != 0 ? 1 : size[HF_SHARED_EXPERTS];
    moe->shared_width = size[HF_SHARED_FFN] != 0   ? size[HF_SHARED_FFN]
                        : moe->shared_experts != 0 ? moe->expert_width
                                                   : 0;
    if (size[HF_EXPERT_GROUPS] > 1 && size[HF_ROUTE_GROUPS] > 0) {
        moe->expert_groups = size[HF_EXPERT_GROUPS];
        moe->route_groups = size[HF_ROUTE_GROUPS];
    }
    moe->shared_gate = moe->shared_gate && moe->shared_experts != 0;
    return RK_OK;
}

/* ---- the model ---------------------------------------------------------------------------- */

/* Sizes of the model as a whole. */
static rk_status derive_model(hf_draft *draft, rk_error *err)
{
    const struct {
        hf_size size;
        int64_t least, most;
        const char *key;
    } bounds[] = {
        {HF_LAYERS, 1, RK_LAYER_MAX, "num_hidden_layers"},
        {HF_MTP, 0, RK_LAYER_MAX, "num_nextn_predict_layers"},
        {HF_MTP_DEPTH, 0, RK_LAYER_MAX, "mtp_transformer_layers"},
        {HF_HIDDEN, 1, HF_SIZE_MOST, "hidden_size"},
        {HF_HEADS, 1, HF_SIZE_MOST, "num_attention_heads"},
        {HF_VOCAB, 1, HF_SIZE_MOST, "vocab_size"},
    };
    rk_model *model = &draft->model;
    const int64_t *size = draft->size;
    for (size_t i = 0; i < COUNT(bounds); i++) {
        const int64_t least = bounds[i].least, value = size[bounds[i].size];
        if (value < least || value > bounds[i].most) {
            return rk_hf_fail(draft, bounds[i].key, err,
                              "expected an integer from %" PRId64 " to %" PRId64 ", found %" PRId64,
                              least, bounds[i].most, value);
        }
    }
    model->hidden = size[HF_HIDDEN];
    model->vocab = size[HF_VOCAB];
    model->mtp_layers = (int)(size[HF_MTP] * (size[HF_MTP_DEPTH] > 0 ? size[HF_MTP_DEPTH] : 1));
    model->seq = TRAINING_CONTEXT_MAX;
    if (size[HF_CONTEXT] > 0 && size[HF_CONTEXT] < model->seq) {
        model->seq = size[HF_CONTEXT];
    }
    if (draft->architecture->positions) {
        model->learned_positions = size[HF_CONTEXT] + draft->architecture->spare_positions;
    }
    return RK_OK;
}

static rk_status adapt(hf_draft *draft, rk_error *err)
{
    const hf_special *special = draft->architecture->special;
    return special && special->adapt ? special->adapt(draft, err) : RK_OK;
}

static rk_status lay_out(hf_draft *draft, rk_error *err)
{
    const hf_special *special = draft->architecture->special;
    return special && special->lay_out ? special->lay_out(draft, err) : rk_hf_lay_out(draft, err);
}

rk_status rk_hf_config_read(const json_t *object, const json_t *architecture, const rk_kinds *kinds,
                            rk_model *model, rk_error *err)
{
    static rk_status (*const steps[])(hf_draft *, rk_error *) = {
        find_architecture,
        refuse_by_type,
        refuse_inexpressible,
        require_architecture,
        refuse_unknown_sizes,
        read_sizes,
        read_flags,
        rk_hf_read_details,
        adapt,
        derive_model,
        derive_attention,
        derive_ffn,
        lay_out,
        rk_hf_note_rest,
    };
    hf_draft draft = {.kinds = kinds, .root = object, .own = architecture, .path = ""};
    rk_status status = RK_OK;
    find_language_model(&draft);
    for (size_t i = 0; !status && i < COUNT(steps); i++) {
        status = steps[i](&draft, err);
    }
    if (!status) {
        status = rk_model_check(&draft.model, err);
    }
    if (!status) {
        *model = draft.model;
    }
    rk_json_clear(&draft.document);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The model document of a launch that describes its model by flags, as the fact model.document. */
#include "base/named.h"
#include "base/units.h"
#include "launch/launch_parts.h"
#include "launch/model_document.h"
#include "launch/read_megatron.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

/* Sizes that facts hold, as the framework of the launch means them. */
static const rk_named_count sizes[] = {
    {"model.layers", RK_SHAPE_LAYERS},         {"model.hidden", RK_SHAPE_HIDDEN},
    {"model.heads", RK_SHAPE_HEADS},           {"model.ffn", RK_SHAPE_FFN_WIDTH},
    {"model.kv_heads", RK_SHAPE_KV_HEADS},     {"model.head_size", RK_SHAPE_HEAD_SIZE},
    {"model.experts", RK_SHAPE_EXPERTS},       {"model.topk", RK_SHAPE_TOP_K},
    {"model.moe_ffn", RK_SHAPE_EXPERT_FFN},    {"model.shared_ffn", RK_SHAPE_SHARED_FFN},
    {"model.mla.q_lora", RK_SHAPE_Q_RANK},     {"model.mla.kv_lora", RK_SHAPE_KV_RANK},
    {"model.mla.qk_nope", RK_SHAPE_NOPE_SIZE}, {"model.mla.qk_rope", RK_SHAPE_ROPE_SIZE},
    {"model.mla.v", RK_SHAPE_VALUE_SIZE},      {"model.vocab", RK_SHAPE_VOCAB},
    {"model.layers_real", RK_SHAPE_LAYERS},    {"model.mtp", RK_SHAPE_MTP},
};

/* ---- flags ----------------------------------------------------------------------------------- */

enum { NAMES_MAX = 64 };

/* Whether a flag is taken for the first time, which is then noted; a line may repeat any. */
static bool is_first(const char *names[NAMES_MAX], size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(names[i], name) == 0) {
            return false;
        }
    }
    if (*count < NAMES_MAX) {
        names[(*count)++] = name;
    }
    return true;
}

/* The last key of the command line that has the name of key `first`. */
static const rk_launch_key *find_last(const rk_launch *launch, size_t first)
{
    assert(first < launch->key_count);
    const rk_launch_key *last = &launch->keys[first];
    for (size_t i = first + 1; i < launch->key_count; i++) {
        const rk_launch_key *key = &launch->keys[i];
        last = !key->source && strcmp(key->name, last->name) == 0 ? key : last;
    }
    return last;
}

/* Takes the flags that no fact holds; one that is taken is used. */
static void take_flags(rk_launch *launch, rk_model_flags *flags)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < launch->key_count; i++) {
        rk_model_flag_kind kind = RK_MODEL_FLAG_ALONE;
        const char *name = launch->keys[i].name;
        rk_error ignored;
        if (launch->keys[i].source || rk_model_flag_place(name, &kind) == RK_SHAPE_COUNT ||
            !is_first(names, &count, name)) {
            continue;
        }
        const rk_launch_key *key = find_last(launch, i);
        const char *truth = key->value ? rk_launch_truth_text(key->value) : NULL;
        const bool off = kind == RK_MODEL_FLAG_ALONE && truth && strcmp(truth, "false") == 0;
        if (!off && !rk_model_flags_take(flags, name, key->value, &ignored)) {
            (void)rk_launch_find(launch, name);
        }
    }
}

/* Switches that other frameworks of the family have for the same. */
static void take_spellings(rk_launch *launch, rk_model_flags *flags)
{
    static const rk_named_count rows[] = {
        {"no-position-embedding", RK_SHAPE_ROPE},
        {"use-llama2-rotary-position-embeddings", RK_SHAPE_ROPE},
        {"geglu", RK_SHAPE_SWIGLU},
        {"gelu-tanh", RK_SHAPE_SWIGLU},
        {"glu-activation", RK_SHAPE_SWIGLU},
        {"shared-expert-gate", RK_SHAPE_SHARED_GATE},
        {"use-gated-attention", RK_SHAPE_OUTPUT_GATE},
    };
    const char *norm = rk_megatron_value(launch, "normalization");
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rk_megatron_find(launch, rows[i].name)) {
            rk_model_flags_keep(flags, (rk_model_place)rows[i].value, 1);
        }
    }
    if (norm && strcasecmp(norm, "rmsnorm") == 0) {
        rk_model_flags_keep(flags, RK_SHAPE_RMS, 1);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Lists the layers with experts where another framework has a rule of its own for a number. */
static void list_experts(const rk_launch *launch, const rk_megatron_usual *usual,
                         rk_model_flags *flags)
{
    const int64_t first = rk_launch_count_of(launch, "model.dense_layers_first");
    const int64_t every = rk_launch_count_of(launch, "model.moe_layer_freq");
    const int64_t layers = flags->size[RK_SHAPE_LAYERS];
    if ((first <= 0 && !usual->last_of_period) || layers <= 0 || layers > RK_LAYER_MAX) {
        return;
    }
    flags->experts = (rk_layer_list){.count = (int)layers};
    for (int i = 0; i < layers; i++) {
        flags->experts.of[i] =
            i >= first && (every <= 1 || (i + usual->last_of_period) % every == 0);
    }
}

/* A list for a number of layers other than the model's is none. */
static bool fits(const rk_layer_list *list, int64_t layers)
{
    return list->count == 0 || list->count == layers;
}

/* Sizes of parts that the model does not have: one expert, latents without latent attention. */
static void drop_without_effect(const rk_launch *launch, rk_model_flags *flags)
{
    if (!rk_launch_fact_of(launch, "model.experts")) {
        flags->size[RK_SHAPE_EXPERTS] = 0;
    }
    if (!rk_launch_holds(launch, "model.mla")) {
        flags->size[RK_SHAPE_Q_RANK] = 0;
        flags->size[RK_SHAPE_KV_RANK] = 0;
    }
}

/* Full attention in one layer of n, and a delta rule in the others. */
static void take_interval(rk_launch *launch, rk_model_flags *flags)
{
    const int64_t every = rk_megatron_count(launch, "full-attention-interval");
    if (every > 0 && every <= RK_LAYER_MAX) {
        rk_model_flags_keep(flags, RK_SHAPE_DELTA, 1);
        flags->linear = (rk_layer_list){.every = (int)every};
    }
}

/* An indexer, and windows, as MindSpeed-LLM has them. */
static void take_sparse(rk_launch *launch, rk_model_flags *flags)
{
    static const struct {
        const char *name;
        rk_model_place place;
        int64_t usual;
    } rows[] = {{"index-n-heads", RK_SHAPE_INDEX_HEADS, 64},
                {"index-head-dim", RK_SHAPE_INDEX_SIZE, 128},
                {"index-topk", RK_SHAPE_INDEX_KEYS, 2048}};
    const int64_t every_other = rk_megatron_count(launch, "interleave-sliding-window");
    const int64_t all = rk_megatron_count(launch, "sliding-window");
    if (rk_megatron_is_on(launch, "enable-dsa-indexer", false)) {
        rk_model_flags_keep(flags, RK_SHAPE_INDEXER, 1);
        for (size_t i = 0; i < COUNT(rows); i++) {
            const int64_t given = rk_megatron_count(launch, rows[i].name);
            rk_model_flags_keep(flags, rows[i].place, given > 0 ? given : rows[i].usual);
        }
    }
    if (every_other > 0 || all > 0) {
        rk_model_flags_keep(flags, RK_SHAPE_WINDOW, every_other > 0 ? every_other : all);
        flags->windows = (rk_layer_list){.every = every_other > 0 ? 2 : 0};
    }
}

/* Marks modules of layers from outside the framework; its own repeat what the flags say. */
static void mark_modules(rk_launch *launch)
{
    const rk_launch_key *spec = rk_megatron_find(launch, "spec");
    const char *module = spec && spec->value ? spec->value : "";
    module += strspn(module, "['\"");
    if (spec && strncmp(module, "mindspeed", 9) == 0) {
        rk_megatron_leave(launch, spec->name);
    }
    if (spec && strncmp(module, "megatron.core", 13) != 0 && strncmp(module, "mindspeed", 9) != 0 &&
        strcmp(module, "local") != 0) {
        rk_launch_mark(launch, spec->name, RK_KEY_NOT_PRICED,
                       "layers of another module are priced as the layers that the flags describe");
    }
}

/* Classes flags of the tokenizer and the padding where another flag gives the vocabulary. */
static void leave_vocabulary(rk_launch *launch)
{
    static const char *const tokenizer[] = {"tokenizer-type", "tokenizer-model",
                                            "tokenizer-name-or-path"};
    static const char *const counts[] = {"vocab-size", "make-vocab-size-divisible-by"};
    static const char *const rows[] = {"padded-vocab-size", "pad-vocab-size-to", NULL};
    const bool given = rk_megatron_find(launch, "vocab-size") != NULL;
    const bool padded = rk_megatron_find_among(launch, rows) != NULL;
    rk_megatron_leave(launch, "vocab-file"); /* GPT-2's, as without a tokenizer */
    for (size_t i = 0; i < COUNT(tokenizer) && (given || padded); i++) {
        rk_megatron_leave(launch, tokenizer[i]);
    }
    for (size_t i = 0; i < COUNT(counts) && padded; i++) {
        rk_megatron_leave(launch, counts[i]);
    }
}

/* Classes flags of parts that this model lacks, or that another flag gives. */
static void leave_flags(rk_launch *launch, const rk_model_flags *flags)
{
    static const char *const latent[] = {"kv-channels", "qk-layernorm"};
    static const char *const ranks[] = {"q-lora-rank", "kv-lora-rank"};
    static const char *const alike[] = {"squared-relu", "quick-geglu"}; /* as any activation */
    for (size_t i = 0; i < COUNT(latent); i++) { /* which has sizes and norms of its own */
        rk_megatron_leave(launch, rk_launch_holds(launch, "model.mla") ? latent[i] : ranks[i]);
    }
    leave_vocabulary(launch);
    for (size_t i = 0; i < COUNT(alike); i++) {
        const rk_launch_key *key = rk_megatron_find(launch, alike[i]);
        if (key && rk_launch_origin_of(launch, "model.gated") == RK_FACT_DEFAULT) {
            rk_megatron_leave(launch, alike[i]);
        }
    }
    if (flags->size[RK_SHAPE_ROPE]) {
        rk_megatron_leave(launch, "max-position-embeddings"); /* no table of positions */
    }
    if (rk_launch_fact_of(launch, "model.hybrid_pattern")) {
        rk_megatron_leave(launch, "num-layers");
    }
}

/* Whether no layer has a dense network: an expert's width is given, too. */
static bool has_experts_alone(const rk_launch *launch)
{
    const char *frequency = rk_launch_fact_of(launch, "model.moe_layer_freq");
    return rk_launch_count_of(launch, "model.experts") > 0 && frequency &&
           !strchr(frequency, '0') && rk_launch_count_of(launch, "model.moe_layer_freq") <= 1 &&
           rk_launch_count_of(launch, "model.dense_layers_first") <= 0 &&
           rk_launch_origin_of(launch, "model.moe_ffn") == RK_FACT_STATED;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* The flag without which no document can be made; NULL: none is missing. */
static const char *find_missing(const rk_launch *launch, const rk_model_flags *flags)
{
    static const rk_model_place needed[] = {RK_SHAPE_HIDDEN, RK_SHAPE_HEADS, RK_SHAPE_VOCAB};
    const rk_model_place unbuilt = rk_model_flags_unbuilt(flags);
    const int64_t layers = flags->size[RK_SHAPE_LAYERS];
    for (size_t i = 0; i < COUNT(needed); i++) {
        if (flags->size[needed[i]] <= 0) {
            return rk_model_flag_name(needed[i]);
        }
    }
    if (layers <= 0 || layers > RK_LAYER_MAX) {
        return rk_model_flag_name(RK_SHAPE_LAYERS);
    }
    return unbuilt != RK_SHAPE_COUNT           ? rk_model_flag_name(unbuilt)
           : !fits(&flags->experts, layers)    ? "moe-layer-freq"
           : !fits(&flags->windows, layers)    ? "window-attn-skip-freq"
           : !fits(&flags->linear, layers)     ? "linear-attention-freq"
           : rk_launch_has(launch, "yaml-cfg") ? "yaml-cfg"
                                               : NULL;
}

void rk_megatron_state_document(rk_launch *launch, const rk_megatron_usual *usual)
{
    static const char *const tokenizers[] = {"tokenizer-model", "tokenizer-name-or-path",
                                             "patch-tokenizer-type", NULL};
    rk_model_flags flags = {0};
    char text[RK_MODEL_DOCUMENT_SIZE];
    take_flags(launch, &flags);
    take_spellings(launch, &flags);
    take_interval(launch, &flags);
    take_sparse(launch, &flags);
    mark_modules(launch);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int64_t value = rk_launch_count_of(launch, sizes[i].name);
        if (value > 0 && value <= INT32_MAX) {
            rk_model_flags_keep(&flags, (rk_model_place)sizes[i].value, value);
        }
    }
    drop_without_effect(launch, &flags);
    if (flags.size[RK_SHAPE_VOCAB] == 0 && !flags.tokenizer[0] &&
        !rk_megatron_find_among(launch, tokenizers)) {
        rk_model_flags_keep(
            &flags, RK_SHAPE_VOCAB,
            rk_megatron_pad_vocabulary(rk_launch_tokenizer_entries("GPT2BPETokenizer"), 128,
                                       rk_launch_count_of(launch, "tp")));
    }
    list_experts(launch, usual, &flags);
    leave_flags(launch, &flags);
    if (has_experts_alone(launch)) {
        rk_megatron_leave(launch, "ffn-hidden-size");
    }
    const char *missing = find_missing(launch, &flags);
    if (!missing) {
        rk_launch_state(launch, "model.document", rk_model_document(&flags, text), RK_FACT_DERIVED,
                        NULL);
    } else if (strcmp(missing, "vocab-size") == 0) {
        static const char note[] = "its number of entries is not known; add --vocab-size";
        rk_launch_mark(launch, "tokenizer-", RK_KEY_NOT_PRICED, note);
        rk_launch_mark(launch, "patch-tokenizer-type", RK_KEY_NOT_PRICED, note);
    } else {
        rk_launch_mark(launch, missing, RK_KEY_NOT_PRICED,
                       "no model can be built from this; give --model");
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which architecture a config.json describes: by its type, by its class, or by its keys. */
#include "base/text.h"
#include "base/units.h"
#include "model/hf_rows.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { NAMES_MAX = 256 };

/* Types whose layers are those of another type. */
static const struct {
    const char *name, *type;
} synonyms[] = {
    {"aquila", "llama"},
    {"aria_moe_lm", "aria_text"},
    {"axk1", "deepseek_v3"},
    {"bailing_hybrid", "bailing_moe_linear"},
    {"bailing_moe_linear_v2", "bailing_moe_linear"},
    {"bailing_moe_v2", "bailing_moe"},
    {"code_llama", "llama"},
    {"codegen", "gptj"},
    {"cwm", "llama"},
    {"deci", "nemotron-nas"},
    {"dots_ocr", "qwen2"},
    {"dots_vlm", "deepseek_v3"},
    {"emu3", "llama"},
    {"emu3_text_model", "llama"},
    {"ernie4_5_moe_vl", "ernie4_5_vl_moe"},
    {"ernie4_5_vl_moe_text", "ernie4_5_vl_moe"},
    {"exaone4_5_text", "exaone4"},
    {"flex_olmo", "olmoe"},
    {"glm4_moe_lite", "deepseek_v3"},
    {"glm4v", "glm4"},
    {"glm4v_moe_text", "glm4_moe"},
    {"glm4v_text", "glm4"},
    {"GOT", "qwen2"},
    {"granitemoeshared", "granitemoe"},
    {"grinmoe", "phimoe"},
    {"Emu3", "llama"},
    {"helium", "llama"},
    {"hunyuan_vl", "hunyuan_v1_dense"},
    {"hunyuan_vl_text", "hunyuan_v1_dense"},
    {"keye", "qwen3"},
    {"keye_vl1_5", "qwen3"},
    {"llava_llama", "llama"},
    {"llava_mistral", "mistral"},
    {"llava_qwen", "qwen2"},
    {"mimo_v2", "mimo_v2_flash"},
    {"minimax", "minimax_text_01"},
    {"minicpmo", "minicpmv"},
    {"minimax_m1", "minimax_text_01"},
    {"ministral", "mistral"},
    {"ministral3", "mistral"},
    {"mixformer-sequential", "phi"},
    {"moss", "gptj"},
    {"open_llama", "llama"},
    {"paddleocr_vl", "ernie4_5"},
    {"phi-msft", "phi"},
    {"phi3_v", "phi3"},
    {"phi4_multimodal", "phi3"},
    {"phi4mm", "phi3"},
    {"qwen2_5_omni_text", "qwen2"},
    {"qwen2_5_vl", "qwen2"},
    {"qwen2_5_vl_text", "qwen2"},
    {"qwen2_vl", "qwen2"},
    {"qwen2_vl_text", "qwen2"},
    {"qwen3_asr_text", "qwen3"},
    {"qwen3_omni_moe_text", "qwen3_moe"},
    {"qwen3_vl_moe_text", "qwen3_moe"},
    {"qwen3_vl_text", "qwen3"},
    {"RefinedWeb", "falcon"},
    {"RefinedWebModel", "falcon"},
    {"skywork", "llama"},
    {"solar", "llama"},
    {"stablelm_epoch", "stablelm"},
    {"step3p5", "step3p7"},
    {"xverse", "llama"},
    {"Yi", "llama"},
};

typedef struct rows {
    const hf_architecture *first;
    const size_t *count;
} rows;

static const rows tables[] = {
    {rk_hf_dense, &rk_hf_dense_count},     {rk_hf_experts, &rk_hf_experts_count},
    {rk_hf_hybrids, &rk_hf_hybrids_count}, {rk_hf_linears, &rk_hf_linears_count},
    {rk_hf_sharing, &rk_hf_sharing_count}, {rk_hf_sparse, &rk_hf_sparse_count},
    {rk_hf_widths, &rk_hf_widths_count},
};

/* Returns the i-th architecture of all tables, or NULL behind the last. */
static const hf_architecture *architecture_at(size_t i)
{
    for (size_t t = 0; t < COUNT(tables); t++) {
        if (i < *tables[t].count) {
            return &tables[t].first[i];
        }
        i -= *tables[t].count;
    }
    return NULL;
}

const hf_architecture *rk_hf_find_type(const char *type)
{
    for (size_t i = 0; i < COUNT(synonyms); i++) {
        if (strcmp(synonyms[i].name, type) == 0) {
            type = synonyms[i].type;
            break;
        }
    }
    const hf_architecture *at = NULL;
    for (size_t i = 0; (at = architecture_at(i)) != NULL; i++) {
        if (strcmp(at->type, type) == 0) {
            return at;
        }
    }
    return NULL;
}

/* The next letter of a name, in lower case, without marks between its words. */
static int next_letter(const char **at)
{
    while (**at == '_' || **at == '-') {
        (*at)++;
    }
    return **at ? tolower((unsigned char)*(*at)++) : 0;
}

/* Whether a class like "GPTNeoXForCausalLM" is that of a type like "gpt_neox". */
static bool is_class_of(const char *class_name, const char *type)
{
    static const char *const endings[] = {"For", "LMHead", "ModelFor"};
    const char *rest = class_name;
    while (*type && strcmp(type, "_text") != 0) {
        if (next_letter(&type) != next_letter(&rest)) {
            return false;
        }
    }
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (strncmp(rest, endings[i], strlen(endings[i])) == 0) {
            return true;
        }
    }
    return strcmp(rest, "Model") == 0;
}

const hf_architecture *rk_hf_find_class(const char *class_name)
{
    const hf_architecture *at = NULL;
    for (size_t i = 0; (at = architecture_at(i)) != NULL; i++) {
        if (is_class_of(class_name, at->type)) {
            return at;
        }
    }
    for (size_t i = 0; i < COUNT(synonyms); i++) {
        if (is_class_of(class_name, synonyms[i].name)) {
            return rk_hf_find_type(synonyms[i].type);
        }
    }
    return NULL;
}

/* Types whose layers rk_model lacks, or that are no decoders. */
static const struct {
    const char *type, *reason;
} inexpressible[] = {
    {"bart", "an encoder and a decoder"},
    {"bert", "an encoder in place of a decoder"},
    {"bitnet", "norms within attention and the FFN"},
    {"chameleon", "norms of queries and keys that differ from head to head"},
    {"deberta-v2", "an encoder in place of a decoder"},
    {"diffllama", "differential attention"},
    {"gemma3n", "several residual streams, updated in turn (AltUp)"},
    {"gemma3n_text", "several residual streams, updated in turn (AltUp)"},
    {"hymba", "learned tokens before every sequence, and heads of two kinds in one layer"},
    {"jetmoe", "experts in place of heads of attention"},
    {"mllama", "cross-attention"},
    {"modernbert", "an encoder in place of a decoder"},
    {"mt5", "an encoder and a decoder"},
    {"phi3small", "block-sparse attention of a fixed pattern"},
    {"phi4flash", "differential attention, and layers that reuse the memory of other layers"},
    {"recurrent_gemma", "gated linear recurrences (RG-LRU)"},
    {"roberta", "an encoder in place of a decoder"},
    {"rwkv", "the time mixing of RWKV"},
    {"rwkv5", "the time mixing of RWKV"},
    {"rwkv6", "the time mixing of RWKV"},
    {"rwkv7", "the time mixing of RWKV"},
    {"step3_text", "queries of a low rank that heads share (MFA)"},
    {"t5", "an encoder and a decoder"},
    {"t5gemma", "an encoder and a decoder"},
    {"telechat", "biases in some of the matrices of a layer"},
    {"whisper", "an encoder and a decoder"},
    {"xlstm", "the memory cells of xLSTM"},
    {"zamba", "transformer blocks whose weights layers share"},
};

const char *rk_hf_reason_against(const char *name)
{
    for (size_t i = 0; i < COUNT(inexpressible); i++) {
        if (strcmp(inexpressible[i].type, name) == 0 || is_class_of(name, inexpressible[i].type)) {
            return inexpressible[i].reason;
        }
    }
    return NULL;
}

const char *rk_hf_nearest_type(const char *text)
{
    const char *names[NAMES_MAX];
    const hf_architecture *at = NULL;
    size_t count = 0;
    for (size_t i = 0; (at = architecture_at(i)) != NULL && count < NAMES_MAX; i++) {
        names[count++] = at->type;
    }
    for (size_t i = 0; i < COUNT(synonyms) && count < NAMES_MAX; i++) {
        names[count++] = synonyms[i].name;
    }
    return rk_nearest_name(text, names, count);
}

/* A decoder by its keys alone. */
static const hf_architecture by_keys = {
    .type = "like llama",
    .norms = 2,
    .window = HF_WINDOW_LATE,
    .normalises_qk = {"use_qk_norm", false},
    .qk_norm = RK_QK_NORM_HEAD,
    .has_experts = true,
    LLAMA_BIASES,
};

const hf_architecture *rk_hf_guess_type(const hf_draft *draft)
{
    static const char *const needed[] = {"hidden_size",       "num_hidden_layers",
                                         "intermediate_size", "num_attention_heads",
                                         "vocab_size",        "rms_norm_eps"};
    const char *activation = json_string_value(rk_hf_find(draft, "hidden_act"));
    for (size_t i = 0; i < COUNT(needed); i++) {
        if (!json_is_number(rk_hf_find(draft, needed[i]))) {
            return NULL;
        }
    }
    if (!activation || (strcmp(activation, "silu") != 0 && strcmp(activation, "swish") != 0) ||
        json_is_true(rk_hf_find(draft, "is_encoder_decoder"))) {
        return NULL;
    }
    return &by_keys;
}

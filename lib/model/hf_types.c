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
    {"Yi", "llama"},
    {"aquila", "llama"},
    {"bailing_hybrid", "bailing_moe_linear"},
    {"bailing_moe_linear_v2", "bailing_moe_linear"},
    {"bailing_moe_v2", "bailing_moe"},
    {"codegen", "gptj"},
    {"cwm", "llama"},
    {"exaone4_5_text", "exaone4"},
    {"flex_olmo", "olmoe"},
    {"glm4_moe_lite", "deepseek_v3"},
    {"glm4v", "glm4"},
    {"glm4v_moe_text", "glm4_moe"},
    {"glm4v_text", "glm4"},
    {"granitemoeshared", "granitemoe"},
    {"helium", "llama"},
    {"deci", "nemotron-nas"},
    {"minimax_m1", "minimax_text_01"},
    {"minimax", "minimax_text_01"},
    {"ministral", "mistral"},
    {"ministral3", "mistral"},
    {"phi3_v", "phi3"},
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
    {"step3p5", "step3p7"},
    {"xverse", "llama"},
};

typedef struct rows {
    const hf_architecture *first;
    const size_t *count;
} rows;

static const rows tables[] = {
    {rk_hf_dense, &rk_hf_dense_count},     {rk_hf_experts, &rk_hf_experts_count},
    {rk_hf_hybrids, &rk_hf_hybrids_count}, {rk_hf_linears, &rk_hf_linears_count},
    {rk_hf_sharing, &rk_hf_sharing_count}, {rk_hf_sparse, &rk_hf_sparse_count},
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

/* Whether a class like "GPTNeoXForCausalLM" is that of a type like "gpt_neox". */
static bool is_class_of(const char *class_name, const char *type)
{
    for (; *type; type++) {
        if (*type != '_' &&
            tolower((unsigned char)*class_name++) != tolower((unsigned char)*type)) {
            return false;
        }
    }
    return strncmp(class_name, "For", 3) == 0 || strncmp(class_name, "LMHead", 6) == 0;
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
        !json_is_string(rk_hf_find(draft, "model_type")) ||
        json_is_true(rk_hf_find(draft, "is_encoder_decoder"))) {
        return NULL;
    }
    return &by_keys;
}

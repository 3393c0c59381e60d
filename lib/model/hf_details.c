/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details of a model that launch files state and no cost depends on: activation, router, epsilon of
 * norms, rotary positions.  Nothing here is refused: a value that is not understood is "other", or
 * stays unknown.
 */
#include "base/named.h"
#include "base/units.h"
#include "model/hf_table.h"

#include <string.h>

#define NUMBER_MAX 1e12

/* The number of the first of the keys that has one; 0: none has. */
static double find_number(const hf_draft *draft, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = rk_hf_find(draft, keys[i]);
        if (json_number_value(value) > 0 && json_number_value(value) < NUMBER_MAX) {
            return json_number_value(value);
        }
    }
    return 0;
}

#define FIND_NUMBER(draft, ...)                                                                    \
    find_number(draft, (const char *const[]){__VA_ARGS__},                                         \
                COUNT(((const char *const[]){__VA_ARGS__})))

static const char *find_text(const hf_draft *draft, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = rk_hf_find(draft, keys[i]);
        if (json_is_string(value)) {
            return json_string_value(value);
        }
    }
    return NULL;
}

#define FIND_TEXT(draft, ...)                                                                      \
    find_text(draft, (const char *const[]){__VA_ARGS__},                                           \
              COUNT(((const char *const[]){__VA_ARGS__})))

static rk_activation find_activation(const hf_draft *draft)
{
    static const rk_named_count names[] = {
        {"silu", RK_ACTIVATION_SILU},           {"swish", RK_ACTIVATION_SILU},
        {"gelu", RK_ACTIVATION_GELU},           {"gelu_new", RK_ACTIVATION_GELU_TANH},
        {"gelu_fast", RK_ACTIVATION_GELU_TANH}, {"gelu_pytorch_tanh", RK_ACTIVATION_GELU_TANH},
        {"relu", RK_ACTIVATION_RELU},           {"relu2", RK_ACTIVATION_RELU2},
    };
    const char *name = FIND_TEXT(draft, "hidden_activation", "hidden_act", "activation_function");
    if (!name) {
        return RK_ACTIVATION_USUAL;
    }
    return (rk_activation)rk_named_count_of(names, COUNT(names), name, RK_ACTIVATION_OTHER);
}

/* Types whose classes score by sigmoid by default. */
static bool scores_by_sigmoid(const char *type)
{
    static const char *const types[] = {"deepseek_v3", "kimi_k2",       "glm4_moe",
                                        "minimax_m2",  "mimo_v2_flash", "llama4_text"};
    for (size_t i = 0; i < COUNT(types); i++) {
        if (strcmp(type, types[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void read_router(const hf_draft *draft, rk_model_details *details)
{
    const char *score = FIND_TEXT(draft, "scoring_func");
    const bool sigmoid =
        score ? strcmp(score, "sigmoid") == 0 : scores_by_sigmoid(draft->architecture->type);
    details->router = sigmoid ? RK_ROUTER_SIGMOID : RK_ROUTER_SOFTMAX;
    details->router_raw = json_is_false(rk_hf_find(draft, "norm_topk_prob"));
    details->router_scale = FIND_NUMBER(draft, "routed_scaling_factor");
}

static rk_rope_scaling find_scaling(const hf_draft *draft)
{
    const char *name = FIND_TEXT(draft, "rope_scaling.rope_type", "rope_scaling.type",
                                 "rope_parameters.rope_type");
    if (!name || strcmp(name, "default") == 0) {
        return RK_ROPE_PLAIN;
    }
    return strcmp(name, "llama3") == 0 ? RK_ROPE_LLAMA3
           : strcmp(name, "yarn") == 0 ? RK_ROPE_YARN
                                       : RK_ROPE_OTHER;
}

/* Hybrids whose attention knows no positions, although their files may have a rotary base. */
static bool lacks_positions(const hf_draft *draft)
{
    const char *type = draft->architecture->type;
    const char *positions = json_string_value(rk_hf_find(draft, "position_embedding_type"));
    return strcmp(type, "nemotron_h") == 0 || strcmp(type, "jamba") == 0 ||
           (positions && strcmp(positions, "nope") == 0);
}

/* Bamba: defaults of its configuration class, and elements of a head that rotate. */
static void read_bamba(const hf_draft *draft, rk_model_details *details)
{
    const double base = 10000, rotating = FIND_NUMBER(draft, "attn_rotary_emb");
    const double size = (double)draft->size[HF_HIDDEN] / (double)draft->size[HF_HEADS];
    details->rope_base = details->rope_base > 0 ? details->rope_base : base;
    details->rope_share = rotating > 0 && rotating < size ? rotating / size : 0;
}

static void read_positions(const hf_draft *draft, rk_model_details *details)
{
    const char *type = draft->architecture->type;
    if (lacks_positions(draft)) {
        return;
    }
    details->alibi = strcmp(type, "bloom") == 0 || json_is_true(rk_hf_find(draft, "alibi")) ||
                     json_is_true(rk_hf_find(draft, "attn_config.alibi"));
    details->rope_base = FIND_NUMBER(draft, "rope_theta", "rope_parameters.rope_theta",
                                     "rotary_emb_base", "attn_config.rope_theta");
    details->rope_window_base = FIND_NUMBER(draft, "rope_local_base_freq");
    details->rope_share = FIND_NUMBER(draft, "partial_rotary_factor", "rotary_pct", "rope_percent");
    details->rope_scaling = find_scaling(draft);
    details->rope_factor = FIND_NUMBER(draft, "rope_scaling.factor", "rope_parameters.factor");
    details->rope_positions =
        (int64_t)FIND_NUMBER(draft, "rope_scaling.original_max_position_embeddings",
                             "rope_parameters.original_max_position_embeddings");
    details->rope_mscale = FIND_NUMBER(draft, "rope_scaling.mscale");
    details->rope_mscale_all = FIND_NUMBER(draft, "rope_scaling.mscale_all_dim");
    details->rope_beta_fast = FIND_NUMBER(draft, "rope_scaling.beta_fast");
    details->rope_beta_slow = FIND_NUMBER(draft, "rope_scaling.beta_slow");
    if (strcmp(type, "bamba") == 0) {
        read_bamba(draft, details);
    }
}

rk_status rk_hf_read_details(hf_draft *draft, rk_error *err)
{
    rk_model_details *details = &draft->model.details;
    (void)err;
    details->activation = find_activation(draft);
    details->norm_epsilon =
        FIND_NUMBER(draft, "rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_eps");
    read_router(draft, details);
    read_positions(draft, details);
    return RK_OK;
}

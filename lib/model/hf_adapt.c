/* SPDX-License-Identifier: Apache-2.0 */
/* Traits of single families of Hugging Face models that no column of a table holds. */
#include "model/hf_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set_biases(hf_draft *draft, bool value)
{
    draft->layer.attention.bias_qkv = value;
    draft->layer.attention.bias_out = value;
    draft->layer.ffn.bias = value;
}

/* Apertus: xIELU has two learned numbers per layer. */
static rk_status adapt_apertus(hf_draft *draft, rk_error *err)
{
    (void)err;
    draft->layer.ffn.activation_scalars = 2;
    return RK_OK;
}

/* ChatGLM-6B: GPT's layers with biases, before the second generation adopted Llama's. */
static rk_status adapt_first_chatglm(hf_draft *draft, const json_t *width, rk_error *err)
{
    draft->model.norm = RK_NORM_LAYER;
    draft->model.tied = true;
    draft->layer.ffn.gated = false;
    draft->size[HF_KV_HEADS] = draft->size[HF_HEADS];
    set_biases(draft, true);
    return rk_hf_read_size(draft, "inner_hidden_size", width, &draft->size[HF_FFN], err);
}

/* ChatGLM and GLM-4: groups count only with multi_query_attention; linear biases cover q, k, v. */
static rk_status adapt_chatglm(hf_draft *draft, rk_error *err)
{
    const json_t *first = rk_hf_find(draft, "inner_hidden_size");
    bool grouped = false, bias = false, final_norm = false;
    if (first) {
        return adapt_first_chatglm(draft, first, err);
    }
    rk_status status =
        rk_hf_read_flag(draft, (hf_flag){"multi_query_attention", false}, &grouped, err);
    if (!status) {
        status = rk_hf_read_flag(draft, (hf_flag){"add_bias_linear", false}, &bias, err);
    }
    if (!status) {
        status = rk_hf_read_flag(draft, (hf_flag){"post_layer_norm", true}, &final_norm, err);
    }
    if (!grouped) {
        draft->size[HF_KV_HEADS] = draft->size[HF_HEADS];
    }
    if (bias) {
        set_biases(draft, true);
    }
    draft->model.final_norm = final_norm;
    return status;
}

/*
 * Falcon has three shapes: the new one (40B, 180B) with groups of heads and two norms side by
 * side, one key and value head with one norm (7B), and plain heads one after the other (RW).
 */
static rk_status adapt_falcon(hf_draft *draft, rk_error *err)
{
    const bool groups = draft->size[HF_KV_HEADS] > 1 && rk_hf_find(draft, "n_head_kv"); /* 40B */
    bool new_shape = false, multi_query = false;
    rk_status status =
        rk_hf_read_flag(draft, (hf_flag){"new_decoder_architecture", groups}, &new_shape, err);
    if (!status) {
        status = rk_hf_read_flag(draft, (hf_flag){"multi_query", true}, &multi_query, err);
    }
    if (new_shape) {
        const json_t *norms = rk_hf_find(draft, "num_ln_in_parallel_attn");
        draft->model.parallel_block = true;
        draft->model.norms_per_layer = norms && json_integer_value(norms) == 1 ? 1 : 2;
    } else {
        draft->size[HF_KV_HEADS] = multi_query ? 1 : draft->size[HF_HEADS];
        draft->model.norms_per_layer = draft->model.parallel_block ? 1 : 2;
    }
    return status;
}

/* StarCoder: one key and value head, unless multi_query is off. */
static rk_status adapt_gpt_bigcode(hf_draft *draft, rk_error *err)
{
    bool multi_query = false;
    const rk_status status =
        rk_hf_read_flag(draft, (hf_flag){"multi_query", true}, &multi_query, err);
    draft->size[HF_KV_HEADS] = multi_query ? 1 : draft->size[HF_HEADS];
    return status;
}

/* Grok-2: experts and, in parallel, a dense network of width intermediate_size. */
static rk_status adapt_grok(hf_draft *draft, rk_error *err)
{
    int64_t *size = draft->size;
    bool beside = false;
    const rk_status status = rk_hf_read_flag(draft, (hf_flag){"residual_moe", false}, &beside, err);
    if (beside) {
        size[HF_SHARED_FFN] = size[HF_FFN];
    }
    if (size[HF_EXPERT_FFN] > 0) {
        size[HF_FFN] = size[HF_EXPERT_FFN];
    }
    return status;
}

/* OLMo of the first generation: a width or a ratio for both gated branches; a table of its own. */
static rk_status adapt_hf_olmo(hf_draft *draft, rk_error *err)
{
    const json_t *ratio = rk_hf_find(draft, "mlp_ratio");
    const json_t *width = rk_hf_find(draft, "mlp_hidden_size");
    const json_t *rows = rk_hf_find(draft, "embedding_size");
    int64_t both = (ratio ? json_integer_value(ratio) : 4) * draft->size[HF_HIDDEN];
    rk_status status = width ? rk_hf_read_size(draft, "mlp_hidden_size", width, &both, err) : RK_OK;
    if (!status && rows) {
        status = rk_hf_read_size(draft, "embedding_size", rows, &draft->size[HF_VOCAB], err);
    }
    draft->size[HF_FFN] = both / 2;
    return status
               ? status
               : rk_hf_read_flag(draft, (hf_flag){"weight_tying", true}, &draft->model.tied, err);
}

/* Arcee's AFMoE: the output of attention is gated. */
static rk_status adapt_afmoe(hf_draft *draft, rk_error *err)
{
    (void)err;
    draft->layer.attention.output_gate = true;
    return RK_OK;
}

/* Aria: intermediate_size is the width of an expert, unless another key says it. */
static rk_status adapt_aria(hf_draft *draft, rk_error *err)
{
    (void)err;
    if (draft->size[HF_EXPERT_FFN] > 0) {
        draft->size[HF_FFN] = draft->size[HF_EXPERT_FFN];
    }
    return RK_OK;
}

/* Arctic: experts and, in parallel, a dense network of the model's width with its own norm. */
static rk_status adapt_arctic(hf_draft *draft, rk_error *err)
{
    bool beside = true;
    const rk_status status =
        rk_hf_read_flag(draft, (hf_flag){"parallel_attn_mlp_res", true}, &beside, err);
    if (beside) {
        draft->size[HF_SHARED_FFN] = draft->size[HF_HIDDEN];
        draft->model.norms_per_layer = 3;
    }
    return status;
}

/* ERNIE 4.5 with vision: tokens of pictures have experts of their own. */
static rk_status adapt_ernie_vl(hf_draft *draft, rk_error *err)
{
    (void)err;
    if (json_is_array(rk_hf_find(draft, "moe_num_experts"))) {
        rk_hf_note(draft, "experts of the tokens of pictures", "moe_num_experts");
    }
    return RK_OK;
}

/* Jais: the FFN may be gated, and positions may be a table. */
static rk_status adapt_jais(hf_draft *draft, rk_error *err)
{
    const char *activation = json_string_value(rk_hf_find(draft, "activation_function"));
    const char *positions = json_string_value(rk_hf_find(draft, "position_embedding_type"));
    (void)err;
    draft->layer.ffn.gated = activation && strcmp(activation, "swiglu") == 0;
    if (!positions || strcmp(positions, "learned") == 0) {
        draft->model.learned_positions = draft->size[HF_CONTEXT];
    }
    return RK_OK;
}

/* HunYuan of 2025: shared experts have the width of the FFN, and so have routed ones by default. */
static rk_status adapt_hunyuan_v1_moe(hf_draft *draft, rk_error *err)
{
    int64_t *size = draft->size;
    (void)err;
    if (size[HF_EXPERT_FFN] == 0) {
        size[HF_EXPERT_FFN] = size[HF_FFN];
    }
    size[HF_SHARED_FFN] = size[HF_SHARED_EXPERTS] * size[HF_FFN];
    if (size[HF_EXPERTS] == 1) {
        size[HF_EXPERTS] = 0;
    }
    return RK_OK;
}

/* HyperCLOVA X: norms may follow attention and FFN too. */
static rk_status adapt_hyperclovax(hf_draft *draft, rk_error *err)
{
    bool after = false;
    const rk_status status = rk_hf_read_flag(draft, (hf_flag){"use_post_norm", false}, &after, err);
    draft->model.norms_per_layer = after ? 4 : 2;
    return status;
}

/*
 * MiniCPM-V and -o: the version of the file says whose layers they are: Qwen2's (2.6), Qwen3's
 * (4.5), else Llama's (of Llama 3 and of MiniCPM).
 */
static rk_status adapt_minicpmv(hf_draft *draft, rk_error *err)
{
    const json_t *given = rk_hf_find(draft, "version");
    const char *text = json_string_value(given);
    const double version = text ? strtod(text, NULL) : json_number_value(given);
    (void)err;
    draft->layer.attention.bias_qkv = version > 2.55 && version < 3.5;
    if (version > 4.25) {
        draft->layer.attention.qk_norm = RK_QK_NORM_HEAD;
        draft->size[HF_HEAD_SIZE] = draft->size[HF_HEAD_SIZE] > 0 ? draft->size[HF_HEAD_SIZE] : 128;
    }
    return RK_OK;
}

/* MiniCPM3: values have the size that heads would have without latents. */
static rk_status adapt_minicpm3(hf_draft *draft, rk_error *err)
{
    const int64_t hidden = draft->size[HF_HIDDEN], heads = draft->size[HF_HEADS];
    if (draft->size[HF_VALUE_SIZE] == 0 && heads > 0) {
        if (hidden % heads != 0) {
            return rk_hf_fail(draft, "v_head_dim", err,
                              "this key is missing, and hidden_size is not a multiple of "
                              "num_attention_heads");
        }
        draft->size[HF_VALUE_SIZE] = hidden / heads;
    }
    return RK_OK;
}

/* Molmo: intermediate_size is the sum of both gated branches, and tying has a key of its own. */
static rk_status adapt_molmo(hf_draft *draft, rk_error *err)
{
    draft->size[HF_FFN] /= 2;
    return rk_hf_read_flag(draft, (hf_flag){"weight_tying", draft->model.tied}, &draft->model.tied,
                           err);
}

/* MPT: the FFN is a multiple of the width; no_bias off gives biases to linears and norms. */
static rk_status adapt_mpt(hf_draft *draft, rk_error *err)
{
    const json_t *ratio = rk_hf_find(draft, "expansion_ratio");
    bool no_bias = true;
    const rk_status status = rk_hf_read_flag(draft, (hf_flag){"no_bias", true}, &no_bias, err);
    if (ratio) {
        const double width = json_number_value(ratio) * (double)draft->size[HF_HIDDEN];
        if (!(width >= 1 && width <= 0x1p40)) {
            return rk_hf_fail(draft, "expansion_ratio", err,
                              "expected a number above 0 (FFN width over d_model)");
        }
        draft->size[HF_FFN] = (int64_t)floor(width);
    }
    if (!no_bias) {
        set_biases(draft, true);
        draft->model.norm = RK_NORM_LAYER;
    }
    return status;
}

/* OPT: where norms follow the residual there is no final norm. */
static rk_status adapt_opt(hf_draft *draft, rk_error *err)
{
    const json_t *projection = rk_hf_find(draft, "word_embed_proj_dim");
    bool norm_first = true, removed = false, has_weights = true;
    rk_status status =
        rk_hf_read_flag(draft, (hf_flag){"do_layer_norm_before", true}, &norm_first, err);
    if (!status) {
        status =
            rk_hf_read_flag(draft, (hf_flag){"_remove_final_layer_norm", false}, &removed, err);
    }
    if (!status) {
        status = rk_hf_read_flag(draft, (hf_flag){"layer_norm_elementwise_affine", true},
                                 &has_weights, err);
    }
    if (projection && json_integer_value(projection) != draft->size[HF_HIDDEN]) {
        const rk_status read = rk_hf_read_size(draft, "word_embed_proj_dim", projection,
                                               &draft->model.embedding_width, err);
        if (read) {
            return read;
        }
    }
    draft->model.final_norm = norm_first && !removed;
    if (!has_weights) {
        draft->model.norm = RK_NORM_LAYER_NO_WEIGHT;
    }
    return status;
}

/* PhiMoE: the output layer may have a bias. */
static rk_status adapt_phimoe(hf_draft *draft, rk_error *err)
{
    return rk_hf_read_flag(draft, (hf_flag){"lm_head_bias", false}, &draft->model.head_bias, err);
}

/* Qwen of the first generation: intermediate_size is the sum of both gated branches. */
static rk_status adapt_qwen(hf_draft *draft, rk_error *err)
{
    bool no_bias = true;
    const rk_status status = rk_hf_read_flag(draft, (hf_flag){"no_bias", true}, &no_bias, err);
    draft->size[HF_FFN] /= 2;
    if (!no_bias) {
        set_biases(draft, true);
    }
    return status;
}

/* StableLM: one norm serves both branches of a parallel block. */
static rk_status adapt_stablelm(hf_draft *draft, rk_error *err)
{
    (void)err;
    if (draft->model.parallel_block) {
        draft->model.norms_per_layer = 1;
    }
    return RK_OK;
}

const hf_special rk_hf_adapt_specials[] = {
    {"qwen", adapt_qwen, NULL},
    {"minicpm3", adapt_minicpm3, NULL},
    {"falcon", adapt_falcon, NULL},
    {"opt", adapt_opt, NULL},
    {"gpt_bigcode", adapt_gpt_bigcode, NULL},
    {"mpt", adapt_mpt, NULL},
    {"chatglm", adapt_chatglm, NULL},
    {"apertus", adapt_apertus, NULL},
    {"stablelm", adapt_stablelm, NULL},
    {"molmo", adapt_molmo, NULL},
    {"hf_olmo", adapt_hf_olmo, NULL},
    {"jais", adapt_jais, NULL},
    {"hyperclovax", adapt_hyperclovax, NULL},
    {"minicpmv", adapt_minicpmv, NULL},
    {"phimoe", adapt_phimoe, NULL},
    {"hunyuan_v1_moe", adapt_hunyuan_v1_moe, NULL},
    {"ernie_vl", adapt_ernie_vl, NULL},
    {"afmoe", adapt_afmoe, NULL},
    {"grok", adapt_grok, NULL},
    {"arctic", adapt_arctic, NULL},
    {"aria", adapt_aria, NULL},
    {NULL, NULL, NULL},
};

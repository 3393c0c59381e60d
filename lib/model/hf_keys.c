/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of config.json files: their spellings, those that reckon cannot express, and those that
 * change nothing.  Source: the configuration classes of the transformers library.
 */
#include "base/text.h"
#include "base/units.h"
#include "model/hf_table.h"

#include <string.h>

const rk_named_count rk_hf_aliases[] = {
    {"vocab_size", HF_VOCAB},
    {"padded_vocab_size", HF_VOCAB},
    {"hidden_size", HF_HIDDEN},
    {"n_embd", HF_HIDDEN},
    {"n_embed", HF_HIDDEN},
    {"d_model", HF_HIDDEN},
    {"intermediate_size", HF_FFN},
    {"ffn_dim", HF_FFN},
    {"n_inner", HF_FFN},
    {"ffn_hidden_size", HF_FFN},
    {"num_hidden_layers", HF_LAYERS},
    {"n_layer", HF_LAYERS},
    {"n_layers", HF_LAYERS},
    {"num_layers", HF_LAYERS},
    {"num_attention_heads", HF_HEADS},
    {"n_head", HF_HEADS},
    {"n_heads", HF_HEADS},
    {"num_heads", HF_HEADS},
    {"num_key_value_heads", HF_KV_HEADS},
    {"num_kv_heads", HF_KV_HEADS},
    {"n_head_kv", HF_KV_HEADS},
    {"n_kv_heads", HF_KV_HEADS},
    {"multi_query_group_num", HF_KV_HEADS},
    {"num_attention_groups", HF_KV_HEADS},
    {"attn_config.kv_n_heads", HF_KV_HEADS},
    {"head_dim", HF_HEAD_SIZE},
    {"kv_channels", HF_HEAD_SIZE},
    {"attention_head_dim", HF_HEAD_SIZE},
    {"v_head_dim", HF_VALUE_SIZE},
    {"n_positions", HF_CONTEXT},
    {"max_position_embeddings", HF_CONTEXT},
    {"seq_length", HF_CONTEXT},
    {"max_seq_len", HF_CONTEXT},
    {"model_max_length", HF_CONTEXT},
    {"q_lora_rank", HF_Q_RANK},
    {"kv_lora_rank", HF_KV_RANK},
    {"qk_nope_head_dim", HF_NOPE_SIZE},
    {"qk_rope_head_dim", HF_ROPE_SIZE},
    {"num_experts", HF_EXPERTS},
    {"num_local_experts", HF_EXPERTS},
    {"n_routed_experts", HF_EXPERTS},
    {"moe_num_experts", HF_EXPERTS},
    {"ffn_config.moe_num_experts", HF_EXPERTS},
    {"num_experts_per_tok", HF_TOP_K},
    {"num_experts_per_token", HF_TOP_K},
    {"experts_per_token", HF_TOP_K},
    {"moe_topk", HF_TOP_K},
    {"moe_k", HF_TOP_K},
    {"moe_top_k", HF_TOP_K},
    {"top_k_experts", HF_TOP_K},
    {"ffn_config.moe_top_k", HF_TOP_K},
    {"moe_intermediate_size", HF_EXPERT_FFN},
    {"expert_ffn_hidden_size", HF_EXPERT_FFN},
    {"ffn_config.ffn_hidden_size", HF_EXPERT_FFN},
    {"n_shared_experts", HF_SHARED_EXPERTS},
    {"num_shared_experts", HF_SHARED_EXPERTS},
    {"num_shared_expert", HF_SHARED_EXPERTS},
    {"moe_num_shared_experts", HF_SHARED_EXPERTS},
    {"shared_expert_intermediate_size", HF_SHARED_FFN},
    {"shared_intermediate_size", HF_SHARED_FFN},
    {"share_expert_dim", HF_SHARED_FFN},
    {"n_group", HF_EXPERT_GROUPS},
    {"num_expert_groups", HF_EXPERT_GROUPS},
    {"num_expert_group", HF_EXPERT_GROUPS},
    {"topk_group", HF_ROUTE_GROUPS},
    {"num_limited_groups", HF_ROUTE_GROUPS},
    {"intermediate_size_mlp", HF_DENSE_FFN},
    {"dense_intermediate_size", HF_DENSE_FFN},
    {"first_k_dense_replace", HF_DENSE_FIRST},
    {"moe_layer_start_index", HF_DENSE_FIRST},
    {"num_dense_layers", HF_DENSE_FIRST},
    {"decoder_sparse_step", HF_MOE_EVERY},
    {"interleave_moe_layer_step", HF_MOE_EVERY},
    {"moe_layer_interval", HF_MOE_EVERY},
    {"moe_layer_frequency", HF_MOE_EVERY},
    {"num_nextn_predict_layers", HF_MTP},
    {"num_mtp_modules", HF_MTP},
    {"mtp_num_hidden_layers", HF_MTP},
    {"mtp_transformer_layers", HF_MTP_DEPTH},
    {"sliding_window", HF_WINDOW},
    {"window_size", HF_WINDOW},
    {"attention_chunk_size", HF_CHUNK},
    {"sliding_window_pattern", HF_WINDOW_PERIOD},
    {"_sliding_window_pattern", HF_WINDOW_PERIOD},
    {"no_rope_layer_interval", HF_WINDOW_PERIOD},
    {"global_attn_every_n_layers", HF_WINDOW_PERIOD},
    {"max_window_layers", HF_WINDOW_FROM},
    {"swa_num_attention_heads", HF_WINDOW_HEADS},
    {"attention_other_setting.num_attention_heads", HF_WINDOW_HEADS},
    {"attention_other_setting.num_attention_groups", HF_WINDOW_KV_HEADS},
    {"attention_other_setting.head_dim", HF_WINDOW_HEAD_SIZE},
    {"swa_num_key_value_heads", HF_WINDOW_KV_HEADS},
    {"swa_head_dim", HF_WINDOW_HEAD_SIZE},
    {"swa_v_head_dim", HF_WINDOW_VALUE_SIZE},
};
const size_t rk_hf_alias_count = COUNT(rk_hf_aliases);

const rk_named_text rk_hf_refusals[] = {
    {"num_mem_blocks", "transformer blocks that layers share"},
    {"index_n_heads", "sparse attention with an indexer"},
    {"sparse_attention_config", "sparse attention with an indexer"},
    {"sparse_config", "sparse attention"},
    {"compress_ratios", "compressed sparse attention"},
    {"hc_mult", "hyper-connections"},
    {"linear_attn_config", "linear attention"},
    {"linear_num_key_heads", "linear attention"},
    {"mamba_num_heads", "state-space layers"},
    {"mamba_d_state", "state-space layers"},
    {"ssm_state_size", "state-space layers"},
    {"hybrid_override_pattern", "blocks of a single mixer"},
    {"layers_block_type", "blocks of a single mixer"},
    {"block_configs", "layers without attention or FFN"},
    {"per_layer_config", "keys that differ from layer to layer"},
    {"use_cla", "layers that borrow keys and values of another layer"},
    {"num_kv_shared_layers", "layers that borrow keys and values of another layer"},
    {"attention_k_eq_v", "values that are the keys"},
    {"hidden_size_per_layer_input", "an embedding for every layer"},
    {"moe_latent_size", "experts in a latent space"},
    {"routed_expert_hidden_size", "experts in a latent space"},
    {"qk_layernorm", "norms of queries and keys with biases"},
    {"attn_config.qk_ln", "norms of queries and keys with biases"},
    {"cross_attention_layers", "cross-attention"},
    {"attn_layer_idx", "layers of attention between state-space layers"},
};
const size_t rk_hf_refusal_count = COUNT(rk_hf_refusals);

const char *const rk_hf_harmless_keys[] = {
    "_num_mtp_layers",
    "attention_layers",
    "attention_types",
    "embedding_size",
    "encoder_no_repeat_ngram_size",
    "ep_size",
    "hybrid_layer_pattern",
    "is_moe_layer",
    "layer_types",
    "max_batch_size",
    "mlp_layer_types",
    "mlp_only_layers",
    "moe_layer_end_index",
    "moe_layer_freq",
    "moe_layers",
    "moe_shared_expert_intermediate_size", /* the experts' width */
    "no_repeat_ngram_size",
    "no_rope_layers",
    "num_beam_groups",
    "org_vocab_size",
    "qk_head_dim", /* the sum of two others */
    "rope_local_base_freq",
    "rotary_dim",
    "sliding_window_size",
    "word_embed_proj_dim",
};
const size_t rk_hf_harmless_count = COUNT(rk_hf_harmless_keys);

bool rk_hf_is_ordinary(const char *key)
{
    static const char *const endings[] = {"_id", "_ids", "_index", "_length", "_version"};
    static const char *const keys[] = {"architectures",  "keys_to_ignore_at_inference",
                                       "num_beams",      "num_return_sequences",
                                       "pretraining_tp", "rope_theta",
                                       "top_k"};
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (rk_ends_with(key, endings[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Shorthand for the rows of the tables of architectures. */
#ifndef RK_MODEL_HF_ROWS_H
#define RK_MODEL_HF_ROWS_H

#include "model/hf_table.h"

/* The common defaults of a class in the order in which they are usually quoted. */
#define SHAPE(vocab, hidden, ffn, layers, heads)                                                   \
    [HF_VOCAB] = vocab, [HF_HIDDEN] = hidden, [HF_FFN] = ffn, [HF_LAYERS] = layers,                \
    [HF_HEADS] = heads
#define EXPERTS(count, active, width)                                                              \
    [HF_EXPERTS] = count, [HF_TOP_K] = active, [HF_EXPERT_FFN] = width

/* Latent attention: ranks of queries and of keys and values; elements of a head. */
#define LATENT(q, kv, nope, rope, value)                                                           \
    [HF_Q_RANK] = q, [HF_KV_RANK] = kv, [HF_NOPE_SIZE] = nope, [HF_ROPE_SIZE] = rope,              \
    [HF_VALUE_SIZE] = value

/* Flags that no key changes. */
#define YES                                                                                        \
    {                                                                                              \
        NULL, true                                                                                 \
    }

/* Queries and keys have norms over a head. */
#define HEAD_NORMS .normalises_qk = YES, .qk_norm = RK_QK_NORM_HEAD

/* The keys of Llama and its kin. */
#define LLAMA_BIASES                                                                               \
    .bias_qkv = {"attention_bias", false}, .bias_out = {"attention_bias", false},                  \
    .bias_ffn = {"mlp_bias", false}
#define ATTENTION_BIASES                                                                           \
    .bias_qkv = {"attention_bias", false}, .bias_out = {"attention_bias", false}
#define ALL_BIASES .bias_qkv = YES, .bias_out = YES, .bias_ffn = YES

#endif

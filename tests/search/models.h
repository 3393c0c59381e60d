/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers and small models for the tests of searches. */
#ifndef RK_TESTS_PLAN_MODELS_H
#define RK_TESTS_PLAN_MODELS_H

#include "layer/all_kinds.h"
#include "model/model.h"

/* splitmix64 */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t pick(uint64_t *state, const int64_t *from, size_t count)
{
    return from[next_random(state) % count];
}

#define PICK(state, ...)                                                                           \
    pick(state, (const int64_t[]){__VA_ARGS__},                                                    \
         sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static inline rk_model dense_model(int layers)
{
    rk_model model = {
        .name = "dense",
        .hidden = 2048,
        .vocab = 32000,
        .seq = 2048,
        .layers = layers,
        .type_count = 1,
        .types = {{.mixer = &rk_mixer_grouped,
                   .feed_forward = &rk_feed_forward_dense,
                   .attention = {.query_heads = 16, .kv_heads = 4, .head_size = 128},
                   .ffn = {.width = 8192, .gated = true}}},
        .norms_per_layer = 2,
        .final_norm = true,
    };
    return model;
}

/* One dense layer, then experts; windows on every other layer. */
static inline rk_model moe_model(int layers, bool latent)
{
    rk_model model = dense_model(layers);
    rk_layer_type *first = &model.types[0];
    if (latent) {
        first->attention = (rk_attention_shape){.query_heads = 16,
                                                .kv_heads = 16,
                                                .kv_rank = 512,
                                                .q_rank = 768,
                                                .nope_size = 128,
                                                .rope_size = 64,
                                                .value_size = 128};
        first->mixer = &rk_mixer_latent;
        model.mtp_layers = 1;
    }
    model.types[1] = *first;
    model.types[1].feed_forward = &rk_feed_forward_experts;
    model.types[1].ffn = (rk_ffn_shape){.gated = true};
    model.types[1].moe = (rk_moe_shape){
        .experts = 8, .top_k = 2, .expert_width = 1024, .shared_experts = 1, .shared_width = 1024};
    model.types[2] = model.types[1];
    model.types[2].attention.window = latent ? 0 : 512;
    model.type_count = 3;
    for (int i = 1; i < layers; i++) {
        model.type_of[i] = (uint8_t)(1 + i % 2);
    }
    return model;
}

#endif

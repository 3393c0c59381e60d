/* SPDX-License-Identifier: Apache-2.0 */
/* Models and random numbers for the tests of strategies. */
#ifndef RK_TESTS_STRATEGY_MODELS_H
#define RK_TESTS_STRATEGY_MODELS_H

#include "framework/framework.h"
#include "layer/all_kinds.h"
#include "strategy/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* 80 layers, 64 heads over 8 key/value heads. */
static inline void fill_dense(rk_model *model)
{
    memset(model, 0, sizeof(*model));
    (void)snprintf(model->name, sizeof(model->name), "dense");
    model->hidden = 8192;
    model->vocab = 128256;
    model->seq = 8192;
    model->layers = 80;
    model->type_count = 1;
    model->types[0].mixer = &rk_mixer_grouped;
    model->types[0].feed_forward = &rk_feed_forward_dense;
    model->types[0].attention =
        (rk_attention_shape){.query_heads = 64, .kv_heads = 8, .head_size = 128};
    model->types[0].ffn = (rk_ffn_shape){.width = 28672, .gated = true};
}

/* 64 layers: 4 dense, 60 with 96 experts and one shared expert. */
static inline void fill_moe(rk_model *model)
{
    fill_dense(model);
    (void)snprintf(model->name, sizeof(model->name), "moe");
    model->layers = 64;
    model->type_count = 2;
    model->types[1] = model->types[0];
    model->types[1].feed_forward = &rk_feed_forward_experts;
    model->types[1].ffn.width = 0;
    model->types[1].moe = (rk_moe_shape){
        .experts = 96, .top_k = 8, .expert_width = 2048, .shared_experts = 1, .shared_width = 2048};
    memset(model->type_of + 4, 1, 60);
}

/* splitmix64 */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t random_int(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(next_random(state) % (uint64_t)(high - low + 1));
}

static inline bool one_in(uint64_t *state, uint64_t n)
{
    return next_random(state) % n == 0;
}

/* One of the values. */
#define PICK(seed, ...)                                                                            \
    (((const int64_t[]){__VA_ARGS__})[next_random(seed) %                                          \
                                      (sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))])

#endif

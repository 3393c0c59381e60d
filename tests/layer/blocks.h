/* SPDX-License-Identifier: Apache-2.0 */
/* Models, machine and software that the tests of blocks and estimates share. */
#ifndef TESTS_BLOCKS_H
#define TESTS_BLOCKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include "base/units.h"
#include "framework/framework.h"
#include "layer/all_kinds.h"
#include "layer/layer.h"
#include "layer/model_load.h"
#include "layer/operators.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static inline void assert_near(double found, double wanted, double relative)
{
    if (!(fabs(found - wanted) <= relative * fabs(wanted))) {
        fail_msg("found %.10g, wanted %.10g within %g", found, wanted, relative);
    }
}

static inline rk_model model_of(const char *name)
{
    rk_model model;
    rk_error err;
    char text[640];
    if (rk_model_load(name, &model, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return model;
}

/* Takes down a group of tests whose state is the machine. */
static inline int clear_machine(void **state)
{
    rk_system_clear(*state);
    return 0;
}

static inline rk_system system_of(const char *name)
{
    rk_system system;
    rk_error err;
    char text[640];
    if (rk_system_load(name, &system, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return system;
}

static inline rk_stack stack_of(const char *name)
{
    rk_stack stack;
    rk_error err;
    char text[640];
    if (rk_stack_load(name, &stack, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return stack;
}

/* The same model with another number of layers, all of its first type. */
static inline void cut_layers(rk_model *model, int layers)
{
    const rk_layer_type kind = model->types[0];
    const uint8_t kinds[RK_LAYER_MAX] = {0};
    rk_model_set_layers(model, &kind, kinds, layers);
}

/* GPT as of 2022: GELU of width 4 h, LayerNorm, biases, learned positions, tied embedding. */
static inline rk_model gpt_of(int layers, int64_t hidden, int64_t heads)
{
    const rk_layer_type kind = {
        .mixer = &rk_mixer_grouped,
        .feed_forward = &rk_feed_forward_dense,
        .attention = {.query_heads = heads,
                      .kv_heads = heads,
                      .head_size = hidden / heads,
                      .bias_qkv = true,
                      .bias_out = true},
        .ffn = {.width = 4 * hidden, .bias = true},
    };
    const uint8_t kinds[RK_LAYER_MAX] = {0};
    rk_model model = {
        .name = "gpt",
        .hidden = hidden,
        .vocab = 51200,
        .seq = 2048,
        .norm = RK_NORM_LAYER,
        .norms_per_layer = 2,
        .final_norm = true,
        .tied = true,
        .learned_positions = 2048,
    };
    rk_model_set_layers(&model, &kind, kinds, layers);
    return model;
}

static inline void assert_legal(const rk_model *model, const rk_system *system,
                                const rk_strategy *strategy)
{
    rk_legality violation;
    if (!rk_strategy_legal(model, system, strategy, RK_FRAMEWORK_ANY, &violation)) {
        fail_msg("%s: %s", violation.rule, violation.message);
    }
}

/* The costs of a layer, plain and checkpointed. */
static inline void layer_costs(const rk_block_context *context, const rk_layer_type *type,
                               rk_cost cost[2])
{
    rk_cost_builder passes = {.c = context, .cost = rk_block_mixer(context, type)};
    rk_add_passes(&passes, type);
    rk_block_layer(&passes, type, true, cost);
}

#endif

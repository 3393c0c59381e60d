/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a script for Megatron-LM. */
#ifndef RK_FRAMEWORK_MEGATRON_FLAGS_H
#define RK_FRAMEWORK_MEGATRON_FLAGS_H

#include "base/named.h"
#include "framework/launch_file.h"

#include <inttypes.h>

/* Arguments: " \" ends the line before each. */
static inline void rk_megatron_flag(rk_out *out, const char *name)
{
    rk_out_printf(out, " \\\n    --%s", name);
}

static inline void rk_megatron_flag_if(rk_out *out, bool given, const char *name)
{
    if (given) {
        rk_megatron_flag(out, name);
    }
}

static inline void rk_megatron_count(rk_out *out, const char *name, int64_t value)
{
    rk_out_printf(out, " \\\n    --%s %" PRId64, name, value);
}

static inline void rk_megatron_real(rk_out *out, const char *name, double value)
{
    rk_out_printf(out, " \\\n    --%s %.12g", name, value);
}

static inline void rk_megatron_text(rk_out *out, const char *name, const char *value)
{
    rk_out_printf(out, " \\\n    --%s %s", name, value);
}

/* Writes what differs from Megatron's own 1. */
static inline void rk_megatron_degree(rk_out *out, const char *name, int64_t value)
{
    if (value > 1) {
        rk_megatron_count(out, name, value);
    }
}

/* Whether a layer has softmax attention of any kind, and a feed-forward network. */
bool rk_megatron_has_attention(const rk_layer_type *type);
bool rk_megatron_has_network(const rk_layer_type *type);

/*
 * Whether the model is one of blocks, each a mixer or a network, that a pattern names one by one;
 * otherwise every layer has attention, or a delta rule, and a network.
 */
bool rk_megatron_is_hybrid(const rk_model *model);

/* Layers as Megatron-LM counts them: of a hybrid, blocks. */
int rk_megatron_layers(const rk_model *model);

/* Mixers: their arguments, parts without any, and notes on parts that train the same weights. */
void rk_megatron_write_mixers(rk_out *out, const rk_launch_file *launch);
const char *rk_megatron_missing_layer(const rk_model *model);
void rk_megatron_note_layers(const rk_launch_file *launch);

/* Writes an argument of a list, 1 where a layer is of a kind: "([0]*3+[1]*58)". */
void rk_megatron_write_layers(rk_out *out, const rk_model *model, const char *name,
                              bool (*of)(const rk_layer_type *type));

/* The model, and notes on its parts that have no argument but train the same weights. */
void rk_megatron_write_model(rk_out *out, const rk_launch_file *launch);
void rk_megatron_note_model(const rk_launch_file *launch);

#endif

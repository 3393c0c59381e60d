/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of Megatron-LM that describe a model. */
#ifndef RK_LAUNCH_MODEL_FLAGS_H
#define RK_LAUNCH_MODEL_FLAGS_H

#include "base/error.h"
#include "launch/layer_list.h"

/* Properties of a model that flags give; places in rk_model_flags.size. */
typedef enum rk_model_place {
    RK_SHAPE_LAYERS,
    RK_SHAPE_HIDDEN,
    RK_SHAPE_HEADS,
    RK_SHAPE_FFN_WIDTH,
    RK_SHAPE_KV_HEADS,
    RK_SHAPE_HEAD_SIZE,
    RK_SHAPE_VOCAB,
    RK_SHAPE_EXPERTS,
    RK_SHAPE_TOP_K,
    RK_SHAPE_EXPERT_FFN,
    RK_SHAPE_SHARED_FFN,
    RK_SHAPE_SHARED_GATE,
    RK_SHAPE_ROUTER_BIAS,
    RK_SHAPE_EXPERT_GROUPS,
    RK_SHAPE_ROUTE_GROUPS,
    RK_SHAPE_EXPERT_LATENT,
    RK_SHAPE_EXPERT_LAYERS, /* in rk_model_flags.experts */
    RK_SHAPE_POSITIONS,
    RK_SHAPE_SWIGLU,
    RK_SHAPE_QUICK_GEGLU,
    RK_SHAPE_SQUARED_RELU,
    RK_SHAPE_UNTIED,
    RK_SHAPE_NO_BIAS,
    RK_SHAPE_QKV_BIAS,
    RK_SHAPE_ROPE,
    RK_SHAPE_RMS,
    RK_SHAPE_QK_NORM,
    RK_SHAPE_OUTPUT_GATE,
    RK_SHAPE_SINKS,
    RK_SHAPE_GROUPED,
    RK_SHAPE_LATENT, /* attention */
    RK_SHAPE_Q_RANK,
    RK_SHAPE_KV_RANK,
    RK_SHAPE_NOPE_SIZE,
    RK_SHAPE_ROPE_SIZE,
    RK_SHAPE_VALUE_SIZE,
    RK_SHAPE_WINDOW,
    RK_SHAPE_WINDOW_LAYERS, /* in rk_model_flags.windows */
    RK_SHAPE_HYBRID,
    RK_SHAPE_BLOCKS, /* in rk_model_flags.blocks */
    RK_SHAPE_STATE_SIZE,
    RK_SHAPE_STATE_HEAD_SIZE,
    RK_SHAPE_STATE_GROUPS,
    RK_SHAPE_STATE_HEADS,
    RK_SHAPE_DELTA,        /* attention by a delta rule */
    RK_SHAPE_DELTA_LAYERS, /* in rk_model_flags.linear */
    RK_SHAPE_DELTA_KEY_SIZE,
    RK_SHAPE_DELTA_VALUE_SIZE,
    RK_SHAPE_DELTA_KEY_HEADS,
    RK_SHAPE_DELTA_VALUE_HEADS,
    RK_SHAPE_INDEXER,
    RK_SHAPE_INDEX_HEADS,
    RK_SHAPE_INDEX_SIZE,
    RK_SHAPE_INDEX_KEYS,
    RK_SHAPE_MTP,       /* an option of its own in a pasted line */
    RK_SHAPE_TOKENIZER, /* in rk_model_flags.tokenizer */
    RK_SHAPE_COUNT,
} rk_model_place;

#define RK_FLAG_NAME_SIZE 48

/* The model as a command line describes it.  All zero: not at all. */
typedef struct rk_model_flags {
    uint64_t given; /* a bit for each place */
    int64_t size[RK_SHAPE_COUNT];
    rk_layer_list experts, windows, linear;
    char blocks[RK_LAYER_MAX + 1];     /* of --hybrid-layer-pattern: a letter each */
    char tokenizer[RK_FLAG_NAME_SIZE]; /* whose vocabulary nobody says */
    int64_t entries;                   /* of the tokenizer that the line names; 0: not known */
} rk_model_flags;

typedef enum rk_model_flag_kind {
    RK_MODEL_FLAG_ALONE,
    RK_MODEL_FLAG_NUMBER,
    RK_MODEL_FLAG_TEXT,
} rk_model_flag_kind;

/* The place of a flag, named without dashes; RK_SHAPE_COUNT: it says nothing of a model. */
rk_model_place rk_model_flag_place(const char *flag, rk_model_flag_kind *kind);

/* The first flag for a place, to name in a message. */
const char *rk_model_flag_name(rk_model_place place);

/* Whether a place is a number. */
bool rk_model_flag_is_number(rk_model_place place);

bool rk_model_flag_is_given(const rk_model_flags *flags, rk_model_place place);

/* Keeps the value of a place. */
void rk_model_flags_keep(rk_model_flags *flags, rk_model_place place, int64_t value);

/*
 * Keeps the value of a flag that has a place; of a switch, that it is on.  Errors: RK_ERR_INVALID
 * for values that the flag does not take.
 */
rk_status rk_model_flags_take(rk_model_flags *flags, const char *flag, const char *value,
                              rk_error *err);

#endif

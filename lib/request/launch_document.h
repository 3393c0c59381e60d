/* SPDX-License-Identifier: Apache-2.0 */
/* The model document that Megatron-LM's flags describe. */
#ifndef RK_REQUEST_LAUNCH_DOCUMENT_H
#define RK_REQUEST_LAUNCH_DOCUMENT_H

#include "request/launch_line.h"

/* What flags say of a model; places in rk_launch_line.shape. */
typedef enum rk_shape {
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
    RK_SHAPE_EXPERT_LAYERS, /* in rk_launch_line.experts */
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
    RK_SHAPE_WINDOW_LAYERS, /* in rk_launch_line.windows */
    RK_SHAPE_HYBRID,
    RK_SHAPE_BLOCKS, /* in rk_launch_line.blocks */
    RK_SHAPE_STATE_SIZE,
    RK_SHAPE_STATE_HEAD_SIZE,
    RK_SHAPE_STATE_GROUPS,
    RK_SHAPE_STATE_HEADS,
    RK_SHAPE_DELTA,        /* attention by a delta rule */
    RK_SHAPE_DELTA_LAYERS, /* in rk_launch_line.linear */
    RK_SHAPE_DELTA_KEY_SIZE,
    RK_SHAPE_DELTA_VALUE_SIZE,
    RK_SHAPE_DELTA_KEY_HEADS,
    RK_SHAPE_DELTA_VALUE_HEADS,
    RK_SHAPE_INDEXER,
    RK_SHAPE_TOKENIZER, /* in rk_launch_line.tokenizer */
    RK_SHAPE_COUNT,
} rk_shape;

/* Holds the types of up to RK_LAYER_MAX layers beside the sizes. */
#define RK_LAUNCH_DOCUMENT_SIZE 4096

/* Which layers a number in place of a list means, for rk_layer_list_has. */
bool rk_launch_is_every_expert(int every, int i);
bool rk_launch_is_every_window(int every, int i);

/* Writes the document, with Megatron-LM's defaults; sizes that are not known are left out.  Returns
 * out. */
const char *rk_launch_document(const rk_launch_line *line, char out[RK_LAUNCH_DOCUMENT_SIZE]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of mixers and feed-forward networks, each in a file of its own. */
#ifndef RK_LAYER_ALL_KINDS_H
#define RK_LAYER_ALL_KINDS_H

#include "model/kinds.h"

extern const rk_mixer rk_mixer_grouped;        /* softmax attention: MHA, GQA, MQA */
extern const rk_mixer rk_mixer_latent;         /* MLA */
extern const rk_mixer rk_mixer_sparse_latent;  /* MLA to keys that an indexer picks */
extern const rk_mixer rk_mixer_sparse_grouped; /* GQA to blocks of keys that an indexer picks */
extern const rk_mixer rk_mixer_mamba1;         /* selective scan */
extern const rk_mixer rk_mixer_compressed;     /* DeepSeek-V4 */
extern const rk_mixer rk_mixer_mamba2;         /* state space duality */
extern const rk_mixer rk_mixer_gated_delta;
extern const rk_mixer rk_mixer_kimi_delta;
extern const rk_mixer rk_mixer_lightning;
extern const rk_mixer rk_mixer_convolution; /* short and gated */
extern const rk_mixer rk_mixer_parallel;    /* softmax attention and Mamba-2 side by side */
extern const rk_mixer rk_mixer_shared;      /* Mamba-2 with a block that layers share */
extern const rk_mixer rk_mixer_none;

extern const rk_feed_forward rk_feed_forward_dense;
extern const rk_feed_forward rk_feed_forward_experts;
extern const rk_feed_forward rk_feed_forward_none;

/* All kinds, for reading models. */
extern const rk_kinds rk_all_kinds;

#endif

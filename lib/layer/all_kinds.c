/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of kinds.  A layer whose document names none is of the first that claims its sizes, or
 * of the last.
 */
#include "layer/all_kinds.h"

static const rk_mixer *const mixers[] = {
    &rk_mixer_none,        &rk_mixer_mamba1,        &rk_mixer_mamba2,
    &rk_mixer_gated_delta, &rk_mixer_kimi_delta,    &rk_mixer_lightning,
    &rk_mixer_convolution, &rk_mixer_parallel,      &rk_mixer_shared,
    &rk_mixer_compressed,  &rk_mixer_sparse_latent, &rk_mixer_sparse_grouped,
    &rk_mixer_latent,      &rk_mixer_grouped,       NULL,
};

static const rk_feed_forward *const feed_forwards[] = {
    &rk_feed_forward_none,
    &rk_feed_forward_experts,
    &rk_feed_forward_dense,
    NULL,
};

const rk_kinds rk_all_kinds = {mixers, feed_forwards};

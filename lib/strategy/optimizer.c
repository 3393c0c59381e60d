/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of optimizers.  Bytes that an update moves, with gradients and a master copy in 32 bits
 * and weights in 16: gradient 4, master copy read and written 8, weight 2, and every state read and
 * written.  AdamW: 4 + 8 + 2 + 16 = 30.
 */
#include "strategy/optimizer.h"

#include <assert.h>

#define ADAMW_TRAFFIC      30.0
#define WITH_STATES(bytes) ((4 + 8 + 2 + 2 * (bytes)) / ADAMW_TRAFFIC)

/* Blocks of 256 elements share a scale of 4 bytes (arXiv 2110.02861); both moments. */
#define BLOCK_8BIT (2 * (1 + 4.0 / 256))
/* Of 128 elements in 4 bits (arXiv 2309.01507). */
#define BLOCK_4BIT (2 * (0.5 + 4.0 / 128))

/* The square of a gradient and the update made of it, in fp32 (transformers, optimization.py). */
#define FACTORED_TEMPORARIES (2 * 4.0)

const char *const rk_optimizer_names[] = {RK_OPTIMIZER_NAMES, NULL};

const rk_optimizer_traits rk_optimizers[RK_OPTIMIZER_COUNT] = {
    [RK_OPTIMIZER_ADAMW] = {"adamw", 8, 8, 1, false, false, false, false, 0},
    [RK_OPTIMIZER_ADAMW_BF16] = {"adamw-bf16", 4, 4, WITH_STATES(4), true, false, false, false, 0},
    /* embeddings keep 32 bits (bitsandbytes) */
    [RK_OPTIMIZER_ADAM_8BIT] = {"adam-8bit", BLOCK_8BIT, 8, WITH_STATES(BLOCK_8BIT), true, false,
                                false, true, 0},
    /* second moments of rows and columns are next to nothing; gradients are read twice
     * (arXiv 1804.04235) */
    [RK_OPTIMIZER_ADAFACTOR] = {"adafactor", 0, 0, (4 + 4 + 8 + 2) / ADAMW_TRAFFIC, false, false,
                                false, false, FACTORED_TEMPORARIES},
    [RK_OPTIMIZER_SGD] = {"sgd", 4, 4, WITH_STATES(4), false, false, false, false, 0},
    [RK_OPTIMIZER_SGD_PLAIN] = {"sgd-plain", 0, 0, WITH_STATES(0), false, false, false, false, 0},
    /* a momentum for matrices; embedding and output layer use AdamW (arXiv 2502.16982) */
    [RK_OPTIMIZER_MUON] = {"muon", 4, 8, WITH_STATES(4), false, true, false, false, 0},
    [RK_OPTIMIZER_DIST_MUON] = {"dist-muon", 4, 8, WITH_STATES(4), false, true, true, false, 0},
    /* torchao: all tensors of 4,096 elements and more */
    [RK_OPTIMIZER_ADAMW_8BIT] = {"adamw-8bit", BLOCK_8BIT, BLOCK_8BIT, WITH_STATES(BLOCK_8BIT),
                                 true, false, false, true, 0},
    [RK_OPTIMIZER_ADAMW_4BIT] = {"adamw-4bit", BLOCK_4BIT, BLOCK_4BIT, WITH_STATES(BLOCK_4BIT),
                                 true, false, false, true, 0},
};

const rk_optimizer_traits *rk_optimizer_of(const rk_strategy *strategy)
{
    return &rk_optimizers[strategy->optimizer];
}

void rk_optimizer_set(rk_optimizer optimizer, bool narrow, rk_strategy *strategy)
{
    assert(optimizer < RK_OPTIMIZER_COUNT);
    const rk_optimizer_traits *traits = &rk_optimizers[optimizer];
    const double usual = rk_optimizers[RK_OPTIMIZER_ADAMW].matrix_bytes;
    const double share = narrow ? 0.5 : 1, own = traits->own_type ? 1 : share;
    strategy->optimizer = optimizer;
    strategy->states.optimizer += own * traits->matrix_bytes - share * usual;
    strategy->outer_states = own * (traits->outer_bytes - traits->matrix_bytes);
}

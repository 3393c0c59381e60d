/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transformer block under a mapping: times of its layers and the sums over them, for one
 * microbatch on one processor.
 */
#ifndef RK_CALCULON_CALCULON_BLOCK_H
#define RK_CALCULON_CALCULON_BLOCK_H

#include "calculon/calculon_layers.h"

typedef struct rk_layer_times {
    double compute[RK_PHASE_COUNT]; /* s on the engine */
    double memory[RK_PHASE_COUNT];  /* s on device memory */
    double process[RK_PHASE_COUNT]; /* s of both, with what overlap costs */
    double net[3][2];               /* s on the network by phase and position */
    double exposed[3][2];           /* s, the part that is not hidden */
} rk_layer_times;

typedef struct rk_block {
    rk_block_shape shape;
    int layer_count;
    rk_layer layers[RK_CALCULON_LAYER_MAX];
    rk_layer_times times[RK_CALCULON_LAYER_MAX];
} rk_block;

/* Weights of one layer under an optimizer sharded `shards` ways. */
typedef struct rk_layer_optimizer {
    double flops;       /* of the step */
    double state_bytes; /* moments and master copy; also the bytes accessed by the step */
    double weight_grad_bytes;
} rk_layer_optimizer;

rk_layer_optimizer rk_layer_optimizer_of(const rk_layer *layer, int64_t element, double shards);

/* Ways in which the optimizer of a mapping is sharded. */
static inline double rk_optimizer_shards(const rk_calculon_exe *exe)
{
    return exe->optimizer_sharding ? (double)exe->data_par : 1.0;
}

/*
 * Builds and prices the block and fills the block-level statistics, the optimizer's left out.
 * The curves of `sys` for the datatype of `exe` must cover zero.
 */
rk_status rk_block_evaluate(const rk_calculon_app *app, const rk_calculon_sys *sys,
                            const rk_calculon_exe *exe, rk_block *block, rk_calculon_stats *stats,
                            rk_error *err);

/*
 * The two halves of rk_block_evaluate.  The first builds the layers and prices their work; the
 * second prices the network and adds up.  A priced block can be finished again for a mapping that
 * differs only in recompute, redo and the tensor-parallel tier, once rk_block_layers has filled its
 * layers for that mapping.
 */
rk_status rk_block_price(const rk_calculon_app *app, const rk_calculon_sys *sys,
                         const rk_calculon_exe *exe, rk_block *block, rk_error *err);
void rk_block_finish(const rk_calculon_sys *sys, const rk_calculon_exe *exe, rk_block *block,
                     rk_calculon_stats *stats);

/* Fills the statistics of optimizer and weight gradients (all zero in inference). */
void rk_block_evaluate_optimizer(const rk_calculon_sys *sys, const rk_calculon_exe *exe,
                                 rk_block *block, rk_calculon_stats *stats);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of one transformer block under a mapping: what each executes and keeps, for one
 * microbatch on one processor.  Times are the business of block.h.
 */
#ifndef RK_CALCULON_CALCULON_LAYERS_H
#define RK_CALCULON_CALCULON_LAYERS_H

#include "reckon/reckon.h"

/* Phases: forward, gradient of activations, gradient of weights (also carries repeated
 * communication), optimizer step. */
enum { RK_FW, RK_AGRAD, RK_WGRAD, RK_OPTIM, RK_PHASE_COUNT };

/* Positions in a chunk: base blocks, and the edge block whose result leaves the stage. */
enum { RK_BASE, RK_EDGE };

typedef enum rk_layer_kind {
    RK_LAYER_LOCAL, /* no communication */
    RK_LAYER_COMM,  /* separate collective of the tensor-parallel group */
    RK_LAYER_TILED, /* linear cut into tiles, each overlapped with its communication */
} rk_layer_kind;

/* Side of a tensor-parallel region on which a layer communicates. */
typedef enum rk_comm_role { RK_GATHER, RK_REDUCE } rk_comm_role;

typedef struct rk_layer {
    const char *name;
    rk_layer_kind kind;
    rk_comm_role role;
    bool vector;                         /* runs on the vector engine (the optimizer always does) */
    bool recomputed;                     /* executed again in the backward pass */
    bool recommunicated;                 /* communicates again in the backward pass */
    bool reused;                         /* activation shares storage: not in the working set */
    bool drops_activation, drops_output; /* not stored for the backward pass */
    long double flops[3];                /* by phase, FLOP; whole numbers */
    int64_t bytes[3];                    /* memory accessed by phase */
    int64_t inputs, outputs, activation, gradient, weights; /* elements: I, Y, Z, G, w */
    int64_t activation_bytes, gradient_bytes;
    int64_t comm_bytes[3][2]; /* by phase (W: repeated) and position */
} rk_layer;

/* Integers of a mapping that do not depend on the layer. */
typedef struct rk_block_shape {
    int64_t element;       /* e: bytes */
    int64_t tokens;        /* S = b * s */
    int64_t full, sharded; /* A = S * h, A1 = floor(S / t) * h: elements of the residual stream */
    bool splits[2];        /* by position: all-gather + reduce-scatter instead of all-reduce */
} rk_block_shape;

/*
 * Checks that the model divides over the mapping and that no count overflows, and fills `shape`.
 * `exe` must obey the rules of execution documents.
 */
rk_status rk_block_shape_init(const rk_calculon_app *app, const rk_calculon_exe *exe,
                              rk_block_shape *shape, rk_error *err);

/* Fills layers[0..RK_CALCULON_LAYER_MAX) in block order.  Returns their number. */
int rk_block_layers(const rk_calculon_app *app, const rk_calculon_exe *exe,
                    const rk_block_shape *shape, rk_layer *layers);

#endif

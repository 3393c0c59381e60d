/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers: states per parameter, bytes that the update moves, and which ones multiply matrices.
 * One entry of the table each; see docs/method/optimizers.md.
 */
#ifndef RK_STRATEGY_OPTIMIZER_H
#define RK_STRATEGY_OPTIMIZER_H

#include "strategy/strategy.h"

typedef struct rk_optimizer_traits {
    const char *name;
    double matrix_bytes; /* states per parameter, without a master copy */
    double outer_bytes;  /* the same of embedding, positions and output layer */
    double traffic;      /* bytes that an update moves, relative to AdamW */
    bool own_type;       /* states have a type of their own; otherwise the weights' type */
    bool orthogonalizes; /* Newton-Schulz steps on every matrix of the layers */
    bool deals_matrices; /* data ranks share the states by whole matrices */
    bool on_device; /* updates there, tensor by tensor, also if pages of the states are on the host
                       (bitsandbytes, torchao) */
    double matrix_temporaries; /* bytes per parameter of the one matrix that steps at a time */
} rk_optimizer_traits;

extern const rk_optimizer_traits rk_optimizers[RK_OPTIMIZER_COUNT];
#define RK_OPTIMIZER_NAMES                                                                         \
    "adamw", "adamw-bf16", "adam-8bit", "adafactor", "sgd", "sgd-plain", "muon", "dist-muon",      \
        "adamw-8bit", "adamw-4bit"
extern const char *const rk_optimizer_names[]; /* NULL-terminated, in enum order */

/* The traits of a strategy's optimizer. */
const rk_optimizer_traits *rk_optimizer_of(const rk_strategy *strategy);

/*
 * Sets the optimizer of a strategy that has AdamW's states with moments in 32 bits, or `narrow` in
 * 16, and turns these into its own.
 */
void rk_optimizer_set(rk_optimizer optimizer, bool narrow, rk_strategy *strategy);

/* Matrix products of one orthogonalization: five Newton-Schulz steps of three each. */
enum { RK_NEWTON_SCHULZ_STEPS = 5 };

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two configurations of torchtitan. */
#ifndef RK_FRAMEWORK_LAUNCH_TORCHTITAN_H
#define RK_FRAMEWORK_LAUNCH_TORCHTITAN_H

#include "framework/launch_file.h"

/* A model that torchtitan knows. */
typedef struct rk_titan_flavor {
    const char *name, *flavor; /* of 0.2.2, such as "llama3" and "8B" */
    const char *function;      /* of the registry of 2026, such as "llama3_8b" */
    int layers;
    int64_t hidden, vocab, experts;
} rk_titan_flavor;

/* The flavor with the shape of a model, or NULL. */
const rk_titan_flavor *rk_titan_flavor_of(const rk_model *model);

/* How torchtitan is made to split the layers over stages as the strategy does. */
typedef struct rk_titan_split {
    int64_t first_less, last_less; /* layers for which the ends count */
    int64_t layers_per_stage;      /* 0: not given */
    bool listed; /* the keys above cannot express it: list the modules of stages */
} rk_titan_split;

/* pp > 1. */
rk_titan_split rk_titan_split_of(const rk_model *model, const rk_strategy *strategy);

/* Writes "[["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]]", one line per stage. */
void rk_titan_write_modules(rk_out *out, const rk_model *model, const rk_strategy *strategy);

/* The N of "every Nth layer is recomputed": 0 if all are, below 0 if a stage has no such N. */
int64_t rk_titan_every(const rk_model *model, const rk_strategy *strategy);

/* Refuses what no torchtitan can run; notes what neither configuration expresses. */
rk_status rk_titan_check(const rk_launch_file *launch, rk_error *err);
void rk_titan_note(const rk_launch_file *launch);

#endif

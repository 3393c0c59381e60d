/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by frameworks on Megatron core whose launches are documents and key=value words: NeMo 1
 * and 2, Megatron-Bridge, Primus.  A setting has its name in Megatron core, or one of the
 * framework, after the start of its section ("model.", "trainer.strategy.").
 */
#ifndef RK_LAUNCH_MEGATRON_KIT_H
#define RK_LAUNCH_MEGATRON_KIT_H

#include "launch/launch.h"

/* Where a framework keeps its settings, and what it does where a launch says nothing. */
typedef struct rk_megatron_kit {
    const char *const *starts; /* of its sections; NULL-terminated */
    const char *precision;     /* "bf16" */
    const char *loss;          /* "unfused", "fused" */
    const char *gradients;     /* "fp32" */
    const char *dispatcher;    /* of models with experts */
    bool distributed;          /* the optimizer is sharded */
    bool overlap_grad, overlap_param;
    bool sequence;      /* sequence parallelism is on */
    bool whole_experts; /* an expert is not split over tensor-parallel ranks */
    bool grouped;       /* the experts of a rank are one grouped GEMM */
} rk_megatron_kit;

/* The key of a setting, by the first of its names that is there; NULL: absent.  `names` ends with
 * NULL. */
const rk_launch_key *rk_kit_find(rk_launch *launch, const rk_megatron_kit *kit,
                                 const char *const *names);

/* The number of a setting by one name; 0: absent, or not above 0. */
int64_t rk_kit_count(rk_launch *launch, const rk_megatron_kit *kit, const char *name);

/* States a fact from a key, or else its default. */
void rk_kit_state(rk_launch *launch, const char *field, const rk_launch_key *key, const char *value,
                  const char *usual);

/* States layout, batch, activations, overlap, states and shape. */
void rk_kit_resolve(rk_launch *launch, const rk_megatron_kit *kit);

/* States the shape that the catalogue has of a model, such as "llama3.1_8B.yaml". */
void rk_kit_state_model(rk_launch *launch, const char *name, const rk_launch_key *by);

/*
 * States the entries of a vocabulary, and its rows: a multiple of `multiple` x tp, 0 for 128.  One
 * that is stated already stays.
 */
void rk_kit_state_vocabulary(rk_launch *launch, int64_t entries, double multiple,
                             rk_fact_origin origin);

/* Gives keys that begin with a section, "modules.pre_trainer.overrides.", their names in it. */
void rk_kit_strip(rk_launch *launch, const char *section);

/* A text in lower case. */
const char *rk_kit_lower(rk_launch *launch, const char *text);

/* The member of a document at a path such as "model.optim.name"; NULL: none has it. */
const json_t *rk_kit_member(const rk_launch *launch, const char *path);

#endif

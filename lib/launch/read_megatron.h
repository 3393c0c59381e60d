/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by readers of the Megatron family: the arithmetic of Megatron-LM's arguments and its
 * defaults.
 */
#ifndef RK_LAUNCH_READ_MEGATRON_H
#define RK_LAUNCH_READ_MEGATRON_H

#include "launch/launch.h"

/* A fact that is a setting unchanged, by its names; without it, the default. */
typedef struct rk_megatron_number {
    const char *field;
    const char *names[4];
    int64_t usual; /* 0: none */
} rk_megatron_number;

/* ---- keys ------------------------------------------------------------------------------------ */

/* As rk_launch_find and its siblings, by a name with dashes that may be spelled with underscores.
 */
const rk_launch_key *rk_megatron_find(rk_launch *launch, const char *name);
const char *rk_megatron_value(rk_launch *launch, const char *name);
bool rk_megatron_is_on(rk_launch *launch, const char *name, bool usual);
int64_t rk_megatron_count(rk_launch *launch, const char *name); /* 0: absent, or no number */

/* Classes a key that has no effect in this launch as without cost, by either spelling. */
void rk_megatron_leave(rk_launch *launch, const char *name);

/*
 * Classes the key of how many layers are recomputed as one piece, whose input alone is kept; not by
 * the method "block", whose layers are others.
 */
void rk_megatron_class_pieces(rk_launch *launch, const rk_launch_key *layers);

/* The first of several names that is there; NULL-terminated. */
const rk_launch_key *rk_megatron_find_among(rk_launch *launch, const char *const *names);

/* Whether the words have flags as every line of Megatron-LM has them. */
bool rk_megatron_is_line(const rk_launch *launch);

/* The words of a value joined by "+", which lists of facts have: "core_attn mlp" is two. */
const char *rk_megatron_join(rk_launch *launch, const char *value);

/* The part that adapters train, by the names of projections: "attention", "mlp" or both. */
void rk_megatron_state_adapters(rk_launch *launch, const rk_launch_key *modules);

/*
 * States what graphs hold: `kind` of them by the key `by`, and the key of their modules or NULL.
 * Before 2026 a graph of the whole step was one of the modules.
 */
void rk_megatron_state_graphs(rk_launch *launch, const char *kind, const rk_launch_key *by,
                              const rk_launch_key *modules);

/* ---- facts ----------------------------------------------------------------------------------- */

/* Defaults of a framework of the family.  All zero is Megatron-LM. */
typedef struct rk_megatron_usual {
    int core;               /* release of Megatron core, 12 is 0.12; 0: what the launch says */
    const char *precision;  /* NULL: fp32 */
    const char *recompute;  /* granularity; NULL: none */
    const char *attention;  /* kernel; NULL: auto, or unfused without Transformer Engine */
    const char *dispatcher; /* NULL: allgather */
    const char *loss;       /* NULL: unfused */
    const char *vp;         /* flag with the number of virtual stages; NULL: Megatron-LM's */
    bool distributed;       /* the distributed optimizer is on */
    bool whole_experts;     /* an expert is not split over tensor-parallel ranks */
    bool grouped;           /* experts of a rank are one grouped GEMM */
    bool no_dropout;        /* dropout is 0, or the model's */
    bool names_model;       /* the launch names a model and does not describe it */
    bool last_of_period;    /* of every n layers the last has experts, not the first */
    bool own_recompute;     /* the reader states recomputation */
} rk_megatron_usual;

/* The minor number of Megatron core that the launch is for; INT_MAX: the newest. */
int rk_megatron_core(const rk_launch *launch, const rk_megatron_usual *usual);

/* States what the flags of the family say of the job, and the defaults of what they do not say. */
rk_status rk_megatron_resolve(rk_launch *launch, const rk_megatron_usual *usual, rk_error *err);

/* As rk_launch_assume_open, of a number. */
void rk_megatron_assume_count(rk_launch *launch, const char *field, int64_t value);

/* The shape of the model that model.name names, a hub id or a path that ends in a name. */
void rk_megatron_state_named_model(rk_launch *launch);

/* A fact that is true or false, stated by a key or, without one, the default. */
void rk_megatron_state_truth(rk_launch *launch, const char *field, bool truth,
                             const rk_launch_key *key);

/* Where a layout of stages, as Megatron-LM writes it, has the modules of multi-token prediction. */
void rk_megatron_state_modules(rk_launch *launch, const char *layout);

/* The stage of ZeRO of a sharding strategy of Megatron-FSDP; -1: an unknown one. */
int rk_megatron_sharding_of(const char *strategy);

/* The parts of that. */
void rk_megatron_state_layout(rk_launch *launch, const rk_megatron_usual *usual);
void rk_megatron_state_precision(rk_launch *launch, const rk_megatron_usual *usual);
void rk_megatron_state_recompute(rk_launch *launch, const rk_megatron_usual *usual);
void rk_megatron_state_kernels(rk_launch *launch, const rk_megatron_usual *usual);
void rk_megatron_state_experts(rk_launch *launch, const rk_megatron_usual *usual);
void rk_megatron_state_overlap(rk_launch *launch);
void rk_megatron_state_offload(rk_launch *launch);
void rk_megatron_state_document(rk_launch *launch, const rk_megatron_usual *usual);
void rk_megatron_state_model(rk_launch *launch, const rk_megatron_usual *usual);

/* ---- vocabulary ------------------------------------------------------------------------------ */

/* Entries of a tokenizer by its class, or by the model in its path; 0: not known. */
int64_t rk_launch_tokenizer_entries(const char *name);

/* The tokens of a vocabulary as rows of the embedding: a multiple of `divisor` x tp. */
int64_t rk_megatron_pad_vocabulary(int64_t tokens, int64_t divisor, int64_t tp);

#endif

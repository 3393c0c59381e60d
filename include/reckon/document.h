/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models, systems and stacks (training software) as handles.
 *
 * A document is named in one of three ways, everywhere in the library: the name of a catalogue
 * entry ("llama3-70b"), a path that ends in .json or .json.gz, or a JSON text, which begins with
 * '{'.  Handles are immutable, so any number of threads can read one.
 */
#ifndef RECKON_DOCUMENT_H
#define RECKON_DOCUMENT_H

#include "reckon/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models ---------------------------------------------------------------------------------- */

/* The architecture to train. */
typedef struct rk_model rk_model;

/*
 * Reads a model: a document, or a Hugging Face config.json.  Free *model with rk_model_free; it is
 * NULL after a failure.  Errors: RK_ERR_IO, RK_ERR_SYNTAX, RK_ERR_INVALID with file and JSON path,
 * RK_ERR_MEMORY.
 */
RK_API rk_status rk_model_create(const char *document, rk_model **model, rk_error *err);

/* NULL is legal. */
RK_API void rk_model_free(rk_model *model);

/* Facts about a model. */
typedef struct rk_model_facts {
    const char *name;          /* lives as long as the model */
    int64_t parameters;        /* with embedding and head, without multi-token prediction (MTP) */
    int64_t active_parameters; /* per token, without MTP */
    int64_t mtp_parameters;    /* of all MTP modules */
    int64_t layers;            /* without MTP */
    int64_t hidden;            /* width of the residual stream, elements */
    int64_t vocabulary;        /* rows of the embedding */
    int64_t sequence_tokens;   /* default sequence length in training */
    bool has_experts;          /* at least one layer is a mixture of experts */
} rk_model_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_model_facts). */
RK_API void rk_model_describe(const rk_model *model, rk_model_facts *facts, size_t size);

/*
 * Model FLOPs of training (forward and backward, no recomputation) per token of a sequence of
 * `sequence` tokens (0: the usual length).  `convention`: "megatron", "full", "palm", "torchtitan",
 * "nanotron" or "bridge", see docs/method/models.md.  Errors: RK_ERR_INVALID with the names.
 */
RK_API rk_status rk_model_count_flops(const rk_model *model, int64_t sequence,
                                      const char *convention, double *flops_per_token,
                                      rk_error *err);

/* ---- systems --------------------------------------------------------------------------------- */

/* The machine: an accelerator, network tiers, price. */
typedef struct rk_system rk_system;

/*
 * Reads a system: a cluster of the catalogue, an accelerator with its usual node and NIC, or a
 * document.  Ownership and errors as of rk_model_create.
 */
RK_API rk_status rk_system_create(const char *document, rk_system **system, rk_error *err);

/* NULL is legal.  Free everything made from the system (rk_setup_create) first. */
RK_API void rk_system_free(rk_system *system);

/* Properties of a system, per accelerator. */
typedef struct rk_system_facts {
    const char *name;           /* lives as long as the system, like the next */
    const char *accelerator;    /* "H100 SXM" */
    int64_t accelerators;       /* at most */
    int64_t node;               /* accelerators of the innermost network tier */
    int tiers;                  /* of the network, see rk_system_tier */
    double memory_bytes;        /* nominal */
    double memory_usable_bytes; /* available to a process */
    double memory_bytes_per_s;  /* peak of device memory */
    double vector_flops_per_s;  /* in fp32 */
    double host_memory_bytes;   /* this and the following: 0: not known */
    double host_bytes_per_s;    /* each way, of the link */
    double power_watts;         /* of the board */
    double price_per_hour;      /* US dollars */
} rk_system_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_system_facts). */
RK_API void rk_system_describe(const rk_system *system, rk_system_facts *facts, size_t size);

/* Dense peak of the matrix engine, FLOP/s; 0: the accelerator lacks the precision. */
RK_API double rk_system_peak(const rk_system *system, rk_precision precision);

/* One tier of the network. */
typedef struct rk_tier_facts {
    const char *name;     /* lives as long as the system */
    int64_t accelerators; /* of one domain */
    double bytes_per_s;   /* per accelerator and direction */
    double latency_s;     /* fixed, per collective */
} rk_tier_facts;

/*
 * Fills the first `size` bytes of `facts` for tier `index`, counted from the innermost.  Returns
 * false, and fills nothing, past the last.
 */
RK_API bool rk_system_tier(const rk_system *system, int index, rk_tier_facts *facts, size_t size);

/* ---- stacks ---------------------------------------------------------------------------------- */

/* How the training software behaves: fusion, overlap, launch cost, memory. */
typedef struct rk_stack rk_stack;

/*
 * Reads a stack.  A family such as "megatron", or one with a year ("megatron-2023"), is its
 * document for the accelerator of `system`; NULL: `document` names one.  Ownership and errors as of
 * rk_model_create.
 */
RK_API rk_status rk_stack_create(const char *document, const rk_system *system, rk_stack **stack,
                                 rk_error *err);

/* NULL is legal. */
RK_API void rk_stack_free(rk_stack *stack);

/* Facts about a stack. */
typedef struct rk_stack_facts {
    const char *name;   /* this and the next two live as long as the stack */
    const char *family; /* software family over the years; "": none */
    const char *base;   /* family that it builds on; "": none */
    int64_t year;       /* of its releases; 0: not known */
} rk_stack_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_stack_facts). */
RK_API void rk_stack_describe(const rk_stack *stack, rk_stack_facts *facts, size_t size);

#ifdef __cplusplus
}
#endif

#endif

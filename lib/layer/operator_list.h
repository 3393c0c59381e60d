/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators as data.  Layers emit them, one entry per pass; the same entry is priced (price.h),
 * gives the FLOPs, the traffic and the saved bytes of a block, and can be listed.  The entries of a
 * block add up to its rk_cost.
 */
#ifndef RK_LAYER_OPERATOR_LIST_H
#define RK_LAYER_OPERATOR_LIST_H

#include "layer/layer.h"

typedef enum rk_operator_kind {
    RK_OPERATOR_LINEAR,    /* a GEMM of M x N x K, in `groups` experts, if any */
    RK_OPERATOR_PRODUCT,   /* `groups` GEMMs in a batch */
    RK_OPERATOR_ATTENTION, /* flash attention: `groups` heads of K elements, M queries, N keys */
    RK_OPERATOR_SCAN,      /* a recurrence over M tokens */
    RK_OPERATOR_STREAM,    /* memory-bound work */
    RK_OPERATOR_MESSAGE,   /* collectives, and their time that is not hidden */
    RK_OPERATOR_FIXED,     /* time that no size changes */
    RK_OPERATOR_LAUNCH,    /* waiting for kernels to be launched */
    RK_OPERATOR_RECOMPUTE, /* forward again in backward; frees saved bytes */
    RK_OPERATOR_KEEP,      /* tensors kept for backward */
} rk_operator_kind;

extern const char *const rk_operator_kind_names[]; /* NULL-terminated, in enum order */

typedef enum rk_pass {
    RK_PASS_FORWARD,
    RK_PASS_BACKWARD, /* gradients of inputs, and what is recomputed */
    RK_PASS_WEIGHTS,  /* gradients of weights, which some schedules run apart */
} rk_pass;

extern const char *const rk_pass_names[]; /* NULL-terminated, in enum order */

/* One operator in one pass of a microbatch on a rank. */
typedef struct rk_operator {
    rk_operator_kind kind;
    rk_part part; /* where its time counts */
    rk_pass pass;
    rk_precision precision; /* of products and scans */
    double groups, M, N, K; /* sizes of the kind; 0: none */
    double flops;           /* executed */
    double bytes;           /* moved by memory-bound work and scans */
    double accumulate;      /* more bytes per element of the output of a GEMM */
    double share;           /* of the rate of products and attention that the kernels reach */
    double stream_share;    /* of a scan, the same of the bandwidth of memory */
    double kernels;         /* of a scan */
    rk_delta_rule rule;     /* of a scan: at the rates of the accelerator if it has them */
    double sequence;        /* of a delta rule: tokens along which states are passed on */
    double sharing;         /* of attention: query heads that share keys */
    double relative;        /* of attention: time relative to the stack's kernel; 0: 1 */
    rk_message message;
    double saved;   /* bytes kept for backward; negative: given up */
    double seconds; /* on the critical path of the pass; where no size says it, given */
} rk_operator;

typedef struct rk_operator_list {
    rk_operator *items; /* owned */
    size_t count, room;
    bool failed; /* there was no memory: the list is not complete */
} rk_operator_list;

/* Adds an operator, unless its time, FLOPs, bytes sent and bytes kept are all zero. */
void rk_operator_list_add(rk_operator_list *list, const rk_operator *entry);
void rk_operator_list_clear(rk_operator_list *list);

/* Whether all operators that were added are in the list; RK_ERR_MEMORY if there was no room. */
rk_status rk_operator_list_status(const rk_operator_list *list, rk_error *err);

/*
 * Lists the operators of a layer of a type, as the strategy recomputes it or, with `whole`,
 * checkpointed at its input.  The list must be empty; its owner clears it.
 */
rk_status rk_list_layer(const rk_block_context *context, const rk_layer_type *type, bool whole,
                        rk_operator_list *list, rk_error *err);

/* The same of the embedding, and of the final norm, output layer and loss. */
rk_status rk_list_embedding(const rk_block_context *context, rk_operator_list *list, rk_error *err);
rk_status rk_list_head(const rk_block_context *context, rk_operator_list *list, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators of a block as a list: each with its shape, what it executes, moves, sends and
 * keeps, and the time that it takes.  The entries of a block add up to its rk_cost.
 */
#ifndef RK_LAYER_OPERATOR_LIST_H
#define RK_LAYER_OPERATOR_LIST_H

#include "layer/layer.h"

typedef enum rk_operator_kind {
    RK_OPERATOR_LINEAR,    /* GEMMs of M x N x K, in `groups` experts where there are some */
    RK_OPERATOR_ATTENTION, /* softmax attention of M queries and N keys */
    RK_OPERATOR_SCAN,      /* a recurrence */
    RK_OPERATOR_STREAM,    /* memory-bound work */
    RK_OPERATOR_MESSAGE,   /* a collective, or those of a step of parallelism */
    RK_OPERATOR_FIXED,     /* time that no size changes */
    RK_OPERATOR_LAUNCH,    /* waiting for kernels to be launched */
    RK_OPERATOR_RECOMPUTE, /* forward again in backward; takes saved bytes away */
    RK_OPERATOR_KEEP,      /* tensors kept that no entry before has made */
} rk_operator_kind;

extern const char *const rk_operator_kind_names[]; /* NULL-terminated, in enum order */

/* One operator in one pass of a microbatch on a rank. */
typedef struct rk_operator {
    rk_operator_kind kind;
    rk_part part; /* where its time counts */
    bool backward;
    double groups, M, N, K; /* sizes of the kind; 0: none */
    double flops;           /* executed */
    double bytes;           /* moved by memory-bound work and scans */
    double seconds;
    double saved;             /* bytes kept for backward; negative: given up */
    rk_collective collective; /* of a message: the largest, where there are several */
    double message;           /* bytes of it, as rk_collective_seconds takes them; 0: none */
    int64_t ranks;            /* of its group */
    double sent;              /* bytes that leave the rank */
} rk_operator;

typedef struct rk_operator_list {
    rk_operator *items; /* owned */
    size_t count, room;
    bool failed;         /* there was no memory: the list is not complete */
    rk_cost seen;        /* of what the entries so far have added up to */
    rk_operator pending; /* of the message whose time was asked for last */
} rk_operator_list;

void rk_operator_list_clear(rk_operator_list *list);

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

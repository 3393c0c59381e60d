/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One layer, the embedding and the head under a strategy, for one microbatch on one rank:
 * operations, time, memory kept.  Nothing here depends on the pipeline or on data parallelism.
 */
#ifndef RK_LAYER_LAYER_H
#define RK_LAYER_LAYER_H

#include "model/kinds.h"
#include "stack/stack.h"
#include "strategy/strategy.h"
#include "system/system.h"

/* Where time goes, in the order of reports. */
typedef enum rk_part {
    RK_PART_LINEAR,    /* GEMMs of attention and dense FFN */
    RK_PART_ATTENTION, /* core attention */
    RK_PART_EXPERT,    /* grouped GEMMs, routing and permutation */
    RK_PART_STREAM,    /* norms, residuals, activations, positions */
    RK_PART_CAST,      /* conversions to low precision */
    RK_PART_HEAD,      /* output layer, loss, embedding */
    RK_PART_HOST,      /* waiting for kernels to be launched */
    RK_PART_RECOMPUTE, /* forward again in the backward pass */
    RK_PART_TP,        /* visible communication by group */
    RK_PART_CP,
    RK_PART_EP,
    RK_PART_PP,
    RK_PART_OFFLOAD,
    RK_PART_BUBBLE,
    RK_PART_DP,
    RK_PART_OPTIMIZER,
    RK_PART_FIXED, /* per step, noise of scale, an allocator out of memory */
    RK_PART_COUNT,
} rk_part;

extern const char *const rk_part_names[]; /* NULL-terminated, in enum order */

/* Seconds by part of one pass. */
typedef struct rk_times {
    double part[RK_PART_COUNT];
} rk_times;

double rk_times_sum(const rk_times *times);

/* times += factor * other, part by part. */
void rk_times_add(rk_times *times, double factor, const rk_times *other);

/* Bytes that one rank sends, by group. */
typedef struct rk_sent_bytes {
    double tensor, context, expert;
} rk_sent_bytes;

/* sent += factor * other. */
void rk_sent_add(rk_sent_bytes *sent, double factor, const rk_sent_bytes *other);

/* Whole matrices that Muon orthogonalizes, and the time on one rank. */
typedef struct rk_orthogonal {
    double matrices, seconds;
} rk_orthogonal;

/*
 * Extra time of backward, s, if weight gradients are a separate pass: sums over the tensor group
 * that they no longer hide, and launches, since each of two passes waits for its own.
 */
typedef struct rk_split_backward {
    double sums, launches;
} rk_split_backward;

typedef struct rk_cost {
    rk_times forward, backward;               /* s; backward contains what is recomputed */
    double forward_seconds, backward_seconds; /* sums of the above; of a finished block */
    double weight_seconds; /* of weight gradients, where these are a pass of their own */
    double weight_kernels; /* launches of that pass */
    rk_split_backward apart;
    double hidden_forward, hidden_backward; /* s, of all-to-all, under another microbatch */
    double flops_forward, flops_backward, flops_recompute; /* executed */
    rk_sent_bytes sent_forward, sent_backward;             /* recompute is in backward */
    double saved;             /* bytes kept from forward to backward, after recompute */
    double late;              /* included: bytes no longer needed but not free yet */
    double unsaved;           /* bytes recomputed for backward, while it runs */
    double transient;         /* bytes of temporaries at the worst moment of backward */
    double wgrad_buffers;     /* bytes that stay, for weight gradients on their way */
    double dense_params;      /* on this rank */
    double replicated_params; /* included: whole on every tensor rank */
    double outer_params;      /* of dense ones, weights of recurrences that Muon leaves to AdamW */
    double expert_params;     /* on this rank */
    double low_dense_params, low_expert_params; /* included: weights of linears in 8 or 4 bits */
    double dequantised;   /* bytes in 16 bits of the largest linear whose weights are in NF4 */
    double adapters;      /* linears that have one */
    double matrix_params; /* of the largest linear, or of all experts' */
    rk_orthogonal orthogonal, orthogonal_experts;
} rk_cost;

/* A collective of a layer, several times in a pass: its time and bytes. */
typedef struct rk_message {
    rk_collective op;
    rk_group_kind group;
    int64_t ranks; /* of the group */
    double times;
    double bytes;   /* of one, as in rk_collective_seconds */
    double spread;  /* bytes of one that kernels spread over a domain; 0: none */
    double seconds; /* of all, hidden or not */
    double sent;    /* bytes that leave a rank, of all */
} rk_message;

/* GEMMs that have been priced on one accelerator, for searches; all zero when there are none. */
typedef struct rk_gemm_prices rk_gemm_prices;

/* Inputs that all layers share. */
typedef struct rk_block_context {
    rk_gemm_prices *prices; /* NULL: no price is kept */
    const rk_model *model;
    const rk_system *system;
    const rk_stack *stack;
    const rk_strategy *strategy;
    rk_group groups[RK_GROUP_LAYER_COUNT];
    double element;  /* bytes of an element of activations */
    double residual; /* of an element of hidden states between layers */
    double written;  /* of an element that a linear writes: casts back where these are wide */
    bool autocasts;  /* linears keep 16-bit casts of hidden states and weights in fp32 */
    double width;    /* element / 2: stacks give bytes per element of 16 bits */
    struct {
        double forward, backward; /* rates of flash attention over the accelerator's in 16 bits */
        double ramp;              /* tokens at which it reaches half of them */
    } attention;
    double tokens;       /* T = micro_batch * seq / cp */
    double local_tokens; /* T / tp with sequence parallelism, else T */
    double vocab;        /* padded to a multiple of 128 tp, as Megatron does */
    /* on the hidden state of T tokens over the tensor group */
    rk_message gather; /* with sequence parallelism; else nothing */
    bool gathers_cast; /* inputs of linears and gradients of outputs are cast before gathering */
    rk_message region_gather; /* what linears gather: as gather, or of one byte per element */
    /* Seconds of copies that go with each of the three, for collectives that do not join or cut
     * sequences where they lie; visible. */
    double gather_copy, region_copy, reduce_copy;
    rk_message reduce; /* reduce-scatter with sequence parallelism, else all-reduce */
} rk_block_context;

/* The strategy must be legal. */
rk_block_context rk_block_context_of(const rk_model *model, const rk_system *system,
                                     const rk_stack *stack, const rk_strategy *strategy);

/* The same for a strategy that differs in recompute, ep and etp, or in pp and dp, at most. */
rk_block_context rk_block_context_like(const rk_block_context *context,
                                       const rk_strategy *strategy);

/* The mixer of a layer, without norms and tensor parallelism; types may share it. */
rk_cost rk_block_mixer(const rk_block_context *context, const rk_layer_type *type);

/* The feed-forward network of a layer by itself, without norms and tensor parallelism. */
rk_cost rk_block_network(const rk_block_context *context, const rk_layer_type *type);

/* The parameters of a layer, but for those in 8 and 4 bits. */
void rk_block_count_params(const rk_block_context *context, const rk_layer_type *type,
                           rk_cost *cost);

rk_cost rk_block_embedding(const rk_block_context *context);

/* Final norm, output layer and loss, once. */
rk_cost rk_block_head(const rk_block_context *context);

/*
 * Of a model with multi-token prediction: a module's norms and projection of hidden state and
 * embedding, without its layer and the shared head.
 */
rk_cost rk_block_mtp(const rk_block_context *context);

/* Bytes of whole logits and of their loss, of which no more than the logits' gradient is left when
 * that of the output layer is made. */
double rk_loss_freed(const rk_block_context *context);

/* Parameters of one rank's part of the embedding table; the same of an output layer. */
double rk_block_table_params(const rk_block_context *context);

#endif

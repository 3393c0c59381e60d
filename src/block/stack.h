/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training software as it is: which operators are fused, what overlaps, what a launch costs,
 * what it keeps in memory besides tensors.  One document per stack in data/stacks.
 */
#ifndef RK_BLOCK_STACK_H
#define RK_BLOCK_STACK_H

#include "reckon/reckon.h"

typedef struct rk_stack {
    char name[48];
    /* Shares of what the accelerator sustains on isolated kernels. */
    double gemm_share, attention_share, stream_share;
    double expert_gemm_share; /* of grouped GEMMs, besides gemm_share */
    /* Traffic of memory-bound operators, bytes per element. */
    double norm_forward, norm_backward; /* both norms and residual adds of a layer, per hidden */
    double activation_passes;           /* 1: fused; 2 and more: reads and writes again */
    double dropout_bytes;               /* bias, dropout, add: per hidden, each way; 0: none */
    double loss_bytes;                  /* per logit, forward and backward */
    double cast_passes;                 /* of low-precision casts; 1: as fused kernels do */
    double permute_passes;              /* of routed tokens */
    double optimizer_bytes;             /* per parameter of the shard, all passes */
    /* Host: a layer takes at least kernels * launch, combined smoothly with the device time. */
    double kernels_forward, kernels_backward;         /* of a dense layer */
    double moe_kernels_forward, moe_kernels_backward; /* of a layer with experts */
    double expert_kernels;                            /* more per local expert, forward */
    double graph_share;                               /* of the kernels with graph capture */
    double router_seconds;                            /* of routing a microbatch, each way */
    /* Shares of communication that stay visible. */
    double tp_exposed;       /* with tp_overlap */
    double tp_backward;      /* of the backward all-reduce without sequence parallelism */
    double regather_exposed; /* of the backward re-gather of saved inputs */
    double dp_exposed;       /* of gradient and parameter traffic that is overlapped */
    double dp_window;        /* of the compute of a microbatch under which it hides */
    double contention;       /* of hidden traffic that slows the compute above it */
    double pp_exposed;       /* of messages between stages with pp_overlap */
    double moe_exposed;      /* of all-to-all with moe_overlap */
    double cp_step_seconds;  /* of one step of a context-parallel ring */
    bool deduplicates;       /* dispatch sends one copy per node */
    /* Per step. */
    double step_seconds; /* fixed */
    double scale_growth; /* relative, per doubling of accelerators beyond 8 */
    /* Memory. */
    double logit_bytes;     /* per logit kept or made by the loss */
    double context_bytes;   /* context and communicators outside the allocator */
    double workspace_bytes; /* of libraries, inside the allocator */
    double fragmentation;   /* reserved over allocated, less 1 */
} rk_stack;

/* Reads a stack: a file, or a name of the catalogue data/stacks.  Implemented in src/formats. */
rk_status rk_stack_load(const char *name, rk_stack *stack, rk_error *err);

#endif

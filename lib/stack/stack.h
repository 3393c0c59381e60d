/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training software: fused operators, overlap, costs of launches, memory beyond tensors.  One
 * document per stack in data/stacks; the keys and their meaning are in lib/stack/stack_doc.c.
 */
#ifndef RK_STACK_STACK_H
#define RK_STACK_STACK_H

#include "system/system.h"

typedef struct rk_stack {
    char name[48];
    char family[24];      /* releases under one name, e.g. megatron; "": none */
    char base[24];        /* family that it builds on, used if it has no document */
    int64_t year;         /* year of its releases; 0: not given */
    unsigned generations; /* of accelerators that it was fitted on: bits 1 << rk_generation */
    bool general;         /* runs models and loops that users bring, without tuned recipes */
    rk_attention_kernel
        attention_kernel; /* flash attention kernel; RK_KERNEL_OF_STACK: not given */
    /* Rates inside a training step relative to the accelerator's document. */
    double gemm_share, low_gemm_share; /* of 16-bit and wider, and of 8- and 4-bit formats */
    double expert_gemm_share;          /* of grouped GEMMs, in addition */
    double attention_share, attention_backward_share, stream_share;
    double other_attention_share; /* on generations that it was not fitted on; 0: the same */
    double attention_ramp_tokens; /* sequence of half the rate; 0: the accelerator's */
    /* Of scans of recurrences over the peak of the matrix engine and of memory bandwidth. */
    double scan_flop_share, scan_stream_share;
    double delta_flop_share, delta_stream_share; /* of delta rules and gated linear attention */
    /* Traffic of memory-bound operators, bytes per element. */
    double norm_forward, norm_backward;   /* two norms and residual adds, per hidden */
    double activation_passes;             /* 1: fused; 2 and more: reads and writes again */
    double clamped_passes;                /* the same of a clamped activation */
    double dropout_bytes;                 /* bias, dropout, add: per hidden, each way; 0: none */
    double score_forward, score_backward; /* of attention that is not fused, per score */
    double bias_bytes;                    /* of a bias that flash attention reads, per score */
    double loss_bytes;                    /* per logit, forward and backward */
    /* of low-precision casts, over what one kernel per operand reads and writes */
    double cast_passes, mx_cast_passes, fp4_cast_passes;
    double unpack_passes;      /* of dequantising frozen weights, over one kernel */
    double permute_passes;     /* of routed tokens */
    double qk_passes;          /* of norms and rotations of queries and keys */
    double dispatch_bytes;     /* of a dispatched element, forward */
    double accumulation_bytes; /* per parameter and microbatch, of gradients added separately */
    double optimizer_bytes;    /* per parameter of the shard, all passes */
    double foreach_bytes;      /* the same, more, of an update operator by operator */
    double division_bytes;     /* per gradient that a sharded optimizer reduces */
    /* Host: a layer needs at least kernels * launch, combined smoothly with the device time. */
    double kernels_forward, kernels_backward;         /* of a dense layer, and of the head */
    double tp_kernels;                                /* more with tensor parallelism, each way */
    double moe_kernels_forward, moe_kernels_backward; /* of a layer with experts */
    double exchange_kernels;                          /* more where an all-to-all sorts, each way */
    double expert_kernels;                            /* more per local expert, forward */
    double expert_backward_launches;                  /* launches in backward over forward */
    double capacity_launches;                         /* launches with a capacity over without */
    double expert_cast_kernels;                       /* and more in low precision */
    double graph_share;                               /* of the kernels with graph capture */
    double adapter_kernels;                           /* of an adapter in forward */
    double launch_ratio;                              /* time of a launch over the accelerator's */
    double overlap_launches;                          /* launches with moe_overlap over without */
    double router_seconds;                            /* of routing a microbatch, each way */
    double expert_cast_seconds;                       /* and more in low precision */
    bool waits_for_counts;                            /* of tokens of experts, in every layer */
    bool blocks_launches;                             /* every kernel ends before the next launch */
    /* Shares of communication that stay visible. */
    double tp_forward_exposed, tp_backward_exposed;
    double tp_reduce_exposed;  /* of reducing gradients during the weight gradients */
    double tp_overlap_exposed; /* of all three with tp_overlap */
    double regather_exposed;   /* of the backward gather of saved inputs */
    double dp_exposed;         /* of gradient and parameter traffic that is overlapped */
    double dp_window;          /* of the compute of a microbatch under which it hides */
    double contention;         /* of hidden traffic that slows the compute above it */
    double pp_exposed;         /* of messages between stages with pp_overlap */
    double send_seconds;       /* of a message between stages, added to the network's */
    double exchange_cores;     /* of the accelerator's, that all-to-all occupies */
    double exchange_slowdown;  /* of all-to-all during compute, relative to alone */
    double dispatch_exposed;   /* of spreading tokens in a domain, or of the network meanwhile */
    double dispatch_bandwidth; /* of kernels that copy tokens without duplicates; 0: no limit */
    double norm_rings;         /* rings of the tensor group per norm and step; 0: one message */
    double norm_rings_whole;   /* more where every rank updates all of its parameters */
    double bucket_bytes;       /* of messages that reduce gradients; 0: one message */
    double gather_bytes;       /* of messages that gather parameters; 0: one message */
    double bucket_params;      /* of messages of either kind: at least so many parameters, */
    double bucket_rank_params; /* and so many for every rank of the group */
    bool deduplicates;         /* dispatch sends one copy per domain, or rank */
    bool routes_in_turn;       /* the gate deals out experts in turn, as benchmarks do */
    bool scatters_messages;    /* messages between stages are split over the tensor group */
    bool reduces_whole; /* gradients of a sharded optimizer are all-reduced, if weights are whole */
    bool reduces_late;  /* they are reduced after backward */
    bool ring_gathers;  /* a ring gathers keys and values of all heads, and sums in fp32 */
    bool gathers_cast;  /* tensor ranks gather what tensorwise fp8 has already cast */
    bool copies_sequence; /* what tensor ranks gather and scatter of sequences is copied */
    bool copies_shards;   /* gathered weights are copied from a buffer, gradients into one */
    bool scatters_last;   /* under pipelines sharded gradients are scattered once, after the last
                             microbatch of a chunk */
    bool overlaps_chunks; /* interleaved stages exchange gradients and parameters of a chunk during
                             the passes of other chunks */
    bool gathers_tensors; /* sharded weights and gradients pass one by one, not by layers */
    bool masks_tokens;    /* with a capacity, products with masks take tokens to experts and back */
    /* Per step. */
    double step_seconds;    /* fixed */
    double adapter_seconds; /* the same where adapters learn alone */
    double host_bandwidth;  /* bytes/s of a rank that steps its optimizer there; 0: none does */
    double scale_growth;    /* relative, per doubling of accelerators beyond 8 */
    /* Memory. */
    bool recompute_stops;       /* checkpoints stop with the last tensor that backward needs */
    bool keeps_gathered;        /* sequence parallelism keeps the gathered inputs of linears */
    bool keeps_activation;      /* a gated activation keeps its intermediate */
    double gathered_share;      /* of the gathered inputs kept that are live at the peak */
    double activation_share;    /* of the activations by tensor list that are live at the peak */
    double wgrad_bytes;         /* buffers of weight gradients of one layer, per parameter */
    double logit_bytes;         /* per logit kept or made by the loss */
    double split_logit_bytes;   /* the same where tensor ranks split the vocabulary */
    double stale_logit_bytes;   /* of the microbatch before, per logit, which are not yet free */
    double gathered_buffers;    /* more tensors of a whole sequence, with tensor parallelism */
    double late_buffers;        /* more if no stage holds the host back */
    double stage_tensors;       /* hidden states that a pipeline keeps per microbatch in flight */
    double optimizer_temporary; /* bytes per parameter while the optimizer steps */
    double frozen_inputs;       /* gradients of inputs that sharded layers of frozen weights keep */
    double quantised_inputs;    /* times that the inputs of linears in NF4 are kept */
    bool adapter_dropout;       /* adapters read their inputs through dropout */
    bool sums_whole;            /* sharded gradients are whole between microbatches */
    bool tiled_mlp;             /* dense networks run tile by tile of the tokens */
    double kept_outputs;        /* times that outputs of experts are kept */
    bool wide_softmax;          /* attention that is not fused keeps its softmax in fp32 */
    bool wide_norms;            /* norms, operator by operator, keep their input in fp32 */
    bool autocasts;             /* weights in fp32 make hidden states in fp32 (torch.autocast) */
    double layer_tensors;       /* further hidden states in the backward of a layer */
    double inner_tensors;       /* further gradients inside a gated network */
    double step_bytes;          /* per parameter of the shard while its group steps */
    double step_params;         /* parameters of such a group with ZeRO-3; 0: all */
    double live_params;         /* that ZeRO-3 leaves gathered; 0: two layers */
    double bucket_memory;       /* bytes of buffers in which gradients are reduced */
    double host_share;          /* more pinned host memory than the states need */
    double stale_logits;        /* sets of logits cached from batches of other lengths */
    bool whole_experts;         /* sharding leaves experts as their expert ranks hold them */
    bool separate_blocks;       /* cached blocks of loss, layers and update serve none but these */
    bool keeps_root;            /* sharded embedding and head stay gathered, and one layer */
    bool frees_gradients;       /* gradients are freed when they have been used */
    bool stream_pools;          /* collectives of shards hold blocks on streams of their own */
    bool drops_outputs;         /* recomputed by operators, no output is kept that none reads */
    bool transposes_again; /* transposed copies of 8-bit weights are made in every backward pass */
    double thrash_seconds; /* per GiB beyond memory and microbatch, of giving back and taking */
    double context_bytes;  /* context and communicators outside the allocator */
    double communicator_bytes;  /* more, with several ranks */
    double workspace_bytes;     /* of libraries, inside the allocator */
    double fragmentation;       /* reserved over allocated, less 1 */
    double stage_fragmentation; /* the same of activations of pipeline stages */
} rk_stack;

/* Whether an attention kernel is another one than the stack runs. */
static inline bool rk_stack_lacks_kernel(const rk_stack *stack, rk_attention_kernel kernel)
{
    return kernel != RK_KERNEL_OF_STACK && kernel != stack->attention_kernel;
}

/* Whether a stack was fitted on an accelerator's generation; one that lists none, on all. */
static inline bool rk_stack_lists(const rk_stack *stack, const rk_accelerator *a)
{
    return stack->generations == 0 || (stack->generations >> a->generation & 1U) != 0;
}

/* Reads a stack: a file, or a name of the catalogue data/stacks.  Implemented in lib/io. */
rk_status rk_stack_load(const char *name, rk_stack *stack, rk_error *err);

/*
 * Reads the stack that a name means on an accelerator.  A file, or a document made for its
 * generation, is that document.  A family ("megatron") is its newest document for the generation; a
 * family with a year ("megatron-2023") and a document for another generation are the document of
 * the family for this generation that is nearest in time.  Implemented in lib/io.
 */
rk_status rk_stack_choose(const char *name, const rk_accelerator *accelerator, rk_stack *stack,
                          rk_error *err);

/* How the stack that was chosen for a name fits the accelerator. */
typedef enum rk_stack_match {
    RK_STACK_NAMED,  /* the document of that name */
    RK_STACK_FAMILY, /* one of the family, measured on this generation */
    RK_STACK_BASE,   /* one of the family that it builds on, measured on this generation */
    RK_STACK_OTHER,  /* one measured on other generations only */
} rk_stack_match;

rk_stack_match rk_stack_match_of(const char *name, const rk_accelerator *accelerator,
                                 const rk_stack *stack);

#endif

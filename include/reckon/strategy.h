/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategies: degrees of parallelism, batch, recomputation, sharding, precision and overlap.  The
 * library and its commands use the same struct.
 *
 * Ranks are numbered with tensor parallelism fastest, then context, then data and pipeline in the
 * strategy's order (expert groups fold over tensor, context and data ranks).
 */
#ifndef RECKON_STRATEGY_H
#define RECKON_STRATEGY_H

#include "reckon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number formats of GEMM operands; int8 is AQT's, scaled as fp8 is. */
typedef enum rk_precision {
    RK_FP32 = 0,
    RK_TF32 = 1,
    RK_BF16 = 2,
    RK_FP16 = 3,
    RK_FP8 = 4,
    RK_FP4 = 5,
    RK_INT8 = 6
} rk_precision;

/* Values of rk_precision. */
#define RK_PRECISION_COUNT 7

/*
 * All schedules of a pipeline: RK_SCHEDULE_<kind>, the entry that its file in lib/schedule defines,
 * and its name.  To add a schedule, add one file and one line here: see docs/howto/schedule.md.
 */
#define RK_SCHEDULE_LIST(X)                                                                        \
    X(GPIPE, gpipe, "gpipe")                                                                       \
    X(1F1B, 1f1b, "1f1b")                                                                          \
    X(INTERLEAVED, interleaved, "interleaved") /* 1F1B with v > 1 chunks a rank */                 \
    X(ZB_H1, zb_h1, "zb-h1")                   /* weight gradients fill bubbles, memory of 1F1B */ \
    X(ZB_H2, zb_h2, "zb-h2")                   /* the same with 2p - 1 microbatches in flight */   \
    X(ZB_V, zb_v, "zb-v")             /* V-shaped; no bubble in steady state if F = B = W */       \
    X(DUALPIPE, dualpipe, "dualpipe") /* bidirectional, two copies of the weights */               \
    X(V_HALF, v_half, "v-half")       /* V-shaped, half the activations of 1F1B */                 \
    X(V_MIN, v_min, "v-min")          /* V-shaped, a third of the activations */

/* How an entry becomes an enumerator. */
#define RK_SCHEDULE_KIND(kind, entry, name) RK_SCHEDULE_##kind,

/* The schedules: RK_SCHEDULE_GPIPE, RK_SCHEDULE_1F1B... in the order of the list. */
typedef enum rk_schedule_kind {
    RK_SCHEDULE_LIST(RK_SCHEDULE_KIND) RK_SCHEDULE_KIND_COUNT
} rk_schedule_kind;
#undef RK_SCHEDULE_KIND

/* Which activations are recomputed in backward. */
typedef enum rk_recompute_kind {
    RK_REC_NONE = 0,      /* none */
    RK_REC_SELECTIVE = 1, /* the modules of rk_strategy.recompute_modules */
    RK_REC_FULL = 2,      /* whole layers: recompute_layers of each stage chunk, 0 = all */
} rk_recompute_kind;

/* Modules of selective recompute, a bit each. */
enum {
    RK_MODULE_CORE_ATTENTION = 1, /* scores, softmax and their product with values */
    RK_MODULE_NORM = 2,           /* layer norms */
    RK_MODULE_ACTIVATION = 4,     /* SwiGLU or GELU of FFN and experts */
    RK_MODULE_MLA_UP = 8,         /* up-projections of latent attention */
    RK_MODULE_MLP = 16,           /* dense feed-forward networks */
    RK_MODULE_MOE = 32,           /* whole mixtures of experts */
    /* torchtitan's operators: all but attention, messages and every second product of a layer */
    RK_MODULE_OPERATORS = 64,
    RK_MODULE_STREAMS = 128,    /* streams of hyper-connections */
    RK_MODULE_PROJECTION = 256, /* output projection of attention, up to the next norm */
};

/* Parts of a layer that a CUDA graph holds, by the modules of Megatron Core; a bit each. */
enum {
    RK_GRAPH_ATTENTION = 1,   /* mixers of tokens but state spaces, with their norm and residual */
    RK_GRAPH_MAMBA = 2,       /* state spaces, likewise */
    RK_GRAPH_MLP = 4,         /* dense feed-forward networks */
    RK_GRAPH_MOE = 8,         /* whole mixtures, whose experts have a capacity */
    RK_GRAPH_ROUTER = 16,     /* of mixtures all up to the router, and shared experts */
    RK_GRAPH_PREPROCESS = 32, /* counts of tokens and their order before the dispatch */
};

/* Modules with adapters; bits of rk_strategy.adapter_modules. */
enum rk_adapted { RK_ADAPTED_ATTENTION = 1, RK_ADAPTED_FFN = 2 };

/* How context parallelism exchanges keys and values. */
typedef enum rk_cp_kind { RK_CP_RING = 0, RK_CP_ALL_GATHER = 1, RK_CP_ULYSSES = 2 } rk_cp_kind;

/* Rank order, fastest-varying first; experts take the place of cp in their layers. */
typedef enum rk_rank_order {
    RK_ORDER_DATA_PIPELINE = 0, /* tp-cp-dp-pp: Megatron-LM's default */
    RK_ORDER_PIPELINE_DATA = 1, /* tp-cp-pp-dp: as Llama 3 */
} rk_rank_order;

/* Values of rk_rank_order. */
#define RK_ORDER_COUNT 2

/* Sharding of model states over data-parallel ranks. */
typedef enum rk_sharding {
    RK_SHARD_NONE = 0,      /* plain data parallelism */
    RK_SHARD_OPTIMIZER = 1, /* ZeRO-1, distributed optimizer */
    RK_SHARD_GRADIENTS = 2, /* ZeRO-2 */
    RK_SHARD_ALL = 3,       /* ZeRO-3, FSDP */
} rk_sharding;

/*
 * How the operands of linears in fp8 are scaled, by the names of Transformer Engine.  Linears in
 * fp4 have one recipe, NVFP4: a scale of 8 bits per 16 elements and one per tensor.
 */
typedef enum rk_fp8_recipe {
    RK_FP8_TENSORWISE = 0, /* one scale per tensor, of its current values: needs another pass */
    RK_FP8_DELAYED = 1,    /* one scale per tensor, of its values in earlier steps */
    RK_FP8_BLOCKWISE = 2,  /* 1x128 of activations and gradients, 128x128 of weights (DeepSeek) */
    RK_FP8_MX = 3,         /* 1x32 along the inner dimension of each GEMM, in 8 bits */
} rk_fp8_recipe;

/* The kernel of flash attention; a data type other than 16 bits holds for its two products. */
typedef enum rk_attention_kernel {
    RK_KERNEL_OF_STACK = 0, /* the one that the stack runs, in 16 bits */
    RK_KERNEL_CUDNN = 1,
    RK_KERNEL_CUDNN_FP8 = 2,   /* scales per tensor */
    RK_KERNEL_CUDNN_MXFP8 = 3, /* scales of 32 elements */
    RK_KERNEL_FLASH_2 = 4,
    RK_KERNEL_FLASH_3 = 5,
    RK_KERNEL_AITER = 6,
    RK_KERNEL_COUNT,
} rk_attention_kernel;

/* Optimizers; docs/method/optimizers.md describes their states and costs. */
typedef enum rk_optimizer {
    RK_OPTIMIZER_ADAMW = 0,
    RK_OPTIMIZER_ADAMW_BF16 = 1, /* moments in bf16 */
    RK_OPTIMIZER_ADAM_8BIT = 2,  /* moments in 8 bits, block by block */
    RK_OPTIMIZER_ADAFACTOR = 3,  /* without momentum */
    RK_OPTIMIZER_SGD = 4,        /* with momentum */
    RK_OPTIMIZER_SGD_PLAIN = 5,  /* without */
    RK_OPTIMIZER_MUON = 6,       /* every data-parallel rank updates all matrices */
    RK_OPTIMIZER_DIST_MUON = 7,  /* matrices are distributed over data-parallel ranks */
    RK_OPTIMIZER_ADAMW_8BIT = 8, /* moments in 8 bits, also of the embedding */
    RK_OPTIMIZER_ADAMW_4BIT = 9, /* moments in 4 bits, also of the embedding */
    RK_OPTIMIZER_COUNT,
} rk_optimizer;

/* How the loss is computed, which decides how much of the logits memory holds. */
typedef enum rk_cross_entropy {
    RK_CROSS_ENTROPY_OF_STACK = 0, /* whole logits, with the copies that the stack makes */
    RK_CROSS_ENTROPY_FULL = 1,     /* whole logits, and copies in fp32, as PyTorch makes them */
    RK_CROSS_ENTROPY_FUSED = 2,    /* head and loss in one kernel, block by block (Liger, CCE) */
    RK_CROSS_ENTROPY_CHUNKED = 3,  /* head and loss on chunks of the tokens, one after the other */
    RK_CROSS_ENTROPY_COUNT,
} rk_cross_entropy;

/* How the frozen weights of linears are kept, with nf4_weights. */
typedef enum rk_frozen_type {
    RK_FROZEN_NF4 = 0,       /* blocks of 64, their scales quantised again */
    RK_FROZEN_NF4_PLAIN = 1, /* blocks of 64, scales in 32 bits */
    RK_FROZEN_INT4 = 2,      /* groups of 128, as GPTQ */
    RK_FROZEN_INT8 = 3,      /* rows */
    RK_FROZEN_COUNT,
} rk_frozen_type;

/* Bytes per parameter of model states; weights as the optimizer writes them. */
typedef struct rk_state_recipe {
    double weight, gradient, optimizer; /* e.g. 2, 4, 12 */
    double gather;                      /* bytes of a gathered parameter, 2 or 1 */
    double reduce;                      /* bytes of a reduced gradient, 4 or 2 */
} rk_state_recipe;

/* A strategy.  Start with rk_strategy_read or a strategy of an outcome, and modify it. */
typedef struct rk_strategy {
    size_t size; /* sizeof(rk_strategy) of the program; fields may be added at the end */
    int64_t tp, cp, pp, vp, dp;        /* vp: chunks per rank of the interleaved schedule, else 1 */
    int64_t ep, etp;                   /* experts over ep ranks, each over etp */
    bool sp;                           /* sequence parallelism within the tensor group */
    rk_cp_kind cp_kind;                /* with cp > 1 */
    rk_rank_order order;               /* of the ranks */
    int64_t micro_batch, global_batch; /* sequences */
    int64_t seq;                       /* tokens */
    int64_t document; /* tokens of a document within which attention stays; 0: the sequence */
    rk_schedule_kind schedule;   /* of the pipeline */
    rk_recompute_kind recompute; /* which activations */
    unsigned recompute_modules;  /* of selective recompute: RK_MODULE_ bits */
    int64_t recompute_layers;    /* of full recompute, per stage chunk; 0: all */
    rk_sharding sharding;        /* ZeRO stage */
    /* HSDP: shard groups are dp * cp / replicas, and as much of experts; 1: one group of all. */
    int64_t replicas;
    rk_precision precision;   /* of the linears */
    rk_fp8_recipe fp8_recipe; /* of linears in fp8 */
    bool low_weights; /* weights of low-precision linear layers exist only in that type, except the
                         optimizer's copy */
    rk_state_recipe states;                       /* bytes of model states */
    bool flash_attention;                         /* attention scores are never written to memory */
    bool tp_overlap, grad_overlap, param_overlap; /* traffic that overlaps with compute */
    bool pp_overlap, moe_overlap;                 /* more such traffic */
    bool graph_capture;                           /* kernels of layers are launched as graphs */
    bool graph_step;                              /* a graph holds all kernels of a step */
    bool offload_optimizer, offload_activations, offload_weights; /* to host memory */
    int64_t first_stage_layers, last_stage_layers; /* of a rank; 0: like the others */
    bool count_embedding, count_head;              /* counted as a layer in the split */
    bool mtp_before_head;                          /* MTP is on the stage before the head's */
    const int16_t *layout; /* the caller's: layers of every virtual stage in the model's order */
    int layout_count;      /* number of stages in it; 0: no layout, layers are spread evenly */
    /*
     * Fine-tuning with adapters (LoRA): the weights of the model are frozen, and the linears of
     * these modules (dense and shared FFNs, not routed experts) get trainable adapters of this
     * rank. 0: all weights are trained.  rk_strategy_freeze sets all three and the bytes of states.
     */
    int64_t adapter_rank;
    unsigned adapter_modules; /* bits of rk_adapted */
    double learning;          /* parameters of adapters as a fraction of the model's */
    double capacity_factor;   /* MoE; 0: dropless */
    double imbalance;         /* tokens on the most loaded expert rank over the mean, >= 1 */
    rk_optimizer optimizer;   /* of all trained weights */
    double outer_states;      /* more bytes of the optimizer, per parameter of embedding and head */
    bool nf4_weights;         /* frozen weights of linears are kept in NF4 (QLoRA) */
    bool low_activations;     /* inputs of gated activations are kept in 8 bits */
    rk_attention_kernel attention_kernel; /* with flash attention */
    int64_t offload_layers; /* of the model, whose activations are offloaded; 0: all layers */
    rk_cross_entropy cross_entropy; /* how the loss is computed */
    double logit_bytes;             /* held per whole logit; 0: as for cross_entropy */
    int64_t loss_chunk;             /* tokens of a chunk of the loss; 0: an eighth of all */
    bool foreach_update;    /* the update makes temporaries as large as the weights that learn */
    bool step_in_backward;  /* a gradient is used and freed as soon as it is there */
    bool offload_gradients; /* to the optimizer on the host, as they come */
    bool wide_residual;     /* hidden states, norms, embedding and head in fp32 (kbit training) */
    rk_frozen_type frozen_type; /* with nf4_weights */
    /* Of a weight of an adapter, where every linear has its own (PEFT); 0: as the frozen ones, and
     * fused linears share one. */
    double adapter_bytes;
    bool adapts_ends;         /* copies of embedding and head learn, too (modules_to_save) */
    double step_params;       /* that the optimizer steps at a time with ZeRO-3; 0: as the stack */
    bool expandable_segments; /* of PyTorch's allocator, which leaves fewer fragments */
    /* Of what is offloaded, what lies on NVMe disks of the node (ZeRO-Infinity): the optimizer's
     * states with the gradients that are on the host, and weights. */
    bool nvme_optimizer, nvme_weights;
    double offload_share;   /* of the optimizer that is offloaded; 0: all of it */
    unsigned graph_modules; /* of graph_capture: RK_GRAPH_ bits; 0: all that graphs can hold */
} rk_strategy;

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Calculon methodology, number for number as published: its documents, the evaluation of a
 * mapping, and the search over all mappings.
 */
#ifndef RECKON_CALCULON_H
#define RECKON_CALCULON_H

#include "reckon/search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the Calculon methodology: inputs ---------------------------------------------------- */

/* Number formats. */
typedef enum rk_datatype {
    RK_FLOAT8 = 0,
    RK_FLOAT16 = 1,
    RK_BFLOAT16 = 2,
    RK_FLOAT32 = 3
} rk_datatype;

/* Values of rk_datatype. */
#define RK_DATATYPE_COUNT 4
/* An unknown name; evaluation rejects it, but only after it has checked the networks. */
#define RK_DATATYPE_UNKNOWN ((rk_datatype)RK_DATATYPE_COUNT)

/* Kinds of attention. */
typedef enum rk_attention { RK_MULTIHEAD = 0, RK_MULTIQUERY = 1 } rk_attention;

/* Recomputation in backward. */
typedef enum rk_recompute {
    RK_RECOMPUTE_FULL = 0,
    RK_RECOMPUTE_ATTN = 1,
    RK_RECOMPUTE_NONE = 2
} rk_recompute;

/* How tensor-parallel ranks communicate. */
typedef enum rk_tp_comm { RK_TP_AR = 0, RK_TP_P2P_RS_AG = 1, RK_TP_RS_AG = 2 } rk_tp_comm;

/* How that traffic overlaps with compute. */
typedef enum rk_tp_overlap {
    RK_OVERLAP_NONE = 0,
    RK_OVERLAP_RING = 1,
    RK_OVERLAP_PIPE = 2
} rk_tp_overlap;

/* The model: a stack of equal transformer blocks. */
typedef struct rk_calculon_app {
    int64_t hidden;      /* h: width of the residual stream, elements */
    int64_t feedforward; /* f: inner width of the MLP, elements */
    int64_t seq_size;    /* s: tokens per sequence */
    int64_t attn_heads;  /* a */
    int64_t attn_size;   /* d: elements per head */
    int64_t num_blocks;  /* N */
} rk_calculon_app;

/* The mapping; the fields are in the order of the published execution document. */
typedef struct rk_calculon_exe {
    int64_t num_procs;    /* P = t * p * D */
    int64_t tensor_par;   /* t */
    int64_t pipeline_par; /* p */
    int64_t data_par;     /* D */
    /* network tier of each dimension, 0-based */
    int64_t tensor_par_net;
    int64_t pipeline_par_net;
    int64_t data_par_net;

    int64_t batch_size;                /* B: sequences per step */
    int64_t microbatch_size;           /* b: sequences */
    rk_datatype datatype;              /* of weights and activations */
    bool fused_activation;             /* activations are fused with the preceding layer */
    rk_attention attention_type;       /* multi-head or multi-query */
    rk_recompute activation_recompute; /* what is recomputed */
    int64_t pipeline_interleaving;     /* v: chunks per processor */
    bool optimizer_sharding;           /* over data-parallel ranks */
    rk_tp_comm tensor_par_comm_type;   /* collectives of tensor parallelism */
    rk_tp_overlap tensor_par_overlap;  /* how they hide */
    bool seq_par_ag_redo;              /* gather sequence-parallel activations again in backward */
    bool data_par_overlap;             /* gradients are reduced during backward */
    /* what is in offload memory */
    bool weight_offload;
    bool activations_offload;
    bool optimizer_offload;

    bool training; /* else inference: forward alone */
} rk_calculon_exe;

/* Maximum number of steps of an efficiency curve. */
#define RK_CURVE_MAX 64

/* Maximum number of network tiers of a system. */
#define RK_NETWORK_MAX 16

/* A step curve: the rate of the first step whose threshold the size reaches. */
typedef struct rk_curve {
    int count;                      /* steps */
    double threshold[RK_CURVE_MAX]; /* FLOP or bytes */
    double rate[RK_CURVE_MAX];      /* FLOP/s or bytes/s: peak times efficiency */
} rk_curve;

/* The matrix or the vector engine in one datatype. */
typedef struct rk_calculon_engine {
    bool present;   /* the system document names this datatype */
    double peak;    /* FLOP/s */
    rk_curve curve; /* by FLOPs of an operation */
} rk_calculon_engine;

/* One memory of the processor. */
typedef struct rk_calculon_memory {
    double capacity; /* bytes */
    double peak;     /* bytes/s, before efficiency */
    rk_curve curve;  /* by bytes of an access */
} rk_calculon_memory;

/* Operations of a network. */
typedef enum rk_net_op {
    RK_P2P = 0,
    RK_REDUCE_SCATTER = 1,
    RK_ALL_GATHER = 2,
    RK_ALL_REDUCE = 3
} rk_net_op;

/* Values of rk_net_op. */
#define RK_NET_OP_COUNT 4

/* One tier of the network. */
typedef struct rk_calculon_network {
    double bandwidth;  /* bytes/s per processor, before efficiency */
    double efficiency; /* 0 < e <= 1 */
    int64_t size;      /* processors in one instance */
    double latency;    /* seconds, once per operation */
    /* bytes on a link over bytes of the operation: scalar (1 + offset / ranks) */
    double scalar[RK_NET_OP_COUNT];
    double offset[RK_NET_OP_COUNT];

    bool must_be_filled;    /* a group on this tier occupies the whole tier */
    double processor_usage; /* share of compute lost while the tier communicates, 0 <= u < 1 */
} rk_calculon_network;

/* The machine. */
typedef struct rk_calculon_sys {
    rk_calculon_engine matrix[RK_DATATYPE_COUNT], vector[RK_DATATYPE_COUNT]; /* by datatype */
    rk_calculon_memory mem1, mem2; /* device memory; offload memory (capacity 0: none) */
    bool roofline;                 /* max(compute, memory) instead of their sum */
    int network_count;             /* tiers */
    rk_calculon_network networks[RK_NETWORK_MAX]; /* innermost first */
} rk_calculon_sys;

/*
 * Read one document.  `name` is a path that ends in .json or .json.gz, or a catalogue name
 * ("seed-1T", "h100-80g-off512g50-nvl8"); a path takes precedence.  With `lenient`, unknown keys of
 * the application, and of the system outside its networks, are ignored, as the published tool does.
 * Errors: RK_ERR_IO, RK_ERR_SYNTAX, RK_ERR_INVALID with the JSON path and the nearest name.
 */
RK_API rk_status rk_calculon_app_load(const char *name, bool lenient, rk_calculon_app *app,
                                      rk_error *err);

/* The same of a system. */
RK_API rk_status rk_calculon_sys_load(const char *name, bool lenient, rk_calculon_sys *sys,
                                      rk_error *err);

/* The same for a mapping; unknown keys are errors. */
RK_API rk_status rk_calculon_exe_load(const char *name, rk_calculon_exe *exe, rk_error *err);

/* ---- the Calculon methodology: one evaluation -------------------------------------------- */

/*
 * The published statistics, in their order.  Times in s, sizes in bytes, rates in bytes/s.  Counts
 * of FLOPs are long double: whole numbers, exact below 2^63.
 */
typedef struct rk_calculon_stats {
    long double block_fw_flops; /* forward of a block */
    /* forward of a block: compute s, bytes of memory, memory s, total s */
    double block_fw_flops_time, block_fw_mem_accessed, block_fw_mem_time, block_fw_time;

    /* tensor-parallel traffic of forward, of inner blocks and of blocks at the ends of a chunk */
    double baseblock_fw_tp_time, edgeblock_fw_tp_time;
    double baseblock_fw_tp_time_exposed, edgeblock_fw_tp_time_exposed;

    long double block_re_flops; /* recomputation of a block */
    /* recomputation of a block: compute s, bytes of memory, memory s, total s */
    double block_re_flops_time, block_re_mem_accessed, block_re_mem_time, block_re_time;

    /* traffic that recomputation repeats */
    double baseblock_recomm_time, edgeblock_recomm_time;
    double baseblock_recomm_time_exposed, edgeblock_recomm_time_exposed;

    long double block_agrad_flops; /* backward of a block by activations */
    /* backward of a block by activations: compute s, bytes of memory, memory s, total s */
    double block_agrad_flops_time, block_agrad_mem_accessed, block_agrad_mem_time;
    double block_agrad_time;

    /* tensor-parallel traffic of backward */
    double baseblock_agrad_tp_time, edgeblock_agrad_tp_time;
    double baseblock_agrad_tp_time_exposed, edgeblock_agrad_tp_time_exposed;

    long double block_wgrad_flops; /* weight gradients of a block */
    /* weight gradients of a block: compute s, bytes of memory, memory s, total s */
    double block_wgrad_flops_time, block_wgrad_mem_accessed, block_wgrad_mem_time;
    double block_wgrad_time;

    /* optimizer of a block: FLOPs, compute s, bytes of memory, memory s, total s */
    double block_optim_flops, block_optim_flops_time, block_optim_mem_accessed;
    double block_optim_mem_time, block_optim_time;

    /* bytes sent per block for tensor, pipeline and data parallelism */
    double baseblock_fw_tp_size, edgeblock_fw_tp_size;
    double baseblock_bw_tp_size, edgeblock_bw_tp_size;
    double baseblock_recomm_size, edgeblock_recomm_size;
    double block_fw_pp_size, block_bw_pp_size, block_dp_size;

    /* bytes/s at which traffic is completely hidden */
    double tp_bw_overlap_req, dp_bw_overlap_req_chunk, dp_bw_overlap_req_tail;

    /* bytes of a block */
    double block_weight_space, block_act_working_space, block_act_storage_space;
    double block_act_checkpoint_size, block_weight_grad_space;
    double block_weight_grad_space_no_sharding, block_act_grad_space, block_optimizer_space;

    /* bytes in device memory while the rest is offloaded; checkpoints: NaN (null) in inference */
    double weight_space_with_offload, act_space_with_offload;
    double act_checkpoint_size_with_offload;
    double act_grad_space_with_offload, weight_grad_space_with_offload;
    double optimizer_space_with_offload;

    /* bytes of all blocks of a processor */
    double weight_space, act_space, act_checkpoint_size, act_grad_space, weight_grad_space;
    double optimizer_space;

    /* s of a step, by part; `exposed` is what is not hidden, `link` what links are busy */
    double fw_time, bw_time, optim_step_time, recompute_time;
    double recomm_link_time, recomm_exposed_time, bubble_time;
    double tp_comm_link_time, pp_comm_link_time, dp_comm_link_time;
    double tp_comm_exposed_time, pp_comm_exposed_time, dp_comm_exposed_time;
    double fw_offload_exposed_time, bw_offload_exposed_time;

    double total_time; /* s of a step */
    /* bytes/s to offload memory at which it is completely hidden */
    double act_offload_bw_req, weight_offload_bw_req, optim_offload_bw_req, offload_mem_bw_req;

    /* bytes that a processor needs of either memory */
    double proc_mem_tier1_cap_req, proc_mem_tier2_cap_req;

    long double useful_flops; /* per block and microbatch; not whole in training */
    /* of peak while computing; of time in compute; of peak over the step */
    double compute_efficiency, system_efficiency, total_efficiency;

    double sample_rate; /* sequences/s */
} rk_calculon_stats;

/* Members of rk_calculon_stats. */
#define RK_CALCULON_STATS_COUNT 96

/* Whether a mapping runs on a system, and if not why: the published user errors. */
typedef enum rk_verdict {
    RK_FITS = 0,
    RK_NETWORK_TOO_SMALL = 1,
    RK_NETWORK_NOT_FILLED = 2,
    RK_INTERLEAVING_TOO_LARGE = 3,
    RK_INTERLEAVING_NOT_FACTOR = 4,
    RK_OFFLOAD_TOO_FEW_BLOCKS = 5,
    RK_MEM1_TOO_SMALL = 6,
    RK_MEM2_TOO_SMALL = 7,
} rk_verdict;

/* A verdict and its numbers. */
typedef struct rk_calculon_verdict {
    rk_verdict verdict;       /* RK_FITS, or what is wrong */
    int tier;                 /* network tier of the first two misfits */
    double needed, available; /* bytes, of the two memory misfits */
} rk_calculon_verdict;

/* Writes the published message of a misfit to `out`, always terminated.  Returns out. */
RK_API const char *rk_calculon_verdict_text(const rk_calculon_verdict *v, char *out, size_t size);

/* Maximum number of layers in a block. */
#define RK_CALCULON_LAYER_MAX 24

/* Computation of a layer in one phase. */
typedef struct rk_calculon_phase_stats {
    double flops, mem_accessed;  /* FLOP, bytes */
    double arithmetic_intensity; /* FLOP/byte; infinite when nothing is accessed */
    double processing_time;      /* s */
} rk_calculon_phase_stats;

/* Communication of a layer in one phase: bytes per tile, total bytes, s, exposed s. */
typedef struct rk_calculon_comm_stats {
    double tile, size, time, time_exposed; /* bytes, bytes, s, s */
} rk_calculon_comm_stats;

/* One layer of the block; index 0 of a pair is the base block, index 1 the edge block. */
typedef struct rk_calculon_layer_stats {
    const char *name;                                     /* static */
    int64_t inputs_size, outputs_size;                    /* elements */
    rk_calculon_phase_stats fw, agrad, wgrad, optim;      /* by phase */
    rk_calculon_comm_stats fw_tp[2], bw_tp[2], recomm[2]; /* by phase and kind of block */
    double weight, activation, weight_grad, activation_grad, optimizer; /* bytes */
} rk_calculon_layer_stats;

/*
 * Evaluates one mapping.  On RK_OK, `verdict` says whether it runs; `stats` is complete only when
 * it does (verdict RK_FITS).  `layers` may be NULL, else room for RK_CALCULON_LAYER_MAX entries;
 * *layer_count is set.  Errors: RK_ERR_INVALID for a member of a struct that is out of its bounds,
 * with its name in rk_error.path, and for what the published tool dies of (a degree that
 * does not divide, an uncovered curve), RK_ERR_LIMIT for sizes beyond 2^62 bytes.
 * Cost: about a microsecond; no allocation.
 */
RK_API rk_status rk_calculon_evaluate(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                      const rk_calculon_exe *exe, rk_calculon_stats *stats,
                                      rk_calculon_layer_stats *layers, int *layer_count,
                                      rk_calculon_verdict *verdict, rk_error *err);

/* Parameters of the model by the published formula, embeddings of 51,200 words included. */
RK_API double rk_calculon_parameters(const rk_calculon_app *app);

/* ---- the Calculon methodology: search ---------------------------------------------------- */

/* The space of mappings: all for `num_procs` processors, within these limits. */
typedef struct rk_calculon_space {
    int64_t num_procs, max_batch_size; /* processors; largest number of sequences per step */
    rk_datatype datatype;              /* of all mappings */
    int fused_count;                   /* 1 or 2 */
    bool fused[2];                     /* values of fused_activation, in order */
    bool no_tp_overlap, no_dp_overlap; /* traffic that never overlaps */
    bool mbs_break;                    /* skip larger micro-batches once one does not fit */
} rk_calculon_space;

/* A mapping of a ranking. */
typedef struct rk_calculon_ranked {
    rk_calculon_exe exe; /* the mapping */
    double sample_rate;  /* sequences/s */
    uint64_t index;      /* place in the enumeration; orders equal rates */
} rk_calculon_ranked;

/*
 * Evaluates every mapping of the space (time and memory of each) and keeps the `top_n` of highest
 * sample rate; equal rates keep the order of enumeration, so the answer does not depend on the
 * number of threads.  `ranked` has room for top_n entries; *ranked_count is set.
 * Memory: grows with top_n, the number of threads and the divisors of the inputs only.
 */
RK_API rk_status rk_calculon_search(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                    const rk_calculon_space *space,
                                    const rk_search_control *control, size_t top_n,
                                    rk_calculon_ranked *ranked, size_t *ranked_count,
                                    rk_search_counts *counts, rk_error *err);

/*
 * Like rk_calculon_search, with bit for bit the same ranking, but without evaluating mappings that
 * bounds rule out (docs/search.md).  The counts do not depend on the number of threads either.
 */
RK_API rk_status rk_calculon_search_bounded(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                            const rk_calculon_space *space,
                                            const rk_search_control *control, size_t top_n,
                                            rk_calculon_ranked *ranked, size_t *ranked_count,
                                            rk_bounded_counts *counts, rk_error *err);

/*
 * Number of mappings that the search enumerates, without evaluating any.  With mbs_break, one
 * microbatch per setting is counted, as the published tool does when nothing is evaluated.
 */
RK_API rk_status rk_calculon_space_count(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                         const rk_calculon_space *space, uint64_t *count,
                                         rk_error *err);

/*
 * Calls `visit` for every mapping in the order of enumeration (mbs_break is ignored) until it
 * returns false.
 */
RK_API rk_status rk_calculon_space_each(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                        const rk_calculon_space *space,
                                        bool (*visit)(void *user, uint64_t index,
                                                      const rk_calculon_exe *exe),
                                        void *user, rk_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Architectures: a model is an embedding, a list of typed layers and a head.  Counts are exact
 * integers.  Letters in formulas: h hidden, n_q and n_kv heads, d head size, f FFN width, E
 * experts, k experts per token, V vocabulary, L layers, s sequence length.
 */
#ifndef RK_MODEL_MODEL_H
#define RK_MODEL_MODEL_H

#include "reckon/reckon.h"

#define RK_LAYER_TYPE_MAX 32   /* distinct layer types of one model */
#define RK_LAYER_MAX      1024 /* layers of one model */
#define RK_MTP_LAYERS_MAX 8    /* layers of one module of multi-token prediction */

typedef enum rk_qk_norm {
    RK_QK_NORM_NONE,
    RK_QK_NORM_HEAD,
    RK_QK_NORM_FULL,
    RK_QK_NORM_HEAD_BIAS, /* of a head, with a bias */
} rk_qk_norm;

/* Where the keys and values of a layer come from. */
typedef enum rk_kv_source {
    RK_KV_OWN,
    RK_KV_KEYS,     /* values are the keys: one projection makes both */
    RK_KV_BORROWED, /* an earlier layer's */
} rk_kv_source;

/*
 * The indexer that picks the keys that a query attends to: n_I heads of d_I elements that score all
 * keys before the query against one index key each, of which the best are kept.
 */
typedef struct rk_index_shape {
    int64_t heads, size; /* n_I, d_I; both 0: keys are picked elsewhere, or all are attended to */
    int64_t keys;        /* keys that a query keeps; 0: all */
    int64_t block;       /* keys that are kept together; 0: each for itself */
    bool shared;         /* uses the keys of the last indexer below, and has none */
} rk_index_shape;

/* Softmax attention: over n_q query and n_kv key/value heads (MHA, GQA, MQA), or latent (MLA). */
typedef struct rk_attention_shape {
    int64_t query_heads, kv_heads; /* n_q, n_kv; of MLA n_kv = n_q */
    int64_t head_size;             /* d; of MLA unused */
    int64_t window;                /* tokens a query sees; 0: all before it */
    bool chunked;                  /* the window is a fixed chunk, not a sliding band */
    rk_qk_norm qk_norm;
    rk_kv_source kv_source;
    bool bias_qkv, bias_out;
    bool sinks;              /* one learned logit per query head */
    bool output_gate;        /* another h x n_q d projection */
    bool head_gate;          /* one number gates the output of a head: h x n_q */
    bool capped_scores;      /* a tanh limits the scores */
    bool relative_positions; /* Transformer-XL: another h x n_q d projection */
    /* MLA latents; q_rank 0: queries are not compressed; kv_rank 0: not latent at all */
    int64_t q_rank, kv_rank;
    int64_t nope_size, rope_size; /* MLA: per head */
    int64_t value_size;           /* per head; 0: head_size (not of MLA) */
    rk_index_shape index;
    /* attention of DeepSeek-V4: tokens per entry; rank and groups of the output */
    int64_t ratio, out_rank, out_groups;
} rk_attention_shape;

/*
 * A recurrence over a state of d_k x d_v elements per head, run in chunks of tokens: Mamba-2, the
 * delta rules and their kin.  Of Mamba-2 keys are B and C, values are x.
 */
typedef struct rk_recurrence_shape {
    int64_t heads, key_heads;     /* n_v; n_k: groups of heads that share keys */
    int64_t key_size, value_size; /* d_k: of Mamba-2 the state size; d_v */
    int64_t conv_width;           /* taps of the causal convolution before it */
    int64_t chunk;                /* C tokens */
    bool conv_bias;
    bool full_gate;    /* Kimi delta attention: the output gate is one matrix, not of low rank */
    int64_t step_rank; /* Mamba-1: of dt */
    bool inner_norms;  /* Mamba-1: norms of dt, B and C */
    bool bare_output;  /* Mamba-2: its output is gated, but not normed */
    bool full_decay;   /* Kimi delta attention: the decay is one matrix, too */
} rk_recurrence_shape;

/* A transformer block on a state-space layer, whose weights several layers share. */
typedef struct rk_shared_shape {
    bool borrowed;           /* its weights are an earlier layer's */
    int64_t adapter_rank;    /* of adapters that every use has for itself; 0: none */
    bool attention_adapters; /* queries, keys and values have them, too */
} rk_shared_shape;

typedef struct rk_ffn_shape {
    int64_t width; /* f; 0: no dense FFN */
    bool gated;    /* three matrices instead of two */
    bool clamped;  /* the activation limits its inputs (gpt-oss) */
    bool bias;
    int64_t activation_scalars; /* learned, of a dense FFN (xIELU: 2) */
} rk_ffn_shape;

typedef struct rk_moe_shape {
    int64_t experts, top_k; /* experts 0: the layer is dense */
    int64_t expert_width;
    int64_t latent; /* routed experts work on a projection of this width; 0: on the hidden state */
    int64_t shared_experts, shared_width; /* width of one */
    /* Node-limited routing: the experts of a token lie in `route_groups` of `expert_groups` equal
     * groups.  Both 0: anywhere. */
    int64_t expert_groups, route_groups;
    bool shared_gate, router_bias, expert_bias;
    int64_t zero_experts; /* that give a token back as it is: the router has them, too */
    bool shortcut;        /* exchanges overlap the mixer of the next layer */
    bool router_scales;   /* learned factors on the input of the router and on every expert */
} rk_moe_shape;

typedef struct rk_mixer rk_mixer;               /* kinds.h */
typedef struct rk_feed_forward rk_feed_forward; /* kinds.h */
typedef struct rk_kinds rk_kinds;               /* kinds.h */

/* One type of layer: a mixer, then a feed-forward network; each fills the shapes that it has. */
typedef struct rk_layer_type {
    const rk_mixer *mixer;
    const rk_feed_forward *feed_forward;
    rk_attention_shape attention;
    rk_recurrence_shape recurrence;
    rk_shared_shape shared;
    rk_ffn_shape ffn; /* of experts too: gated says how an expert looks */
    rk_moe_shape moe;
} rk_layer_type;

typedef enum rk_norm_kind {
    RK_NORM_RMS,
    RK_NORM_LAYER,
    RK_NORM_LAYER_NO_BIAS,
    RK_NORM_LAYER_NO_WEIGHT, /* neither gain nor bias */
} rk_norm_kind;

typedef enum rk_activation {
    RK_ACTIVATION_USUAL, /* SiLU where the FFN is gated, else GELU */
    RK_ACTIVATION_SILU,
    RK_ACTIVATION_GELU,
    RK_ACTIVATION_GELU_TANH, /* GELU approximated by tanh */
    RK_ACTIVATION_RELU,
    RK_ACTIVATION_RELU2, /* the square of ReLU */
    RK_ACTIVATION_OTHER,
} rk_activation;

typedef enum rk_router_score { RK_ROUTER_SOFTMAX, RK_ROUTER_SIGMOID } rk_router_score;

typedef enum rk_rope_scaling {
    RK_ROPE_PLAIN,
    RK_ROPE_LLAMA3,
    RK_ROPE_YARN,
    RK_ROPE_OTHER,
} rk_rope_scaling;

extern const char *const rk_activation_names[];   /* NULL-terminated, in enum order */
extern const char *const rk_router_score_names[]; /* likewise */
extern const char *const rk_rope_scaling_names[]; /* likewise */

/* Properties of a model beyond its sizes.  No cost depends on it, but launch files have to say it.
 * Zero: not known. */
typedef struct rk_model_details {
    rk_activation activation;
    double norm_epsilon;
    rk_router_score router;
    bool router_raw;     /* scores of the chosen experts are not scaled to a sum of 1 */
    double router_scale; /* of the scores of the chosen experts */
    bool alibi;          /* ALiBi in place of rotary positions */
    double rope_base;
    double rope_window_base; /* of windowed layers, if different */
    double rope_share;       /* of the elements of a head that rotate; 0: all */
    rk_rope_scaling rope_scaling;
    double rope_factor;
    int64_t rope_positions; /* sequence length before scaling */
    double rope_mscale, rope_mscale_all;
    double rope_beta_fast, rope_beta_slow;
} rk_model_details;

typedef struct rk_model {
    char name[64];
    int64_t hidden, vocab;
    int64_t embedding_width; /* of embedding and head, with projections to h and back; 0: h */
    int64_t
        layer_embedding; /* p: of a second embedding, a part of which every layer adds; 0: none */
    int64_t seq;         /* usual training sequence length, tokens */
    int layers;          /* L, without MTP */
    int mtp_layers;      /* modules of multi-token prediction */
    int mtp_each;        /* layers of a module, by mtp_type; 0: one of the last type */
    uint8_t mtp_type[RK_MTP_LAYERS_MAX]; /* index into types */
    int type_count;
    rk_layer_type types[RK_LAYER_TYPE_MAX];
    uint8_t type_of[RK_LAYER_MAX]; /* index into types, per layer */
    rk_norm_kind norm;
    /* 2; 1 for parallel blocks; 4 for sandwich norm.  A layer without mixer or without feed-forward
     * network has half. */
    int norms_per_layer;
    bool final_norm;
    bool parallel_block; /* attention and FFN side by side */
    bool tied;           /* head shares the embedding */
    bool embedding_norm, head_bias;
    bool wide_gain;            /* norms multiply by their gains in fp32, as Gemma's */
    bool capped_logits;        /* a tanh limits them */
    int64_t learned_positions; /* rows of a position table; 0: none */
    int64_t streams;           /* n of hyper-connections; 0: one plain residual stream */
    bool layer_scalar;         /* a learned factor on the output of every layer */
    rk_model_details details;
    char note[512]; /* what the import left out or assumed; "": nothing */
} rk_model;

/* Elements of a row of the embedding. */
static inline int64_t rk_model_embedding_width(const rk_model *model)
{
    return model->embedding_width > 0 ? model->embedding_width : model->hidden;
}

/* Streams of the residual: n with hyper-connections, else 1. */
int64_t rk_model_streams(const rk_model *model);

/* Whether some layer of a model has experts, and whether a layer has. */
bool rk_model_has_experts(const rk_model *model);

static inline bool rk_layer_is_moe(const rk_layer_type *type)
{
    return type->moe.experts > 0;
}

/* Experts with weights that a token reaches, on average, when the router is balanced. */
static inline double rk_moe_reached(const rk_moe_shape *moe)
{
    return moe->experts > 0 ? (double)moe->top_k * (double)moe->experts /
                                  (double)(moe->experts + moe->zero_experts)
                            : 0;
}

/* Whether keys and values come from a low-rank latent. */
static inline bool rk_attention_is_latent(const rk_attention_shape *attention)
{
    return attention->kv_rank > 0;
}

/* Elements of one head of queries and keys, and of values. */
static inline int64_t rk_attention_qk_size(const rk_attention_shape *attention)
{
    return rk_attention_is_latent(attention) ? attention->nope_size + attention->rope_size
                                             : attention->head_size;
}

static inline int64_t rk_attention_value_size(const rk_attention_shape *attention)
{
    return attention->value_size > 0 ? attention->value_size : attention->head_size;
}

/*
 * Gives the model the `layer_count` layers kind_of[i] (indices into `kinds`), so that its types
 * are the kinds in use in the order of their first layer.  At most RK_LAYER_TYPE_MAX kinds and
 * RK_LAYER_MAX layers.
 */
void rk_model_set_layers(rk_model *model, const rk_layer_type *kinds, const uint8_t *kind_of,
                         int layer_count);

/* Gives a model that has its layers `count` layers in each module of multi-token prediction. */
rk_status rk_model_set_mtp(rk_model *model, const rk_layer_type *kinds, const uint8_t *kind_of,
                           int count, rk_error *err);

/* Types of the layers of one module of multi-token prediction; returns how many. */
int rk_model_mtp_types(const rk_model *model, uint8_t types[RK_MTP_LAYERS_MAX]);

/* Kinds of layers that differ in their window, in having experts, or in both: bits of an index. */
enum { RK_KIND_WINDOWED = 1, RK_KIND_MOE = 2, RK_KIND_COUNT = 4 };

/*
 * Fills the types from one layer that has both a dense FFN and experts, and the attention of
 * windowed layers.
 */
void rk_layer_kinds(const rk_layer_type *layer, const rk_attention_shape *windowed,
                    const rk_kinds *kinds, rk_layer_type types[RK_KIND_COUNT]);

/* ---- parameters ---------------------------------------------------------------------------- */

/* Parameters of one layer by part. */
typedef struct rk_layer_params {
    int64_t attention, ffn; /* matrices and biases; ffn is the dense FFN */
    int64_t experts;        /* of all routed experts */
    int64_t expert_each;    /* of one routed expert */
    int64_t shared, router; /* shared experts with their gate; router with its bias */
    int64_t norms;
    int64_t total, active; /* active: top_k of the experts */
    int64_t gemm;          /* of active: the matrices of attention, FFN and experts */
    int64_t counted;       /* gemm as FLOP conventions count it: with the norms of latents */
} rk_layer_params;

/* The ends of a model. */
typedef struct rk_end_params {
    /* head 0 when tied; embedding with its norm and projection, and the layers' projection */
    int64_t embedding, positions, head;
    int64_t final_norm;
    int64_t mtp_norms; /* of one MTP module */
} rk_end_params;

typedef struct rk_model_params {
    rk_end_params ends;
    int64_t layers;
    int64_t total;                    /* with embedding and head, without MTP */
    int64_t active;                   /* per token, likewise */
    int64_t active_without_embedding; /* less the input table (unless tied) */
    int64_t mtp, mtp_active;          /* of all MTP modules; they share embedding and head */
} rk_model_params;

/* Norms over the residual stream in a layer. */
int rk_layer_norms(const rk_model *model, const rk_layer_type *type);

rk_layer_params rk_layer_params_of(const rk_model *model, const rk_layer_type *type);
rk_end_params rk_end_params_of(const rk_model *model);
rk_model_params rk_model_params_of(const rk_model *model);

/* ---- FLOPs --------------------------------------------------------------------------------- */

/* How model FLOPs of training are counted; see docs/method/models.md. */
typedef enum rk_flop_convention {
    RK_FLOPS_MEGATRON,   /* GEMMs with head, attention halved; vocabulary padded to 128 */
    RK_FLOPS_FULL,       /* the same, attention not halved (Megatron until 2025-03) */
    RK_FLOPS_PALM,       /* 6 N of all active parameters + 12 L n_q d s */
    RK_FLOPS_TORCHTITAN, /* 6 N without embedding and MTP + 6 L n_q (d_qk + d_v) s */
    RK_FLOPS_NANOTRON,   /* GEMMs with head, attention not halved, vocabulary not padded, no MTP */
    RK_FLOPS_BRIDGE,     /* megatron, with the windows of attention */
    RK_FLOP_CONVENTION_COUNT,
} rk_flop_convention;

extern const char *const rk_flop_convention_names[]; /* NULL-terminated, in enum order */

/*
 * Model FLOPs of training (forward and backward, no recompute) per token of a sequence of
 * `seq` tokens.
 */
double rk_model_flops_per_token(const rk_model *model, int64_t seq, rk_flop_convention convention);

/* The same for frozen weights: 4 FLOPs per weight, since they have no weight gradient. */
double rk_model_frozen_flops_per_token(const rk_model *model, int64_t seq,
                                       rk_flop_convention convention);

/* Forward FLOPs of core attention of one layer for one sequence of `seq` tokens, causal, by the
 * triangle of s^2/2 (or the band of a window); 2 FLOPs per multiply-add, QK and PV. */
double rk_attention_flops(const rk_attention_shape *attention, int64_t seq);

/*
 * Average keys that a query attends to where at most `keys` are kept of those before it and its
 * own: (s+1)/2 in sequences of up to `keys` tokens, else k - k (k-1) / 2s.
 */
double rk_selected_span(int64_t keys, int64_t seq);

/* Average keys seen by a query of a causal sequence: s/2, or (s w - w^2/2)/s with a window, or
 * the sum of c^2/2s over chunks of c tokens. */
double rk_attention_span(const rk_attention_shape *attention, int64_t seq);

/* ---- documents ----------------------------------------------------------------------------- */

/*
 * Checks that all sizes are in range and consistent and that no count of parameters exceeds 2^62.
 * The error's path is the key of a model document.
 */
rk_status rk_model_check(const rk_model *model, rk_error *err);
rk_status rk_layer_type_check(const rk_layer_type *type, rk_error *err);

#endif

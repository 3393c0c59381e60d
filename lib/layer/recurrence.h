/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrences over a state: a projection, a scan in chunks of tokens, an output projection.  All
 * kinds run through the functions below and differ only in data.  Inside lib/layer only.
 */
#ifndef RK_LAYER_RECURRENCE_H
#define RK_LAYER_RECURRENCE_H

#include "layer/operators.h"

/* The keys of every recurrence in a model document. */
enum { RK_RECURRENCE_FIELD_COUNT = 12 };
extern const rk_field rk_recurrence_fields[RK_RECURRENCE_FIELD_COUNT];

/* Sizes of a recurrence and its FLOPs by convention; all tensor ranks together. */
typedef struct rk_recurrence_size {
    int64_t projected;  /* outputs of the linears of the hidden state */
    int64_t inner;      /* inputs of the output projection */
    int64_t raised;     /* linears that make `inner` outputs of `rank` inputs */
    int64_t rank;       /* inputs of each */
    int64_t read;       /* outputs of a linear of the `inner` channels, summed over tensor ranks */
    int64_t convolved;  /* channels of the convolution */
    int64_t vectors;    /* other parameters, without biases of the convolution */
    int64_t conv_bias;  /* biases that come with the convolution's */
    int64_t counted;    /* parameters that a FLOP convention counts as weights */
    int64_t scan_flops; /* further FLOPs per token in forward that it counts */
} rk_recurrence_size;

/* The kernels of a recurrence: what they execute and move, and how many there are. */
typedef struct rk_scan {
    rk_delta_rule rule;              /* whose rates count where the accelerator has them */
    double flop_share, stream_share; /* of the peaks of matrix engine and memory */
    double flops_forward, flops_backward;
    double bytes_forward, bytes_backward;
    double kernels_forward, kernels_backward;
} rk_scan;

/* The work of a layer between its two projections, per token and on all tensor ranks. */
typedef struct rk_recurrence_work {
    double exchanged; /* elements of the projection that context ranks send; 0: all */
    double kept;      /* bytes kept, but for the input of the output projection */
    double transient; /* bytes of temporaries at the worst moment of backward */
    /* bytes of memory-bound work outside the scan: convolution, norms, gates */
    double streamed_forward, streamed_backward;
    rk_scan scan;
} rk_recurrence_work;

/*
 * Ratio of bytes that a scan moves in backward and forward, for linear attention also of FLOPs.
 * FLOPs: five products for two, as FlashAttention counts its own (arXiv 2205.14135).  Bytes: it
 * reads what forward reads and the gradient of the output, recomputes the states, and writes a
 * gradient for each input.  With this, delta rules are within 15 % of what flash-linear-attention
 * measures on GB200; for Mamba-2 it is an assumption.
 */
#define RK_SCAN_BACKWARD 2.5

/* Differences between recurrences. */
typedef struct rk_recurrence_kind {
    bool square;      /* keys have the size of values, and each head its own */
    bool convolution; /* there may be one before the scan */
    bool state_space; /* a graph of Megatron Core holds it as its module "mamba" */
    /* launches of a layer with it but without its network, and of their gradients */
    double launches_forward, launches_backward;
    void (*size)(const rk_recurrence_shape *r, int64_t hidden, rk_recurrence_size *size);
    void (*work)(const rk_block_context *c, const rk_recurrence_shape *r, rk_recurrence_work *work);

    /* Functions of rk_part_kind and rk_mixer; NULL: the defaults of recurrences. */
    void (*complete)(rk_recurrence_shape *r, int64_t hidden);
    rk_status (*check)(const rk_recurrence_shape *r, rk_error *err);
    int64_t (*unsplittable)(const rk_recurrence_shape *r, int64_t tp, int64_t cp);
} rk_recurrence_kind;

/* A layer that has Mamba-2 and another mixer, reduced to Mamba-2 alone. */
rk_layer_type rk_mamba2_alone(const rk_layer_type *type);

/* The functions of rk_part_kind and rk_mixer for every recurrence. */
rk_status rk_recurrence_complete(rk_layer_type *type, int64_t hidden, const char *path,
                                 rk_error *err);
rk_status rk_recurrence_check(const rk_layer_type *type, rk_error *err);
void rk_recurrence_count(const rk_layer_type *type, int64_t hidden, rk_layer_params *params);
void rk_recurrence_unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                           double *copied);
double rk_recurrence_features(const rk_layer_type *type, double hidden);
int rk_recurrence_matrices(const rk_layer_type *type, double hidden, rk_matrix out[RK_MATRIX_MAX]);
void rk_recurrence_add(rk_cost_builder *x, const rk_layer_type *type);
double rk_recurrence_transient(const rk_block_context *c, const rk_layer_type *type);
double rk_recurrence_flops(const rk_layer_type *type, int64_t hidden, int64_t seq,
                           rk_flop_reach reach);
int64_t rk_recurrence_unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp);
void rk_recurrence_launches(const rk_block_context *c, const rk_layer_type *type, double *forward,
                            double *backward);

/* An rk_mixer: the recurrence of a document name, with what differs in `kind`. */
#define RK_RECURRENCE(document_name, kind)                                                         \
    {                                                                                              \
        .part = {.name = (document_name),                                                          \
                 .shapes = RK_SHAPE_RECURRENCE,                                                    \
                 .fields = rk_recurrence_fields,                                                   \
                 .field_count = RK_RECURRENCE_FIELD_COUNT,                                         \
                 .complete = rk_recurrence_complete,                                               \
                 .check = rk_recurrence_check,                                                     \
                 .count = rk_recurrence_count,                                                     \
                 .unsplit = rk_recurrence_unsplit,                                                 \
                 .features = rk_recurrence_features,                                               \
                 .matrices = rk_recurrence_matrices,                                               \
                 .add = rk_recurrence_add,                                                         \
                 .transient = rk_recurrence_transient},                                            \
        .recurrence = &(kind), .flops = rk_recurrence_flops,                                       \
        .unsplittable = rk_recurrence_unsplittable, .kernels = rk_recurrence_launches,             \
    }

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the recurrences share: keys, the price of a scan, all-to-all; inside lib/layer only. */
#ifndef RK_LAYER_RECURRENCE_H
#define RK_LAYER_RECURRENCE_H

#include "layer/operators.h"

/* The keys of every recurrence in a model document. */
enum { RK_RECURRENCE_FIELD_COUNT = 8 };
extern const rk_field rk_recurrence_fields[RK_RECURRENCE_FIELD_COUNT];

/* Checks the sizes that every recurrence has. */
rk_status rk_recurrence_check(const rk_recurrence_shape *shape, rk_error *err);

/* Function of rk_mixer: heads, and groups of keys, split over tensor and context ranks. */
int64_t rk_recurrence_unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp);

/* The kernels of a recurrence on one rank: what they execute, move and launch. */
typedef struct rk_scan {
    double flop_share, stream_share; /* of the peaks of matrix engine and memory */
    double flops_forward, flops_backward;
    double bytes_forward, bytes_backward;
    double kernels_forward, kernels_backward;
} rk_scan;

/*
 * Adds a scan: each pass takes its FLOPs at a share of the peak of the matrix engine or its bytes
 * at a share of memory bandwidth, whichever is longer, and the time of its kernels.
 */
void rk_add_scan(rk_cost_builder *x, const rk_scan *scan);

/* A recurrence between two projections, per token and of the whole layer. */
typedef struct rk_recurrence {
    double projected; /* outputs of the first linear */
    double inner;     /* inputs of the second */
    double kept;      /* bytes kept between them, but for the input of the second */
    /* bytes of memory-bound work besides the scan: convolution, norms, gates */
    double streamed_forward, streamed_backward;
    rk_scan scan;
} rk_recurrence;

/* Adds projection, exchange of heads, scan and output projection, split over the tensor ranks. */
void rk_add_recurrence(rk_cost_builder *x, const rk_recurrence *recurrence);

/* Functions of rk_part_kind: nothing is whole on a tensor rank; a kind is asked for by name. */
void rk_recurrence_unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                           double *copied);
bool rk_recurrence_claims(const rk_layer_type *type);

/* Likewise: the output projection; that of the input holds several things at once. */
int rk_recurrence_matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX]);

/*
 * Context parallelism by heads: all-to-all of `in` bytes of inputs and `out` bytes of outputs of a
 * rank, mirrored backward, visible.
 */
void rk_add_head_exchange(rk_cost_builder *x, double in, double out);

#endif

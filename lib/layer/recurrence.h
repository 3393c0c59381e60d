/* SPDX-License-Identifier: Apache-2.0 */
/* What the recurrences share: keys, the price of a scan, all-to-all; inside lib/layer only. */
#ifndef RK_LAYER_RECURRENCE_H
#define RK_LAYER_RECURRENCE_H

#include "layer/operators.h"

/* The keys of every recurrence in a model document. */
enum { RK_RECURRENCE_FIELD_COUNT = 7 };
extern const rk_field rk_recurrence_fields[RK_RECURRENCE_FIELD_COUNT];

/* Checks the sizes that every recurrence has. */
rk_status rk_recurrence_check(const rk_recurrence_shape *shape, rk_error *err);

/* Function of rk_mixer: heads, and groups of keys, split over tensor and context ranks. */
int64_t rk_recurrence_unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp);

/* The kernels of a recurrence on one rank: what they execute, move and launch. */
typedef struct rk_scan {
    double flops_forward, flops_backward;
    double bytes_forward, bytes_backward;
    double kernels_forward, kernels_backward;
} rk_scan;

/*
 * Adds a recurrence: each pass takes its FLOPs at the stack's share of the matrix engine or its
 * bytes at the stack's share of memory bandwidth, whichever is longer, and the time of its kernels.
 */
void rk_add_scan(rk_costing *x, const rk_scan *scan);

/*
 * Context parallelism by heads: all-to-all of `in` bytes of inputs and `out` bytes of outputs of a
 * rank, mirrored backward, visible.
 */
void rk_add_head_exchange(rk_costing *x, double in, double out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of about the same size that differ in shape: blocks, heads, hidden size. A shape whose
 * numbers have few divisors has few strategies.
 */
#ifndef RK_CODESIGN_SHAPE_H
#define RK_CODESIGN_SHAPE_H

#include "method/method.h"

#define RK_SHAPE_VALUES_MAX 32

/* The shapes to try.  hidden = heads * head size, feedforward = ratio * hidden. */
typedef struct rk_shape_space {
    double parameters, tolerance;     /* relative: 0.02 for 2 % */
    double feedforward_ratio;         /* to the hidden size; 0: as in the model */
    int64_t head_multiple;            /* number of heads is a multiple */
    double aspect_min, aspect_max;    /* of hidden over blocks */
    int block_count, head_size_count; /* block_count 0: all that the aspect ratio allows */
    int64_t blocks[RK_SHAPE_VALUES_MAX], head_sizes[RK_SHAPE_VALUES_MAX];
    int head_count; /* 0: all multiples */
    int64_t heads[RK_SHAPE_VALUES_MAX];
} rk_shape_space;

typedef struct rk_shape {
    rk_model_sizes sizes;
    uint64_t mappings; /* strategies of the space, whether they fit or not */
    bool runs;
    rk_candidate best; /* the best strategy, where one fits */
} rk_shape;

/*
 * Searches for the best strategy of every shape; everything but the sizes comes from the model of
 * `problem`. The caller frees *shapes; the most efficient comes first, and of equally efficient
 * ones the one with more mappings.
 */
rk_status rk_shape_search(const rk_shape_space *shapes_space, const rk_problem *problem,
                          const rk_search_control *control, rk_shape **shapes, size_t *count,
                          rk_bounded_counts *counts, rk_error *err);

#endif

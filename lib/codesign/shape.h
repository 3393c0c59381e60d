/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of about the same size that differ in shape: blocks, heads, hidden size. A shape whose
 * numbers have few divisors has few strategies.
 */
#ifndef RK_CODESIGN_SHAPE_H
#define RK_CODESIGN_SHAPE_H

#include "method/method.h"

typedef struct rk_shape {
    rk_model_sizes sizes;
    uint64_t mappings; /* strategies of the space, whether they fit or not */
    bool runs;
    rk_candidate best; /* the best strategy, where one fits */
} rk_shape;

/*
 * Searches for the best strategy of every shape to try: hidden = heads * head size, feedforward =
 * ratio * hidden.  Blocks that are given are tried at any aspect ratio.  Everything but the sizes
 * comes from the model of `problem`. The caller frees *shapes; the most efficient comes first, and
 * of equally efficient ones the one with more mappings.
 */
rk_status rk_shape_search(const rk_shape_choice *wanted, const rk_problem *problem,
                          const rk_search_control *control, rk_shape **shapes, size_t *count,
                          rk_bounded_counts *counts, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of nearly as many parameters that differ in shape: blocks, heads, hidden size.  Which
 * shapes map well depends on what divides: a shape with few divisors has few strategies.
 */
#ifndef RK_CODESIGN_SHAPE_H
#define RK_CODESIGN_SHAPE_H

#include "report/estimate_change.h"
#include "search/plan.h"

#define RK_SHAPE_VALUES_MAX 32

/* The shapes to try.  hidden = heads * head size, feedforward = ratio * hidden. */
typedef struct rk_shape_space {
    double parameters, tolerance;     /* relative: 0.02 for 2 % */
    int64_t seq;                      /* of the Calculon methodology */
    double feedforward_ratio;         /* 0: that of the model, by the reckon model */
    int64_t head_multiple;            /* heads are multiples of it */
    double aspect_min, aspect_max;    /* of hidden over blocks */
    int block_count, head_size_count; /* block_count 0: all that the aspect allows */
    int64_t blocks[RK_SHAPE_VALUES_MAX], head_sizes[RK_SHAPE_VALUES_MAX];
    int head_count; /* 0: all multiples */
    int64_t heads[RK_SHAPE_VALUES_MAX];
} rk_shape_space;

typedef struct rk_shape {
    rk_calculon_app app; /* blocks, heads and sizes; by the reckon model of what a layer has */
    double parameters;
    uint64_t mappings; /* strategies of the space, whether they fit or not */
    bool runs;
    double rate, step; /* sequences/s, s: of the best strategy */
    double efficiency; /* FLOP of all layers over time and matrix peak; by the reckon model MFU */
    rk_calculon_exe exe;
    rk_strategy strategy; /* of the reckon model */
} rk_shape;

/*
 * Searches for the best strategy of every shape.  *shapes is the caller's to free; the most
 * efficient first, of equal ones that with more mappings.
 */
rk_status rk_shape_search(const rk_shape_space *shapes_space, const rk_calculon_sys *sys,
                          const rk_calculon_space *space, const rk_search_control *control,
                          rk_shape **shapes, size_t *count, rk_bounded_counts *counts,
                          rk_error *err);

/*
 * The same by the reckon model, with closed forms of schedules.  The model of `setting` tells what
 * is kept: kinds of layers and their shares, keys and values, experts, the ratios of widths to the
 * hidden size, vocabulary.
 */
rk_status rk_plan_shape_search(const rk_shape_space *shapes_space, const rk_setting *setting,
                               const rk_plan_space *space, const rk_search_control *control,
                               rk_shape **shapes, size_t *count, rk_bounded_counts *counts,
                               rk_error *err);

/*
 * The model of `like` with other blocks and heads of another size; false when there is none: heads
 * that do not divide by those of keys, widths that are not whole.
 */
bool rk_model_reshape(const rk_model *like, const rk_shape_space *shapes_space, int64_t blocks,
                      int64_t heads, int64_t head_size, rk_model *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon shape`: what its files share. */
#ifndef RK_CLI_SHAPE_H
#define RK_CLI_SHAPE_H

#include "cli/plan.h"
#include "codesign/shape.h"

/* The command line. */
typedef struct rk_shape_args {
    rk_plan_request request;
    double parameters, tolerance; /* the second in % */
    int64_t seq, head_multiple;
    rk_option_counts blocks, heads, head_sizes; /* count 0: not given */
    double feedforward, aspect_min, aspect_max;
} rk_shape_args;

/* What was asked and what was found. */
typedef struct rk_shaping {
    rk_shape_args args;
    rk_plan plan; /* system and space */
    rk_shape_space space;
    rk_shape *shapes; /* owned; the most efficient first */
    size_t count, runs;
    rk_bounded_counts counts;
    double cpu_s;
} rk_shaping;

rk_text_writer rk_shaping_write_text; /* `what` is the rk_shaping */
rk_status rk_shaping_write_json(const rk_shaping *s, rk_error *err);
rk_status rk_shaping_write_csv(const rk_shaping *s, rk_error *err);

#endif

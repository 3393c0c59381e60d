/* SPDX-License-Identifier: Apache-2.0 */
/* Communication and activation memory of the ranks of a timeline. */
#ifndef RK_TIMELINE_STREAMS_H
#define RK_TIMELINE_STREAMS_H

#include "estimate/stage.h"

/* Communication within a layer, in the order of a trace. */
typedef enum rk_stream { RK_STREAM_TP, RK_STREAM_CP, RK_STREAM_EP, RK_STREAM_COUNT } rk_stream;

/* Visible communication in the passes of a microbatch, s. */
typedef struct rk_stream_times {
    double forward[RK_STREAM_COUNT], backward[RK_STREAM_COUNT];
} rk_stream_times;

typedef struct rk_streams {
    int64_t chunks;         /* of each rank */
    rk_stream_times *times; /* owned; rank r's from times[r * chunks] on */
    rk_stage_need *needs;   /* owned; by rank */
    double send;            /* of a message between stages, s */
} rk_streams;

/*
 * Fills the streams of a legal strategy's chunks; release with rk_streams_clear. Errors:
 * RK_ERR_MEMORY.
 */
rk_status rk_streams_fill(const rk_model *model, const rk_system *system, const rk_stack *stack,
                          const rk_strategy *strategy, rk_streams *streams, rk_error *err);
void rk_streams_clear(rk_streams *streams);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline schedules: how long the stages take together, what each waits, how much they keep.
 * Closed forms serve the search; the exact evaluation of events serves the answer.
 */
#ifndef RK_SCHEDULE_SCHEDULE_H
#define RK_SCHEDULE_SCHEDULE_H

#include "reckon/reckon.h"

typedef enum rk_schedule_kind {
    RK_SCHEDULE_GPIPE,
    RK_SCHEDULE_1F1B,
    RK_SCHEDULE_INTERLEAVED, /* 1F1B with v > 1 chunks a rank */
    RK_SCHEDULE_ZB_H1,       /* weight gradients fill bubbles, memory of 1F1B */
    RK_SCHEDULE_ZB_V,        /* two chunks a rank in a V, no bubble when F = B = W */
    RK_SCHEDULE_DUALPIPE,    /* bidirectional, two copies of the weights */
    RK_SCHEDULE_KIND_COUNT,
} rk_schedule_kind;

extern const char *const rk_schedule_names[]; /* NULL-terminated, in enum order */

/* Times of one chunk for one microbatch, s.  A backward that is not split has weight = 0. */
typedef struct rk_chunk_times {
    double forward;
    double backward; /* by input; all of the backward when not split */
    double weight;   /* by weight */
} rk_chunk_times;

/*
 * One pipeline.  chunks[r * chunks_per_rank + i] is the i-th chunk of rank r.  Virtual stages are
 * numbered along the model: interleaved has stage = i * ranks + r; ZB-V has 2 chunks, the second
 * going back; DualPipe has one chunk list per direction (2 chunks: rank r holds stages r and
 * ranks-1-r, both of equal times).
 */
typedef struct rk_pipeline {
    rk_schedule_kind kind;
    int64_t ranks;           /* p */
    int64_t chunks_per_rank; /* v; 1, or 2 for ZB-V and DualPipe */
    int64_t microbatches;    /* m */
    const rk_chunk_times *chunks;
    double send_seconds;    /* one message between neighbours */
    bool send_overlapped;   /* messages are asynchronous: they delay only who waits for them */
    double overlapped_pair; /* DualPipe: forward and backward run together; 0: their sum */
} rk_pipeline;

/* Result by rank; arrays have room for `ranks` entries each and belong to the caller. */
typedef struct rk_pipeline_result {
    double seconds;    /* makespan with a global barrier at the end */
    double *idle;      /* s of each rank within it; may be NULL */
    double *in_flight; /* peak activations of each rank, in microbatches of the whole rank; may be
                          NULL */
} rk_pipeline_result;

/* Whether the numbers fit the schedule (interleaved: m % p == 0, ...), with the nearest legal. */
rk_status rk_pipeline_check(const rk_pipeline *pipeline, rk_error *err);

/* Closed form; exact for equal stages, see docs/method.md for the bounds otherwise.  No memory. */
double rk_pipeline_seconds(const rk_pipeline *pipeline);

/* Peak activations of rank r by closed form, in microbatches of the whole rank. */
double rk_pipeline_in_flight(rk_schedule_kind kind, int64_t ranks, int64_t chunks_per_rank,
                             int64_t microbatches, int64_t rank);

/* One operation of a schedule, for timelines. */
typedef enum rk_op_kind { RK_OP_FORWARD, RK_OP_BACKWARD, RK_OP_WEIGHT } rk_op_kind;
typedef struct rk_op {
    rk_op_kind kind;
    int32_t rank, chunk, microbatch; /* chunk of the rank */
    double start, end;               /* s */
} rk_op;

/*
 * Plays the schedule event by event: O(p m v) time and memory.  `visit` (may be NULL) gets every
 * operation in order of its start on each rank.
 */
rk_status rk_pipeline_play(const rk_pipeline *pipeline, rk_pipeline_result *result,
                           void (*visit)(void *user, const rk_op *op), void *user, rk_error *err);

#endif

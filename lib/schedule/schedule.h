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
    RK_SCHEDULE_ZB_H2,       /* the same with memory of 2p - 1 microbatches: fills more of them */
    RK_SCHEDULE_ZB_V,        /* two chunks a rank in a V; only filling it idles when F = B = W */
    RK_SCHEDULE_DUALPIPE,    /* bidirectional, two copies of the weights */
    RK_SCHEDULE_KIND_COUNT,
} rk_schedule_kind;

extern const char *const rk_schedule_names[]; /* NULL-terminated, in enum order */

/* Virtual stages that the layers are split over: p v, 2 p for ZB-V, p for DualPipe. */
int64_t rk_schedule_stages(rk_schedule_kind kind, int64_t ranks, int64_t chunks_per_rank);

/* The virtual stage that is chunk `chunk` of rank `rank`, counted along the model. */
int64_t rk_schedule_stage(rk_schedule_kind kind, int64_t ranks, int64_t rank, int64_t chunk);

/*
 * What a schedule asks of its numbers.  A schedule can be played with any number of microbatches
 * that its order exists for (DualPipe: even and at least 2 p); the closed forms, and frameworks,
 * want these.
 */
typedef struct rk_schedule_needs {
    int64_t rank_multiple;
    int64_t chunks_min, chunks_max; /* chunks per rank */
    int64_t microbatch_multiple, microbatch_min;
} rk_schedule_needs;

rk_schedule_needs rk_schedule_needs_of(rk_schedule_kind kind, int64_t ranks);

/*
 * Times of one chunk for one microbatch, s.  A backward that is not split has weight = 0; a
 * schedule that does not split takes backward + weight together.
 */
typedef struct rk_chunk_times {
    double forward;
    double backward; /* by input; all of the backward when not split */
    double weight;   /* by weight */
} rk_chunk_times;

/*
 * One pipeline.  chunks[r * chunks_per_rank + i] is the i-th chunk of rank r.  Virtual stages are
 * numbered along the model: interleaved has stage = i * ranks + r; ZB-V has 2 chunks, the second
 * going back.  DualPipe has a chunk per direction: rank r holds stages r and ranks-1-r of the same
 * `ranks` stages, and the first half of the microbatches runs through chunks 0 of ranks 0, 1, ...,
 * the second half through chunks 1 of ranks p-1, p-2, ...
 */
typedef struct rk_pipeline {
    rk_schedule_kind kind;
    int64_t ranks;           /* p */
    int64_t chunks_per_rank; /* v; 1, but of interleaved any > 1, of ZB-V and DualPipe 2 */
    int64_t microbatches;    /* m */
    const rk_chunk_times *chunks;
    double send_seconds;    /* one message between neighbours */
    bool send_overlapped;   /* messages delay only who waits for them, not the sender */
    double overlapped_pair; /* DualPipe, s: a forward and a whole backward run together, at least
                               the longer of them; 0: their sum */
} rk_pipeline;

/* Result by rank; arrays have room for `ranks` entries each and belong to the caller. */
typedef struct rk_pipeline_result {
    double seconds;    /* makespan with a global barrier at the end */
    double *idle;      /* s of each rank within it that it does not compute; may be NULL */
    double *in_flight; /* peak of kept activations of each rank, as rk_pipeline_in_flight; may be
                          NULL */
} rk_pipeline_result;

/* Whether the numbers fit the schedule (interleaved: m % p == 0, ...), with the nearest legal. */
rk_status rk_pipeline_check(const rk_pipeline *pipeline, rk_error *err);

/*
 * Closed form of a pipeline that rk_pipeline_check accepts; O(p v), no memory.
 * Equal stages without messages: exact for every schedule.
 * Stages that differ: GPipe exact; 1F1B exact when the last rank is slowest, otherwise up to
 * (p - 1) / m too long; the others within 6% for stages that differ by 10%.
 * Overlapped messages that are short beside chunks: exact for equal stages of GPipe, 1F1B and
 * interleaved, otherwise to first order.  Blocking ones count as work of their sender.
 */
double rk_pipeline_seconds(const rk_pipeline *pipeline);

/*
 * Peak activations of rank r by closed form, in what one microbatch keeps on the rank: all of its
 * chunks, or one of the two of DualPipe.  An activation is kept from its forward to the end of
 * its backward, by weight where that is split.  Same numbers as rk_pipeline_check.
 */
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
 * operation in order of its start on each rank.  A whole backward is one RK_OP_BACKWARD; an
 * overlapped pair is a forward and a backward with the same start and end.
 */
rk_status rk_pipeline_play(const rk_pipeline *pipeline, rk_pipeline_result *result,
                           void (*visit)(void *user, const rk_op *op), void *user, rk_error *err);

/* What makespans share: compiled orders and scratch.  For one thread at a time. */
typedef struct rk_makespans rk_makespans;

rk_status rk_makespans_new(rk_makespans **makespans, rk_error *err);
void rk_makespans_free(rk_makespans *makespans);

/*
 * The seconds of rk_pipeline_play, with the same bits, of a pipeline whose numbers are legal.  It
 * takes nanoseconds per chunk, whatever the number of microbatches once ranks keep pace.
 */
rk_status rk_pipeline_makespan(rk_makespans *makespans, const rk_pipeline *pipeline,
                               double *seconds, rk_error *err);

/*
 * What a pipeline takes at least: never more than rk_pipeline_play but for rounding, and the same
 * for equal stages of GPipe, 1F1B and interleaved without overlapped messages.  O(p v), no memory.
 */
double rk_pipeline_bound(const rk_pipeline *pipeline);

#endif

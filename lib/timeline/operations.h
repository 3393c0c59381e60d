/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of a training step: what every pipeline rank does when, as a trace for Perfetto and
 * chrome://tracing, as a picture, and as a table.
 */
#ifndef RK_TIMELINE_OPERATIONS_H
#define RK_TIMELINE_OPERATIONS_H

#include "estimate/estimate.h"
#include "io/out.h"
#include "reckon/timeline.h"
#include "timeline/streams.h"

enum { RK_TIMELINE_AFTER_MAX = 8 };

/* Work after the pipeline, on all ranks at once. */
typedef struct rk_timeline_after {
    rk_part part; /* RK_PART_COUNT: none */
    const char *name;
    double seconds;
} rk_timeline_after;

struct rk_timeline {
    const rk_strategy *strategy; /* borrowed */
    rk_op *ops;                  /* owned; rank by rank, by start */
    size_t op_count, op_room;
    double *idle, *in_flight; /* owned, by rank; s, and microbatches at the most */
    rk_streams streams;
    rk_timeline_after after[RK_TIMELINE_AFTER_MAX];
    int after_count;
    rk_timeline_facts figures;
};

/* Plays a legal strategy, whose estimate is given; cleared with rk_timeline_clear. */
rk_status rk_timeline_fill(const rk_model *model, const rk_system *system, const rk_stack *stack,
                           const rk_strategy *strategy, const rk_estimate *estimate,
                           rk_timeline *timeline, rk_error *err);
void rk_timeline_clear(rk_timeline *timeline);

/* The operations of a rank: the first, and one past the last. */
size_t rk_timeline_first(const rk_timeline *timeline, int64_t rank);

/* Event `index` in order: the operations, then what follows the pipeline; false past the last. */
bool rk_timeline_event_at(const rk_timeline *timeline, size_t index, rk_timeline_event *event);

/* "F 3", "B 3", "W 3" of microbatch 3; "F 3.1" of chunk 1 where ranks have several.  Returns out.
 */
#define RK_OP_NAME_SIZE 32
const char *rk_timeline_op_name(const rk_timeline *timeline, const rk_op *op,
                                char out[RK_OP_NAME_SIZE]);

/*
 * The visible communication of an operation by stream, s: it computes, and then communicates;
 * within it the two alternate layer by layer.  Weight gradients, and passes that overlap others,
 * compute alone.
 */
void rk_timeline_communication(const rk_timeline *timeline, const rk_op *op,
                               double seconds[RK_STREAM_COUNT]);

/* Whether a forward and a backward may run as one operation. */
bool rk_timeline_pairs_passes(const rk_timeline *timeline);

/*
 * The memory of a rank whenever it changes, in the order of operations, from the start of the step
 * on.  Returns false without memory for it.
 */
bool rk_timeline_visit_memory(const rk_timeline *timeline, int64_t rank,
                              void (*take)(void *user, double at, const rk_stage_memory *memory),
                              void *user);

/*
 * Trace events in JSON, times in us: a process per rank, with a thread for its compute and for each
 * kind of its communication, arrows for the messages between stages, and a counter of its memory.
 */
void rk_timeline_write_trace(const rk_timeline *timeline, const char *title, rk_out *out);

/*
 * An SVG: a row per rank with a box per operation, its visible communication, and its memory below.
 * If boxes are too narrow for the numbers of microbatches, a second panel enlarges the beginning.
 */
void rk_timeline_write_picture(const rk_timeline *timeline, const char *title, rk_out *out);

/* A table in CSV: rank, kind, chunk, microbatch, start and end in s. */
void rk_timeline_write_table(const rk_timeline *timeline, rk_out *out);

/* Names of rk_op_kind; NULL-terminated. */
extern const char *const rk_op_kind_names[];

#endif

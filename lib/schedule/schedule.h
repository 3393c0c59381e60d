/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline schedules: makespan, waiting time and activations in flight. The search uses closed
 * forms, the answer the exact event-by-event evaluation.
 */
#ifndef RK_SCHEDULE_SCHEDULE_H
#define RK_SCHEDULE_SCHEDULE_H

#include "reckon/reckon.h"

/* The names of RK_SCHEDULE_LIST as items of an array. */
#define RK_SCHEDULE_NAME(kind, entry, name) name,
extern const char *const rk_schedule_names[]; /* NULL-terminated, in enum order */

/* Where a schedule places the stages of the model. */
typedef enum rk_stage_placement {
    RK_PLACEMENT_LOOP,  /* chunk i of rank r holds stage i p + r of p v */
    RK_PLACEMENT_V,     /* two chunks: rank r holds stages r and 2p - 1 - r of 2p */
    RK_PLACEMENT_TWICE, /* two chunks: rank r holds stages r and p - 1 - r of p; each on two ranks
                         */
} rk_stage_placement;

/* Virtual stages that the layers are split over. */
int64_t rk_schedule_stages(rk_schedule_kind kind, int64_t ranks, int64_t chunks_per_rank);

/* The virtual stage that is chunk `chunk` of rank `rank`, counted along the model. */
int64_t rk_schedule_stage(rk_schedule_kind kind, int64_t ranks, int64_t rank, int64_t chunk);

/*
 * The constraints of a schedule. A schedule can be played with any number of microbatches for which
 * an order exists (DualPipe: even and at least 2 p); closed forms and frameworks require these.
 */
typedef struct rk_schedule_needs {
    int64_t rank_multiple;
    int64_t chunks_min, chunks_max; /* chunks per rank */
    int64_t microbatch_multiple, microbatch_min;
} rk_schedule_needs;

rk_schedule_needs rk_schedule_needs_of(rk_schedule_kind kind, int64_t ranks);

/*
 * Times of one chunk for one microbatch, s.  A backward that is not split has weight = 0; a
 * schedule that does not split runs backward + weight together.
 */
typedef struct rk_chunk_times {
    double forward;
    double backward; /* by input; all of the backward when not split */
    double weight;   /* weight gradients */
} rk_chunk_times;

/*
 * One pipeline.  chunks[r * chunks_per_rank + i] is the i-th chunk of rank r.  Virtual stages are
 * numbered along the model and placed as the schedule says.  Where two ranks hold each
 * stage, the first half of the microbatches runs through chunks 0 of ranks 0, 1, ..., the second
 * half through chunks 1 of ranks p-1, p-2, ...
 */
typedef struct rk_pipeline {
    rk_schedule_kind kind;
    int64_t ranks;           /* p */
    int64_t chunks_per_rank; /* v, as the schedule requires */
    int64_t microbatches;    /* m */
    const rk_chunk_times *chunks;
    /*
     * For bounds, which then need only the first and the last of the chunks: the sums of all chunks
     * of a rank; NULL: added up.  And for each rank one that is like it, whose times stand for its
     * own; NULL: each has its own.
     */
    const rk_chunk_times *sums;
    const int64_t *alike;
    double send_seconds;    /* one message between neighbours */
    bool rolls;             /* a rank begins the next step when it has finished its own steps: the
                               time of a step is that between two of many */
    double overlapped_pair; /* of schedules that run pairs, s: a forward and a whole backward
                               together, at least the longer one; 0: their sum */
} rk_pipeline;

struct rk_order;

/*
 * The rounds of a schedule that repeats itself: round k of rank r is its steps
 * [first + k * steps, first + (k + 1) * steps), the same as in round k - 1 with higher
 * microbatches, and waits for nothing but rounds k and k - 1 of other ranks.
 */
typedef struct rk_schedule_round {
    int64_t steps;        /* steps of a rank in a round; 0: no rounds */
    int64_t microbatches; /* that a round runs */
    int64_t least;        /* microbatches with which all ranks run one round */
} rk_schedule_round;

/*
 * A building block that a schedule repeats on stages in a V (v_block.h): ticks between steps of one
 * microbatch, by chunk those from a rank to the next on its way.
 */
typedef struct rk_v_block {
    int forward[2], backward[2];
    int turn; /* from forward of chunk 0 to forward of chunk 1 on the last rank */
    int loss; /* from the forward of chunk 1 to its backward on the first rank */
    int back; /* from backward of chunk 1 to backward of chunk 0 on the last rank */
} rk_v_block;

/* The properties of a schedule. */
typedef struct rk_schedule {
    rk_stage_placement placement;
    bool usual;        /* the default of a strategy that names none, see rk_schedule_usual */
    bool splits;       /* input and weight gradients are separate steps */
    bool pairs;        /* a forward and a backward of the other direction may run as one step */
    bool losses_first; /* the losses of all microbatches come before the first backward */
    bool runs;         /* a rank runs as many microbatches of a chunk in a row as there are ranks */
    bool fixed_needs;  /* an order exists only for microbatches that meet the constraints */
    bool rolls;        /* no barrier ends a step: the optimizer is validated afterwards */
    rk_schedule_needs (*needs)(int64_t ranks);

    /* The steps of one rank. */
    void (*write_order)(const rk_pipeline *pipeline, int64_t rank, struct rk_order *order);
    /* Peak activations of a rank, see rk_pipeline_in_flight; NULL: the peaks of its block. */
    double (*in_flight)(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches, int64_t rank);
    /* Lower bound on its time, see rk_pipeline_bound. */
    double (*bound)(const rk_pipeline *pipeline);

    /* Closed form, s; NULL: there is none. */
    double (*closed)(const rk_pipeline *pipeline);
    /* The same of a pipeline that rolls; only of schedules that do. */
    double (*closed_rolling)(const rk_pipeline *pipeline);

    /* Rounds, and where round 0 of a rank begins; NULL: no rounds. */
    rk_schedule_round (*round)(const rk_pipeline *pipeline);
    int64_t (*first_round)(const rk_pipeline *pipeline, int64_t rank);
    /*
     * The makespan in ticks from the durations of a program, with room for RK_TICKS_ROOM values a
     * rank; negative, or NULL: its order is evaluated.
     */
    int64_t (*ticks)(const rk_pipeline *pipeline, const int64_t *durations, int64_t *room);
    /* The building block that it repeats; NULL: it repeats none. */
    rk_v_block (*block)(int64_t ranks);
} rk_schedule;

extern const rk_schedule *const rk_schedules[]; /* in enum order */

/* Sets of schedules: bits 1 << rk_schedule_kind. */
enum { RK_SCHEDULES_ALL = (1 << RK_SCHEDULE_KIND_COUNT) - 1 };

/*
 * The schedule of a strategy that names none, for a number of chunks per rank (1 also without a
 * pipeline).
 */
rk_schedule_kind rk_schedule_usual(int64_t chunks_per_rank);

/* Whether its chunks per rank can be chosen (vp of a strategy); for other schedules it is fixed. */
bool rk_schedule_has_vp(rk_schedule_kind kind);

/* Whether any schedule of a set, a bit each, has a choice of chunks per rank. */
bool rk_schedules_have_vp(unsigned schedules);

/* Ranks that hold each stage: 1 or 2. */
static inline int rk_schedule_copies(rk_schedule_kind kind)
{
    return rk_schedules[kind]->placement == RK_PLACEMENT_TWICE ? 2 : 1;
}

/* Result by rank; arrays have room for `ranks` entries each and belong to the caller. */
typedef struct rk_pipeline_result {
    double seconds;    /* makespan with a global barrier at the end; of a pipeline that rolls, of
                          the slowest rank */
    double *idle;      /* idle time of each rank within the makespan, s; may be NULL */
    double *in_flight; /* peak of kept activations of each rank, as rk_pipeline_in_flight; may be
                          NULL */
} rk_pipeline_result;

/* Whether the numbers fit the schedule (interleaved: m % p == 0, ...), with the nearest legal. */
rk_status rk_pipeline_check(const rk_pipeline *pipeline, rk_error *err);

/*
 * Closed form of a pipeline that rk_pipeline_check accepts; O(p v), no memory.  For schedules
 * without one it is rk_pipeline_bound.
 * Equal stages without messages: exact for every schedule.
 * Stages that differ: GPipe exact; 1F1B exact when the last rank is slowest, otherwise up to
 * (p - 1) / m too long; the others within 6% for stages that differ by 10%.
 * Messages count as work of their sender.
 */
double rk_pipeline_seconds(const rk_pipeline *pipeline);

/*
 * Peak activations of rank r by closed form, in what one microbatch keeps on the rank: all of its
 * chunks, or one of the two where two ranks hold each stage.  An activation is kept from its
 * forward to the end of its backward, or of its weight gradients where they are separate.  Same
 * numbers as rk_pipeline_check.
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
 * overlapped pair is a forward and a backward with the same start and end.  Of a pipeline that
 * rolls it plays one of many steps, with the times of each rank from its own start of the step.
 */
rk_status rk_pipeline_play(const rk_pipeline *pipeline, rk_pipeline_result *result,
                           void (*visit)(void *user, const rk_op *op), void *user, rk_error *err);

/* Compiled orders and scratch memory for makespans. Not for concurrent use. */
typedef struct rk_makespans rk_makespans;

rk_status rk_makespans_new(rk_makespans **makespans, rk_error *err);
void rk_makespans_free(rk_makespans *makespans);

/* Releases compiled orders if there are many. */
void rk_makespans_trim(rk_makespans *makespans);

/*
 * The seconds of rk_pipeline_play, bit for bit, for a legal pipeline. It needs nanoseconds per
 * chunk for any number of microbatches, once ranks keep pace.
 */
rk_status rk_pipeline_makespan(rk_makespans *makespans, const rk_pipeline *pipeline,
                               double *seconds, rk_error *err);

/*
 * A lower bound: never more than rk_pipeline_play except for rounding, and equal to it for equal
 * stages of GPipe, 1F1B and interleaved without overlapped messages. O(p v), no allocation.
 */
double rk_pipeline_bound(const rk_pipeline *pipeline);

/*
 * At least so many messages add to the makespan of a pipeline without messages if they hold their
 * senders: on its longest path are so many steps that none is longer, and only forwards of the last
 * stage and backwards of the first send nothing.  Less by one, for rounding; O(p v), and nothing
 * (0 or less) on one rank and where steps are split or paired.
 */
double rk_pipeline_least_sends(const rk_pipeline *pipeline, double makespan);

/* Messages that a rank sends for each microbatch, of a schedule that does not run in pairs. */
int64_t rk_pipeline_sends(const rk_pipeline *pipeline, int64_t rank);

#endif

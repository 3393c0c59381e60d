/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which one rank runs its microbatches, and how the chunks of ranks follow each
 * other; inside lib/schedule only.  One file per schedule writes its order.
 */
#ifndef RK_SCHEDULE_ORDER_H
#define RK_SCHEDULE_ORDER_H

#include "schedule/schedule.h"

typedef enum rk_step_kind {
    RK_STEP_FORWARD,
    RK_STEP_BACKWARD, /* whole */
    RK_STEP_INPUT,    /* backward by input only */
    RK_STEP_WEIGHT,
    RK_STEP_PAIR, /* a forward and, on the other chunk, a whole backward together */
} rk_step_kind;

typedef struct rk_step {
    rk_step_kind kind;
    int32_t chunk, microbatch;
    int32_t pair_microbatch; /* of the backward of a pair */
} rk_step;

/* Steps of one rank; room for three per chunk and microbatch. */
typedef struct rk_order {
    rk_step *steps;
    int64_t count;
} rk_order;

static inline void rk_order_add(rk_order *order, rk_step_kind kind, int64_t chunk,
                                int64_t microbatch)
{
    order->steps[order->count++] = (rk_step){kind, (int32_t)chunk, (int32_t)microbatch, 0};
}

static inline bool rk_step_has_forward(const rk_step *step)
{
    return step->kind == RK_STEP_FORWARD || step->kind == RK_STEP_PAIR;
}

static inline bool rk_step_has_backward(const rk_step *step)
{
    return step->kind != RK_STEP_FORWARD && step->kind != RK_STEP_WEIGHT;
}

/* The chunk and the microbatch of the backward of a step; a pair has it on the other chunk. */
static inline int32_t rk_step_backward_chunk(const rk_step *step)
{
    return step->kind == RK_STEP_PAIR ? 1 - step->chunk : step->chunk;
}

static inline int32_t rk_step_backward_microbatch(const rk_step *step)
{
    return step->kind == RK_STEP_PAIR ? step->pair_microbatch : step->microbatch;
}

/* The schedules, each in its own file. */
#define RK_SCHEDULE_ENTRY(kind, entry, name) extern const rk_schedule rk_schedule_##entry;
RK_SCHEDULE_LIST(RK_SCHEDULE_ENTRY)
#undef RK_SCHEDULE_ENTRY

/* The orders of all ranks. */
typedef struct rk_orders {
    rk_order *ranks; /* owned */
    rk_step *steps;  /* owned; of all ranks */
} rk_orders;

/*
 * Writes the order of every rank; released with rk_orders_clear, also after a failure.  Refuses
 * pipelines of more than 2^27 steps, which take 2 GiB.
 */
rk_status rk_orders_init(const rk_pipeline *pipeline, rk_orders *orders, rk_error *err);
void rk_orders_clear(rk_orders *orders);

/* Refuses a pipeline whose ranks wait for one another. */
rk_status rk_orders_fail_cycle(const rk_pipeline *pipeline, rk_error *err);

/* A chunk of a rank. */
typedef struct rk_place {
    int64_t rank, chunk;
} rk_place;

/*
 * The chunk that runs a microbatch after `place` in forward (direction 1) or before it (-1).
 * Returns false at the end of the model.
 */
bool rk_place_next(const rk_pipeline *pipeline, rk_place place, int direction, rk_place *next);

/* Whether a result goes from `place` to another rank. */
bool rk_place_sends(const rk_pipeline *pipeline, rk_place place, int direction);

/* Checks that every evaluation relies on: sizes for which an order exists, and finite times. */
rk_status rk_pipeline_check_order(const rk_pipeline *pipeline, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact evaluation: every rank runs its order, and a step starts when its rank is free and its
 * input has arrived. A waiting rank is examined again only when its neighbour has advanced, so that
 * the work is linear in the number of steps.
 */
#include "schedule/order.h"
#include "schedule/ticks.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct rank {
    int64_t start;   /* ticks at which its step begins */
    int64_t next;    /* step to run */
    int64_t free_at; /* ticks */
    int64_t busy;    /* ticks computed */
    int64_t kept;    /* activations of chunks */
    int64_t peak;    /* most at once */
    bool in_queue;
};

/* Times of a chunk. */
struct ticks {
    int64_t forward, backward, weight;
};

struct play {
    const rk_pipeline *pipeline;
    rk_clock clock;
    struct ticks *chunks; /* by rank and chunk */
    int64_t send, pair;   /* ticks of a message, and of an overlapped pair */
    void (*visit)(void *user, const rk_op *op);
    void *user;
    struct rank *ranks;
    rk_orders orders;
    int64_t *forward_end;  /* ticks, by chunk and microbatch; -1: not yet run */
    int64_t *backward_end; /* by input */
    int64_t *queue;        /* ranks that may have a step to run */
    int64_t queued;
};

/* ---- times --------------------------------------------------------------------------------- */

static int64_t *end_of(const struct play *y, int64_t *ends, rk_place place, int64_t microbatch)
{
    const rk_pipeline *p = y->pipeline;
    return &ends[(place.rank * p->chunks_per_rank + place.chunk) * p->microbatches + microbatch];
}

static const struct ticks *times_of(const struct play *y, rk_place place)
{
    return &y->chunks[place.rank * y->pipeline->chunks_per_rank + place.chunk];
}

/*
 * When the input from the chunk before (forward, direction -1) or after (backward, 1) has arrived:
 * 0 at the ends of the model, -1 if not known yet.
 */
static int64_t arrival(const struct play *y, int64_t *ends, rk_place place, int64_t microbatch,
                       int direction)
{
    rk_place from;
    if (!rk_place_next(y->pipeline, place, direction, &from)) {
        return 0;
    }
    const int64_t end = *end_of(y, ends, from, microbatch);
    return end < 0 || from.rank == place.rank ? end : end + y->send;
}

/* The chunk that runs the backward of a step. */
static rk_place backward_place(rk_place place, const rk_step *step)
{
    return (rk_place){place.rank, rk_step_backward_chunk(step)};
}

/* When all inputs of a step have arrived, or -1.  Weight gradients follow on their own rank. */
static int64_t ready_at(const struct play *y, rk_place place, const rk_step *step)
{
    int64_t ready = 0;
    if (rk_step_has_forward(step)) {
        ready = arrival(y, y->forward_end, place, step->microbatch, -1);
    }
    if (rk_step_has_backward(step) && ready >= 0) {
        const int64_t back = arrival(y, y->backward_end, backward_place(place, step),
                                     rk_step_backward_microbatch(step), 1);
        ready = back < 0 ? back : rk_later(ready, back);
    }
    return ready;
}

static int64_t duration_of(const struct play *y, rk_place place, const rk_step *step)
{
    const struct ticks *t = times_of(y, place);
    const struct ticks *back = times_of(y, backward_place(place, step));
    assert(t->forward >= 0 && back->backward >= 0 && back->weight >= 0);
    switch (step->kind) {
    case RK_STEP_FORWARD:
        return t->forward;
    case RK_STEP_INPUT:
        return t->backward;
    case RK_STEP_WEIGHT:
        return t->weight;
    case RK_STEP_PAIR:
        return y->pipeline->overlapped_pair > 0 ? y->pair
                                                : t->forward + back->backward + back->weight;
    default:
        return t->backward + t->weight;
    }
}

/* ---- steps --------------------------------------------------------------------------------- */

static void enqueue(struct play *y, int64_t rank)
{
    assert(rank >= 0 && rank < y->pipeline->ranks);
    struct rank *r = &y->ranks[rank];
    if (!r->in_queue) {
        r->in_queue = true;
        y->queue[y->queued++] = rank;
    }
}

/* Records the end of an operation and wakes the rank that may wait for it. */
static bool pass_on(struct play *y, int64_t *ends, rk_place place, int64_t microbatch, int64_t end,
                    int direction)
{
    rk_place next;
    *end_of(y, ends, place, microbatch) = end;
    if (!rk_place_next(y->pipeline, place, direction, &next) || next.rank == place.rank) {
        return false;
    }
    enqueue(y, next.rank);
    return true;
}

static void keep(struct rank *r, const rk_step *step)
{
    if (rk_step_has_forward(step)) {
        r->kept++;
        r->peak = r->kept > r->peak ? r->kept : r->peak;
    }
    if (step->kind != RK_STEP_FORWARD && step->kind != RK_STEP_INPUT) {
        r->kept--;
    }
}

static void report(const struct play *y, rk_op_kind kind, rk_place place, int64_t microbatch,
                   int64_t start, int64_t end)
{
    if (y->visit) {
        const int64_t began = y->ranks[place.rank].start;
        const rk_op op = {kind,
                          (int32_t)place.rank,
                          (int32_t)place.chunk,
                          (int32_t)microbatch,
                          rk_to_seconds(y->clock, start - began),
                          rk_to_seconds(y->clock, end - began)};
        y->visit(y->user, &op);
    }
}

static void run_step(struct play *y, rk_place place, const rk_step *step, int64_t start)
{
    assert(start >= y->ranks[place.rank].start);
    struct rank *r = &y->ranks[place.rank];
    const int64_t duration = duration_of(y, place, step), end = start + duration;
    bool sends = false;
    if (rk_step_has_forward(step)) {
        report(y, RK_OP_FORWARD, place, step->microbatch, start, end);
        sends = pass_on(y, y->forward_end, place, step->microbatch, end, 1);
    }
    if (rk_step_has_backward(step)) {
        const rk_place back = backward_place(place, step);
        const int64_t microbatch = rk_step_backward_microbatch(step);
        report(y, RK_OP_BACKWARD, back, microbatch, start, end);
        sends = pass_on(y, y->backward_end, back, microbatch, end, -1) || sends;
    }
    if (step->kind == RK_STEP_WEIGHT) {
        report(y, RK_OP_WEIGHT, place, step->microbatch, start, end);
    }
    keep(r, step);
    r->busy += duration;
    r->free_at = sends ? end + y->send : end;
    r->next++;
}

/* Runs a rank as far as it can go. */
static void advance(struct play *y, int64_t rank)
{
    struct rank *r = &y->ranks[rank];
    const rk_order *order = &y->orders.ranks[rank];
    while (r->next < order->count) {
        const rk_step *step = &order->steps[r->next];
        const rk_place place = {rank, step->chunk};
        const int64_t ready = ready_at(y, place, step);
        if (ready < 0) {
            return;
        }
        run_step(y, place, step, rk_later(r->free_at, ready));
    }
}

/* ---- the pipeline -------------------------------------------------------------------------- */

static void play_release(struct play *y)
{
    free(y->chunks);
    free(y->ranks);
    rk_orders_clear(&y->orders);
    free(y->forward_end);
    free(y->queue);
}

static rk_status play_prepare(struct play *y, rk_error *err)
{
    const rk_pipeline *p = y->pipeline;
    const rk_status status = rk_orders_init(p, &y->orders, err);
    if (status) {
        return status;
    }
    const int64_t ends = p->ranks * p->chunks_per_rank * p->microbatches;
    y->ranks = calloc((size_t)p->ranks, sizeof(*y->ranks));
    y->forward_end = malloc((size_t)(2 * ends) * sizeof(*y->forward_end));
    y->queue = malloc((size_t)p->ranks * sizeof(*y->queue));
    if (!y->ranks || !y->forward_end || !y->queue) {
        return rk_fail(err, RK_ERR_MEMORY,
                       "not enough memory for %lld ends of passes of a pipeline",
                       (long long)(2 * ends));
    }
    y->backward_end = y->forward_end + ends;
    return RK_OK;
}

/* Runs all steps of all ranks, from their starts. */
static rk_status run_all(struct play *y, rk_error *err)
{
    const rk_pipeline *p = y->pipeline;
    const int64_t ends = p->ranks * p->chunks_per_rank * p->microbatches;
    for (int64_t i = 0; i < 2 * ends; i++) {
        y->forward_end[i] = -1;
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        y->ranks[r] = (struct rank){.start = y->ranks[r].start, .free_at = y->ranks[r].start};
        enqueue(y, r);
    }
    while (y->queued > 0) {
        const int64_t rank = y->queue[--y->queued];
        y->ranks[rank].in_queue = false;
        advance(y, rank);
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        if (y->ranks[r].next < y->orders.ranks[r].count) {
            return rk_orders_fail_cycle(p, err);
        }
    }
    return RK_OK;
}

/* Moves the starts of the ranks to one of many steps, as rk_pipeline_makespan does. */
static rk_status roll(struct play *y, rk_error *err)
{
    const rk_pipeline *p = y->pipeline;
    void (*const visit)(void *user, const rk_op *op) = y->visit;
    bool settled = false;
    y->visit = NULL;
    rk_status status = run_all(y, err);
    for (int i = 0; i < RK_ROLLED_STEPS && !settled && !status; i++) {
        int64_t most = 0, least = INT64_MAX;
        const int64_t first = y->ranks[0].free_at;
        for (int64_t r = 0; r < p->ranks; r++) {
            y->ranks[r].start = y->ranks[r].free_at - first;
        }
        status = run_all(y, err);
        for (int64_t r = 0; r < p->ranks; r++) {
            const int64_t took = y->ranks[r].free_at - y->ranks[r].start;
            most = rk_later(most, took);
            least = took < least ? took : least;
        }
        settled = most == least;
    }
    y->visit = visit;
    return status;
}

static void fill_result(const struct play *y, rk_pipeline_result *result)
{
    const rk_pipeline *p = y->pipeline;
    /* where two ranks hold each stage, a microbatch keeps one chunk of a rank; otherwise all */
    const bool twice = rk_schedules[p->kind]->placement == RK_PLACEMENT_TWICE;
    const int64_t chunks = twice ? 1 : p->chunks_per_rank;
    int64_t last = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        last = rk_later(last, y->ranks[r].free_at - y->ranks[r].start);
    }
    result->seconds = rk_to_seconds(y->clock, last);
    for (int64_t r = 0; r < p->ranks; r++) {
        if (result->idle) {
            result->idle[r] = rk_to_seconds(y->clock, last - y->ranks[r].busy);
        }
        if (result->in_flight) {
            result->in_flight[r] = (double)y->ranks[r].peak / (double)chunks;
        }
    }
}

/* Converts the times of the pipeline to ticks. */
static rk_status fill_ticks(struct play *y, rk_error *err)
{
    const rk_pipeline *p = y->pipeline;
    const size_t count = (size_t)(p->ranks * p->chunks_per_rank);
    y->clock = rk_clock_of(p);
    y->send = rk_to_ticks(y->clock, p->send_seconds);
    y->pair = rk_to_ticks(y->clock, p->overlapped_pair);
    y->chunks = malloc(count * sizeof(*y->chunks));
    if (!y->chunks) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the chunks of a pipeline");
    }
    for (size_t i = 0; i < count; i++) {
        y->chunks[i] = (struct ticks){
            .forward = rk_to_ticks(y->clock, p->chunks[i].forward),
            .backward = rk_to_ticks(y->clock, p->chunks[i].backward),
            .weight = rk_to_ticks(y->clock, p->chunks[i].weight),
        };
    }
    return RK_OK;
}

rk_status rk_pipeline_play(const rk_pipeline *pipeline, rk_pipeline_result *result,
                           void (*visit)(void *user, const rk_op *op), void *user, rk_error *err)
{
    struct play y = {.pipeline = pipeline, .visit = visit, .user = user};
    rk_status status = rk_pipeline_check_order(pipeline, err);
    if (status == RK_OK) {
        status = fill_ticks(&y, err);
    }
    if (status == RK_OK) {
        status = play_prepare(&y, err);
    }
    if (status == RK_OK && pipeline->rolls) {
        status = roll(&y, err);
    }
    if (status == RK_OK) {
        status = run_all(&y, err);
    }
    if (status == RK_OK) {
        fill_result(&y, result);
    }
    play_release(&y);
    return status;
}

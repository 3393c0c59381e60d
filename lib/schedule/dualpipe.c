/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DualPipe (DeepSeek-V3 technical report, section 3.2.1): microbatches enter from both ends, and a
 * forward of one direction runs together with a backward of the other, so that each hides the
 * other's communication.  Every rank holds two stages; the order is symmetric in the two halves of
 * the pipeline.
 */
#include "base/extremes.h"
#include "schedule/rank_times.h"

#include <assert.h>
#include <math.h>

/* The near direction enters at the end of the pipeline closer to this rank. */
enum side { NEAR, FAR };

struct writer {
    rk_order *order;
    int64_t half;       /* microbatches of one direction */
    int64_t near_chunk; /* 0 in the first half of the ranks */
    int64_t forwards[2], backwards[2];
    int64_t weights; /* place in the order up to which weight gradients are scheduled */
};

static int64_t chunk_of(const struct writer *w, enum side side)
{
    return side == NEAR ? w->near_chunk : 1 - w->near_chunk;
}

/* Chunk 1 has the second half of the microbatches. */
static int64_t microbatch_of(const struct writer *w, enum side side, int64_t index)
{
    return chunk_of(w, side) * w->half + index;
}

static void forward(struct writer *w, enum side side)
{
    rk_order_add(w->order, RK_STEP_FORWARD, chunk_of(w, side),
                 microbatch_of(w, side, w->forwards[side]++));
}

static void backward(struct writer *w, enum side side, rk_step_kind kind)
{
    rk_order_add(w->order, kind, chunk_of(w, side), microbatch_of(w, side, w->backwards[side]++));
}

/* A forward of one side with a backward of the other. */
static void pair(struct writer *w, enum side side)
{
    const enum side other = side == NEAR ? FAR : NEAR;
    forward(w, side);
    rk_step *step = &w->order->steps[w->order->count - 1];
    step->kind = RK_STEP_PAIR;
    step->pair_microbatch = (int32_t)microbatch_of(w, other, w->backwards[other]++);
}

/* The weight gradient that has waited longest. */
static void add_weight(struct writer *w)
{
    while (w->order->steps[w->weights].kind != RK_STEP_INPUT) {
        w->weights++;
    }
    const rk_step *step = &w->order->steps[w->weights++];
    rk_order_add(w->order, RK_STEP_WEIGHT, step->chunk, step->microbatch);
}

/* Until both directions have met on this rank; `inner` ranks are closer to the middle. */
static void fill(struct writer *w, int64_t depth, int64_t inner)
{
    assert(depth >= 0 && inner >= 0);
    for (int64_t i = 0; i < 2 * inner; i++) {
        forward(w, NEAR);
    }
    for (int64_t i = 0; i <= depth; i++) {
        forward(w, NEAR);
        forward(w, FAR);
    }
    for (int64_t i = 0; i < inner; i++) {
        backward(w, FAR, RK_STEP_INPUT);
        add_weight(w);
        forward(w, FAR);
    }
}

static void steady(struct writer *w, int64_t depth, int64_t inner)
{
    const int64_t ranks = 2 * (depth + inner + 1);
    for (int64_t i = 0; i < w->half - ranks + depth + 1; i++) {
        if (i == 0 && inner == 0) {
            /* the two innermost ranks wait for each other here; a pair would gain nothing */
            forward(w, NEAR);
            backward(w, FAR, RK_STEP_BACKWARD);
        } else {
            pair(w, NEAR);
        }
        pair(w, FAR);
    }
    for (int64_t i = 0; i < inner; i++) {
        backward(w, FAR, RK_STEP_BACKWARD);
        pair(w, FAR);
    }
}

/*
 * After half of the last backwards, weight gradients are postponed, so that other ranks get their
 * inputs.
 */
static void drain(struct writer *w, int64_t depth, int64_t inner)
{
    for (int64_t i = 0; i < 2 * (depth + 1); i++) {
        const bool late = i > depth;
        backward(w, i % 2 == 0 ? FAR : NEAR, late ? RK_STEP_INPUT : RK_STEP_BACKWARD);
    }
    for (int64_t i = 0; i < inner; i++) {
        add_weight(w);
        backward(w, NEAR, RK_STEP_INPUT);
    }
    for (int64_t i = 0; i <= depth; i++) {
        add_weight(w);
    }
}

static void write_order(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t ranks = pipeline->ranks;
    assert(ranks % 2 == 0 && rank < ranks);
    const bool first_half = rank < ranks / 2;
    const int64_t depth = first_half ? rank : ranks - 1 - rank; /* ranks to the nearer end */
    const int64_t inner = ranks / 2 - 1 - depth;
    struct writer w = {
        .order = order,
        .half = pipeline->microbatches / 2,
        .near_chunk = first_half ? 0 : 1,
    };
    fill(&w, depth, inner);
    steady(&w, depth, inner);
    drain(&w, depth, inner);
}

static rk_schedule_needs needs(int64_t ranks)
{
    return (rk_schedule_needs){2, 2, 2, 2, 2 * ranks};
}

static double in_flight(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches, int64_t rank)
{
    (void)chunks_per_rank;
    (void)microbatches;
    (void)rank;
    return (double)(ranks + 1);
}

/*
 * Half of the microbatches run through each chunk of a rank, and a rank waits for those
 * nearer to the end where its first microbatch enters.  Messages of pairs may go at once: they are
 * left out.
 */
static double bound(const rk_pipeline *p)
{
    const double half = (double)(p->microbatches / 2);
    double seconds = 0, before[2] = {0, 0}; /* from either end */
    for (int64_t depth = 0; depth < p->ranks / 2; depth++) {
        for (int side = 0; side < 2; side++) {
            const int64_t r = side == 0 ? depth : p->ranks - 1 - depth;
            const rk_chunk_times *a = &p->chunks[2 * rk_rank_place(p, r)], *b = a + 1;
            const double forward = a->forward + b->forward;
            const double backward = a->backward + a->weight + b->backward + b->weight;
            const double work =
                p->overlapped_pair > 0 ? rk_max(forward, backward) : forward + backward;
            seconds = rk_max(seconds, before[side] + half * work);
            before[side] += (side == 0 ? a : b)->forward;
        }
    }
    return seconds;
}

/*
 * With h = p/2: m - h - 2 pairs in a row on the innermost ranks, plus filling and draining. The
 * published bubble (h - 1)(pair + B - 2 W) is the case F = B = W.
 */
static double closed(const rk_pipeline *p)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    const rk_chunk_times t = s.mean;
    const double f = t.forward, b = t.backward, w = t.weight;
    const double h = (double)p->ranks / 2, m = (double)p->microbatches;
    const double pair = p->overlapped_pair > 0 ? p->overlapped_pair : f + b + w;
    /* a rank runs half of the microbatches through each of its chunks */
    const double uneven = p->overlapped_pair > 0 ? 0 : m * (s.work_max / 2 - (f + b + w));
    return uneven + (m - h - 2) * pair + 2 * h * f + (h + 2) * b + 3 * w +
           rk_max(h * f, (h - 1) * b) + (h - 1) * rk_max(b, w);
}

static rk_schedule_round round_of(const rk_pipeline *p)
{
    return (rk_schedule_round){2, 2, 2 * p->ranks + 2};
}

/* After filling, and the first of the steady rounds, which differs on the innermost ranks. */
static int64_t first_round(const rk_pipeline *p, int64_t rank)
{
    const int64_t ranks = p->ranks;
    const int64_t depth = rank < ranks / 2 ? rank : ranks - 1 - rank;
    const int64_t inner = ranks / 2 - 1 - depth;
    return 2 * inner + 2 * (depth + 1) + 3 * inner + (inner == 0 ? 3 : 2);
}

const rk_schedule rk_schedule_dualpipe = {
    .placement = RK_PLACEMENT_TWICE,
    .splits = true,
    .pairs = true,
    .fixed_needs = true,
    .needs = needs,
    .write_order = write_order,
    .in_flight = in_flight,
    .bound = bound,
    .closed = closed,
    .round = round_of,
    .first_round = first_round,
};

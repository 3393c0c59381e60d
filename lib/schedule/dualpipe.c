/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DualPipe (DeepSeek-V3 technical report, section 3.2.1): microbatches enter from both ends, and a
 * forward of one direction runs together with a backward of the other, so that each hides the
 * other's communication.  Every rank holds two stages; the order is symmetric in the two halves of
 * the pipeline.
 */
#include "schedule/order.h"

/* The near direction enters at the end of the pipeline that this rank is closer to. */
enum side { NEAR, FAR };

struct writer {
    rk_order *order;
    int64_t half;       /* microbatches of one direction */
    int64_t near_chunk; /* 0 in the first half of the ranks */
    int64_t forwards[2], backwards[2];
    int64_t weights; /* place in the order up to which weight gradients are settled */
};

static int64_t chunk_of(const struct writer *w, enum side side)
{
    return side == NEAR ? w->near_chunk : 1 - w->near_chunk;
}

/* The direction of chunk 1 has the second half of the microbatches. */
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

/* The weight gradient that waits longest. */
static void weight(struct writer *w)
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
    for (int64_t i = 0; i < 2 * inner; i++) {
        forward(w, NEAR);
    }
    for (int64_t i = 0; i <= depth; i++) {
        forward(w, NEAR);
        forward(w, FAR);
    }
    for (int64_t i = 0; i < inner; i++) {
        backward(w, FAR, RK_STEP_INPUT);
        weight(w);
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

/* From half of the last backwards on, weight gradients wait so that the others get theirs. */
static void drain(struct writer *w, int64_t depth, int64_t inner)
{
    for (int64_t i = 0; i < 2 * (depth + 1); i++) {
        const bool late = i > depth;
        backward(w, i % 2 == 0 ? FAR : NEAR, late ? RK_STEP_INPUT : RK_STEP_BACKWARD);
    }
    for (int64_t i = 0; i < inner; i++) {
        weight(w);
        backward(w, NEAR, RK_STEP_INPUT);
    }
    for (int64_t i = 0; i <= depth; i++) {
        weight(w);
    }
}

void rk_order_dualpipe(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t ranks = pipeline->ranks;
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

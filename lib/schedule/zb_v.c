/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-V (Qi et al. 2024, "Pipeline parallelism with controllable memory"): rank r holds stages r and
 * 2p - 1 - r, so the last forward of a microbatch ends on the rank where its first began, and
 * every rank keeps the same: 2p chunks.
 *
 * The order is for 2p - 1 microbatches or more; with fewer, the missing operations are left out.
 */
#include "base/extremes.h"
#include "schedule/rank_times.h"

#include <assert.h>
#include <math.h>

struct writer {
    rk_order *order;
    int64_t microbatches;
    int64_t done[2][3]; /* by chunk: forwards, input gradients, weight gradients */
};

static void add(struct writer *w, rk_step_kind kind, int chunk)
{
    assert((chunk == 0 || chunk == 1) && kind != RK_STEP_BACKWARD && kind != RK_STEP_PAIR);
    static const int slot[] = {[RK_STEP_FORWARD] = 0, [RK_STEP_INPUT] = 1, [RK_STEP_WEIGHT] = 2};
    const int64_t microbatch = w->done[chunk][slot[kind]]++;
    if (microbatch < w->microbatches) {
        rk_order_add(w->order, kind, chunk, microbatch);
    }
}

static void add_backward(struct writer *w, int chunk)
{
    add(w, RK_STEP_INPUT, chunk);
    add(w, RK_STEP_WEIGHT, chunk);
}

static void write_order(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t p = pipeline->ranks, least = 2 * p - 1;
    const int64_t m = pipeline->microbatches > least ? pipeline->microbatches : least;
    struct writer w = {.order = order, .microbatches = pipeline->microbatches};
    /* fill: down the V, then as much of the way back as has arrived */
    for (int64_t i = 0; i < 2 * (p - rank) - 1; i++) {
        add(&w, RK_STEP_FORWARD, 0);
    }
    for (int64_t i = 0; i < rank; i++) {
        add(&w, RK_STEP_FORWARD, 1);
        add(&w, RK_STEP_FORWARD, 0);
    }
    for (int64_t i = 0; i < p - rank; i++) {
        add(&w, RK_STEP_FORWARD, 1);
        add_backward(&w, 1);
    }
    /* steady: each chunk in turn */
    while (w.done[1][0] < m) {
        if (w.done[0][0] < m) {
            add(&w, RK_STEP_FORWARD, 0);
        }
        add_backward(&w, 0);
        add(&w, RK_STEP_FORWARD, 1);
        add_backward(&w, 1);
    }
    /* drain: weight gradients wait while others need the backwards */
    for (int64_t i = 0; i < rank; i++) {
        add(&w, RK_STEP_INPUT, 0);
        add(&w, RK_STEP_INPUT, 1);
    }
    for (int64_t i = 0; i < p - rank; i++) {
        add_backward(&w, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--) {
        while (w.done[chunk][2] < m) {
            add(&w, RK_STEP_WEIGHT, chunk);
        }
    }
}

static rk_schedule_needs needs(int64_t ranks)
{
    return (rk_schedule_needs){1, 2, 2, 1, 2 * ranks - 1};
}

static double in_flight(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches, int64_t rank)
{
    (void)chunks_per_rank;
    (void)microbatches;
    (void)rank;
    return (double)ranks;
}

/*
 * The longest of the paths that can bind a V of 2p chunks; with F = B = W all wait (p - 1) F.  The
 * later three bind when weight gradients are too short to fill what they should.
 */
static double closed(const rk_pipeline *p)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    const rk_chunk_times t = s.mean;
    const double n = (double)p->ranks, work = (double)p->microbatches * s.work_max;
    if (p->ranks == 1) {
        return work;
    }
    const double f = t.forward, b = t.backward, w = t.weight, longer = rk_max(f, b);
    const double balanced = longer + (n - 2) * rk_max(b, rk_max(w, 2 * f - b));
    const double backward = (2 * n - 3) * longer + b - 2 * (n - 1) * w;
    const double forward = 2 * (n - 1) * f - w;
    return work + rk_max(rk_max(balanced, backward), forward - (n - 1) * rk_min(b, 2 * w));
}

static rk_schedule_round round_of(const rk_pipeline *p)
{
    return (rk_schedule_round){6, 1, 2 * p->ranks};
}

static int64_t first_round(const rk_pipeline *p, int64_t rank)
{
    const int64_t behind = p->ranks - 1 - rank;
    return 2 * (behind + 1) - 1 + 2 * rank + 3 * (behind + 1);
}

const rk_schedule rk_schedule_zb_v = {
    .placement = RK_PLACEMENT_V,
    .splits = true,
    .needs = needs,
    .write_order = write_order,
    .in_flight = in_flight,
    .bound = rk_v_bound,
    .closed = closed,
    .round = round_of,
    .first_round = first_round,
};

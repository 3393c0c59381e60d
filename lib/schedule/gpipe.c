/* SPDX-License-Identifier: Apache-2.0 */
/* GPipe: all forwards, then all backwards. */
#include "base/extremes.h"
#include "schedule/program.h"
#include "schedule/rank_times.h"
#include "schedule/ticks.h"

static void write_order(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    (void)rank;
    for (int64_t i = 0; i < pipeline->microbatches; i++) {
        rk_order_add(order, RK_STEP_FORWARD, 0, i);
    }
    for (int64_t i = 0; i < pipeline->microbatches; i++) {
        rk_order_add(order, RK_STEP_BACKWARD, 0, i);
    }
}

static rk_schedule_needs needs(int64_t ranks)
{
    (void)ranks;
    return (rk_schedule_needs){1, 1, 1, 1, 1};
}

static double in_flight(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches, int64_t rank)
{
    (void)ranks;
    (void)chunks_per_rank;
    (void)rank;
    return (double)microbatches;
}

/* The time for any stages. */
static double bound(const rk_pipeline *p)
{
    double sum = 0, forward = 0, backward = 0;
    for (int64_t r = 0, end; r < p->ranks; r = end) {
        const rk_chunk_times t = rk_chunk_times_at(p, r, 0);
        end = rk_run_end(p, r);
        sum += (double)(end - r) * (t.forward + t.backward + t.weight);
        forward = rk_max(forward, t.forward);
        backward = rk_max(backward, t.backward + t.weight);
    }
    return sum + (double)(p->microbatches - 1) * (forward + backward);
}

/* Both passes fill and drain on their own: p - 1 stages before the slowest runs m times. */
static double closed(const rk_pipeline *p)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    const double m = (double)p->microbatches;
    return s.forward_sum + s.backward_sum + (m - 1) * (s.forward_max + s.backward_max);
}

/*
 * GPipe: each pass goes through all ranks, and the other microbatches follow at the pace of the
 * slowest one.
 */
static int64_t ticks(const rk_pipeline *p, const int64_t *durations, int64_t *room)
{
    (void)room;
    int64_t sum = 0, forward = 0, backward = 0;
    for (int64_t r = 0; r < p->ranks; r++, durations += RK_STEP_KINDS) {
        sum += durations[RK_STEP_FORWARD] + durations[RK_STEP_BACKWARD];
        forward = rk_later(forward, durations[RK_STEP_FORWARD]);
        backward = rk_later(backward, durations[RK_STEP_BACKWARD]);
    }
    return sum + (p->microbatches - 1) * (forward + backward);
}

const rk_schedule rk_schedule_gpipe = {
    .losses_first = true,
    .needs = needs,
    .write_order = write_order,
    .in_flight = in_flight,
    .bound = bound,
    .closed = closed,
    .ticks = ticks,
};

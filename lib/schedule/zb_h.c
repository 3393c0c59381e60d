/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-H1 and ZB-H2 (Qi et al. 2024): 1F1B with the backward split.  ZB-H1 runs as many forwards
 * ahead as 1F1B, and rank r lets r weight gradients lie, which it computes while it would wait for
 * the last backwards; so no rank keeps more than p activations, the most that 1F1B keeps on its
 * first. ZB-H2 doubles both: forwards fill the wait for the first backward too, at 2p - 1
 * activations, and no barrier ends a step (optimizer validated afterwards, section 4 there).
 */
#include "base/extremes.h"
#include "schedule/rank_times.h"

#include <math.h>

static void write_order(const rk_pipeline *pipeline, int64_t rank, int64_t factor, rk_order *order)
{
    const int64_t m = pipeline->microbatches, behind = factor * (pipeline->ranks - 1 - rank);
    const int64_t ahead = behind < m ? behind : m;
    int64_t weights = 0;
    for (int64_t i = 0; i < ahead; i++) {
        rk_order_add(order, RK_STEP_FORWARD, 0, i);
    }
    for (int64_t i = 0; i < m; i++) {
        if (ahead + i < m) {
            rk_order_add(order, RK_STEP_FORWARD, 0, ahead + i);
        }
        rk_order_add(order, RK_STEP_INPUT, 0, i);
        if (i >= factor * rank) {
            rk_order_add(order, RK_STEP_WEIGHT, 0, weights++);
        }
    }
    while (weights < m) {
        rk_order_add(order, RK_STEP_WEIGHT, 0, weights++);
    }
}

/* ---- ZB-H1 --------------------------------------------------------------------------------- */

static void write_h1(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    write_order(pipeline, rank, 1, order);
}

static rk_schedule_needs needs_h1(int64_t ranks)
{
    (void)ranks;
    return (rk_schedule_needs){1, 1, 1, 1, 1};
}

static double in_flight_h1(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches,
                           int64_t rank)
{
    (void)chunks_per_rank;
    (void)rank;
    return (double)rk_least_of(microbatches, ranks);
}

static double bound_h1(const rk_pipeline *p)
{
    return rk_linear_bound(p, 1);
}

/*
 * Beside its work a rank waits for the longest of three: a forward and a backward of each other
 * rank, less the weight gradients that fill them; the forwards before its first step; the
 * backwards after its last.  Microbatches that are missing to p leave their part unfilled.
 */
static double closed_h1(const rk_pipeline *p)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    const rk_chunk_times t = s.mean;
    const double gaps = (double)(p->ranks - 1);
    const double m = (double)p->microbatches;
    const double missing = rk_max((double)p->ranks - m, 0);
    const double around = gaps * (t.forward + t.backward) - (gaps - missing) * t.weight;
    const double before = gaps * t.forward + missing * t.backward;
    const double after = gaps * t.backward + missing * t.forward;
    return m * s.work_max + rk_max(around, rk_max(before, after));
}

static rk_schedule_round round_h1(const rk_pipeline *p)
{
    return (rk_schedule_round){3, 1, p->ranks};
}

static int64_t first_round_h1(const rk_pipeline *p, int64_t rank)
{
    return p->ranks - 1 - rank + 2 * rank;
}

const rk_schedule rk_schedule_zb_h1 = {
    .splits = true,
    .needs = needs_h1,
    .write_order = write_h1,
    .in_flight = in_flight_h1,
    .bound = bound_h1,
    .closed = closed_h1,
    .round = round_h1,
    .first_round = first_round_h1,
};

/* ---- ZB-H2 --------------------------------------------------------------------------------- */

static void write_h2(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    write_order(pipeline, rank, 2, order);
}

static rk_schedule_needs needs_h2(int64_t ranks)
{
    return (rk_schedule_needs){1, 1, 1, 1, 2 * ranks - 1};
}

static double in_flight_h2(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches,
                           int64_t rank)
{
    (void)chunks_per_rank;
    (void)rank;
    return (double)rk_least_of(microbatches, 2 * ranks - 1);
}

static double bound_h2(const rk_pipeline *p)
{
    return rk_linear_bound(p, 2);
}

/*
 * Rank r waits `first` s per rank before it for its first step, and for its first backward as long
 * as the forwards that it runs ahead do not bridge; then it never idles, unless weight gradients
 * are too short to fill the rest.
 */
static double longest_h2(const rk_pipeline *p, double first)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    const rk_chunk_times t = s.mean;
    const double gaps = (double)(p->ranks - 1), m = (double)p->microbatches;
    double longest = m * s.work_max + gaps * (t.forward + t.backward - 2 * t.weight);
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times own = rk_rank_times(p, r);
        const double before =
            (double)r * first + (gaps - (double)r) * rk_max(t.backward - t.forward, 0);
        longest = rk_max(longest, m * (own.forward + own.backward + own.weight) + before);
    }
    return longest;
}

/*
 * With F = B = W the last rank binds: the bubble that this schedule avoids comes back with a
 * barrier at the end of the step.
 */
static double closed_h2(const rk_pipeline *p)
{
    return longest_h2(p, rk_survey_pipeline(p).mean.forward);
}

/* Without the barrier, only the first step of a run waits for its first forward. */
static double rolling_h2(const rk_pipeline *p)
{
    return longest_h2(p, 0);
}

/* A rank waits for two microbatches before. */
static rk_schedule_round round_h2(const rk_pipeline *p)
{
    return (rk_schedule_round){6, 2, 2 * p->ranks};
}

static int64_t first_round_h2(const rk_pipeline *p, int64_t rank)
{
    return 2 * (p->ranks - 1 - rank) + 4 * rank;
}

const rk_schedule rk_schedule_zb_h2 = {
    .splits = true,
    .rolls = true,
    .needs = needs_h2,
    .write_order = write_h2,
    .in_flight = in_flight_h2,
    .bound = bound_h2,
    .closed = closed_h2,
    .closed_rolling = rolling_h2,
    .round = round_h2,
    .first_round = first_round_h2,
};

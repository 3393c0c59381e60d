/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1F1B: a rank runs ahead by as many forwards as there are ranks behind it, then alternates, so
 * that it never keeps more than p - r activations.
 */
#include "schedule/rank_times.h"

static void write_order(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t m = pipeline->microbatches, behind = pipeline->ranks - 1 - rank;
    const int64_t ahead = behind < m ? behind : m;
    for (int64_t i = 0; i < ahead; i++) {
        rk_order_add(order, RK_STEP_FORWARD, 0, i);
    }
    for (int64_t i = 0; i < m; i++) {
        if (ahead + i < m) {
            rk_order_add(order, RK_STEP_FORWARD, 0, ahead + i);
        }
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
    const int64_t behind = ranks - rank; /* with this rank */
    (void)chunks_per_rank;
    return (double)rk_least_of(microbatches, behind);
}

static double bound(const rk_pipeline *p)
{
    return rk_linear_bound(p, 0);
}

/*
 * One microbatch passes all ranks in both directions; the others follow at the pace of the slowest.
 */
static double closed(const rk_pipeline *p)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    return s.forward_sum + s.backward_sum + ((double)p->microbatches - 1) * s.work_max;
}

static rk_schedule_round round_of(const rk_pipeline *p)
{
    return (rk_schedule_round){2, 1, p->ranks};
}

static int64_t first_round(const rk_pipeline *p, int64_t rank)
{
    return p->ranks - 1 - rank;
}

const rk_schedule rk_schedule_1f1b = {
    .usual = true,
    .needs = needs,
    .write_order = write_order,
    .in_flight = in_flight,
    .bound = bound,
    .closed = closed,
    .round = round_of,
    .first_round = first_round,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved 1F1B (Narayanan et al. 2021, section 2.2): p microbatches run through chunk 0, then
 * through chunk 1, ..., then the next p; backwards the same with the last chunk first.
 */
#include "base/extremes.h"
#include "schedule/parts.h"

#include <math.h>

/* Chunk and microbatch of the k-th forward of a rank. */
static rk_step forward_at(const rk_pipeline *pipeline, int64_t k)
{
    const int64_t p = pipeline->ranks, v = pipeline->chunks_per_rank, m = pipeline->microbatches;
    const int64_t first = k / (p * v) * p;
    const int64_t group = m - first < p ? m - first : p; /* the last group may be short */
    const int64_t within = k - first * v;
    return (rk_step){.chunk = (int32_t)(within / group),
                     .microbatch = (int32_t)(first + within % group)};
}

static void write_order(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t p = pipeline->ranks, v = pipeline->chunks_per_rank;
    const int64_t count = v * pipeline->microbatches;
    const int64_t wanted = 2 * (p - 1 - rank) + (v - 1) * p;
    const int64_t ahead = wanted < count ? wanted : count;
    for (int64_t k = 0; k < ahead + count; k++) {
        if (k < count) {
            const rk_step step = forward_at(pipeline, k);
            rk_order_add(order, RK_STEP_FORWARD, step.chunk, step.microbatch);
        }
        if (k >= ahead) {
            const rk_step step = forward_at(pipeline, k - ahead);
            rk_order_add(order, RK_STEP_BACKWARD, v - 1 - step.chunk, step.microbatch);
        }
    }
}

static rk_schedule_needs needs(int64_t ranks)
{
    return (rk_schedule_needs){1, 2, INT32_MAX, ranks, ranks};
}

static double in_flight(int64_t ranks, int64_t chunks_per_rank, int64_t microbatches, int64_t rank)
{
    const int64_t m = microbatches, v = chunks_per_rank;
    const int64_t behind = ranks - rank; /* with this rank */
    const int64_t ahead = 2 * (behind - 1) + (v - 1) * ranks + 1;
    return (double)rk_least_of(m * v, ahead) / (double)v;
}

/*
 * The first backward of a rank is that of its last chunk, and comes after
 * 2 (p - 1 - r) + (v - 1) p + 1 forwards: p of every chunk but the last, the rest of the last, and,
 * beyond p of it, of the first chunk again.  After the last forward of a rank the same is left.
 */
static double bound(const rk_pipeline *p)
{
    const int64_t v = p->chunks_per_rank, m = p->microbatches, last = v - 1;
    const bool groups = m % p->ranks == 0;
    double forwards = 0, backwards = 0, seconds = 0; /* of all chunks */
    double first_before = 0, first_back_before = 0;  /* chunk 0 of the preceding ranks */
    double last_after = 0, last_back_after = 0;      /* the last chunk of the following ranks */
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times sum = rk_rank_times(p, r), t = rk_chunk_times_at(p, r, last);
        forwards += sum.forward;
        backwards += sum.backward + sum.weight;
        last_after += t.forward;
        last_back_after += t.backward + t.weight;
    }
    const double all = forwards + backwards;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times sum = rk_rank_times(p, r);
        const rk_chunk_times first = rk_chunk_times_at(p, r, 0),
                             end = rk_chunk_times_at(p, r, last);
        const int64_t ahead = 2 * (p->ranks - 1 - r) + 1; /* beyond p of the other chunks */
        const int64_t of_last = rk_least_of(ahead, p->ranks), again = ahead - of_last;
        const bool forwards_first = m == p->ranks && ahead >= p->ranks;
        const double more = forwards_first ? 0 : (double)again, n = (double)p->ranks;
        last_after -= end.forward;
        last_back_after -= end.backward + end.weight;
        rk_waits waits = {.first_forward = first_before,
                          .first_backward = 0,
                          .last_step = first_back_before,
                          .forwards_first = forwards_first};
        if (groups) {
            waits.first_backward = forwards + last_back_after - n * (sum.forward - end.forward) -
                                   (double)of_last * end.forward - more * first.forward;
            waits.last_forward = backwards + last_after -
                                 n * (sum.backward + sum.weight - end.backward - end.weight) -
                                 (double)of_last * (end.backward + end.weight) -
                                 more * (first.backward + first.weight);
        }
        const double work = (double)m * (sum.forward + sum.backward + sum.weight);
        seconds = rk_max(seconds, work + rk_longest_wait(&waits));
        first_before += first.forward;
        first_back_before += first.backward + first.weight;
    }
    return rk_max(seconds, all);
}

/* As 1F1B, but chunk by chunk: filling and draining take 1/v. */
static double closed(const rk_pipeline *p)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    const double others = s.forward_sum + s.backward_sum - s.work_max;
    return (double)p->microbatches * s.work_max + others / (double)p->chunks_per_rank;
}

/* Once along all stages in each direction. */
static double overlapped_sends(const rk_pipeline *p)
{
    return p->ranks == 1 ? 0 : 2 * (double)(p->ranks * p->chunks_per_rank - 1);
}

/* Rank 0 runs 2 (p - 1) + (v - 1) p forwards ahead, and then p v forwards in a round. */
static rk_schedule_round round_of(const rk_pipeline *p)
{
    const int64_t ranks = p->ranks, v = p->chunks_per_rank;
    if (p->microbatches % ranks != 0) {
        return (rk_schedule_round){0};
    }
    return (rk_schedule_round){2 * ranks * v, ranks, ranks * (2 + (2 * ranks - 3) / ranks)};
}

static int64_t first_round(const rk_pipeline *p, int64_t rank)
{
    return 2 * (p->ranks - 1 - rank) + (p->chunks_per_rank - 1) * p->ranks;
}

const rk_schedule rk_schedule_interleaved = {
    .usual = true,
    .runs = true,
    .needs = needs,
    .write_order = write_order,
    .in_flight = in_flight,
    .bound = bound,
    .closed = closed,
    .overlapped_sends = overlapped_sends,
    .round = round_of,
    .first_round = first_round,
};

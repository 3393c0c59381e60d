/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved 1F1B (Narayanan et al. 2021, section 2.2): p microbatches run through chunk 0, then
 * through chunk 1, ..., then the next p; backwards the same with the last chunk first.
 */
#include "base/extremes.h"
#include "schedule/rank_times.h"
#include "schedule/ticks.h"

#include <assert.h>

/* The forwards of a rank, or its backwards with the last chunk first, one by one. */
typedef struct walk {
    int64_t first, past; /* microbatches of the group at hand; the last group may be short */
    int64_t chunk, microbatch;
} walk;

static walk start_walk(const rk_pipeline *pipeline)
{
    return (walk){.past = rk_least_of(pipeline->ranks, pipeline->microbatches)};
}

static void advance(const rk_pipeline *pipeline, walk *at)
{
    if (++at->microbatch < at->past) {
        return;
    }
    if (++at->chunk == pipeline->chunks_per_rank) {
        at->chunk = 0;
        at->first = at->past;
        at->past = rk_least_of(at->first + pipeline->ranks, pipeline->microbatches);
    }
    at->microbatch = at->first;
}

static void write_order(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t p = pipeline->ranks, v = pipeline->chunks_per_rank;
    const int64_t count = v * pipeline->microbatches;
    const int64_t wanted = 2 * (p - 1 - rank) + (v - 1) * p;
    assert(wanted >= 0);
    const int64_t ahead = rk_least_of(wanted, count);
    walk forward = start_walk(pipeline), backward = forward;
    for (int64_t k = 0; k < ahead + count; k++) {
        if (k < count) {
            rk_order_add(order, RK_STEP_FORWARD, forward.chunk, forward.microbatch);
            advance(pipeline, &forward);
        }
        if (k >= ahead) {
            rk_order_add(order, RK_STEP_BACKWARD, v - 1 - backward.chunk, backward.microbatch);
            advance(pipeline, &backward);
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

/* What all chunks take, and those that a rank waits for, s. */
struct passes {
    double forwards, backwards;
    double first_before, first_back_before; /* chunk 0 of the preceding ranks */
    double last_back_after, last_after;     /* the last chunk of the following ranks */
};

/* The bound of one rank, of which all chunks, the first and the last take so long. */
static double bound_of(const rk_pipeline *p, int64_t r, const rk_chunk_times *sum,
                       const rk_chunk_times *first, const rk_chunk_times *end,
                       const struct passes *s)
{
    const int64_t m = p->microbatches;
    const int64_t ahead = 2 * (p->ranks - 1 - r) + 1; /* beyond p of the other chunks */
    const int64_t of_last = rk_least_of(ahead, p->ranks), again = ahead - of_last;
    const bool forwards_first = m == p->ranks && ahead >= p->ranks;
    const double more = forwards_first ? 0 : (double)again, n = (double)p->ranks;
    rk_waits waits = {.first_forward = s->first_before,
                      .first_backward = 0,
                      .last_step = s->first_back_before,
                      .forwards_first = forwards_first};
    if (m % p->ranks == 0) {
        waits.first_backward = s->forwards + s->last_back_after -
                               n * (sum->forward - end->forward) - (double)of_last * end->forward -
                               more * first->forward;
        waits.last_forward = s->backwards + s->last_after -
                             n * (sum->backward + sum->weight - end->backward - end->weight) -
                             (double)of_last * (end->backward + end->weight) -
                             more * (first->backward + first->weight);
    }
    return (double)m * (sum->forward + sum->backward + sum->weight) + rk_longest_wait(&waits);
}

/* Moves `count` ranks from those that follow to those before. */
static void pass_ranks(struct passes *s, int64_t count, const rk_chunk_times *first,
                       const rk_chunk_times *end)
{
    s->first_before += (double)count * first->forward;
    s->first_back_before += (double)count * (first->backward + first->weight);
    s->last_after -= (double)count * end->forward;
    s->last_back_after -= (double)count * (end->backward + end->weight);
}

/*
 * The first backward of a rank belongs to its last chunk, and comes after
 * 2 (p - 1 - r) + (v - 1) p + 1 forwards: p of every chunk but the last, the rest of the last, and,
 * beyond p, of the first chunk again.  After the last forward of a rank the same is left.  Of ranks
 * that are alike the outer ones are looked at, as in rk_linear_bound.
 */
static double bound(const rk_pipeline *p)
{
    const rk_chunk_times none = {0, 0, 0};
    const int64_t last = p->chunks_per_rank - 1;
    struct passes s = {0};
    double seconds = 0;
    for (int64_t r = 0, next; r < p->ranks; r = next) {
        const rk_chunk_times sum = rk_rank_times(p, r), end = rk_chunk_times_at(p, r, last);
        next = rk_run_end(p, r);
        s.forwards += (double)(next - r) * sum.forward;
        s.backwards += (double)(next - r) * (sum.backward + sum.weight);
        pass_ranks(&s, r - next, &none, &end);
    }
    for (int64_t r = 0, next; r < p->ranks; r = next) {
        const rk_chunk_times sum = rk_rank_times(p, r);
        const rk_chunk_times first = rk_chunk_times_at(p, r, 0),
                             end = rk_chunk_times_at(p, r, last);
        next = rk_run_end(p, r);
        pass_ranks(&s, 1, &none, &end); /* none follows itself */
        seconds = rk_max(seconds, bound_of(p, r, &sum, &first, &end, &s));
        if (next - r > 1) {
            pass_ranks(&s, next - r - 1, &first, &end);
            seconds = rk_max(seconds, bound_of(p, next - 1, &sum, &first, &end, &s));
        }
        pass_ranks(&s, 1, &first, &none);
    }
    return rk_max(seconds, s.forwards + s.backwards);
}

/* As 1F1B, but chunk by chunk: filling and draining take 1/v. */
static double closed(const rk_pipeline *p)
{
    const rk_pipeline_survey s = rk_survey_pipeline(p);
    const double others = s.forward_sum + s.backward_sum - s.work_max;
    return (double)p->microbatches * s.work_max + others / (double)p->chunks_per_rank;
}

const rk_schedule rk_schedule_interleaved = {
    .usual = true,
    .runs = true,
    .needs = needs,
    .write_order = write_order,
    .in_flight = in_flight,
    .bound = bound,
    .closed = closed,
    .ticks = rk_interleaved_ticks,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pipeline takes at least, in a time that does not depend on microbatches.  A makespan is
 * the longest path through the steps of all ranks, so every path is a bound.  Those here go to a
 * rank, stay there for a run of its steps, and leave it:
 *
 *     wait + m (F + B + W of the rank) + wait
 *
 * A rank waits for its first forward, or, less the forwards that it runs meanwhile, for its first
 * backward; and what follows its last step, or, less the backwards that it still runs meanwhile,
 * its last forward, is waited for in the same way.  docs/search.md has the argument in full.
 */
#include "schedule/order.h"

#include <math.h>

/* Times of a chunk with the messages that keep their sender. */
static rk_chunk_times times_at(const rk_pipeline *p, int64_t rank, int64_t chunk)
{
    rk_chunk_times t = p->chunks[rank * p->chunks_per_rank + chunk];
    if (p->send_seconds > 0 && !p->send_overlapped) {
        t.forward += rk_place_sends(p, (rk_place){rank, chunk}, 1) ? p->send_seconds : 0;
        t.backward += rk_place_sends(p, (rk_place){rank, chunk}, -1) ? p->send_seconds : 0;
    }
    return t;
}

static rk_chunk_times sum_of(const rk_pipeline *p, int64_t rank)
{
    rk_chunk_times sum = {0, 0, 0};
    for (int64_t i = 0; i < p->chunks_per_rank; i++) {
        const rk_chunk_times t = times_at(p, rank, i);
        sum.forward += t.forward;
        sum.backward += t.backward;
        sum.weight += t.weight;
    }
    return sum;
}

/* Seconds that a rank waits before its run of steps, and that pass after it, by its two ends. */
struct waits {
    double first_forward, first_backward; /* of a run that begins there */
    double last_step, last_forward;       /* of a run that ends there */
    bool forwards_first;                  /* the last forward comes before the first backward */
};

static double longest(const struct waits *w)
{
    const double before = fmax(w->first_forward, w->first_backward);
    const double after = fmax(w->last_step, w->last_forward);
    return w->forwards_first ? fmax(w->first_forward + after, before + w->last_step)
                             : before + after;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* GPipe takes exactly this: see gpipe_ticks in makespan.c. */
static double gpipe_seconds(const rk_pipeline *p)
{
    double sum = 0, forward = 0, backward = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times t = times_at(p, r, 0);
        sum += t.forward + t.backward + t.weight;
        forward = fmax(forward, t.forward);
        backward = fmax(backward, t.backward + t.weight);
    }
    return sum + (double)(p->microbatches - 1) * (forward + backward);
}

/*
 * One chunk per rank: 1F1B, and with weight gradients apart ZB-H1 and ZB-H2, which let `lying` of
 * them lie.
 */
static double linear_seconds(const rk_pipeline *p)
{
    const int64_t m = p->microbatches;
    const bool splits = p->kind == RK_SCHEDULE_ZB_H1 || p->kind == RK_SCHEDULE_ZB_H2;
    const int64_t factor = p->kind == RK_SCHEDULE_ZB_H2 ? 2 : 1;
    double forwards = 0, backwards = 0, seconds = 0; /* of all ranks */
    double forwards_before = 0, backwards_before = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times t = times_at(p, r, 0);
        forwards += t.forward;
        backwards += t.backward + (splits ? 0 : t.weight);
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times t = times_at(p, r, 0);
        const double backward = t.backward + (splits ? 0 : t.weight);
        const double forwards_after = forwards - forwards_before - t.forward;
        const double backwards_after = backwards - backwards_before - backward;
        const int64_t behind = p->ranks - 1 - r, lying = splits ? factor * r : 0;
        const int64_t both =
            least_of(factor * behind + 1, m); /* forwards before the first backward, and
                                        backwards after the last forward */
        /* of split backwards: weight gradients after the last forward, and after the last input */
        const int64_t pairs = m - both, late = splits ? m - (pairs > lying ? pairs - lying : 0) : 0;
        const int64_t last = splits ? least_of(lying + 1, m) : 0;
        const struct waits waits = {
            .first_forward = forwards_before,
            .first_backward = forwards + backwards_after - (double)both * t.forward,
            .last_step = fmax(0, backwards_before - (double)last * t.weight),
            .last_forward =
                forwards_after + backwards - (double)both * backward - (double)late * t.weight,
            .forwards_first = both == m,
        };
        seconds = fmax(seconds, (double)m * (t.forward + t.backward + t.weight) + longest(&waits));
        forwards_before += t.forward;
        backwards_before += backward;
    }
    return fmax(seconds, forwards + backwards);
}

/*
 * Interleaved: the first backward of a rank is that of its last chunk, and comes after
 * 2 (p - 1 - r) + (v - 1) p + 1 forwards: p of every chunk but the last, the rest of the last, and,
 * beyond p of it, of the first chunk again.  After the last forward of a rank the same is left.
 */
static double interleaved_seconds(const rk_pipeline *p)
{
    const int64_t v = p->chunks_per_rank, m = p->microbatches, last = v - 1;
    const bool groups = m % p->ranks == 0;
    double forwards = 0, backwards = 0, seconds = 0; /* of all chunks */
    double first_before = 0, first_back_before = 0;  /* chunk 0 of the ranks before */
    double last_after = 0, last_back_after = 0;      /* the last chunk of the ranks after */
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times sum = sum_of(p, r), t = times_at(p, r, last);
        forwards += sum.forward;
        backwards += sum.backward + sum.weight;
        last_after += t.forward;
        last_back_after += t.backward + t.weight;
    }
    const double all = forwards + backwards;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times sum = sum_of(p, r);
        const rk_chunk_times first = times_at(p, r, 0), end = times_at(p, r, last);
        const int64_t ahead = 2 * (p->ranks - 1 - r) + 1; /* beyond p of the other chunks */
        const int64_t of_last = least_of(ahead, p->ranks), again = ahead - of_last;
        const bool forwards_first = m == p->ranks && ahead >= p->ranks;
        const double more = forwards_first ? 0 : (double)again, n = (double)p->ranks;
        last_after -= end.forward;
        last_back_after -= end.backward + end.weight;
        struct waits waits = {.first_forward = first_before,
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
        seconds = fmax(seconds, work + longest(&waits));
        first_before += first.forward;
        first_back_before += first.backward + first.weight;
    }
    return fmax(seconds, all);
}

/* ZB-V: every rank waits for the first chunks of those before it. */
static double zb_v_seconds(const rk_pipeline *p)
{
    double before = 0, seconds = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times sum = sum_of(p, r);
        const double work = (double)p->microbatches * (sum.forward + sum.backward + sum.weight);
        seconds = fmax(seconds, before + work);
        before += times_at(p, r, 0).forward;
    }
    return seconds;
}

/*
 * DualPipe: half of the microbatches run through each chunk of a rank, and a rank waits for those
 * nearer to the end where its first microbatch enters.  Messages of pairs may go at once: they are
 * left out.
 */
static double dualpipe_seconds(const rk_pipeline *p)
{
    const double half = (double)(p->microbatches / 2);
    double seconds = 0, before[2] = {0, 0}; /* from either end */
    for (int64_t depth = 0; depth < p->ranks / 2; depth++) {
        for (int side = 0; side < 2; side++) {
            const int64_t r = side == 0 ? depth : p->ranks - 1 - depth;
            const rk_chunk_times *a = &p->chunks[2 * r], *b = a + 1;
            const double forward = a->forward + b->forward;
            const double backward = a->backward + a->weight + b->backward + b->weight;
            const double work =
                p->overlapped_pair > 0 ? fmax(forward, backward) : forward + backward;
            seconds = fmax(seconds, before[side] + half * work);
            before[side] += (side == 0 ? a : b)->forward;
        }
    }
    return seconds;
}

double rk_pipeline_bound(const rk_pipeline *pipeline)
{
    switch (pipeline->kind) {
    case RK_SCHEDULE_GPIPE:
        return gpipe_seconds(pipeline);
    case RK_SCHEDULE_INTERLEAVED:
        return interleaved_seconds(pipeline);
    case RK_SCHEDULE_ZB_V:
        return zb_v_seconds(pipeline);
    case RK_SCHEDULE_DUALPIPE:
        return dualpipe_seconds(pipeline);
    default:
        return linear_seconds(pipeline);
    }
}

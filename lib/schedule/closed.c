/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closed forms.  Letters: p ranks, v chunks per rank, m microbatches; F, B, W times of forward,
 * backward by input and by weight.  Each form was checked against the played schedule, see
 * tests/schedule.
 */
#include "schedule/order.h"

#include <assert.h>
#include <math.h>

/* Times of the ranks of a pipeline, s of one microbatch. */
struct survey {
    double forward_sum, backward_sum; /* over ranks, all chunks; backward with weight */
    double weight_sum;
    double forward_max, backward_max; /* of one rank */
    double work_max;                  /* forward and backward of one rank */
};

/* A message that is not overlapped keeps its sender as long as it takes. */
static void add_sends(const rk_pipeline *p, rk_place place, rk_chunk_times *times)
{
    times->forward += rk_place_sends(p, place, 1) ? p->send_seconds : 0;
    times->backward += rk_place_sends(p, place, -1) ? p->send_seconds : 0;
}

/* All chunks of rank r. */
static rk_chunk_times rank_times(const rk_pipeline *p, int64_t r)
{
    const bool blocking = p->send_seconds > 0 && !p->send_overlapped;
    rk_chunk_times sum = {0, 0, 0};
    for (int64_t i = 0; i < p->chunks_per_rank; i++) {
        rk_chunk_times times = p->chunks[r * p->chunks_per_rank + i];
        if (blocking) {
            add_sends(p, (rk_place){r, i}, &times);
        }
        sum.forward += times.forward;
        sum.backward += times.backward;
        sum.weight += times.weight;
    }
    return sum;
}

static struct survey survey(const rk_pipeline *p)
{
    struct survey s = {0};
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times times = rank_times(p, r);
        const double forward = times.forward, backward = times.backward + times.weight;
        s.weight_sum += times.weight;
        s.forward_sum += forward;
        s.backward_sum += backward;
        s.forward_max = forward > s.forward_max ? forward : s.forward_max;
        s.backward_max = backward > s.backward_max ? backward : s.backward_max;
        s.work_max = forward + backward > s.work_max ? forward + backward : s.work_max;
    }
    return s;
}

/* The mean chunk; backward without weight. */
static rk_chunk_times mean_chunk(const rk_pipeline *p, const struct survey *s)
{
    const double chunks = (double)(p->ranks * p->chunks_per_rank);
    return (rk_chunk_times){
        .forward = s->forward_sum / chunks,
        .backward = (s->backward_sum - s->weight_sum) / chunks,
        .weight = s->weight_sum / chunks,
    };
}

/* Both passes fill and drain on their own: p - 1 stages before the slowest runs m times. */
static double gpipe_seconds(const rk_pipeline *p, const struct survey *s)
{
    const double m = (double)p->microbatches;
    return s->forward_sum + s->backward_sum + (m - 1) * (s->forward_max + s->backward_max);
}

/* One microbatch passes all ranks both ways; the others follow at the pace of the slowest. */
static double one_f_one_b_seconds(const rk_pipeline *p, const struct survey *s)
{
    return s->forward_sum + s->backward_sum + ((double)p->microbatches - 1) * s->work_max;
}

/* As 1F1B, but chunk by chunk: filling and draining take 1/v. */
static double interleaved_seconds(const rk_pipeline *p, const struct survey *s)
{
    const double others = s->forward_sum + s->backward_sum - s->work_max;
    return (double)p->microbatches * s->work_max + others / (double)p->chunks_per_rank;
}

/*
 * Beside its work a rank waits for the longest of three: a forward and a backward of each other
 * rank, less the weight gradients that fill them; the forwards before its first step; the
 * backwards after its last.  Microbatches that are missing to p leave their part unfilled.
 */
static double zb_h1_seconds(const rk_pipeline *p, const struct survey *s)
{
    const rk_chunk_times t = mean_chunk(p, s);
    const double gaps = (double)(p->ranks - 1);
    const double m = (double)p->microbatches;
    const double missing = fmax((double)p->ranks - m, 0);
    const double around = gaps * (t.forward + t.backward) - (gaps - missing) * t.weight;
    const double before = gaps * t.forward + missing * t.backward;
    const double after = gaps * t.backward + missing * t.forward;
    return m * s->work_max + fmax(around, fmax(before, after));
}

/*
 * Rank r waits for r forwards before its first step, and for its first backward as long as the
 * forwards that it runs ahead do not bridge; then it never idles, unless weight gradients are too
 * short to fill the rest.  With F = B = W the last rank binds: what this schedule is said to have
 * no bubble of is there again with a barrier at the end of the step.
 */
static double zb_h2_seconds(const rk_pipeline *p, const struct survey *s)
{
    const rk_chunk_times t = mean_chunk(p, s);
    const double gaps = (double)(p->ranks - 1), m = (double)p->microbatches;
    double longest = m * s->work_max + gaps * (t.forward + t.backward - 2 * t.weight);
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times own = rank_times(p, r);
        const double before =
            (double)r * t.forward + (gaps - (double)r) * fmax(t.backward - t.forward, 0);
        longest = fmax(longest, m * (own.forward + own.backward + own.weight) + before);
    }
    return longest;
}

/*
 * The longest of the paths that can bind a V of 2p chunks; with F = B = W all wait (p - 1) F.  The
 * later three bind when weight gradients are too short to fill what they should.
 */
static double zb_v_seconds(const rk_pipeline *p, const struct survey *s)
{
    const rk_chunk_times t = mean_chunk(p, s);
    const double n = (double)p->ranks, work = (double)p->microbatches * s->work_max;
    if (p->ranks == 1) {
        return work;
    }
    const double f = t.forward, b = t.backward, w = t.weight, longer = fmax(f, b);
    const double balanced = longer + (n - 2) * fmax(b, fmax(w, 2 * f - b));
    const double backward = (2 * n - 3) * longer + b - 2 * (n - 1) * w;
    const double forward = 2 * (n - 1) * f - w;
    return work + fmax(fmax(balanced, backward), forward - (n - 1) * fmin(b, 2 * w));
}

/*
 * With h = p/2: m - h - 2 pairs in a row on the innermost ranks, and what fills and drains them.
 * The published bubble (h - 1)(pair + B - 2 W) is that of F = B = W.
 */
static double dualpipe_seconds(const rk_pipeline *p, const struct survey *s)
{
    const rk_chunk_times t = mean_chunk(p, s);
    const double f = t.forward, b = t.backward, w = t.weight;
    const double h = (double)p->ranks / 2, m = (double)p->microbatches;
    const double pair = p->overlapped_pair > 0 ? p->overlapped_pair : f + b + w;
    /* a rank runs half of the microbatches through each of its chunks */
    const double uneven = p->overlapped_pair > 0 ? 0 : m * (s->work_max / 2 - (f + b + w));
    return uneven + (m - h - 2) * pair + 2 * h * f + (h + 2) * b + 3 * w +
           fmax(h * f, (h - 1) * b) + (h - 1) * fmax(b, w);
}

static double (*const seconds_of[])(const rk_pipeline *, const struct survey *) = {
    [RK_SCHEDULE_GPIPE] = gpipe_seconds,
    [RK_SCHEDULE_1F1B] = one_f_one_b_seconds,
    [RK_SCHEDULE_INTERLEAVED] = interleaved_seconds,
    [RK_SCHEDULE_ZB_H1] = zb_h1_seconds,
    [RK_SCHEDULE_ZB_H2] = zb_h2_seconds,
    [RK_SCHEDULE_ZB_V] = zb_v_seconds,
    [RK_SCHEDULE_DUALPIPE] = dualpipe_seconds,
};

/*
 * Overlapped messages on the longest path.  In 1F1B neighbours wait for each other's answer in
 * every round of p microbatches; the other orders leave it room and pay once each way.
 */
static double overlapped_sends(const rk_pipeline *p)
{
    const int64_t gaps = p->ranks - 1, later = p->microbatches - 1;
    switch (p->kind) {
    case RK_SCHEDULE_1F1B:
        return 2 * (double)(gaps + later - (later + p->ranks - 1) / p->ranks);
    case RK_SCHEDULE_INTERLEAVED:
        return gaps == 0 ? 0 : 2 * (double)(p->ranks * p->chunks_per_rank - 1);
    case RK_SCHEDULE_ZB_V:
        return 4 * (double)gaps;
    default:
        return 2 * (double)gaps;
    }
}

double rk_pipeline_seconds(const rk_pipeline *pipeline)
{
    assert((unsigned)pipeline->kind < RK_SCHEDULE_KIND_COUNT);
    const struct survey s = survey(pipeline);
    const double seconds = seconds_of[pipeline->kind](pipeline, &s);
    return pipeline->send_seconds > 0 && pipeline->send_overlapped
               ? seconds + pipeline->send_seconds * overlapped_sends(pipeline)
               : seconds;
}

double rk_pipeline_in_flight(rk_schedule_kind kind, int64_t ranks, int64_t chunks_per_rank,
                             int64_t microbatches, int64_t rank)
{
    const int64_t m = microbatches, v = chunks_per_rank;
    const int64_t behind = ranks - rank; /* with this rank */
    switch (kind) {
    case RK_SCHEDULE_GPIPE:
        return (double)m;
    case RK_SCHEDULE_1F1B:
        return (double)(m < behind ? m : behind);
    case RK_SCHEDULE_INTERLEAVED: {
        const int64_t ahead = 2 * (behind - 1) + (v - 1) * ranks + 1;
        return (double)(m * v < ahead ? m * v : ahead) / (double)v;
    }
    case RK_SCHEDULE_ZB_H1:
        return (double)(m < ranks ? m : ranks);
    case RK_SCHEDULE_ZB_H2:
        return (double)(m < 2 * ranks - 1 ? m : 2 * ranks - 1);
    case RK_SCHEDULE_ZB_V:
        return (double)ranks;
    default:
        assert(kind == RK_SCHEDULE_DUALPIPE);
        return (double)(ranks + 1);
    }
}

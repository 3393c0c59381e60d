/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by closed forms and bounds of several schedules; inside lib/schedule only. */
#ifndef RK_SCHEDULE_RANK_TIMES_H
#define RK_SCHEDULE_RANK_TIMES_H

#include "schedule/order.h"

static inline int64_t rk_least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* rk_place_sends; with stages placed round-robin, only the first and the last lack a neighbour. */
static inline bool rk_chunk_sends(const rk_pipeline *p, int64_t rank, int64_t chunk, int direction)
{
    if (rk_schedules[p->kind]->placement != RK_PLACEMENT_LOOP) {
        return rk_place_sends(p, (rk_place){rank, chunk}, direction);
    }
    const int64_t end_rank = direction > 0 ? p->ranks - 1 : 0;
    const int64_t end_chunk = direction > 0 ? p->chunks_per_rank - 1 : 0;
    return p->ranks > 1 && (rank != end_rank || chunk != end_chunk);
}

/* Chunks of a rank that send. */
static inline int64_t rk_rank_sends(const rk_pipeline *p, int64_t rank, int direction)
{
    const int64_t last = p->chunks_per_rank - 1, end = direction > 0 ? last : 0;
    return last == 0 ? rk_chunk_sends(p, rank, 0, direction)
                     : rk_chunk_sends(p, rank, end, direction) +
                           last * rk_chunk_sends(p, rank, last - end, direction);
}

/* Where the times of a rank are. */
static inline int64_t rk_rank_place(const rk_pipeline *p, int64_t rank)
{
    return p->alike ? p->alike[rank] : rank;
}

/*
 * The end of a run of ranks that have the same times.  The first and the last rank, which send
 * less, are runs of their own.
 */
static inline int64_t rk_run_end(const rk_pipeline *p, int64_t rank)
{
    int64_t end = rank + 1;
    while (p->alike && rank > 0 && end < p->ranks - 1 && p->alike[end] == p->alike[rank]) {
        end++;
    }
    return end;
}

/* Times of a chunk with the messages that keep their sender. */
static inline rk_chunk_times rk_chunk_times_at(const rk_pipeline *p, int64_t rank, int64_t chunk)
{
    rk_chunk_times t = p->chunks[rk_rank_place(p, rank) * p->chunks_per_rank + chunk];
    if (p->send_seconds > 0) {
        t.forward += rk_chunk_sends(p, rank, chunk, 1) ? p->send_seconds : 0;
        t.backward += rk_chunk_sends(p, rank, chunk, -1) ? p->send_seconds : 0;
    }
    return t;
}

/* All chunks of a rank. */
static inline rk_chunk_times rk_rank_times(const rk_pipeline *p, int64_t rank)
{
    rk_chunk_times sum = {0, 0, 0};
    if (p->sums) {
        sum = p->sums[rk_rank_place(p, rank)];
        if (p->send_seconds > 0) {
            sum.forward += (double)rk_rank_sends(p, rank, 1) * p->send_seconds;
            sum.backward += (double)rk_rank_sends(p, rank, -1) * p->send_seconds;
        }
        return sum;
    }
    const rk_chunk_times *t = &p->chunks[rk_rank_place(p, rank) * p->chunks_per_rank];
    const double send = p->send_seconds;
    const int64_t last = p->chunks_per_rank - 1;
    /* the others send as the chunk at the other end does */
    const double up = rk_chunk_sends(p, rank, 0, 1) ? send : 0;
    const double down = rk_chunk_sends(p, rank, last, -1) ? send : 0;
    const double last_up = rk_chunk_sends(p, rank, last, 1) ? send : 0;
    const double first_down = rk_chunk_sends(p, rank, 0, -1) ? send : 0;
    for (int64_t i = 0; i <= last; i++) {
        sum.forward += t[i].forward + (i < last ? up : last_up);
        sum.backward += t[i].backward + (i > 0 ? down : first_down);
        sum.weight += t[i].weight;
    }
    return sum;
}

/* Times of the ranks of a pipeline, s of one microbatch. */
typedef struct rk_pipeline_survey {
    double forward_sum, backward_sum; /* over ranks, all chunks; backward with weight */
    double weight_sum;
    double forward_max, backward_max; /* of one rank */
    double work_max;                  /* forward and backward of one rank */
    rk_chunk_times mean;              /* of chunks; backward without weight */
} rk_pipeline_survey;

rk_pipeline_survey rk_survey_pipeline(const rk_pipeline *pipeline);

/* Seconds that a rank waits before its run of steps, and seconds after it: see bound.c. */
typedef struct rk_waits {
    double first_forward, first_backward; /* of a run that begins there */
    double last_step, last_forward;       /* of a run that ends there */
    bool forwards_first;                  /* the last forward comes before the first backward */
} rk_waits;

double rk_longest_wait(const rk_waits *waits);

/*
 * The bound of one chunk per rank: 1F1B (factor 0), and with weight gradients apart ZB-H1 and ZB-H2
 * (factor 1 and 2), which defer factor * rank weight gradients.
 */
double rk_linear_bound(const rk_pipeline *pipeline, int64_t factor);

/* The bound of stages in a V: every rank waits for the first chunks of the preceding ranks. */
double rk_v_bound(const rk_pipeline *pipeline);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of a pipeline in ticks; inside lib/schedule only.  Sums of whole ticks are exact, so every
 * way of finding the end of a schedule gives the same bits.  A tick is a power of two of which all
 * steps of a pipeline one after the other take less than 2^61: rounding to it moves a makespan by
 * about 1e-13 of itself.
 */
#ifndef RK_SCHEDULE_TICKS_H
#define RK_SCHEDULE_TICKS_H

#include "schedule/schedule.h"

#include <math.h>
#include <string.h>

/* Steps in a row after which ranks keep pace: the slowest waits for none by then. */
enum { RK_ROLLED_STEPS = 8 };

/* Values by rank that schedules with a function for their makespan have room for. */
enum { RK_TICKS_ROOM = 8 };

/* rk_schedule.ticks of interleaved 1F1B: of groups of as many microbatches as ranks. */
int64_t rk_interleaved_ticks(const rk_pipeline *pipeline, const int64_t *durations, int64_t *room);

/*
 * Whether the chunks of a rank, if it has several, last as long as those of the rank before, to the
 * last bit.  A single chunk is as quickly added as compared.
 */
static inline bool rk_same_as_before(const rk_pipeline *p, int64_t rank)
{
    const size_t v = (size_t)p->chunks_per_rank;
    const rk_chunk_times *own = &p->chunks[(size_t)rank * v];
    return v > 1 && rank > 0 && memcmp(own, own - v, v * sizeof(*own)) == 0;
}

typedef struct rk_clock {
    double seconds;    /* of a tick */
    double per_second; /* ticks */
    bool finite;       /* false: the times of the pipeline have no representation in ticks */
} rk_clock;

static inline rk_clock rk_clock_of(const rk_pipeline *p)
{
    double most = p->overlapped_pair + 2 * p->send_seconds;
    int exponent = 0;
    most *= (double)(p->ranks * p->chunks_per_rank);
    for (int64_t r = 0; r < p->ranks; r++) { /* rank by rank: sums that do not wait for another */
        double sum = 0;
        for (int64_t i = r * p->chunks_per_rank; i < (r + 1) * p->chunks_per_rank; i++) {
            sum += p->chunks[i].forward + p->chunks[i].backward + p->chunks[i].weight;
        }
        most += sum;
    }
    most *= (double)p->microbatches;
    (void)frexp(most, &exponent);
    const int bits = 61 - exponent < 1000 ? 61 - exponent : 1000;
    return (rk_clock){ldexp(1, -bits), ldexp(1, bits), isfinite(most)};
}

static inline int64_t rk_to_ticks(rk_clock clock, double seconds)
{
    return (int64_t)(seconds * clock.per_second + 0.5);
}

static inline double rk_to_seconds(rk_clock clock, int64_t ticks)
{
    return (double)ticks * clock.seconds;
}

static inline int64_t rk_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif

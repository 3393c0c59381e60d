/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines for the tests of schedules: equal and random ones, and their play with room for it. */
#ifndef RK_TESTS_PIPELINES_H
#define RK_TESTS_PIPELINES_H

#include "schedule/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define CHUNKS_MAX 256

/* ---- random numbers ------------------------------------------------------------------------ */

/* splitmix64 */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t random_int(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(next_random(state) % (uint64_t)(high - low + 1));
}

static inline double random_real(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(next_random(state) >> 11) * 0x1p-53;
}

/* ---- pipelines ----------------------------------------------------------------------------- */

/* A pipeline with its times inside. */
struct sample {
    rk_pipeline pipeline;
    rk_chunk_times chunks[CHUNKS_MAX];
    double idle[CHUNKS_MAX], in_flight[CHUNKS_MAX];
};

static inline void fill_equal(struct sample *s, rk_schedule_kind kind, int64_t p, int64_t v,
                              int64_t m, rk_chunk_times times)
{
    assert_true(p * v <= CHUNKS_MAX);
    s->pipeline = (rk_pipeline){
        .kind = kind, .ranks = p, .chunks_per_rank = v, .microbatches = m, .chunks = s->chunks};
    for (int64_t i = 0; i < p * v; i++) {
        s->chunks[i] = times;
    }
}

/* Random numbers that rk_pipeline_check accepts, with equal times of random proportions. */
static inline void fill_random(struct sample *s, rk_schedule_kind kind, uint64_t *seed)
{
    int64_t p = random_int(seed, 1, 9), v = 1;
    p += kind == RK_SCHEDULE_DUALPIPE && p % 2 == 1 ? 1 : 0;
    const rk_schedule_needs needs = rk_schedule_needs_of(kind, p);
    v = needs.chunks_max < 5 ? needs.chunks_max : random_int(seed, needs.chunks_min, 5);
    const int64_t rounds = random_int(seed, 0, 3 * p / needs.microbatch_multiple + 1);
    const int64_t m = needs.microbatch_min + rounds * needs.microbatch_multiple;
    const double forward = random_real(seed, 0.1, 2), backward = random_real(seed, 0.1, 3);
    const rk_chunk_times times = {forward, backward, random_real(seed, 0, 2)};
    fill_equal(s, kind, p, v, m, times);
    if (kind == RK_SCHEDULE_DUALPIPE && next_random(seed) % 2) {
        const double both = times.backward + times.weight;
        const double longest = times.forward > both ? times.forward : both;
        s->pipeline.overlapped_pair = random_real(seed, longest, times.forward + both);
    }
}

/* Multiplies every time by its own factor of 1 - spread to 1 + spread. */
static inline void make_uneven(struct sample *s, double spread, uint64_t *seed)
{
    const rk_pipeline *p = &s->pipeline;
    for (int64_t i = 0; i < p->ranks * p->chunks_per_rank; i++) {
        s->chunks[i].forward *= random_real(seed, 1 - spread, 1 + spread);
        s->chunks[i].backward *= random_real(seed, 1 - spread, 1 + spread);
        s->chunks[i].weight *= random_real(seed, 1 - spread, 1 + spread);
    }
    if (p->kind == RK_SCHEDULE_DUALPIPE) { /* both directions run the same stage */
        for (int64_t r = 0; r < p->ranks; r++) {
            s->chunks[2 * r + 1] = s->chunks[2 * (p->ranks - 1 - r)];
        }
    }
}

/* Plays it; idle and in_flight are left in the sample.  Fails the test when it cannot. */
static inline double play(struct sample *s, void (*visit)(void *, const rk_op *), void *user)
{
    rk_pipeline_result result = {.idle = s->idle, .in_flight = s->in_flight};
    rk_error err = {0};
    if (rk_pipeline_play(&s->pipeline, &result, visit, user, &err) != RK_OK) {
        fail_msg("%s", err.message);
    }
    return result.seconds;
}

/* What a failing test prints to be repeated. */
static inline const char *describe(const struct sample *s, char out[160])
{
    const rk_pipeline *p = &s->pipeline;
    (void)snprintf(out, 160, "%s p %d v %d m %d F %.17g B %.17g W %.17g pair %.17g",
                   rk_schedule_names[p->kind], (int)p->ranks, (int)p->chunks_per_rank,
                   (int)p->microbatches, p->chunks[0].forward, p->chunks[0].backward,
                   p->chunks[0].weight, p->overlapped_pair);
    return out;
}

#endif

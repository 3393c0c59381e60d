/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds on the time of a pipeline, found in a time that does not depend on the number of
 * microbatches.  A makespan is the longest path through the steps of all ranks, so every path is a
 * bound.  The paths here go to a rank, stay there for a run of its steps, and leave it:
 *
 *     wait + m (F + B + W of the rank) + wait
 *
 * A rank waits for its first forward, or, less the forwards that it runs meanwhile, for its first
 * backward; and what follows its last step, or, less the backwards that it still runs meanwhile,
 * its last forward, is waited for in the same way.  docs/search.md has the argument in full.
 * Each schedule has its bound in its own file.
 */
#include "base/extremes.h"
#include "schedule/rank_times.h"
#include "schedule/ticks.h"

#include <assert.h>

double rk_longest_wait(const rk_waits *w)
{
    const double before = rk_max(w->first_forward, w->first_backward);
    const double after = rk_max(w->last_step, w->last_forward);
    return w->forwards_first ? rk_max(w->first_forward + after, before + w->last_step)
                             : before + after;
}

/* What the ranks before one take, and all. */
struct passes {
    double forwards, backwards, forwards_before, backwards_before; /* s */
};

/* The bound of one rank of rk_linear_bound with these times of its only chunk. */
static double linear_bound_of(const rk_pipeline *p, int64_t factor, int64_t r,
                              const rk_chunk_times *t, const struct passes *s)
{
    const int64_t m = p->microbatches;
    const bool splits = factor > 0;
    const int64_t ahead = splits ? factor : 1; /* forwards per rank behind */
    const double backward = t->backward + (splits ? 0 : t->weight);
    const double forwards_after = s->forwards - s->forwards_before - t->forward;
    const double backwards_after = s->backwards - s->backwards_before - backward;
    const int64_t behind = p->ranks - 1 - r, lying = splits ? factor * r : 0;
    const int64_t both = rk_least_of(ahead * behind + 1, m); /* forwards before the first backward,
                                                and backwards after the last forward */
    /* of split backwards: weight gradients after the last forward, and after the last input */
    const int64_t pairs = m - both, late = splits ? m - (pairs > lying ? pairs - lying : 0) : 0;
    const int64_t last = splits ? rk_least_of(lying + 1, m) : 0;
    const rk_waits waits = {
        .first_forward = s->forwards_before,
        .first_backward = s->forwards + backwards_after - (double)both * t->forward,
        .last_step = rk_max(s->backwards_before - (double)last * t->weight, 0),
        .last_forward =
            forwards_after + s->backwards - (double)both * backward - (double)late * t->weight,
        .forwards_first = both == m,
    };
    return (double)m * (t->forward + t->backward + t->weight) + rk_longest_wait(&waits);
}

/*
 * Of ranks that are alike the outer ones are looked at: the bound of those between is no longer,
 * except where a rank is the first to run a forward after a backward.
 */
double rk_linear_bound(const rk_pipeline *p, int64_t factor)
{
    assert(factor >= 0 && p->chunks_per_rank == 1);
    struct passes s = {0};
    double seconds = 0;
    for (int64_t r = 0, end; r < p->ranks; r = end) {
        const rk_chunk_times t = rk_chunk_times_at(p, r, 0);
        end = rk_run_end(p, r);
        s.forwards += (double)(end - r) * t.forward;
        s.backwards += (double)(end - r) * (t.backward + (factor > 0 ? 0 : t.weight));
    }
    for (int64_t r = 0, end; r < p->ranks; r = end) {
        const rk_chunk_times t = rk_chunk_times_at(p, r, 0);
        const double backward = t.backward + (factor > 0 ? 0 : t.weight);
        end = rk_run_end(p, r);
        seconds = rk_max(seconds, linear_bound_of(p, factor, r, &t, &s));
        s.forwards_before += (double)(end - 1 - r) * t.forward;
        s.backwards_before += (double)(end - 1 - r) * backward;
        if (end - r > 1) {
            seconds = rk_max(seconds, linear_bound_of(p, factor, end - 1, &t, &s));
        }
        s.forwards_before += t.forward;
        s.backwards_before += backward;
    }
    return rk_max(seconds, s.forwards + s.backwards);
}

double rk_v_bound(const rk_pipeline *p)
{
    double before = 0, seconds = 0;
    for (int64_t r = 0, end; r < p->ranks; r = end) {
        const rk_chunk_times sum = rk_rank_times(p, r);
        const double first = rk_chunk_times_at(p, r, 0).forward;
        end = rk_run_end(p, r);
        before += (double)(end - 1 - r) * first; /* the last of those alike waits longest */
        seconds = rk_max(seconds, before + (double)p->microbatches *
                                               (sum.forward + sum.backward + sum.weight));
        before += first;
    }
    return seconds;
}

double rk_pipeline_bound(const rk_pipeline *pipeline)
{
    if (!pipeline->rolls) {
        return rk_schedules[pipeline->kind]->bound(pipeline);
    }
    double seconds = 0; /* the work of a rank: what it waits for may lie in the step before */
    for (int64_t r = 0; r < pipeline->ranks; r = rk_run_end(pipeline, r)) {
        const rk_chunk_times t = rk_rank_times(pipeline, r);
        seconds =
            rk_max(seconds, (double)pipeline->microbatches * (t.forward + t.backward + t.weight));
    }
    return seconds;
}

int64_t rk_pipeline_sends(const rk_pipeline *pipeline, int64_t rank)
{
    assert(!rk_schedules[pipeline->kind]->pairs);
    return pipeline->ranks > 1
               ? rk_rank_sends(pipeline, rank, 1) + rk_rank_sends(pipeline, rank, -1)
               : 0;
}

double rk_pipeline_least_sends(const rk_pipeline *p, double makespan)
{
    double longest = 0;
    if (p->ranks == 1 || rk_schedules[p->kind]->splits || rk_schedules[p->kind]->pairs) {
        return 0;
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times *t = &p->chunks[r * p->chunks_per_rank];
        const int64_t others = rk_same_as_before(p, r) ? 0 : p->chunks_per_rank;
        for (int64_t i = 0; i < others; i++, t++) {
            longest = rk_max(longest, rk_max(t->forward, t->backward + t->weight));
        }
    }
    return makespan / longest - 2 * (double)p->microbatches - 1;
}

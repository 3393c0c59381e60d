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

double rk_linear_bound(const rk_pipeline *p, int64_t factor)
{
    assert(factor >= 0 && p->chunks_per_rank == 1);
    const int64_t m = p->microbatches;
    const bool splits = factor > 0;
    const int64_t ahead = splits ? factor : 1;       /* forwards per rank behind */
    double forwards = 0, backwards = 0, seconds = 0; /* of all ranks */
    double forwards_before = 0, backwards_before = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times t = rk_chunk_times_at(p, r, 0);
        forwards += t.forward;
        backwards += t.backward + (splits ? 0 : t.weight);
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times t = rk_chunk_times_at(p, r, 0);
        const double backward = t.backward + (splits ? 0 : t.weight);
        const double forwards_after = forwards - forwards_before - t.forward;
        const double backwards_after = backwards - backwards_before - backward;
        const int64_t behind = p->ranks - 1 - r, lying = splits ? factor * r : 0;
        const int64_t both =
            rk_least_of(ahead * behind + 1, m); /* forwards before the first backward, and
                                        backwards after the last forward */
        /* of split backwards: weight gradients after the last forward, and after the last input */
        const int64_t pairs = m - both, late = splits ? m - (pairs > lying ? pairs - lying : 0) : 0;
        const int64_t last = splits ? rk_least_of(lying + 1, m) : 0;
        const rk_waits waits = {
            .first_forward = forwards_before,
            .first_backward = forwards + backwards_after - (double)both * t.forward,
            .last_step = rk_max(backwards_before - (double)last * t.weight, 0),
            .last_forward =
                forwards_after + backwards - (double)both * backward - (double)late * t.weight,
            .forwards_first = both == m,
        };
        seconds = rk_max(seconds,
                         (double)m * (t.forward + t.backward + t.weight) + rk_longest_wait(&waits));
        forwards_before += t.forward;
        backwards_before += backward;
    }
    return rk_max(seconds, forwards + backwards);
}

double rk_v_bound(const rk_pipeline *p)
{
    double before = 0, seconds = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        const rk_chunk_times sum = rk_rank_times(p, r);
        const double work = (double)p->microbatches * (sum.forward + sum.backward + sum.weight);
        seconds = rk_max(seconds, before + work);
        before += rk_chunk_times_at(p, r, 0).forward;
    }
    return seconds;
}

double rk_pipeline_bound(const rk_pipeline *pipeline)
{
    if (!pipeline->rolls) {
        return rk_schedules[pipeline->kind]->bound(pipeline);
    }
    double seconds = 0; /* the work of a rank: what it waits for may lie in the step before */
    for (int64_t r = 0; r < pipeline->ranks; r++) {
        const rk_chunk_times t = rk_rank_times(pipeline, r);
        seconds =
            rk_max(seconds, (double)pipeline->microbatches * (t.forward + t.backward + t.weight));
    }
    return seconds;
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

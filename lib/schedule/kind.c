/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the schedules, their constraints, and where they place stages. */
#include "schedule/order.h"

#include "base/error.h"
#include "base/extremes.h"

#include <assert.h>
#include <math.h>

const char *const rk_schedule_names[] = {RK_SCHEDULE_LIST(RK_SCHEDULE_NAME) NULL};

#define ENTRY(kind, entry, name) [RK_SCHEDULE_##kind] = &rk_schedule_##entry,
const rk_schedule *const rk_schedules[] = {RK_SCHEDULE_LIST(ENTRY)};

/* ---- stages -------------------------------------------------------------------------------- */

int64_t rk_schedule_stages(rk_schedule_kind kind, int64_t ranks, int64_t chunks_per_rank)
{
    switch (rk_schedules[kind]->placement) {
    case RK_PLACEMENT_V:
        return 2 * ranks;
    case RK_PLACEMENT_TWICE:
        return ranks;
    default:
        return ranks * chunks_per_rank;
    }
}

int64_t rk_schedule_stage(rk_schedule_kind kind, int64_t ranks, int64_t rank, int64_t chunk)
{
    assert(rank >= 0 && rank < ranks && chunk >= 0);
    switch (rk_schedules[kind]->placement) {
    case RK_PLACEMENT_V:
        return chunk == 0 ? rank : 2 * ranks - 1 - rank;
    case RK_PLACEMENT_TWICE:
        return chunk == 0 ? rank : ranks - 1 - rank;
    default:
        return chunk * ranks + rank;
    }
}

/* The inverse of rk_schedule_stage; where two ranks hold a stage, on the chunks of one direction.
 */
static rk_place place_of(const rk_pipeline *p, int64_t stage, int64_t direction_chunk)
{
    assert(stage >= 0 && stage < rk_schedule_stages(p->kind, p->ranks, p->chunks_per_rank));
    switch (rk_schedules[p->kind]->placement) {
    case RK_PLACEMENT_V:
        return stage < p->ranks ? (rk_place){stage, 0} : (rk_place){2 * p->ranks - 1 - stage, 1};
    case RK_PLACEMENT_TWICE:
        return (rk_place){direction_chunk == 0 ? stage : p->ranks - 1 - stage, direction_chunk};
    default:
        return (rk_place){stage % p->ranks, stage / p->ranks};
    }
}

bool rk_place_next(const rk_pipeline *pipeline, rk_place place, int direction, rk_place *next)
{
    assert(direction == 1 || direction == -1);
    const int64_t stage =
        rk_schedule_stage(pipeline->kind, pipeline->ranks, place.rank, place.chunk) + direction;
    if (stage < 0 ||
        stage >= rk_schedule_stages(pipeline->kind, pipeline->ranks, pipeline->chunks_per_rank)) {
        return false;
    }
    *next = place_of(pipeline, stage, place.chunk);
    return true;
}

bool rk_place_sends(const rk_pipeline *pipeline, rk_place place, int direction)
{
    rk_place next;
    return rk_place_next(pipeline, place, direction, &next) && next.rank != place.rank;
}

/* ---- numbers ------------------------------------------------------------------------------- */

rk_schedule_needs rk_schedule_needs_of(rk_schedule_kind kind, int64_t ranks)
{
    return rk_schedules[kind]->needs(ranks);
}

bool rk_schedule_has_vp(rk_schedule_kind kind)
{
    const rk_schedule_needs needs = rk_schedule_needs_of(kind, 1);
    return needs.chunks_max > needs.chunks_min;
}

bool rk_schedules_have_vp(unsigned schedules)
{
    for (unsigned i = 0; i < RK_SCHEDULE_KIND_COUNT; i++) {
        if (schedules >> i & 1U && rk_schedule_has_vp((rk_schedule_kind)i)) {
            return true;
        }
    }
    return false;
}

rk_schedule_kind rk_schedule_usual(int64_t chunks_per_rank)
{
    unsigned kind = 0;
    while (!rk_schedules[kind]->usual ||
           rk_schedule_has_vp((rk_schedule_kind)kind) != (chunks_per_rank > 1)) {
        kind++;
        assert(kind < RK_SCHEDULE_KIND_COUNT);
    }
    return (rk_schedule_kind)kind;
}

static rk_status check_times(const rk_pipeline *p, rk_error *err)
{
    double longest = 0;
    for (int64_t i = 0; i < p->ranks * p->chunks_per_rank; i++) {
        const rk_chunk_times *t = &p->chunks[i];
        if (!(t->forward >= 0 && t->backward >= 0 && t->weight >= 0 &&
              isfinite(t->forward + t->backward + t->weight))) {
            return rk_fail(err, RK_ERR_INVALID,
                           "chunk %lld of rank %lld has a time that is negative or not finite",
                           (long long)(i % p->chunks_per_rank),
                           (long long)(i / p->chunks_per_rank));
        }
        longest = rk_max(longest, rk_max(t->forward, t->backward + t->weight));
    }
    if (!(p->send_seconds >= 0 && isfinite(p->send_seconds))) {
        return rk_fail(err, RK_ERR_INVALID, "a message takes %g s; it must be 0 or more",
                       p->send_seconds);
    }
    if (rk_schedules[p->kind]->pairs && p->overlapped_pair != 0 &&
        !(p->overlapped_pair >= longest && isfinite(p->overlapped_pair))) {
        return rk_fail(err, RK_ERR_INVALID,
                       "an overlapped pair takes %g s, less than the %g s of its longer half",
                       p->overlapped_pair, longest);
    }
    return RK_OK;
}

static rk_status check_ranks(const rk_pipeline *p, const rk_schedule_needs *needs, rk_error *err)
{
    const char *name = rk_schedule_names[p->kind];
    if (p->ranks % needs->rank_multiple != 0) {
        return rk_fail(err, RK_ERR_INVALID, "%s needs a multiple of %lld ranks, not %lld", name,
                       (long long)needs->rank_multiple, (long long)p->ranks);
    }
    if (p->chunks_per_rank < needs->chunks_min) {
        return rk_fail(err, RK_ERR_INVALID, "%s needs %lld chunks per rank, not %lld", name,
                       (long long)needs->chunks_min, (long long)p->chunks_per_rank);
    }
    if (p->chunks_per_rank > needs->chunks_max) {
        return rk_fail(err, RK_ERR_INVALID, "%s has %lld chunks per rank at most, not %lld", name,
                       (long long)needs->chunks_max, (long long)p->chunks_per_rank);
    }
    return RK_OK;
}

static rk_status check_microbatches(const rk_pipeline *p, const rk_schedule_needs *needs,
                                    rk_error *err)
{
    const char *name = rk_schedule_names[p->kind];
    const int64_t m = p->microbatches, multiple = needs->microbatch_multiple;
    if (m < needs->microbatch_min) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s on %lld ranks needs at least %lld microbatches, not %lld", name,
                       (long long)p->ranks, (long long)needs->microbatch_min, (long long)m);
    }
    if (m % multiple != 0) {
        const int64_t below = m - m % multiple;
        return rk_fail(err, RK_ERR_INVALID,
                       "%s on %lld ranks needs a multiple of %lld microbatches, not %lld; nearest "
                       "are %lld and %lld",
                       name, (long long)p->ranks, (long long)multiple, (long long)m,
                       (long long)below, (long long)(below + multiple));
    }
    return RK_OK;
}

rk_status rk_pipeline_check_order(const rk_pipeline *pipeline, rk_error *err)
{
    const rk_pipeline *p = pipeline;
    if ((unsigned)p->kind >= RK_SCHEDULE_KIND_COUNT) {
        return rk_fail(err, RK_ERR_INVALID, "%d is no schedule", (int)p->kind);
    }
    const int64_t sizes[] = {p->ranks, p->chunks_per_rank, p->microbatches};
    for (int i = 0; i < 3; i++) {
        if (sizes[i] < 1 || sizes[i] > INT32_MAX / 4) {
            return rk_fail(err, RK_ERR_INVALID,
                           "%lld ranks, %lld chunks per rank and %lld microbatches: each must be "
                           "from 1 to %d",
                           (long long)sizes[0], (long long)sizes[1], (long long)sizes[2],
                           INT32_MAX / 4);
        }
    }
    const rk_schedule_needs needs = rk_schedule_needs_of(p->kind, p->ranks);
    rk_status status = check_ranks(p, &needs, err);
    if (status == RK_OK && rk_schedules[p->kind]->fixed_needs) {
        status = check_microbatches(p, &needs, err);
    }
    return status == RK_OK ? check_times(p, err) : status;
}

rk_status rk_pipeline_check(const rk_pipeline *pipeline, rk_error *err)
{
    const rk_status status = rk_pipeline_check_order(pipeline, err);
    if (status != RK_OK) {
        return status;
    }
    const rk_schedule_needs needs = rk_schedule_needs_of(pipeline->kind, pipeline->ranks);
    return check_microbatches(pipeline, &needs, err);
}

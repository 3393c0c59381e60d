/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the plan space that a node of the bounded search overlaps, and their lower bounds. */
#include "base/extremes.h"
#include "search/bounded_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static bool has_batch(const rk_plan_part *part, const struct batch *b)
{
    return !(part->ones & RK_DEGREE_TP && b->unit->tp > 1) &&
           !(part->ones & RK_DEGREE_CP && b->unit->cp > 1) &&
           !(part->ones & RK_DEGREE_EP && b->unit->ep > 1);
}

unsigned rk_parts_of_batch(const rk_plan_bounds *s, const struct batch *b)
{
    unsigned parts = 0;
    for (int i = 0; i < s->part_count; i++) {
        parts |= (unsigned)has_batch(&s->parts[i], b) << i;
    }
    return parts;
}

unsigned rk_parts_of_pipe(const rk_plan_bounds *s, const rk_plan_pipe *pipe)
{
    unsigned parts = 0;
    for (int i = 0; i < s->part_count; i++) {
        parts |= (unsigned)!(s->parts[i].ones & RK_DEGREE_PP && pipe->pp > 1) << i;
    }
    return parts;
}

unsigned rk_parts_of_recompute(const rk_plan_bounds *s, const rk_plan_recompute *recompute)
{
    unsigned parts = 0;
    for (int i = 0; i < s->part_count; i++) {
        const unsigned kinds = s->parts[i].recomputes;
        parts |= (unsigned)(kinds == 0 || kinds >> recompute->kind & 1) << i;
    }
    return parts;
}

unsigned rk_part_lanes(const rk_plan_bounds *s, struct worker *w, const rk_strategy *strategy,
                       uint64_t fitting, unsigned parts, uint64_t lanes[RK_PLAN_PARTS])
{
    unsigned having = 0, asking = 0;
    uint64_t asked = 0;
    rk_strategy with = *strategy;
    for (int i = 0; parts >> i; i++) {
        const rk_plan_part *part = &s->parts[i];
        const bool known = w->fit.riskier == part->riskier && !(part->max_memory > 0);
        lanes[i] = parts >> i & 1 ? fitting & s->part_lanes[i] : 0;
        asked |= known ? 0 : lanes[i];
        asking |= (unsigned)!known << i;
    }
    for (int lane = 0; asked >> lane; lane++) {
        if (!(asked >> lane & 1)) {
            continue;
        }
        rk_plan_set_lane(&s->lists, lane, &with);
        const double bytes = rk_plan_fit_bytes(&w->fit, &with, lane);
        const double usual = rk_risk_limit(&s->limits, &with);
        for (int i = 0; parts >> i; i++) {
            const bool fits = bytes <= rk_part_bytes(s, usual, i);
            lanes[i] &= ~((uint64_t)(asking >> i & !fits) << lane);
        }
    }
    for (int i = 0; parts >> i; i++) {
        having |= (unsigned)(lanes[i] != 0) << i;
    }
    return having;
}

/* Lanes of the shardings of a part, a bit each. */
static uint64_t lanes_of(const rk_plan_lists *l, const rk_plan_part *part)
{
    uint64_t lanes = 0;
    for (int i = 0; i < l->lane_count; i++) {
        const rk_sharding kind = l->lanes[i].sharding.kind;
        lanes |= (uint64_t)(part->shardings == 0 || part->shardings >> kind & 1) << i;
    }
    return lanes;
}

static int compare_batches(const void *a, const void *b)
{
    const struct batch *x = *(const struct batch *const *)a, *y = *(const struct batch *const *)b;
    return x->bound != y->bound ? (x->bound > y->bound ? 1 : -1)
                                : (x->first > y->first) - (x->first < y->first);
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->open != y->open) {
        return x->open ? -1 : 1;
    }
    return x->bound != y->bound ? (x->bound > y->bound ? 1 : -1)
                                : (x->number > y->number) - (x->number < y->number);
}

/* The least of `bounds`, by pipeline degree, that the parts at hand have of a batch. */
static double least_bound(const rk_plan_bounds *s, unsigned parts, const double *bounds)
{
    double least = (double)INFINITY;
    for (size_t i = 0; i < s->lists.pipe_count; i++) {
        if (parts & rk_parts_of_pipe(s, &s->lists.pipes[i])) {
            least = rk_min(least, bounds[i]);
        }
    }
    return least;
}

/* Bounds the groups that were not open, and sorts them.  Returns how many are open now. */
static size_t sort_groups(rk_plan_bounds *s)
{
    const unsigned all = (1U << s->part_count) - 1;
    size_t open = 0;
    for (size_t i = s->open_count; i < s->group_count; i++) {
        struct group *group = &s->groups[i];
        unsigned has = 0;
        for (size_t j = group->legal; j < group->end && !group->open && has != all; j++) {
            has |= rk_parts_of_batch(s, &s->batches[j]);
        }
        group->bound = least_bound(s, has, &s->group_bounds[group->number * s->lists.pipe_count]);
        open += group->open;
    }
    if (s->group_count > s->open_count) {
        qsort(s->groups + s->open_count, s->group_count - s->open_count, sizeof(*s->groups),
              compare_groups);
    }
    return open;
}

void rk_queue_groups(rk_plan_bounds *s)
{
    for (size_t count = sort_groups(s); count > 0; count--) {
        const struct group *group = &s->groups[s->open_count++];
        for (size_t i = group->legal; i < group->end; i++) {
            struct batch *b = &s->batches[i];
            b->bound = b->fast ? 0 : least_bound(s, rk_parts_of_batch(s, b), rk_batch_bounds(s, b));
            s->queue[s->queue_count++] = b;
        }
    }
    if (s->queue_count > s->done) {
        qsort(s->queue + s->done, s->queue_count - s->done, sizeof(*s->queue), compare_batches);
    }
}

void rk_bound_parts(rk_plan_bounds *s, const rk_plan_part *parts, int count)
{
    assert(count >= 1 && count <= RK_PLAN_PARTS);
    const rk_plan_lists *l = &s->lists;
    s->parts = parts;
    s->part_count = count;
    s->lanes = 0;
    s->interleaving = 0;
    bool riskier = false;
    for (int i = 0; i < count; i++) {
        s->interleaving |= (unsigned)!(parts[i].ones & RK_DEGREE_VP) << i;
        riskier |= parts[i].riskier;
        s->part_lanes[i] = lanes_of(l, &parts[i]);
        s->lanes |= s->part_lanes[i];
    }
    for (int i = 0; i < s->threads && s->workers; i++) {
        s->workers[i].fit.riskier = riskier;
    }
    s->done = s->queue_count = s->open_count = 0;
    rk_queue_groups(s);
}

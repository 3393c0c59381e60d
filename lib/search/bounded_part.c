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

unsigned rk_parts_of_node(const rk_plan_bounds *s, const rk_plan_recompute *recompute,
                          const rk_plan_shape *shape)
{
    unsigned parts = 0;
    for (int i = 0; i < s->part_count; i++) {
        const rk_plan_part *part = &s->parts[i];
        const bool has = !(part->ones & RK_DEGREE_VP && shape->vp > 1) &&
                         (part->recomputes == 0 || part->recomputes >> recompute->kind & 1);
        parts |= (unsigned)has << i;
    }
    return parts;
}

uint64_t rk_part_lanes(const rk_plan_bounds *s, struct worker *w, const rk_strategy *strategy,
                       int part, uint64_t fitting)
{
    assert(part >= 0 && part < s->part_count);
    const double most = s->parts[part].max_memory;
    uint64_t lanes = fitting & s->part_lanes[part];
    rk_strategy with = *strategy;
    for (int lane = 0; most > 0 && lanes >> lane; lane++) {
        if (lanes >> lane & 1) {
            rk_plan_set_lane(&s->lists, lane, &with);
            if (!(rk_plan_fit_bytes(&w->fit, &with, lane) <= most)) {
                lanes &= ~(UINT64_C(1) << lane);
            }
        }
    }
    return lanes;
}

/* Lanes of the shardings of a part, a bit each. */
static uint64_t lanes_of(const rk_plan_lists *l, const rk_plan_part *part)
{
    uint64_t lanes = 0;
    for (int i = 0; i < l->sharding_count * l->offload_count; i++) {
        const rk_sharding kind = l->shardings[i / l->offload_count].kind;
        lanes |= (uint64_t)(part->shardings == 0 || part->shardings >> kind & 1) << i;
    }
    return lanes;
}

double rk_pipe_bound(const rk_plan_bounds *s, const struct batch *b, const rk_plan_pipe *pipe)
{
    return s->pipe_bounds[b->number * s->lists.pipe_count + (size_t)(pipe - s->lists.pipes)];
}

static int compare_batches(const void *a, const void *b)
{
    const struct batch *x = a, *y = b;
    return x->bound != y->bound ? (x->bound > y->bound ? 1 : -1)
                                : (x->first > y->first) - (x->first < y->first);
}

void rk_bound_parts(rk_plan_bounds *s, const rk_plan_part *parts, int count)
{
    assert(count >= 1 && count <= RK_PLAN_PARTS);
    const rk_plan_lists *l = &s->lists;
    s->parts = parts;
    s->part_count = count;
    s->lanes = 0;
    for (int i = 0; i < s->threads && s->workers; i++) {
        s->workers[i].fit.riskier = count > 0 && parts[0].riskier;
    }
    for (int i = 0; i < count; i++) {
        s->part_lanes[i] = lanes_of(l, &parts[i]);
        s->lanes |= s->part_lanes[i];
    }
    for (size_t i = 0; i < s->batch_count; i++) {
        struct batch *b = &s->batches[i];
        const unsigned has = rk_parts_of_batch(s, b);
        b->bound = (double)INFINITY;
        for (size_t j = 0; j < l->pipe_count; j++) {
            if (has & rk_parts_of_pipe(s, &l->pipes[j])) {
                b->bound = rk_min(b->bound, rk_pipe_bound(s, b, &l->pipes[j]));
            }
        }
    }
    if (s->batch_count > 0) {
        qsort(s->batches, s->batch_count, sizeof(*s->batches), compare_batches);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/extremes.h"
#include "search/bounded_state.h"

#include <math.h>
#include <stdlib.h>

bool rk_part_has_batch(const rk_plan_part *part, const struct batch *b)
{
    return !part || (!(part->ones & RK_DEGREE_TP && b->unit->tp > 1) &&
                     !(part->ones & RK_DEGREE_CP && b->unit->cp > 1) &&
                     !(part->ones & RK_DEGREE_EP && b->unit->ep > 1));
}

bool rk_part_has_pipe(const rk_plan_part *part, const rk_plan_pipe *pipe)
{
    return !part || !(part->ones & RK_DEGREE_PP && pipe->pp > 1);
}

bool rk_part_has_node(const rk_plan_part *part, const rk_plan_recompute *recompute,
                      const rk_plan_shape *shape)
{
    return !part || (!(part->ones & RK_DEGREE_VP && shape->vp > 1) &&
                     (part->recomputes == 0 || part->recomputes >> recompute->kind & 1));
}

uint64_t rk_part_lanes(const rk_plan_lists *l, const rk_plan_part *part)
{
    uint64_t lanes = 0;
    for (int i = 0; i < l->sharding_count * l->offload_count; i++) {
        const rk_sharding kind = l->shardings[i / l->offload_count].kind;
        lanes |= (uint64_t)(!part || part->shardings == 0 || part->shardings >> kind & 1) << i;
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

void rk_bound_part(rk_plan_bounds *s)
{
    const rk_plan_lists *l = &s->lists;
    for (size_t i = 0; i < s->batch_count; i++) {
        struct batch *b = &s->batches[i];
        b->bound = (double)INFINITY;
        for (size_t j = 0; j < l->pipe_count && rk_part_has_batch(s->part, b); j++) {
            if (rk_part_has_pipe(s->part, &l->pipes[j])) {
                b->bound = rk_min(b->bound, rk_pipe_bound(s, b, &l->pipes[j]));
            }
        }
    }
    if (s->batch_count > 0) {
        qsort(s->batches, s->batch_count, sizeof(*s->batches), compare_batches);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The batches of a bounded search, in groups that share costs of blocks. */
#include "base/error.h"
#include "search/bounded_state.h"

#include <math.h>
#include <stdlib.h>

int64_t rk_batch_data_parallel(const rk_plan_bounds *s, const struct batch *b,
                               const rk_plan_pipe *pipe)
{
    const int64_t dp = rk_plan_data_parallel(&s->lists, b->unit, pipe->pp);
    const bool divides = dp > 0 && s->space->global_batch % dp == 0 &&
                         s->space->global_batch / dp % b->micro_batch == 0;
    return divides ? dp : 0;
}

int rk_batch_lane_count(const rk_plan_bounds *s, const struct batch *b, int64_t pp, int64_t dp)
{
    return rk_plan_shardings(&s->lists, b->unit, pp, dp) * s->lists.offload_count;
}

static uint64_t batch_size(const rk_plan_bounds *s, const struct batch *b)
{
    const rk_plan_lists *l = &s->lists;
    uint64_t plain = 0, full = 0, count = 0; /* recomputes without and with choices of layers */
    for (int i = 0; i < l->recompute_count; i++) {
        plain += l->recomputes[i].kind != RK_REC_FULL;
        full += l->recomputes[i].kind == RK_REC_FULL;
    }
    for (size_t i = 0; i < l->pipe_count; i++) {
        const rk_plan_pipe *pipe = &l->pipes[i];
        const int64_t dp = rk_batch_data_parallel(s, b, pipe);
        if (dp) {
            count += (plain * pipe->shape_count + full * pipe->base_count) *
                     (uint64_t)rk_batch_lane_count(s, b, pipe->pp, dp);
        }
    }
    return count;
}

static rk_status add_batch(rk_plan_bounds *s, const struct batch *batch, rk_error *err)
{
    if (s->batch_count == s->batch_room) {
        const size_t room = s->batch_room ? 2 * s->batch_room : 256;
        struct batch *batches = realloc(s->batches, room * sizeof(*batches));
        if (!batches) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu micro-batches of a plan",
                           room);
        }
        s->batches = batches;
        s->batch_room = room;
    }
    s->batches[s->batch_count] = *batch;
    s->batches[s->batch_count].number = s->batch_count;
    s->batch_count++;
    return RK_OK;
}

/* In the order of enumeration, so that the index of a batch is the count of those before it. */
rk_status rk_list_batches(rk_plan_bounds *s, rk_error *err)
{
    const rk_plan_lists *l = &s->lists;
    rk_status status = RK_OK;
    for (size_t i = 0; i < l->unit_count; i++) {
        const rk_plan_unit *unit = &l->units[i];
        uint64_t first = unit->first;
        for (int kind = 0; kind < rk_plan_cp_kinds(l, unit->cp); kind++) {
            for (size_t j = 0; j < l->micro_batch.count && !status; j++) {
                struct batch batch = {.first = first,
                                      .unit = unit,
                                      .cp_kind = kind,
                                      .micro_batch = l->micro_batch.items[j]};
                batch.count = batch_size(s, &batch);
                first += batch.count;
                if (batch.count > 0) {
                    status = add_batch(s, &batch, err);
                }
            }
        }
    }
    return status;
}

/* Orders batches by all but ep and etp. */
static int compare_costs(const void *a, const void *b)
{
    const struct batch *x = a, *y = b;
    const int64_t recipe = x->unit->recipe - y->unit->recipe;
    const int64_t p[] = {recipe,      x->unit->order, x->unit->tp,
                         x->unit->cp, x->cp_kind,     x->micro_batch};
    const int64_t q[] = {0, y->unit->order, y->unit->tp, y->unit->cp, y->cp_kind, y->micro_batch};
    for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
        if (p[i] != q[i]) {
            return p[i] > q[i] ? 1 : -1;
        }
    }
    return 0;
}

static bool starts_group(const rk_plan_bounds *s, size_t batch)
{
    return batch == 0 || compare_costs(&s->batches[batch - 1], &s->batches[batch]) != 0;
}

/* So many, infinite; NULL: no memory. */
static double *new_bounds(size_t count)
{
    double *bounds = malloc((count + 1) * sizeof(*bounds));
    for (size_t i = 0; bounds && i < count; i++) {
        bounds[i] = (double)INFINITY;
    }
    return bounds;
}

rk_status rk_list_batch_groups(rk_plan_bounds *s, rk_error *err)
{
    if (s->batch_count > 0) {
        qsort(s->batches, s->batch_count, sizeof(*s->batches), compare_costs);
    }
    const size_t pipes = s->lists.pipe_count;
    for (size_t i = 0; i < s->batch_count; i++) {
        s->group_count += starts_group(s, i);
    }
    s->groups = calloc(s->group_count + 1, sizeof(*s->groups));
    s->queue = malloc((s->batch_count + 1) * sizeof(*s->queue));
    s->pipe_bounds = new_bounds(s->batch_count * pipes);
    s->group_bounds = new_bounds(s->group_count * pipes);
    if (!s->groups || !s->queue || !s->pipe_bounds || !s->group_bounds) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the micro-batches of a plan");
    }
    for (size_t i = 0, group = 0; i < s->batch_count; group++) {
        const size_t first = i++;
        while (i < s->batch_count && !starts_group(s, i)) {
            i++;
        }
        s->groups[group] =
            (struct group){.first = first, .end = i, .legal = first, .number = group};
    }
    return RK_OK;
}

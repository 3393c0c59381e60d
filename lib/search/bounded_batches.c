/* SPDX-License-Identifier: Apache-2.0 */
/* The batches of a bounded search, in groups that share costs of blocks. */
#include "base/error.h"
#include "base/list.h"
#include "search/bounded_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const rk_plan_degree *degree_in(const rk_plan_bounds *s, const struct batch *b,
                                       const rk_plan_pipe *pipe)
{
    const size_t unit = (size_t)(b->unit - s->lists.units);
    return &s->degrees[unit * s->lists.pipe_count + (size_t)(pipe - s->lists.pipes)];
}

int64_t rk_batch_data_parallel(const rk_plan_bounds *s, const struct batch *b,
                               const rk_plan_pipe *pipe)
{
    return rk_plan_data_parallel(degree_in(s, b, pipe), b->micro_batch);
}

int rk_batch_lane_count(const rk_plan_bounds *s, const struct batch *b, const rk_plan_pipe *pipe)
{
    return degree_in(s, b, pipe)->lanes;
}

uint64_t rk_batch_lanes(const rk_plan_bounds *s, const struct batch *b, int count)
{
    const rk_plan_lists *l = &s->lists;
    uint64_t lanes = rk_plan_recipe_lanes(l, b->unit->recipe);
    for (int i = 0; b->led >> i; i++) {
        lanes |= b->led >> i & 1 ? rk_plan_recipe_lanes(l, &l->recipes[i]) : 0;
    }
    return lanes & rk_plan_first_lanes(l, count);
}

/* Whether AdamW moves weights of 2 bytes each. */
static bool is_narrow(const rk_state_recipe *states)
{
    return states->weight <= 2 && states->optimizer <= 4;
}

/*
 * Whether no strategy of a unit takes more time with a recipe than with another: it splits tensor
 * groups alike, gathers as many bytes, adds to and reduces no more bytes of gradients, and updates
 * no more bytes of weights; only offloaded optimizer states would cost time.
 */
static bool is_no_slower(const rk_plan_lists *l, const rk_plan_unit *unit, const rk_plan_recipe *a,
                         const rk_plan_recipe *b)
{
    const rk_state_recipe *x = &a->states, *y = &b->states;
    return (unit->tp == 1 || a->sp == b->sp) && l->space->offloads == RK_PLAN_NO_OFFLOAD &&
           memcmp(&x->gather, &y->gather, sizeof(x->gather)) == 0 && x->gradient <= y->gradient &&
           x->reduce <= y->reduce && x->weight <= y->weight && (is_narrow(x) || !is_narrow(y));
}

/* The first recipe with which no strategy of a unit takes more time than with any: maybe its own.
 */
static const rk_plan_recipe *leader_of(const rk_plan_lists *l, const rk_plan_unit *unit)
{
    const rk_plan_recipe *leader = unit->recipe;
    for (int i = 0; l->lanes[0].recipe && i < l->recipe_count; i++) {
        const rk_plan_recipe *recipe = &l->recipes[i];
        if (is_no_slower(l, unit, recipe, leader) &&
            (recipe < leader || !is_no_slower(l, unit, leader, recipe)) &&
            rk_plan_unit_with(l, unit, recipe)) {
            leader = recipe;
        }
    }
    return leader;
}

/* The recipes that the recipe of a unit leads, a bit each. */
static uint16_t led_recipes(const rk_plan_lists *l, const rk_plan_unit *leader)
{
    _Static_assert(RK_PLAN_RECIPE_MAX <= 16, "a batch has a bit for each recipe that it leads");
    unsigned led = 0;
    for (int i = 0; i < l->recipe_count; i++) {
        const rk_plan_recipe *recipe = &l->recipes[i];
        const rk_plan_unit *unit =
            recipe == leader->recipe ? NULL : rk_plan_unit_with(l, leader, recipe);
        led |= (unsigned)(unit && leader_of(l, unit) == leader->recipe) << i;
    }
    return (uint16_t)led;
}

uint64_t rk_recipe_size(const struct batch *b)
{
    return b->count / (1 + (uint32_t)rk_count_lanes(b->led));
}

struct batch rk_led_batch(const rk_plan_bounds *s, const struct batch *leader, int recipe)
{
    assert(leader->led >> recipe & 1);
    struct batch led = *leader;
    led.unit = rk_plan_unit_with(&s->lists, leader->unit, &s->lists.recipes[recipe]);
    led.first += led.unit->first - leader->unit->first;
    led.count = (uint32_t)rk_recipe_size(leader);
    led.led = 0;
    return led;
}

/* Fills the degrees of each unit and pipeline degree. */
static rk_status fill_degrees(rk_plan_bounds *s, rk_error *err)
{
    const rk_plan_lists *l = &s->lists;
    s->degrees = malloc((l->unit_count * l->pipe_count + 1) * sizeof(*s->degrees));
    if (!s->degrees) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the degrees of a plan");
    }
    for (size_t i = 0; i < l->unit_count * l->pipe_count; i++) {
        s->degrees[i] =
            rk_plan_degree_of(l, &l->units[i / l->pipe_count], l->pipes[i % l->pipe_count].pp);
    }
    return RK_OK;
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
                     (uint64_t)rk_batch_lane_count(s, b, pipe);
        }
    }
    return count;
}

int rk_node_choices(const rk_plan_bounds *s, int recompute, const rk_plan_shape *shape)
{
    return s->lists.recomputes[recompute].kind == RK_REC_FULL ? shape->layer_choice_count : 1;
}

uint64_t rk_node_size(const rk_plan_bounds *s, const struct node *node)
{
    return (uint64_t)rk_node_choices(s, node->recompute, node->shape) * (uint64_t)node->lane_count;
}

static rk_status add_batch(rk_plan_bounds *s, const struct batch *batch, rk_error *err)
{
    struct batch *batches =
        rk_list_grow(s->batches, s->batch_count, &s->batch_room, sizeof(*batches));
    if (!batches) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu micro-batches of a plan",
                       s->batch_count + 1);
    }
    s->batches = batches;
    s->batches[s->batch_count++] = *batch;
    return RK_OK;
}

bool rk_share_costs(const rk_plan_unit *a, const rk_plan_unit *b)
{
    return a->recipe == b->recipe && a->order == b->order && a->tp == b->tp && a->cp == b->cp;
}

static rk_status add_group(rk_plan_bounds *s, size_t first, rk_error *err)
{
    struct group *groups = rk_list_grow(s->groups, s->group_count, &s->group_room, sizeof(*groups));
    if (!groups) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %zu groups of a plan",
                       s->group_count + 1);
    }
    s->groups = groups;
    s->groups[s->group_count] = (struct group){
        .first = first, .end = s->batch_count, .legal = first, .number = s->group_count};
    s->group_count++;
    return RK_OK;
}

/* Lists the batches of units that share costs, with the first kind of context parallelism. */
static rk_status list_kind(rk_plan_bounds *s, const rk_plan_unit *units, size_t count,
                           uint64_t *next, rk_error *err)
{
    const rk_plan_lists *l = &s->lists;
    const uint16_t led = led_recipes(l, units);
    rk_status status = RK_OK;
    for (size_t j = 0; j < l->micro_batch.count && !status; j++) {
        const size_t first = s->batch_count;
        for (size_t i = 0; i < count && !status; i++) {
            struct batch batch = {.first = next[i],
                                  .unit = &units[i],
                                  .led = led,
                                  .micro_batch = l->micro_batch.items[j]};
            const uint64_t size = batch_size(s, &batch);
            assert(size < UINT32_MAX / (RK_PLAN_RECIPE_MAX + 1)); /* lanes of shapes in lists */
            batch.count = (uint32_t)size * (1 + (uint32_t)rk_count_lanes(led));
            next[i] += size;
            status = batch.count > 0 ? add_batch(s, &batch, err) : RK_OK;
        }
        if (s->batch_count > first && !status) {
            status = add_group(s, first, err);
        }
    }
    return status;
}

/*
 * Lists the batches of units that share costs, group by group.  *next, of each unit: the index of
 * its next batch, which counts the strategies before it.  Each kind of context parallelism
 * has as many strategies.
 */
static rk_status list_groups(rk_plan_bounds *s, const rk_plan_unit *units, size_t count,
                             uint64_t *next, rk_error *err)
{
    const rk_plan_lists *l = &s->lists;
    const size_t groups = s->group_count;
    rk_status status = list_kind(s, units, count, next, err);
    const size_t end = s->group_count;
    for (int kind = 1; kind < rk_plan_cp_kinds(l, units->cp); kind++) {
        for (size_t i = groups; i < end && !status; i++) {
            const size_t first = s->batch_count;
            for (size_t j = s->groups[i].first; j < s->groups[i].end && !status; j++) {
                struct batch batch = s->batches[j];
                batch.first += (uint64_t)kind * (next[batch.unit - units] - batch.unit->first);
                batch.cp_kind = (int8_t)kind;
                status = add_batch(s, &batch, err);
            }
            status = status ? status : add_group(s, first, err);
        }
    }
    return status;
}

rk_status rk_list_batches(rk_plan_bounds *s, rk_error *err)
{
    const rk_plan_lists *l = &s->lists;
    uint64_t *next = malloc((l->unit_count + 1) * sizeof(*next));
    rk_status status = fill_degrees(s, err);
    for (size_t i = 0, end; next && i < l->unit_count && !status; i = end) {
        for (end = i; end < l->unit_count && rk_share_costs(&l->units[i], &l->units[end]); end++) {
            next[end] = l->units[end].first;
        }
        status = leader_of(l, &l->units[i]) == l->units[i].recipe
                     ? list_groups(s, &l->units[i], end - i, &next[i], err)
                     : RK_OK;
    }
    s->queue = malloc((s->batch_count + 1) * sizeof(*s->queue));
    s->pipe_bounds = malloc((s->batch_count * l->pipe_count + 1) * sizeof(*s->pipe_bounds));
    s->group_bounds = malloc((s->group_count * l->pipe_count + 1) * sizeof(*s->group_bounds));
    if (!status && (!next || !s->queue || !s->pipe_bounds || !s->group_bounds)) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the micro-batches of a plan");
    }
    for (size_t i = 0; i < s->group_count * l->pipe_count && !status; i++) {
        s->group_bounds[i] = (double)INFINITY;
    }
    free(next);
    return status;
}

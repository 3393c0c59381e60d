/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floors of memory: what the first rank of any shape in a group of these needs at least, by lane.
 * States, buffers and what is gathered are the same with every recomputation of a batch, so they
 * are known once for each floor and lane, and a recomputation only adds what it keeps.
 */
#include "base/extremes.h"
#include "search/bounded_state.h"

#include <math.h>

void rk_know_limits(const rk_plan_bounds *s, struct worker *w, const struct batch *b)
{
    rk_strategy strategy = s->space->base;
    rk_plan_set_unit(b->unit, &strategy);
    w->settling++;
    for (int i = 0; i < s->part_count; i++) {
        w->most_bytes[i] = 0;
        for (int kind = 0; kind <= RK_SHARD_ALL; kind++) {
            strategy.sharding = (rk_sharding)kind;
            const double usual = rk_risk_limit(&s->limits, &strategy);
            w->bytes[kind][i] = rk_part_bytes(s, usual, i) * (1 + RK_LOWER_BOUND_SLACK);
            w->most_bytes[i] = rk_max(w->most_bytes[i], w->bytes[kind][i]);
        }
    }
}

bool rk_activations_exceed(const rk_plan_bounds *s, const struct worker *w, unsigned parts,
                           double bytes)
{
    const rk_plan_lists *l = &s->lists;
    const bool stay = l->offload_count == 1 && l->offloads[0] == 0;
    double most = 0; /* that the roomiest of the parts lets a strategy with any sharding need */
    for (int i = 0; parts >> i; i++) {
        most = parts >> i & 1 ? rk_max(most, w->most_bytes[i]) : most;
    }
    return stay && bytes > most;
}

/* The floor of a node with what is the same in all recomputations; nothing of lanes before. */
static struct floor_base *base_of(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                                  const struct node *node)
{
    struct floor_base *base = &w->bases[node->shape->floor];
    if (base->settling != w->settling) {
        const int64_t vp = s->lists.floors[node->shape->floor].vp;
        base->settling = w->settling;
        base->filled = 0;
        base->choices = 0;
        base->parts = 0;
        base->strategy = rk_node_strategy(s, b, node);
        base->strategy.recompute = RK_REC_NONE;
        rk_strategy most = base->strategy;
        most.vp = vp;
        base->in_flight = rk_pipeline_in_flight(most.schedule, most.pp, rk_stage_chunks(&most),
                                                rk_strategy_microbatches(&most), 0);
    }
    return base;
}

void rk_open_floors(const rk_plan_bounds *s, struct worker *w, const struct batch *b, size_t count)
{
    w->open_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct node *node = &w->nodes[i];
        const int choices = node->shape->layer_choice_count;
        struct floor_base *base = base_of(s, w, b, node);
        if (base->parts == 0) {
            base->pipe = node->pipe;
            w->open_floors[w->open_count++] = node->shape->floor;
        }
        base->parts |= node->parts;
        base->choices = choices > base->choices ? choices : base->choices;
    }
}

/* Bytes of activations that the rank of a floor keeps at least: see rk_least_activations. */
static double least_activations(const rk_plan_bounds *s, const struct floor_base *base,
                                const rk_least_kept *kept)
{
    return s->stack->activation_share * base->in_flight * kept->saved;
}

/* Whether the activations of a floor that nodes have exceed what parts allow, with any choice. */
static bool is_full(const rk_plan_bounds *s, const struct worker *w, size_t floor, bool full,
                    unsigned parts)
{
    const struct floor_base *base = &w->bases[floor];
    const rk_stage_blocks *blocks = &s->lists.blocks[base->pipe->block_first];
    bool exceed = true;
    for (int choice = full ? 1 : 0; choice <= (full ? base->choices : 0) && exceed; choice++) {
        const rk_least_kept kept = rk_least_kept_of(w->fit.table, &base->strategy,
                                                    &blocks[s->lists.floors[floor].blocks[choice]]);
        exceed =
            rk_activations_exceed(s, w, base->parts & parts, least_activations(s, base, &kept));
    }
    return exceed;
}

void rk_close_floors(const rk_plan_bounds *s, struct worker *w, bool full, unsigned parts)
{
    for (size_t i = 0; i < w->open_count; i++) {
        const size_t floor = w->open_floors[i];
        if (w->spent[floor].visit != w->fit.visit && is_full(s, w, floor, full, parts)) {
            w->spent[floor] =
                (struct spent_floor){w->fit.visit, UINT64_MAX, RK_PLAN_CHOICES, false};
        }
    }
}

static rk_rank_floor *lanes_of(const rk_plan_bounds *s, const struct worker *w,
                               const struct node *node)
{
    return &w->lane_floors[node->shape->floor * (size_t)s->lists.lane_count];
}

/* Fills what the rank of a floor needs in lanes, by the table without recomputation. */
static void fill_lanes(const rk_plan_bounds *s, const struct worker *w, const struct node *node,
                       uint64_t lanes, struct floor_base *base)
{
    const rk_plan_floor *floor = &s->lists.floors[node->shape->floor];
    rk_rank_floor *floors = lanes_of(s, w, node);
    rk_strategy strategy = base->strategy;
    rk_stage stage;
    lanes &= ~base->filled;
    if (lanes == 0) {
        return;
    }
    base->filled |= lanes;
    rk_stage_keep(&w->table, &s->lists.blocks[node->pipe->block_first + floor->blocks[0]], &stage);
    for (int lane = 0; lanes >> lane; lane++) {
        if (lanes >> lane & 1) {
            rk_plan_set_lane(&s->lists, lane, &strategy);
            floors[lane] = rk_rank_floor_of(&w->table, &strategy, &stage, base->in_flight);
        }
    }
}

/*
 * Leaves of the lanes of one recipe, in `known`, those that a floor lets fit.  Returns false if
 * none does, nor any with a recipe that gathers and reduces as much or more.
 */
static bool fit_lanes(const rk_plan_bounds *s, struct worker *w, const struct node *node,
                      uint64_t lanes, unsigned parts, const rk_least_kept *kept,
                      struct known_floor *known)
{
    struct floor_base *base = &w->bases[node->shape->floor];
    const rk_rank_floor *floors = lanes_of(s, w, node);
    const uint64_t first = lanes & (~lanes + 1);
    /* lanes that differ in sharding alone ascend in it: the first may settle all */
    const bool ascend = s->lists.offload_count == 1 && !base->strategy.step_in_backward &&
                        !s->space->base.offload_gradients;
    fill_lanes(s, w, node, ascend ? first : lanes, base);
    if (ascend) {
        const double least = rk_rank_floor_unsharded(&floors[rk_first_lane(first)], kept);
        bool fits = false;
        for (int i = 0; parts >> i; i++) {
            fits |= parts >> i & 1 && least <= w->most_bytes[i];
        }
        for (int i = 0; parts >> i && !fits; i++) {
            known->fitting[i] &= ~lanes;
        }
        if (!fits) {
            return false;
        }
        fill_lanes(s, w, node, lanes, base);
    }
    for (int lane = 0; lanes >> lane; lane++) {
        if (!(lanes >> lane & 1)) {
            continue;
        }
        const double *most = w->bytes[s->lists.lanes[lane].sharding.kind];
        const double bytes = rk_rank_floor_bytes(&floors[lane], kept);
        for (int i = 0; parts >> i; i++) {
            known->fitting[i] &= ~((uint64_t)(bytes > most[i]) << lane);
        }
    }
    return true;
}

const struct known_floor *rk_floor_lanes(const rk_plan_bounds *s, struct worker *w,
                                         const struct batch *b, const struct node *node,
                                         size_t choice, uint64_t lanes, unsigned parts)
{
    const rk_plan_floor *floor = &s->lists.floors[node->shape->floor];
    struct known_floor *known = &w->floors[node->shape->floor * RK_PLAN_CHOICES + choice];
    const struct floor_base *base = base_of(s, w, b, node);
    const rk_least_kept kept =
        rk_least_kept_of(w->fit.table, &base->strategy,
                         &s->lists.blocks[node->pipe->block_first + floor->blocks[choice]]);
    known->visit = w->fit.visit;
    known->any = 0;
    w->counts.bounds += rk_count_lanes(lanes);
    for (int i = 0; i < s->part_count; i++) { /* other lanes were not looked at */
        known->fitting[i] = parts >> i & 1 ? s->part_lanes[i] : 0;
    }
    const uint64_t own = lanes & rk_plan_recipe_lanes(&s->lists, b->unit->recipe);
    const bool left = !rk_activations_exceed(s, w, parts, least_activations(s, base, &kept)) &&
                      (own == 0 || fit_lanes(s, w, node, own, parts, &kept, known));
    for (int i = 0; i < s->part_count && !left; i++) {
        known->fitting[i] &= ~lanes;
    }
    lanes &= ~own;
    for (int i = 0; left && lanes && i < s->lists.recipe_count; i++) {
        const uint64_t led = lanes & rk_plan_recipe_lanes(&s->lists, &s->lists.recipes[i]);
        if (led) {
            (void)fit_lanes(s, w, node, led, parts, &kept, known);
        }
        lanes &= ~led;
    }
    for (int i = 0; i < s->part_count; i++) {
        known->any |= known->fitting[i];
    }
    return known;
}

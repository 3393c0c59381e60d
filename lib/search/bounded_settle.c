/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settles a batch of the bounded search (bounded_plan.c): lists its nodes by their bounds, and with
 * each recompute asks the strategies of each node for memory, time and rules, the cheapest first.
 */
#include "base/extremes.h"
#include "search/bounded_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Renews the longest step that can still enter the top list of a part. */
static void renew_limit(const rk_plan_bounds *s, struct worker *w, int part)
{
    const unsigned all = (1U << s->part_count) - 1;
    w->limit[part] = rk_min(rk_limit_of(&w->top[part]), w->most_seconds[part]);
    w->longest = rk_longest_of(w, all);
    w->shortest = w->longest;
    for (int i = 0; i < s->part_count; i++) {
        w->shortest = rk_min(w->shortest, w->limit[i]);
    }
}

/* ---- one choice of layers ------------------------------------------------------------------ */

/* The lanes that fit on every rank. */
static uint64_t fitting_lanes(const rk_plan_bounds *s, struct worker *w, const rk_plan_base *base,
                              uint64_t lanes, unsigned parts)
{
    rk_strategy strategy = base->strategy;
    uint64_t fitting = 0;
    w->counts.bounds += rk_count_lanes(lanes);
    if (rk_activations_exceed(s, w, parts, rk_plan_fit_activations(&w->fit))) {
        return 0;
    }
    for (int lane = 0; lanes >> lane; lane++) {
        if (lanes >> lane & 1) {
            rk_plan_set_lane(&s->lists, lane, &strategy);
            fitting |= (uint64_t)rk_plan_fit_holds(&w->fit, &strategy, lane) << lane;
        }
    }
    return fitting;
}

/* What is known of a node, whatever the number of recomputed layers. */
struct visit {
    const struct batch *batch;
    const struct node *node;
    unsigned open;  /* parts that have the time for the node, and for any after it */
    uint64_t lanes; /* of the node */
    uint64_t own;   /* of these with the unit's recipe: others are counted when they are settled */
    bool turned;    /* the base is of the node */
    rk_plan_base base;
    uint64_t asked, legal; /* lanes that are known to be legal or not, and those that are */
};

/* Of lanes of the node, those that are legal; each kind of lane is asked about once. */
static uint64_t legal_lanes(const rk_plan_bounds *s, struct visit *v, uint64_t lanes)
{
    const uint64_t hybrid = s->lists.hybrid_lanes, asks = lanes & ~v->asked;
    if (asks) {
        rk_strategy strategy = v->base.strategy;
        const uint64_t alike = (asks & hybrid ? hybrid : 0) | (asks & ~hybrid ? ~hybrid : 0);
        v->legal |= rk_legal_lanes(s, &strategy, v->lanes & alike & ~v->asked);
        v->asked |= alike;
    }
    return lanes & v->legal;
}

/*
 * Offers a base that fits, and of which a step takes at least so many seconds, to the top lists of
 * the parts that it can still enter.
 */
static void offer_base(const rk_plan_bounds *s, struct worker *w, struct visit *v, uint64_t fitting,
                       unsigned parts, double least)
{
    assert(parts != 0);
    const rk_plan_base *base = &v->base;
    uint64_t lanes[RK_PLAN_PARTS], kept = 0, timed = 0;
    rk_plan_offer offer;
    unsigned open = rk_part_lanes(s, w, &base->strategy, fitting, parts, lanes);
    open = rk_parts_in_time(w, open, least);
    if (open) {
        uint64_t all = 0;
        for (int i = 0; open >> i; i++) {
            all |= open >> i & 1 ? lanes[i] : 0;
        }
        const uint64_t legal = legal_lanes(s, v, fitting); /* only these can be priced */
        w->counts.by_rule += rk_count_lanes(fitting & ~legal & v->own);
        kept = all & legal;
        if (kept && (open & (open - 1)) != 0) { /* else the offer to the only part does the same */
            kept = rk_plan_clock_within(&w->clock, base, kept, rk_longest_of(w, open));
        }
    }
    for (int i = 0; open >> i && !w->status; i++) {
        if (open >> i & 1 && (lanes[i] & kept)) {
            w->status = rk_plan_clock_offer(&w->clock, base, lanes[i] & kept, w->limit[i],
                                            &w->top[i], &offer, &w->error);
            w->others |= offer.others;
            timed = offer.timed;
            if (timed > 0) {
                renew_limit(s, w, i);
            }
        }
    }
    w->counts.evaluated += timed;
}

/* Turns to a choice of layers of the node, which most bases are settled without. */
static void turn_to(const rk_plan_bounds *s, struct worker *w, struct visit *v, int64_t layers)
{
    if (!v->turned) {
        v->turned = true;
        v->base.strategy = rk_node_strategy(s, v->batch, v->node);
        rk_plan_clock_turn(&w->clock, v->node->pipe);
    }
    v->base.strategy.recompute_layers = layers;
    rk_plan_fit_turn_to(&w->fit, &v->base);
}

/* Lanes of which the floor and the states fit in some of the parts, and these parts. */
static uint64_t floor_lanes(const rk_plan_bounds *s, struct worker *w, struct visit *v,
                            unsigned *parts)
{
    const struct known_floor *floor = rk_known_floor(w, &v->base);
    uint64_t lanes = 0;
    if (!floor) {
        floor = rk_floor_lanes(s, w, v->batch, v->node, v->base.choice, v->lanes & v->node->fitting,
                               v->open);
    }
    if ((floor->any & v->node->fitting & v->lanes) == 0) {
        return 0;
    }
    for (int i = 0; *parts >> i; i++) {
        const uint64_t own = *parts >> i & 1 ? floor->fitting[i] & v->node->fitting : 0;
        lanes |= own;
        *parts &= ~((unsigned)(own == 0) << i);
    }
    return lanes & v->lanes;
}

/* Settles a base that these parts have the time for, the cheapest check first. */
static void settle_base(const rk_plan_bounds *s, struct worker *w, struct visit *v, int64_t layers,
                        unsigned parts)
{
    const uint64_t lanes = floor_lanes(s, w, v, &parts);
    w->counts.by_memory += rk_count_lanes(v->own & ~lanes);
    if (lanes == 0) {
        return;
    }
    turn_to(s, w, v, layers);
    w->counts.bounds++;
    const double least = rk_plan_clock_least(&w->clock, &v->base, rk_longest_of(w, parts));
    parts = rk_parts_in_time(w, parts, least);
    if (parts == 0) {
        return;
    }
    const uint64_t fitting = fitting_lanes(s, w, &v->base, lanes, parts);
    w->counts.by_memory += rk_count_lanes(lanes & ~fitting & v->own);
    if (fitting) {
        offer_base(s, w, v, fitting, parts, least);
    }
}

/* ---- nodes --------------------------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    return x->bound != y->bound ? (x->bound > y->bound ? 1 : -1)
                                : (x->shape > y->shape) - (x->shape < y->shape);
}

/* Whether floors that are known let no lane of a node fit with any of its choices. */
static bool none_fits(const struct worker *w, const struct node *node, bool full, int choices,
                      uint64_t lanes)
{
    const struct known_floor *known =
        &w->floors[node->shape->floor * RK_PLAN_CHOICES + (full ? 1 : 0)];
    for (int i = 0; i < choices; i++) {
        if (known[i].visit != w->fit.visit || (known[i].any & node->fitting & lanes) != 0) {
            return false;
        }
    }
    return true;
}

/* Counts a node of which no lane fits. */
static void count_misfits(const rk_plan_bounds *s, struct worker *w, const struct node *node)
{
    if (!s->tallies) {
        return;
    }
    const uint64_t choices = (uint64_t)rk_node_choices(s, node->recompute, node->shape);
    const uint64_t lanes = rk_node_lanes(s, node) & w->own;
    w->counts.by_rule += choices * ((uint64_t)node->lane_count - rk_count_lanes(lanes));
    w->counts.by_memory += choices * rk_count_lanes(lanes & ~node->slow);
}

/* The index of the first strategy of a node. */
static uint64_t first_index(const rk_plan_bounds *s, const struct worker *w,
                            const struct node *node)
{
    const bool full = s->lists.recomputes[node->recompute].kind == RK_REC_FULL;
    const rk_plan_pipe *pipe = node->pipe;
    const size_t before = full ? node->shape->base_first
                               : (size_t)(node->shape - s->lists.shapes) - pipe->shape_first;
    return w->first[pipe - s->lists.pipes] + before * (uint64_t)node->lane_count;
}

/* Settles a node for the parts that are open to it. */
static void settle_node(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                        const struct node *node, unsigned open)
{
    const bool full = s->lists.recomputes[node->recompute].kind == RK_REC_FULL;
    const int choices = rk_node_choices(s, node->recompute, node->shape);
    struct visit v; /* the strategy is filled where it is needed */
    v.lanes = rk_node_lanes(s, node);
    v.own = v.lanes & ~node->slow & w->own;
    if (none_fits(w, node, full, choices, v.lanes)) {
        w->spent[node->shape->floor] =
            (struct spent_floor){w->fit.visit, node->fitting, choices, false};
        count_misfits(s, w, node);
        return;
    }
    w->counts.by_rule +=
        (uint64_t)choices * ((uint64_t)node->lane_count - rk_count_lanes(v.lanes & w->own));
    v.batch = b;
    v.node = node;
    v.open = open;
    v.turned = false;
    v.asked = v.legal = 0;
    v.base.unit = b->unit;
    v.base.shape = node->shape;
    v.base.index = first_index(s, w, node);
    rk_plan_fit_turn(&w->fit, node->pipe);
    for (int i = 0; v.lanes && i < choices && !w->status; i++) {
        v.base.choice = full ? (size_t)i + 1 : 0;
        unsigned parts = open;
        if (rk_known_floor(w, &v.base) && floor_lanes(s, w, &v, &parts) == 0) {
            w->counts.by_memory += rk_count_lanes(v.own);
            v.base.index += (uint64_t)node->lane_count;
            continue;
        }
        const double work = rk_base_work(s, w, node, v.base.choice);
        parts = rk_parts_in_time(w, parts, work);
        if (parts) {
            settle_base(s, w, &v, full ? node->shape->layer_choices[i] : 0, parts);
        } else if (i > 0 && rk_parts_in_time(w, open, work) == 0) {
            break; /* after the choice of all they ascend, and more recomputed layers take longer */
        }
        v.base.index += (uint64_t)node->lane_count;
    }
}

/* Counts the strategies of a node that is not listed, unless time settles them. */
static void count_node(const rk_plan_bounds *s, struct worker *w, struct node node, bool in_time)
{
    if (!s->tallies) {
        return;
    }
    node.lane_count -= (int)rk_count_lanes(node.slow & w->own);
    uint64_t *reason = rk_schedule_runs(&node) ? &w->counts.by_memory : &w->counts.by_rule;
    if (in_time || !(node.bound < (double)INFINITY)) {
        for (node.recompute = 0; node.recompute < s->lists.recompute_count; node.recompute++) {
            *reason += rk_node_size(s, &node);
        }
    }
}

/* Limits the parts and lanes of a node to those in time of which the states fit. */
static void fit_node(const rk_plan_bounds *s, const struct worker *w, struct node *node)
{
    const uint64_t *fitting = w->fitting[rk_schedule_copies(node->shape->schedule) == 2];
    const unsigned parts = node->parts;
    node->fitting = 0;
    node->slow = node->lanes;
    for (int i = 0; i < s->part_count; i++) {
        const uint64_t fits = fitting[i] & ~w->slow[i];
        node->fitting |= parts >> i & 1 ? fits : 0;
        node->slow &= parts >> i & 1 ? w->slow[i] : UINT64_MAX;
        node->parts &= ~((unsigned)(fits == 0) << i);
    }
}

/*
 * Fills w->slow: lanes that take too long for a part at the pipeline degree of a node, because
 * their layers gather parameters in every pass.  The table is without recompute.  Returns those of
 * the parts that have other lanes.
 */
static unsigned find_slow_lanes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                                const struct node *node, unsigned parts)
{
    rk_strategy strategy = rk_node_strategy(s, b, node);
    double seconds[RK_PLAN_LANES]; /* of a step, by the first lane that sends the same */
    uint64_t known = 0;            /* of these */
    unsigned in_time = 0;
    memset(w->slow, 0, sizeof(w->slow));
    for (int lane = 0; node->lanes >> lane; lane++) {
        const rk_plan_lane *own = &s->lists.lanes[lane];
        if (!(node->lanes >> lane & 1) || own->sharding.kind != RK_SHARD_ALL) {
            continue;
        }
        if (!(known >> own->traffic & 1)) {
            known |= (uint64_t)1 << own->traffic;
            if (!w->has_gathering) {
                w->has_gathering = true;
                w->gathering = rk_gathering_of(&w->table, &s->whole);
            }
            rk_plan_set_lane(&s->lists, lane, &strategy);
            seconds[own->traffic] =
                s->fixed + (1 + s->growth) * (double)node->microbatches *
                               rk_least_gathering_seconds(&w->table, &strategy, &w->gathering);
        }
        for (int i = 0; parts >> i; i++) {
            w->slow[i] |= (uint64_t)(seconds[own->traffic] > w->limit[i]) << lane;
        }
    }
    for (int i = 0; parts >> i; i++) {
        in_time |= (unsigned)((node->lanes & s->part_lanes[i] & ~w->slow[i]) != 0) << i;
    }
    return parts & in_time;
}

/*
 * Lists the nodes that bounds do not settle, by their bounds: of a batch, by pipeline degree, and
 * its own.  The table is without recompute.
 */
static size_t list_nodes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                         const double *bounds)
{
    const rk_plan_lists *l = &s->lists;
    int experts;
    const double seconds = rk_whole_seconds(&w->table, &s->whole, &experts);
    size_t count = 0;
    for (size_t i = 0; i < l->pipe_count; i++) {
        w->listed[i] = false;
        struct node node = {.pipe = &l->pipes[i], .dp = rk_batch_data_parallel(s, b, &l->pipes[i])};
        unsigned parts = rk_parts_of_batch(s, b) & rk_parts_of_pipe(s, node.pipe);
        if (!node.dp || (!s->counts && !(bounds[i] <= rk_longest_of(w, parts)))) {
            continue;
        }
        node.lane_count = rk_batch_lane_count(s, b, node.pipe);
        node.lanes = rk_batch_lanes(s, b, node.lane_count);
        parts = s->counts ? parts : rk_parts_in_time(w, parts, bounds[i]);
        parts = rk_parts_in_time(w, parts, rk_mean_work(s, b, node.dp, node.pipe->pp, seconds));
        if (parts == 0) {
            continue;
        }
        node.microbatches = s->space->global_batch / node.dp / b->micro_batch;
        node.shape = &l->shapes[node.pipe->shape_first];
        parts = find_slow_lanes(s, w, b, &node, parts);
        if (parts == 0) {
            continue;
        }
        (void)rk_bound_shapes(s, w, b, node, rk_longest_of(w, parts), parts);
        for (size_t j = 0; j < node.pipe->shape_count; j++, node.shape++) {
            node.bound = w->least[node.shape - l->shapes];
            const unsigned having = node.shape->vp > 1 ? parts & s->interleaving : parts;
            node.parts = rk_parts_in_time(w, having, node.bound);
            const bool in_time = node.parts != 0;
            fit_node(s, w, &node);
            if (node.parts != 0 && node.bound < (double)INFINITY) {
                w->nodes[count++] = node;
                w->listed[i] = true;
                continue;
            }
            count_node(s, w, node, in_time);
        }
    }
    if (count > 0) {
        qsort(w->nodes, count, sizeof(*w->nodes), compare_nodes);
    }
    return count;
}

/*
 * Fills the indices of the first strategies of all pipeline degrees of a batch with a recompute, of
 * which the first strategy is `index`.  Returns that of the next recompute.
 */
static uint64_t place_pipes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                            int recompute, uint64_t index)
{
    const rk_plan_lists *l = &s->lists;
    const bool full = l->recomputes[recompute].kind == RK_REC_FULL;
    for (size_t i = 0; i < l->pipe_count; i++) {
        const rk_plan_pipe *pipe = &l->pipes[i];
        const bool has = rk_batch_data_parallel(s, b, pipe) > 0;
        const uint64_t lanes = has ? (uint64_t)rk_batch_lane_count(s, b, pipe) : 0;
        w->first[i] = index;
        index += (full ? pipe->base_count : pipe->shape_count) * lanes;
    }
    return index;
}

/*
 * Whether a recompute takes too long at all pipeline degrees, because one of fewer modules did.
 * Modules that are kept but for their gathers are another matter: other gathers are spared then.
 */
static bool is_known_long(const struct worker *w, const rk_plan_recompute *recompute)
{
    const unsigned modules = recompute->modules;
    bool known = false;
    for (int i = 0; i < w->slow_count && recompute->kind == RK_REC_SELECTIVE; i++) {
        const unsigned fewer = w->slow_modules[i];
        known |= (fewer & ~modules) == 0 && !((fewer ^ modules) & RK_MODULE_OPERATORS);
    }
    return known;
}

/*
 * Turns to the costs with a recompute, with which some pipeline degrees take longer than `longest`.
 * Returns whether any of those listed does not.
 */
static bool turn_recompute(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                           const rk_plan_recompute *recompute, double longest)
{
    int experts;
    bool any = false;
    rk_turn_table(w, recompute);
    const double seconds = rk_whole_seconds(w->clock.table, &s->whole, &experts);
    for (size_t i = 0; i < s->lists.pipe_count; i++) {
        const rk_plan_pipe *pipe = &s->lists.pipes[i];
        if (!w->listed[i]) {
            continue;
        }
        const int64_t dp = rk_batch_data_parallel(s, b, pipe);
        const bool slow = rk_mean_work(s, b, dp, pipe->pp, seconds) > longest;
        any = any || !slow;
        for (size_t j = 0; j < pipe->shape_count && slow; j++) {
            w->spent[s->lists.shapes[pipe->shape_first + j].floor] =
                (struct spent_floor){w->fit.visit, UINT64_MAX, RK_PLAN_CHOICES, true};
        }
    }
    if (!any && recompute->kind == RK_REC_SELECTIVE) {
        assert(w->slow_count < RK_PLAN_RECOMPUTES);
        w->slow_modules[w->slow_count++] = recompute->modules;
    }
    return any;
}

/* Settles the nodes listed with one recompute. */
static void settle_nodes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                         int recompute, size_t count)
{
    const rk_recompute_kind kind = s->lists.recomputes[recompute].kind;
    const unsigned parts = rk_parts_of_recompute(s, &s->lists.recomputes[recompute]);
    bool filled = false;
    if (is_known_long(w, &s->lists.recomputes[recompute])) {
        return;
    }
    for (size_t i = 0; i < count && w->nodes[i].bound <= w->longest && !w->status; i++) {
        struct node *node = &w->nodes[i];
        const unsigned in_time = rk_parts_in_time(w, node->parts & parts, node->bound);
        if (in_time == 0) {
            continue;
        }
        if (!filled && kind != RK_REC_NONE && /* of which the table is there */
            !turn_recompute(s, w, b, &s->lists.recomputes[recompute], rk_longest_of(w, parts))) {
            break;
        }
        if (!filled) {
            filled = true;
            rk_close_floors(s, w, kind == RK_REC_FULL, parts);
        }
        node->recompute = recompute;
        const struct spent_floor *spent = &w->spent[node->shape->floor];
        if (spent->visit != w->fit.visit || (node->fitting & ~spent->lanes) != 0 ||
            rk_node_choices(s, recompute, node->shape) > spent->choices) {
            settle_node(s, w, b, node, in_time);
        } else if (!spent->by_time) {
            count_misfits(s, w, node);
        }
    }
}

/* ---- batches ------------------------------------------------------------------------------- */

/*
 * Settles the strategies of a batch with its unit's recipe, with bounds by pipeline degree.  Those
 * that nothing else settles are too slow.
 */
static void settle_strategies(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                              const double *bounds)
{
    rk_bounded_counts *counts = &w->counts;
    rk_strategy legal;
    if (rk_find_legal(s, w, b, &legal)) {
        counts->by_time +=
            rk_recipe_size(b) + counts->evaluated + counts->by_memory + counts->by_rule;
        w->own = rk_plan_recipe_lanes(&s->lists, b->unit->recipe);
        rk_fill_table(s, w, &legal, true);
        rk_know_limits(s, w, b);
        const size_t count = list_nodes(s, w, b, bounds);
        uint64_t first = b->first;
        w->slow_count = 0;
        rk_open_floors(s, w, b, count);
        for (int i = 0; i < s->lists.recompute_count && count > 0 && !w->status; i++) {
            first = place_pipes(s, w, b, i, first);
            settle_nodes(s, w, b, i, count);
        }
        counts->by_time -= counts->evaluated + counts->by_memory + counts->by_rule;
    }
}

/*
 * Settles the strategies of a batch with the recipes that it leads, unless none of their lanes may
 * enter a top list: with their own costs they take as long or longer.
 */
static void settle_led(const rk_plan_bounds *s, struct worker *w, const struct batch *b)
{
    const uint64_t others = w->others;
    for (int i = 0; b->led >> i; i++) {
        if (!(b->led >> i & 1)) {
            continue;
        }
        if (others & rk_plan_recipe_lanes(&s->lists, &s->lists.recipes[i])) {
            const struct batch led = rk_led_batch(s, b, i);
            settle_strategies(s, w, &led, rk_batch_bounds(s, b));
        } else {
            w->counts.by_dominance += rk_recipe_size(b);
        }
    }
}

bool rk_settle_batch(const rk_plan_bounds *s, struct worker *w, const struct batch *b)
{
    bool entered = false;
    for (int i = 0; i < s->part_count; i++) {
        renew_limit(s, w, i);
    }
    w->others = 0;
    settle_strategies(s, w, b, rk_batch_bounds(s, b));
    settle_led(s, w, b);
    for (int i = 0; i < s->part_count; i++) {
        entered = entered || w->top[i].count > 0;
    }
    return entered;
}

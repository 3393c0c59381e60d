/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded search by the reckon model: the ranking of the exhaustive one (plan.c), with most
 * strategies settled in groups.  A batch is all strategies of a unit with one kind of context
 * parallelism and one micro-batch: they share costs of blocks but for recompute, which only adds.
 * Batches that differ in ep and etp only form a group, which is opened when its own bound is below
 * those of the batches at hand.  Batches are sorted by what their strategies take at least; within
 * a batch, so are its nodes, a recompute and a shape of the pipeline each.  Work goes in rounds
 * that double in size.  In a round every batch knows the times that the rounds before have found
 * and its own, so the counts do not depend on the number of threads.
 */
#include "search/bounded_plan.h"

#include "base/error.h"
#include "base/extremes.h"
#include "estimate/lower_bounds.h"
#include "estimate/step_overheads.h"
#include "search/bounded_state.h"
#include "work/parallel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const rk_plan_part everything = {0};

/* ---- batches ------------------------------------------------------------------------------- */

static double limit_of(const rk_top *top)
{
    const double floor_score = rk_top_floor(top);
    return -floor_score * (1 + RK_LOWER_BOUND_SLACK);
}

/* Renews the longest step that can still enter the top list of a part. */
static void renew_limit(const rk_plan_bounds *s, struct worker *w, int part)
{
    const unsigned all = (1U << s->part_count) - 1;
    w->limit[part] = rk_min(limit_of(&w->top[part]), w->most_seconds[part]);
    w->longest = rk_longest_of(w, all);
    w->shortest = w->longest;
    for (int i = 0; i < s->part_count; i++) {
        w->shortest = rk_min(w->shortest, w->limit[i]);
    }
}

/* ---- one choice of layers ------------------------------------------------------------------ */

/* The lanes that fit on every rank. */
static uint64_t fitting_lanes(const rk_plan_bounds *s, struct worker *w, const rk_plan_base *base,
                              uint64_t lanes)
{
    rk_strategy strategy = base->strategy;
    uint64_t fitting = 0;
    w->counts.bounds += rk_count_lanes(lanes);
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

/* Offers a base that fits to the top lists of the parts that it can still enter. */
static void offer_base(const rk_plan_bounds *s, struct worker *w, struct visit *v, uint64_t fitting,
                       unsigned parts)
{
    assert(parts != 0);
    const rk_plan_base *base = &v->base;
    uint64_t lanes[RK_PLAN_PARTS], kept = 0, timed = 0;
    rk_plan_offer offer;
    unsigned open = rk_part_lanes(s, w, &base->strategy, fitting, parts, lanes);
    w->counts.bounds++;
    open = rk_parts_in_time(w, open, rk_plan_clock_least(&w->clock, base, rk_longest_of(w, open)));
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
                            int64_t layers, unsigned *parts)
{
    const struct known_floor *floor = rk_known_floor(w, &v->base);
    uint64_t lanes = 0;
    if (!floor) {
        turn_to(s, w, v, layers);
        floor = rk_floor_lanes(s, w, &v->base, v->lanes & v->node->fitting);
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
    const uint64_t lanes = floor_lanes(s, w, v, layers, &parts);
    w->counts.by_memory += rk_count_lanes(v->own & ~lanes);
    if (lanes == 0) {
        return;
    }
    turn_to(s, w, v, layers);
    const uint64_t fitting = fitting_lanes(s, w, &v->base, lanes);
    w->counts.by_memory += rk_count_lanes(lanes & ~fitting & v->own);
    if (fitting) {
        offer_base(s, w, v, fitting, parts);
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

/* Counts a node of which none of so many lanes fits. */
static void count_misfits(const rk_plan_bounds *s, struct worker *w, const struct node *node,
                          uint64_t lanes)
{
    const uint64_t choices = (uint64_t)rk_node_choices(s, node->recompute, node->shape);
    w->counts.by_rule += choices * ((uint64_t)node->lane_count - lanes);
    w->counts.by_memory += choices * lanes;
}

/* Settles a node for the parts that are open to it. */
static void settle_node(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                        const struct node *node, unsigned open)
{
    const bool full = s->lists.recomputes[node->recompute].kind == RK_REC_FULL;
    const int choices = rk_node_choices(s, node->recompute, node->shape);
    struct visit v; /* the strategy is filled where it is needed */
    v.lanes = rk_node_lanes(s, node);
    v.own = rk_own_lanes(s, b, node);
    const uint64_t lanes = rk_count_lanes(v.own);
    if (none_fits(w, node, full, choices, v.lanes)) {
        w->spent[node->shape->floor] = (struct spent_floor){w->fit.visit, node->fitting, false};
        count_misfits(s, w, node, lanes);
        return;
    }
    w->counts.by_rule += (uint64_t)choices * ((uint64_t)node->lane_count - lanes);
    v.batch = b;
    v.node = node;
    v.turned = false;
    v.asked = v.legal = 0;
    v.base.unit = b->unit;
    v.base.shape = node->shape;
    v.base.index = w->first[node->shape - s->lists.shapes];
    rk_plan_fit_turn(&w->fit, node->pipe);
    for (int i = 0; v.lanes && i < choices && !w->status; i++) {
        v.base.choice = full ? (size_t)i + 1 : 0;
        unsigned parts = open;
        if (rk_known_floor(w, &v.base) && floor_lanes(s, w, &v, 0, &parts) == 0) {
            w->counts.by_memory += lanes;
            v.base.index += (uint64_t)node->lane_count;
            continue;
        }
        parts = rk_parts_in_time(w, parts, rk_base_work(s, w, node, v.base.choice));
        if (parts) {
            settle_base(s, w, &v, full ? node->shape->layer_choices[i] : 0, parts);
        }
        v.base.index += (uint64_t)node->lane_count;
    }
}

/* Counts the strategies of a node that is not listed, unless time settles them. */
static void count_node(const rk_plan_bounds *s, struct worker *w, struct node node, bool in_time)
{
    uint64_t *reason = rk_schedule_runs(&node) ? &w->counts.by_memory : &w->counts.by_rule;
    if (in_time || !(node.bound < (double)INFINITY)) {
        for (node.recompute = 0; node.recompute < s->lists.recompute_count; node.recompute++) {
            *reason += rk_node_size(s, &node);
        }
    }
}

/* Limits the parts and lanes of a node to those of which the states fit. */
static void fit_node(const rk_plan_bounds *s, const struct worker *w, struct node *node)
{
    const uint64_t *fitting = w->fitting[rk_schedule_copies(node->shape->schedule) == 2];
    const unsigned parts = node->parts;
    node->fitting = 0;
    for (int i = 0; i < s->part_count; i++) {
        node->fitting |= parts >> i & 1 ? fitting[i] : 0;
        node->parts &= ~((unsigned)(fitting[i] == 0) << i);
    }
}

/*
 * Lists the nodes that bounds do not settle, by their bounds: of a batch, by pipeline degree, and
 * its own.  The table is without recompute.
 */
static size_t list_nodes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                         const double *bounds)
{
    const rk_plan_lists *l = &s->lists;
    size_t count = 0;
    for (size_t i = 0; i < l->pipe_count; i++) {
        struct node node = {.pipe = &l->pipes[i], .dp = rk_batch_data_parallel(s, b, &l->pipes[i])};
        unsigned parts = rk_parts_of_batch(s, b) & rk_parts_of_pipe(s, node.pipe);
        if (!node.dp || (!s->counts && !(bounds[i] <= rk_longest_of(w, parts)))) {
            continue;
        }
        node.lane_count = rk_batch_lane_count(s, b, node.pipe);
        node.lanes = rk_batch_lanes(s, b, node.lane_count);
        parts = s->counts ? parts : rk_parts_in_time(w, parts, bounds[i]);
        parts = rk_parts_gathering_in_time(s, w, b, &node, parts);
        if (parts == 0) {
            continue;
        }
        node.microbatches = s->space->global_batch / node.dp / b->micro_batch;
        node.shape = &l->shapes[node.pipe->shape_first];
        (void)rk_bound_shapes(s, w, b, node, rk_longest_of(w, parts), parts);
        for (size_t j = 0; j < node.pipe->shape_count; j++, node.shape++) {
            node.bound = w->least[node.shape - l->shapes];
            node.parts = rk_parts_in_time(w, parts & rk_parts_of_shape(s, node.shape), node.bound);
            const bool in_time = node.parts != 0;
            fit_node(s, w, &node);
            if (node.parts != 0 && node.bound < (double)INFINITY) {
                w->nodes[count++] = node;
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
 * Fills the indices of the first strategies of all shapes of a batch with a recompute, of which
 * the first strategy is `index`.  Returns that of the next recompute.
 */
static uint64_t place_shapes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                             int recompute, uint64_t index)
{
    const rk_plan_lists *l = &s->lists;
    for (size_t i = 0; i < l->pipe_count; i++) {
        const rk_plan_pipe *pipe = &l->pipes[i];
        const bool has = rk_batch_data_parallel(s, b, pipe) > 0;
        const uint64_t lanes = has ? (uint64_t)rk_batch_lane_count(s, b, pipe) : 0;
        for (size_t j = pipe->shape_first; j < pipe->shape_first + pipe->shape_count; j++) {
            w->first[j] = index;
            index += (uint64_t)rk_node_choices(s, recompute, &l->shapes[j]) * lanes;
        }
    }
    return index;
}

/* Turns to the costs with a recompute, with which some pipeline degrees take too long. */
static void turn_recompute(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                           const rk_plan_recompute *recompute)
{
    int experts;
    rk_turn_table(w, recompute);
    const double seconds = rk_whole_seconds(w->clock.table, &w->costed, &experts);
    for (size_t i = 0; i < s->lists.pipe_count; i++) {
        const rk_plan_pipe *pipe = &s->lists.pipes[i];
        const int64_t dp = rk_batch_data_parallel(s, b, pipe);
        if (dp && rk_mean_work(s, b, dp, pipe->pp, seconds) > w->longest) {
            for (size_t j = 0; j < pipe->shape_count; j++) {
                w->spent[s->lists.shapes[pipe->shape_first + j].floor] =
                    (struct spent_floor){w->fit.visit, UINT64_MAX, true};
            }
        }
    }
}

/* Settles the nodes listed with one recompute. */
static void settle_nodes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                         int recompute, size_t count)
{
    const unsigned parts = rk_parts_of_recompute(s, &s->lists.recomputes[recompute]);
    bool filled = s->lists.recomputes[recompute].kind == RK_REC_NONE; /* that table is there */
    for (size_t i = 0; i < count && w->nodes[i].bound <= w->longest && !w->status; i++) {
        struct node *node = &w->nodes[i];
        const unsigned in_time = rk_parts_in_time(w, node->parts & parts, node->bound);
        if (in_time == 0) {
            continue;
        }
        if (!filled) {
            turn_recompute(s, w, b, &s->lists.recomputes[recompute]);
            filled = true;
        }
        node->recompute = recompute;
        const struct spent_floor *spent = &w->spent[node->shape->floor];
        if (spent->visit != w->fit.visit || (node->fitting & ~spent->lanes) != 0) {
            settle_node(s, w, b, node, in_time);
        } else if (!spent->by_time) {
            count_misfits(s, w, node, rk_count_lanes(rk_own_lanes(s, b, node)));
        }
    }
}

/* Empties the top lists of all parts. */
static void clear_tops(const rk_plan_bounds *s, rk_top *tops)
{
    for (int i = 0; i < RK_PLAN_PARTS; i++) {
        rk_top_clear(&tops[i]);
        rk_top_init(&tops[i], s->top_n, sizeof(rk_plan_entry));
    }
}

/*
 * Settles the strategies of a batch with its unit's recipe; `bounds` as above.  Those that nothing
 * else settles are too slow.
 */
static void settle_strategies(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                              const double *bounds)
{
    rk_bounded_counts *counts = &w->counts;
    rk_strategy legal;
    if (rk_find_legal(s, w, b, &legal)) {
        counts->by_time +=
            rk_recipe_size(b) + counts->evaluated + counts->by_memory + counts->by_rule;
        rk_fill_table(s, w, &legal, true);
        const size_t count = list_nodes(s, w, b, bounds);
        uint64_t first = b->first;
        for (int i = 0; i < s->lists.recompute_count && count > 0 && !w->status; i++) {
            first = place_shapes(s, w, b, i, first);
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

static void settle_batch(void *context, int worker_index, uint64_t index, rk_parallel *shared)
{
    rk_plan_bounds *s = context;
    struct worker *w = &s->workers[worker_index];
    struct batch *b = s->queue[s->done + index];
    bool entered = false;
    clear_tops(s, w->top);
    for (int i = 0; i < s->part_count; i++) {
        renew_limit(s, w, i);
    }
    w->others = 0;
    settle_strategies(s, w, b, rk_batch_bounds(s, b));
    settle_led(s, w, b);
    for (int i = 0; i < s->part_count; i++) {
        entered = entered || w->top[i].count > 0;
    }
    b->fast = b->fast || (s->counts && entered);
    for (int i = 0; i < s->part_count && !w->status; i++) {
        w->status = rk_top_merge(&w->found[i], &w->top[i], &w->error);
    }
    atomic_fetch_add_explicit(&shared->done, b->count, memory_order_relaxed);
    if (w->status) {
        atomic_store(&shared->stop, true);
    }
}

/* ---- rounds -------------------------------------------------------------------------------- */

static bool tick(void *user, uint64_t done)
{
    const rk_plan_bounds *s = user;
    if (!s->counts) { /* cheap compared with the rest */
        return s->control->progress(s->control->user, s->lists.total, s->lists.total);
    }
    return s->control->progress(s->control->user, s->settled + done, s->lists.total);
}

static rk_status run_batches(rk_plan_bounds *s,
                             void (*work)(void *, int, uint64_t, rk_parallel *shared),
                             uint64_t count, rk_error *err)
{
    const int threads = count < (uint64_t)s->threads ? (int)count : s->threads;
    const bool ticks = s->control && s->control->progress;
    rk_status status = rk_parallel_run(threads, count, work, s, ticks ? tick : NULL, s, err);
    for (int i = 0; i < s->threads && !status; i++) {
        if (s->workers[i].status) {
            *err = s->workers[i].error;
            status = s->workers[i].status;
        }
    }
    return status;
}

/* Takes over what the workers found in a round. */
static rk_status end_round(rk_plan_bounds *s, rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = 0; i < s->threads && !status; i++) {
        struct worker *w = &s->workers[i];
        for (int j = 0; j < s->part_count && !status; j++) {
            status = rk_top_merge(&s->top[j], &w->found[j], err);
        }
        clear_tops(s, w->found);
    }
    return status;
}

/* Longest step that can still enter the top list of a part. */
static double most_seconds(const rk_plan_bounds *s, int part)
{
    const double least_rate = s->control ? s->control->least_rate : 0;
    const double longest = least_rate > 0 && s->counts ? (double)s->space->global_batch / least_rate
                                                       : s->parts[part].longest_step_s;
    const double cutoff = longest > 0 ? longest * (1 + RK_LOWER_BOUND_SLACK) : (double)INFINITY;
    return rk_min(limit_of(&s->top[part]), cutoff);
}

static void bound_group(void *context, int worker_index, uint64_t index, rk_parallel *shared)
{
    rk_plan_bounds *s = context;
    (void)shared;
    rk_bound_group(s, &s->workers[worker_index], &s->groups[index]);
}

static void open_group(void *context, int worker_index, uint64_t index, rk_parallel *shared)
{
    rk_plan_bounds *s = context;
    (void)shared;
    rk_open_group(s, &s->workers[worker_index], &s->groups[s->open_count + index], s->reach,
                  s->limit);
}

/*
 * Opens the groups that may have one of the next `size` batches of all, unless no step of theirs is
 * as short as `most`: *few, twice and four times as many... groups at a time or more, because each
 * time they are sorted again.
 */
static rk_status open_groups(rk_plan_bounds *s, size_t size, double most, size_t *few,
                             rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t count = 1; count > 0 && !status;) {
        const size_t last = s->done + size;
        const double bound = last <= s->queue_count ? s->queue[last - 1]->bound : (double)INFINITY;
        const double reach = rk_min(bound, most);
        const size_t left = s->group_count - s->open_count;
        const struct group *next = &s->groups[s->open_count];
        for (count = 0;
             count < left && next[0].bound <= reach && next[count].bound <= most &&
             next[count].bound < (double)INFINITY &&
             (count < *few || (reach < (double)INFINITY && next[count].bound <= reach));) {
            count++;
        }
        if (count > 0) {
            s->reach = reach;
            s->limit = most;
            status = run_batches(s, open_group, count, err);
            rk_queue_groups(s);
            *few *= 2;
        }
    }
    return status;
}

static rk_status run_rounds(rk_plan_bounds *s, rk_error *err)
{
    rk_status status = RK_OK;
    /* Nothing is counted for parts, so that rounds need not be the same on all machines. */
    const bool same = s->counts || s->faster > 1;
    const size_t first = same ? 1 : (size_t)s->threads, growth = same ? 2 : 1;
    size_t few = 1;
    for (size_t size = first; !status; size *= growth) {
        double most = 0;
        size_t count = 0;
        for (int i = 0; i < s->part_count; i++) {
            const double seconds = most_seconds(s, i);
            most = rk_max(most, seconds);
            for (int j = 0; j < s->threads; j++) {
                s->workers[j].most_seconds[i] = seconds;
            }
        }
        few = s->counts ? 1 : few; /* rounds of parts are too small to sort groups in each */
        status = open_groups(s, size, most, &few, err);
        while (count < size && s->done + count < s->queue_count &&
               s->queue[s->done + count]->bound <= most &&
               s->queue[s->done + count]->bound < (double)INFINITY) {
            count++;
        }
        if (count == 0 || status) {
            break;
        }
        status = run_batches(s, settle_batch, count, err);
        for (size_t i = 0; i < count; i++) {
            s->settled += s->queue[s->done + i]->count;
        }
        s->done += count;
        status = status ? status : end_round(s, err);
    }
    return status;
}

/* ---- the search ---------------------------------------------------------------------------- */

static rk_status init_workers(rk_plan_bounds *s, rk_error *err)
{
    const rk_plan_lists *l = &s->lists;
    s->workers = calloc((size_t)s->threads, sizeof(*s->workers));
    if (!s->workers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %d threads", s->threads);
    }
    for (int i = 0; i < s->threads; i++) {
        struct worker *w = &s->workers[i];
        w->least = malloc((l->shape_count + 1) * sizeof(*w->least));
        w->first = malloc((l->shape_count + 1) * sizeof(*w->first));
        w->nodes = malloc((l->shape_count + 1) * sizeof(*w->nodes));
        w->nowhere = calloc(l->unit_count + 1, sizeof(*w->nowhere));
        w->floors = calloc(l->floor_count * RK_PLAN_CHOICES + 1, sizeof(*w->floors));
        w->spent = calloc(l->floor_count + 1, sizeof(*w->spent));
        if (!w->least || !w->first || !w->nodes || !w->nowhere || !w->floors || !w->spent ||
            !rk_get_prices(s, w)) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the scratch of a search");
        }
        rk_status status = rk_plan_clock_init(&w->clock, l, err);
        status = status ? status : rk_plan_fit_init(&w->fit, l, &s->system, &s->limits, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

static void clear_search(rk_plan_bounds *s)
{
    for (int i = 0; s->workers && i < s->threads; i++) {
        clear_tops(s, s->workers[i].top);
        clear_tops(s, s->workers[i].found);
        rk_plan_clock_clear(&s->workers[i].clock);
        rk_plan_fit_clear(&s->workers[i].fit);
        free(s->workers[i].least);
        free(s->workers[i].first);
        free(s->workers[i].floors);
        free(s->workers[i].spent);
        rk_put_prices(s, &s->workers[i]);
        free(s->workers[i].nodes);
        free(s->workers[i].nowhere);
    }
    free(s->workers);
    free(s->batches);
    free(s->groups);
    free(s->degrees);
    free(s->queue);
    free(s->pipe_bounds);
    free(s->group_bounds);
    clear_tops(s, s->top);
    rk_plan_lists_clear(&s->lists);
}

/* Lists the strategies of a top list, best first.  Returns how many. */
static size_t take_found(const rk_plan_bounds *s, rk_top *top, rk_planned_strategy *planned)
{
    rk_top_sort(top);
    for (size_t i = 0; i < top->count; i++) {
        const rk_plan_entry *kept = rk_top_payload(top, i);
        planned[i] = (rk_planned_strategy){
            .strategy = kept->strategy, .estimate = kept->estimate, .index = top->heap[i].index};
        rk_set_class_risk(&s->limits, &planned[i].strategy, &planned[i].estimate);
    }
    return top->count;
}

/* What the workers have counted since this was last asked. */
static rk_bounded_counts count_work(rk_plan_bounds *s)
{
    rk_bounded_counts counts = {.total = s->lists.total};
    for (int i = 0; i < s->threads; i++) {
        rk_bounded_counts *own = &s->workers[i].counts;
        counts.evaluated += own->evaluated;
        counts.by_time += own->by_time;
        counts.by_memory += own->by_memory;
        counts.by_dominance += own->by_dominance;
        counts.by_rule += own->by_rule;
        counts.bounds += own->bounds;
        *own = (rk_bounded_counts){0};
    }
    return counts;
}

/* Returns the ranking and adds up the counts; what no round reached was settled by time. */
static void report(rk_plan_bounds *s, rk_planned_strategy *planned, size_t *found,
                   rk_bounded_counts *counts)
{
    *counts = count_work(s);
    for (size_t i = s->done; i < s->queue_count; i++) {
        counts->by_time += s->queue[i]->count;
    }
    for (size_t i = s->open_count; i < s->group_count; i++) {
        for (size_t j = s->groups[i].legal; j < s->groups[i].end; j++) {
            counts->by_time += s->batches[j].count;
        }
    }
    *found = take_found(s, &s->top[0], planned);
    if (*found > 0) {
        rk_store_pace(s, planned[0].estimate.step);
    }
}

rk_status rk_plan_bounds_turn(rk_plan_bounds *bounds, const rk_system *system, double faster,
                              rk_error *err)
{
    const rk_plan_space *space = bounds->space;
    const rk_setting setting = {
        .model = bounds->model, .system = &bounds->system, .stack = bounds->stack};
    bounds->system = *system;
    if (faster > 1) {
        bounds->faster = faster;
        rk_loosen_bounds(bounds);
    }
    if (space->max_memory > 0) {
        bounds->system.accelerator.memory_usable = space->max_memory;
    }
    return rk_risk_limits_of(&setting, &space->base, space->risk, &bounds->limits, err);
}

rk_status rk_plan_bounds_open(const rk_model *model, const rk_system *system, const rk_stack *stack,
                              const rk_plan_space *space, const rk_search_control *control,
                              rk_plan_bounds **bounds, rk_error *err)
{
    rk_plan_bounds *s = calloc(1, sizeof(*s));
    rk_status status;
    *bounds = s;
    if (!s) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a search");
    }
    *s = (rk_plan_bounds){
        .model = model,
        .system = *system,
        .stack = stack,
        .space = space,
        .threads = control && control->threads > 0 ? control->threads : rk_core_count(),
        .control = control,
    };
    status = rk_plan_lists_init(model, &s->system, space, &s->lists, err);
    rk_strategy all = space->base;
    all.tp = all.cp = all.pp = 1;
    all.dp = space->accelerators;
    s->fixed = rk_fixed_seconds(stack, &all, 0);
    s->growth = rk_fixed_seconds(stack, &all, 1) - s->fixed;
    rk_bound_parts(s, &everything, 1);
    status = status ? status : rk_plan_bounds_turn(s, system, 1, err);
    s->most_usable = s->limits.usable;
    (void)(status || (status = rk_list_batches(s, err)) || (status = init_workers(s, err)) ||
           (status = run_batches(s, bound_group, s->group_count, err)) ||
           (status = rk_store_groups(s, err)));
    if (!status) {
        rk_bound_parts(s, &everything, 1);
    }
    return status;
}

void rk_plan_bounds_close(rk_plan_bounds *bounds)
{
    if (bounds) {
        clear_search(bounds);
        free(bounds);
    }
}

/* Searches from the first batch on. */
static rk_status run_search(rk_plan_bounds *s, size_t top_n, rk_error *err)
{
    assert(s->part_count >= 1);
    s->top_n = top_n;
    s->settled = 0;
    clear_tops(s, s->top);
    for (int i = 0; i < s->threads; i++) {
        clear_tops(s, s->workers[i].found);
    }
    return s->batch_count > 0 ? run_rounds(s, err) : RK_OK;
}

rk_status rk_plan_bounds_search(rk_plan_bounds *bounds, size_t top_n, rk_planned_strategy *planned,
                                size_t *found, rk_bounded_counts *counts, rk_error *err)
{
    bounds->counts = true;
    const rk_status status = run_search(bounds, top_n, err);
    if (!status) {
        report(bounds, planned, found, counts);
    }
    return status;
}

rk_status rk_plan_bounds_search_again(rk_plan_bounds *bounds, double longest_s, size_t top_n,
                                      rk_planned_strategy *planned, size_t *found,
                                      rk_bounded_counts *counts, rk_error *err)
{
    const rk_plan_part part = {.longest_step_s = longest_s};
    bounds->counts = false;
    rk_bound_parts(bounds, &part, 1);
    const rk_status status = run_search(bounds, top_n, err);
    *found = status ? 0 : take_found(bounds, &bounds->top[0], planned);
    *counts = count_work(bounds);
    counts->by_time = counts->total - counts->evaluated - counts->by_memory - counts->by_dominance -
                      counts->by_rule;
    rk_bound_parts(bounds, &everything, 1);
    return status;
}

rk_status rk_plan_bounds_search_parts(rk_plan_bounds *s, const rk_plan_part *parts, int count,
                                      rk_planned_strategy *planned, bool *found, rk_error *err)
{
    assert(count <= RK_PLAN_PARTS);
    if (count == 0) {
        return RK_OK;
    }
    s->counts = false;
    rk_bound_parts(s, parts, count);
    const rk_status status = run_search(s, 1, err);
    for (int i = 0; i < count && !status; i++) {
        const double longest = parts[i].longest_step_s;
        found[i] = take_found(s, &s->top[i], &planned[i]) > 0 &&
                   !(longest > 0 && planned[i].estimate.step > longest);
    }
    rk_bound_parts(s, &everything, 1);
    return status;
}

rk_status rk_plan_search_bounded(const rk_model *model, const rk_system *system,
                                 const rk_stack *stack, const rk_plan_space *space,
                                 const rk_search_control *control, size_t top_n,
                                 rk_planned_strategy *planned, size_t *found,
                                 rk_bounded_counts *counts, rk_error *err)
{
    rk_plan_bounds *bounds;
    rk_error ignored;
    err = err ? err : &ignored;
    *found = 0;
    *counts = (rk_bounded_counts){0};
    rk_status status = rk_plan_bounds_open(model, system, stack, space, control, &bounds, err);
    if (!status) {
        status = rk_plan_bounds_search(bounds, top_n, planned, found, counts, err);
    }
    rk_plan_bounds_close(bounds);
    return status;
}

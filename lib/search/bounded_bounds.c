/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bounded search knows before it settles anything: which strategies of a batch are legal,
 * and the least time of its shapes, of a batch, and of a group of batches whatever its experts.
 */
#include "base/extremes.h"
#include "estimate/lower_bounds.h"
#include "search/bounded_state.h"

#include <math.h>
#include <string.h>

/* ---- strategies ---------------------------------------------------------------------------- */

/* Shared by all strategies of a batch. */
static rk_strategy batch_strategy(const rk_plan_bounds *s, const struct batch *b)
{
    rk_strategy strategy = s->space->base;
    rk_plan_set_unit(b->unit, &strategy);
    strategy.global_batch = s->space->global_batch;
    strategy.micro_batch = b->micro_batch;
    strategy.cp_kind = s->lists.cp_kinds[b->cp_kind];
    return strategy;
}

/* Completes the strategy of a batch, except for recomputed layers and lane. */
rk_strategy rk_node_strategy(const rk_plan_bounds *s, const struct batch *b,
                             const struct node *node)
{
    rk_strategy strategy = batch_strategy(s, b);
    strategy.pp = node->pipe->pp;
    strategy.dp = node->dp;
    rk_plan_set_recompute(&s->lists.recomputes[node->recompute], &strategy);
    rk_plan_set_shape(node->shape, &strategy);
    return strategy;
}

/* Lanes of the parts that the framework runs with a pipeline degree and a recompute. */
uint64_t rk_node_lanes(const rk_plan_bounds *s, const struct node *node)
{
    return node->pipe->legal_lanes[node->recompute] & node->lanes & s->lanes;
}

/*
 * The legal ones of `lanes`: all or none, because rules look only at what they share.  *nowhere:
 * no other node of the batch is legal either; kept if there are no lanes.
 */
static uint64_t legal_of(const rk_plan_bounds *s, rk_strategy *strategy, uint64_t lanes,
                         bool *nowhere)
{
    if (lanes == 0) {
        return 0;
    }
    rk_plan_set_lane(&s->lists, rk_first_lane(lanes), strategy);
    return rk_strategy_legal_here(s->model, &s->system, strategy, s->space->framework, nowhere)
               ? lanes
               : 0;
}

uint64_t rk_legal_lanes(const rk_plan_bounds *s, rk_strategy *strategy, uint64_t lanes)
{
    bool nowhere;
    /* hybrid sharding is the only choice of a lane that depends on degrees */
    return legal_of(s, strategy, lanes & ~s->lists.hybrid_lanes, &nowhere) |
           legal_of(s, strategy, lanes & s->lists.hybrid_lanes, &nowhere);
}

/* ---- shapes -------------------------------------------------------------------------------- */

/* Turns clock and memory to the costs that a table has now. */
static void know_table(struct worker *w, const rk_cost_table *table)
{
    w->has_whole = w->has_gathering = false;
    rk_plan_clock_renew(&w->clock, table);
    rk_plan_fit_renew(&w->fit, table);
    w->counts.bounds++;
}

void rk_fill_table(const rk_plan_bounds *s, struct worker *w, const rk_strategy *legal, bool whole)
{
    w->costed = *legal;
    w->costed.recompute = whole ? RK_REC_FULL : RK_REC_NONE;
    w->costed.recompute_modules = 0;
    rk_cost_table_fill_with(s->model, &s->system, s->stack, &w->costed, w->prices.gemms, &w->table);
    w->costed.recompute = RK_REC_NONE;
    know_table(w, &w->table);
}

/* The same for a group of batches, without their experts. */
static void fill_group(const rk_plan_bounds *s, struct worker *w, const rk_strategy *legal)
{
    w->costed = *legal;
    w->costed.recompute = RK_REC_NONE;
    w->costed.recompute_modules = 0;
    rk_cost_table_fill_mixers(s->model, &s->system, s->stack, &w->costed, w->prices.gemms,
                              &w->table);
    know_table(w, &w->table);
}

void rk_turn_table(struct worker *w, const rk_plan_recompute *recompute)
{
    const bool selective = recompute->kind == RK_REC_SELECTIVE;
    rk_plan_set_recompute(recompute, &w->costed);
    if (selective) {
        rk_cost_table_fill_layers(&w->table, &w->costed, &w->selective);
    }
    know_table(w, selective ? &w->selective : &w->table);
}

/* Bytes that the states of a lane need at least. */
static double least_states(const rk_plan_bounds *s, struct worker *w, int lane, rk_strategy *with)
{
    if (!w->has_whole) {
        w->has_whole = true;
        w->whole = rk_whole_model(&w->table, &s->whole);
    }
    rk_plan_set_lane(&s->lists, lane, with);
    return rk_least_memory(&w->table, with, &w->whole);
}

/* Whether the states of some lane fit at any risk into the most memory that is searched. */
static bool fit_anywhere(const rk_plan_bounds *s, struct worker *w, const rk_strategy *strategy,
                         uint64_t lanes)
{
    rk_strategy with = *strategy;
    bool fits = false;
    for (int lane = s->lists.lane_count - 1; lane >= 0 && !fits; lane--) { /* most sharding first */
        fits = (lanes >> lane & 1) &&
               least_states(s, w, lane, &with) <= s->most_usable * (1 + RK_LOWER_BOUND_SLACK);
    }
    return fits;
}

/*
 * The longest step of those of `parts` into which the states of some lane fit, and w->fitting;
 * without parts `limit` if they fit at any risk into the most memory that is searched, because
 * those bounds are kept.  Negative: they fit nowhere.  DualPipe holds every stage twice.
 */
static double fit_states(const rk_plan_bounds *s, struct worker *w, const rk_strategy *strategy,
                         uint64_t lanes, double limit, unsigned parts)
{
    rk_strategy with = *strategy;
    uint64_t *fitting = w->fitting[rk_schedule_copies(strategy->schedule) == 2];
    bool fits = false;
    w->counts.bounds++;
    if (parts == 0) {
        return fit_anywhere(s, w, strategy, lanes) ? limit : -(double)INFINITY;
    }
    for (int lane = 0; lanes >> lane; lane++) {
        if (lanes >> lane & 1) {
            const double bytes = least_states(s, w, lane, &with);
            const double usual = rk_risk_limit(&s->limits, &with);
            fits |= bytes <= s->limits.usable * (1 + RK_LOWER_BOUND_SLACK);
            for (int i = 0; parts >> i; i++) {
                const double most = rk_part_bytes(s, usual, i) * (1 + RK_LOWER_BOUND_SLACK);
                fitting[i] |= (uint64_t)(bytes <= most) << lane & s->part_lanes[i];
            }
        }
    }
    if (!fits) {
        return -(double)INFINITY;
    }
    for (int i = 0; parts >> i; i++) {
        parts &= ~((unsigned)(fitting[i] == 0) << i);
    }
    return rk_longest_of(w, parts);
}

double rk_base_work(const rk_plan_bounds *s, struct worker *w, const struct node *node,
                    size_t choice)
{
    const rk_plan_shape *shape = node->shape;
    w->counts.bounds++;
    return s->fixed + (1 + s->growth) * rk_plan_fit_busy(&w->fit, shape, choice,
                                                         (double)node->microbatches,
                                                         &w->clock.idle[shape->kind_first]);
}

bool rk_schedule_runs(const struct node *node)
{
    const rk_schedule_needs needs = rk_schedule_needs_of(node->shape->schedule, node->pipe->pp);
    return node->microbatches >= needs.microbatch_min &&
           node->microbatches % needs.microbatch_multiple == 0;
}

/* Fills the least work of the shapes of a node's pipeline degree.  Returns that of the least. */
static size_t bound_works(const rk_plan_bounds *s, struct worker *w, struct node *node)
{
    const size_t first = node->pipe->shape_first, end = first + node->pipe->shape_count;
    size_t least = first;
    bool runs = false;
    for (size_t i = first; i < end; i++) {
        node->shape = &s->lists.shapes[i];
        w->counts.bounds++;
        if (i == first || node->shape->schedule != s->lists.shapes[i - 1].schedule) {
            runs = rk_schedule_runs(node);
        }
        w->least[i] = runs ? s->fixed + (1 + s->growth) * (double)node->microbatches *
                                            rk_plan_fit_seconds(&w->fit, node->shape, 0)
                           : (double)INFINITY;
        least = w->least[i] < w->least[least] ? i : least;
    }
    return least;
}

double rk_bound_shapes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                       struct node node, double limit, unsigned parts)
{
    bool known[2] = {false, false};     /* by the copies of a stage */
    double longest[2] = {limit, limit}; /* of those that fit */
    uint64_t legal = 0;
    double least = (double)INFINITY;
    for (; node.recompute < s->lists.recompute_count; node.recompute++) {
        legal |= rk_node_lanes(s, &node);
    }
    uint64_t slow = parts ? UINT64_MAX : 0; /* whether they fit is of no account */
    for (int i = 0; parts >> i; i++) {
        slow &= parts >> i & 1 ? w->slow[i] : UINT64_MAX;
    }
    legal &= ~slow;
    memset(w->fitting, 0, sizeof(w->fitting));
    node.recompute = 0;
    node.shape = &s->lists.shapes[node.pipe->shape_first];
    node.microbatches = s->space->global_batch / node.dp / b->micro_batch;
    rk_plan_base base = {.strategy = rk_node_strategy(s, b, &node)};
    rk_plan_clock_turn(&w->clock, node.pipe);
    rk_plan_fit_turn(&w->fit, node.pipe);
    const size_t first = bound_works(s, w, &node);
    for (size_t i = 0; i < node.pipe->shape_count; i++) {
        /* the first, which may settle others, changes places with the one of least work */
        const size_t turn = node.pipe->shape_first + i;
        const size_t at = i == 0 ? first : turn == first ? node.pipe->shape_first : turn;
        const double work = w->least[at];
        base.shape = &s->lists.shapes[at];
        const bool twice = rk_schedule_copies(base.shape->schedule) == 2;
        const double most = parts ? longest[twice] : rk_min(limit, least);
        if (parts) {
            rk_plan_clock_wait(&w->clock, base.shape, NULL);
        }
        if (work <= most && work < (double)INFINITY) { /* beyond, work is loose, but enough */
            rk_plan_set_shape(base.shape, &base.strategy);
            if (!known[twice]) {
                known[twice] = true;
                longest[twice] = fit_states(s, w, &base.strategy, legal, limit, parts);
            }
            if (work <= longest[twice]) {
                rk_plan_clock_wait(&w->clock, base.shape, &base);
                node.shape = base.shape;
                w->least[at] = rk_base_work(s, w, &node, 0);
                if (!parts && w->least[at] <= most) {
                    w->counts.bounds++;
                    w->least[at] = rk_plan_clock_least(&w->clock, &base, most);
                }
            } else if (longest[twice] < 0) {
                w->least[at] = (double)INFINITY;
            }
        }
        least = rk_min(least, w->least[at]);
    }
    return least;
}

bool rk_find_legal(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                   rk_strategy *legal)
{
    const rk_plan_lists *l = &s->lists;
    uint8_t *kinds = &w->nowhere[b->unit - l->units];
    bool nowhere = *kinds >> b->cp_kind & 1; /* with any micro-batch */
    for (size_t i = 0; i < l->pipe_count && !nowhere; i++) {
        struct node node = {.pipe = &l->pipes[i], .dp = rk_batch_data_parallel(s, b, &l->pipes[i])};
        if (node.dp && rk_parts_of_pipe(s, node.pipe)) {
            node.lanes = rk_plan_first_lanes(l, rk_batch_lane_count(s, b, node.pipe)) &
                         rk_plan_recipe_lanes(l, b->unit->recipe); /* costs are of that recipe */
        }
        for (node.recompute = 0; node.dp && node.recompute < l->recompute_count; node.recompute++) {
            const uint64_t lanes = rk_node_lanes(s, &node), hybrid = lanes & l->hybrid_lanes;
            for (size_t j = 0; lanes && j < node.pipe->shape_count && !nowhere; j++) {
                node.shape = &l->shapes[node.pipe->shape_first + j];
                *legal = rk_node_strategy(s, b, &node);
                if (legal_of(s, legal, lanes & ~hybrid, &nowhere) ||
                    (!nowhere && legal_of(s, legal, hybrid, &nowhere))) {
                    return true;
                }
            }
        }
    }
    *kinds |= (uint8_t)(nowhere << b->cp_kind);
    return false;
}

/* ---- batches and groups -------------------------------------------------------------------- */

/*
 * Bounds a batch by all its pipeline degrees in `bounds`, or a group that it is in, whatever ep and
 * etp.  Where `floors` of a group that the batch is in are beyond `limit`, they are bound enough.
 * Of a batch, bounds of degrees with a pipeline may be loose above the least of these.
 */
static double bound_pipes(const rk_plan_bounds *s, struct worker *w, const struct batch *b,
                          bool group, double limit, const double *floors, double *bounds)
{
    const rk_plan_lists *l = &s->lists;
    rk_plan_unit any = *b->unit;
    double least = (double)INFINITY, piped = (double)INFINITY;
    any.ep = any.etp = 1; /* which leaves most data-parallel degrees */
    for (size_t i = 0; i < l->pipe_count; i++) {
        struct node node = {.pipe = &l->pipes[i]};
        if (group) {
            const rk_plan_degree wide = rk_plan_degree_of(l, &any, node.pipe->pp);
            node.dp = rk_plan_data_parallel(&wide, b->micro_batch);
        } else {
            node.dp = rk_batch_data_parallel(s, b, node.pipe);
        }
        bounds[i] = (double)INFINITY;
        if (node.dp && floors && floors[i] > limit) {
            bounds[i] = floors[i];
        } else if (node.dp) {
            node.lanes = rk_batch_lanes(s, b,
                                        group ? l->sharding_count * l->offload_count
                                              : rk_batch_lane_count(s, b, node.pipe));
            const bool alone = group || node.pipe->pp == 1; /* which parts look at alone */
            bounds[i] = rk_bound_shapes(s, w, b, node, alone ? limit : rk_min(limit, piped), 0);
        }
        least = rk_min(least, bounds[i]);
        piped = node.pipe->pp > 1 ? rk_min(piped, bounds[i]) : piped;
    }
    return least;
}

double rk_mean_work(const rk_plan_bounds *s, const struct batch *b, int64_t dp, int64_t pp,
                    double seconds)
{
    const double microbatches = (double)(s->space->global_batch / dp / b->micro_batch);
    return s->fixed + (1 + s->growth) * microbatches * seconds / (double)pp;
}

/*
 * Bounds a batch by the work of the mean rank.  Returns whether that is beyond `limit` at all
 * pipeline degrees.
 */
static bool is_too_slow(const rk_plan_bounds *s, const struct batch *b, double seconds,
                        double limit)
{
    double *bounds = rk_batch_bounds(s, b), least = (double)INFINITY;
    for (size_t i = 0; i < s->lists.pipe_count; i++) {
        const rk_plan_pipe *pipe = &s->lists.pipes[i];
        const int64_t dp = rk_batch_data_parallel(s, b, pipe);
        bounds[i] = dp ? rk_mean_work(s, b, dp, pipe->pp, seconds) : (double)INFINITY;
        least = rk_min(least, bounds[i]);
    }
    return least > limit;
}

/*
 * `costed`: the table belongs to the group of the batch, but for its experts.  `seconds` as above,
 * at least.
 */
static void bound_batch(const rk_plan_bounds *s, struct worker *w, struct batch *b, double limit,
                        const double *floors, double seconds, bool *costed)
{
    rk_strategy legal;
    if (!rk_find_legal(s, w, b, &legal)) {
        w->counts.by_rule += b->count;
        b->count = 0;
        for (size_t i = 0; i < s->lists.pipe_count; i++) {
            rk_batch_bounds(s, b)[i] = (double)INFINITY;
        }
        return;
    }
    if (is_too_slow(s, b, seconds, limit)) {
        return;
    }
    if (*costed) {
        w->costed = legal;
        w->costed.recompute = RK_REC_NONE;
        w->costed.recompute_modules = 0;
        rk_cost_table_fill_experts(&w->costed, &w->table);
        know_table(w, &w->table);
    } else {
        rk_fill_table(s, w, &legal, false);
        *costed = true;
    }
    const double least = bound_pipes(s, w, b, false, limit, floors, rk_batch_bounds(s, b));
    if (!(least < (double)INFINITY)) {
        w->counts.by_memory += b->count;
        b->count = 0;
    }
}

bool rk_get_prices(const rk_plan_bounds *s, struct worker *w)
{
    size_t places = 64; /* empty places cost time, but for later searches */
    while (places < (s->space->store ? 8192 : s->batch_count / 4) && places < 32768) {
        places *= 2;
    }
    if (s->space->store) {
        w->prices = rk_plan_store_take(s->space->store);
    }
    w->prices = w->prices.gemms ? w->prices : rk_plan_prices_new(places);
    return w->prices.gemms && w->prices.experts;
}

void rk_put_prices(const rk_plan_bounds *s, struct worker *w)
{
    if (s->space->store && w->prices.gemms && w->prices.experts) {
        rk_plan_store_give(s->space->store, &w->prices);
    } else {
        rk_plan_prices_free(&w->prices);
    }
}

/* What the experts of a batch take at least; `legal` and the table are of its group. */
static rk_chunk_times least_experts(const rk_plan_bounds *s, struct worker *w,
                                    const struct batch *b, const rk_strategy *legal)
{
    const rk_plan_unit *unit = b->unit;
    const int64_t recipe = unit->recipe - s->lists.recipes;
    rk_strategy strategy = *legal;
    strategy.ep = unit->ep;
    strategy.etp = unit->etp;
    const double tokens = (double)strategy.micro_batch * (double)strategy.seq / (double)strategy.cp;
    const uint64_t place = ((uint64_t)tokens * 31 + (uint64_t)unit->tp) * 31 +
                           (uint64_t)unit->ep * 7 + (uint64_t)unit->etp;
    rk_known_experts *known = &w->prices.experts[(place ^ place >> 12) & (w->prices.places - 1)];
    if (known->recipe != recipe || known->tp != unit->tp || known->ep != unit->ep ||
        known->etp != unit->etp || known->tokens < tokens || known->tokens > tokens) {
        *known = (rk_known_experts){
            .tp = unit->tp,
            .recipe = recipe,
            .ep = unit->ep,
            .etp = unit->etp,
            .tokens = tokens,
            .least = rk_least_experts(&w->table, &strategy),
        };
    }
    return known->least;
}

/* The same of all batches of a group, whose table is filled. */
static rk_chunk_times least_of_group(const rk_plan_bounds *s, struct worker *w,
                                     const struct group *group, const rk_strategy *legal)
{
    rk_chunk_times all = {(double)INFINITY, (double)INFINITY, (double)INFINITY};
    if (legal->order != RK_ORDER_DATA_PIPELINE) { /* where experts lie depends on the pipeline */
        return (rk_chunk_times){0, 0, 0};
    }
    for (size_t i = group->legal; i < group->end; i++) {
        const rk_chunk_times least = least_experts(s, w, &s->batches[i], legal);
        all.forward = rk_min(all.forward, least.forward);
        all.backward = rk_min(all.backward, least.backward);
        all.weight = rk_min(all.weight, least.weight);
    }
    return all;
}

/*
 * Bounds all batches of a group, whose table is filled: layers with experts take no less than their
 * mixers and `experts`, and need no less memory than they do without experts.  Bounds above `limit`
 * may be loose. Returns the smallest bound.
 */
static double bound_experts(const rk_plan_bounds *s, struct worker *w, const struct group *group,
                            const rk_chunk_times *experts, double limit)
{
    rk_cost_table_lower_experts(experts, &w->table);
    know_table(w, &w->table);
    return bound_pipes(s, w, &s->batches[group->legal], true, limit, NULL,
                       &s->group_bounds[group->number * s->lists.pipe_count]);
}

/* Bounds a group of one batch, whose table is filled, by the work of its slowest rank alone. */
static void bound_work(const rk_plan_bounds *s, struct worker *w, const struct group *group)
{
    (void)bound_pipes(s, w, &s->batches[group->legal], false, 0, NULL,
                      &s->group_bounds[group->number * s->lists.pipe_count]);
}

/* Whether the times of a group may be kept: they depend on neither accelerators nor pipeline. */
static bool is_kept(const rk_plan_bounds *s, const struct group *group)
{
    const struct batch *b = &s->batches[group->legal];
    bool experts = false;
    for (int i = 0; i < s->model->type_count; i++) {
        experts |= rk_layer_is_moe(&s->model->types[i]);
    }
    return s->space->store && s->space->accelerators > 1 &&
           b->unit->order == RK_ORDER_DATA_PIPELINE && !(experts && group->tight);
}

static rk_plan_group key_of(const rk_plan_bounds *s, const struct group *group)
{
    const struct batch *b = &s->batches[group->first];
    return (rk_plan_group){
        .tp = b->unit->tp,
        .cp = b->unit->cp,
        .micro_batch = b->micro_batch,
        .recipe = b->unit->recipe - s->lists.recipes,
        .cp_kind = b->cp_kind,
    };
}

rk_status rk_store_groups(const rk_plan_bounds *s, rk_error *err)
{
    rk_status status = RK_OK;
    for (size_t i = 0; i < s->group_count && !status; i++) {
        const struct group *group = &s->groups[i];
        if (group->seconds > 0) {
            rk_plan_group kept = key_of(s, group);
            kept.seconds = group->seconds;
            status = rk_plan_store_add(s->space->store, &kept, err);
        }
    }
    return status;
}

void rk_store_pace(const rk_plan_bounds *s, double step)
{
    if (s->space->store) {
        rk_plan_store_add_pace(s->space->store, step * (double)s->space->accelerators /
                                                    (double)s->space->global_batch);
    }
}

/*
 * Seconds of a step that the best will hardly exceed, by what is known of other searches; infinite:
 * nothing is.
 */
static double guess_step(const rk_plan_bounds *s)
{
    const double paces = 1.4; /* the best of a few to that of eight times as many accelerators */
    const double least_rate = s->control ? s->control->least_rate : 0;
    const double batch = (double)s->space->global_batch;
    const double pace = rk_plan_store_pace(s->space->store);
    return least_rate > 0 ? batch / least_rate
           : pace > 0     ? paces * pace * batch / (double)s->space->accelerators
                          : (double)INFINITY;
}

/* Whether the work of the mean rank of a known group is beyond the guess, which bounds it then. */
static bool is_known_slow(const rk_plan_bounds *s, const struct group *group)
{
    const struct batch *b = &s->batches[group->legal];
    double *bounds = &s->group_bounds[group->number * s->lists.pipe_count],
           least = (double)INFINITY;
    rk_plan_group known = key_of(s, group);
    rk_plan_unit any = *b->unit;
    any.ep = any.etp = 1;
    if (!is_kept(s, group) || !rk_plan_store_find(s->space->store, &known)) {
        return false;
    }
    for (size_t i = 0; i < s->lists.pipe_count; i++) {
        const int64_t pp = s->lists.pipes[i].pp;
        const rk_plan_degree wide = rk_plan_degree_of(&s->lists, &any, pp);
        const int64_t dp = rk_plan_data_parallel(&wide, b->micro_batch);
        bounds[i] = dp ? rk_mean_work(s, b, dp, pp, known.seconds) : (double)INFINITY;
        least = rk_min(least, bounds[i]);
    }
    return least > guess_step(s);
}

/*
 * Whether the loss fits in memory without the rest; if so, the table is filled.  It needs no less
 * with more sequences, so a group that failed settles those with more.
 */
static bool loss_fits(const rk_plan_bounds *s, struct worker *w, const struct group *group,
                      const rk_strategy *legal)
{
    const struct batch *b = &s->batches[group->legal];
    const struct batch *large = w->large;
    if (large && rk_share_costs(b->unit, large->unit) && b->cp_kind == large->cp_kind &&
        b->micro_batch >= large->micro_batch) {
        w->counts.bounds++; /* as with a table: which worker was here before must not matter */
        return false;
    }
    if (group->tight) {
        rk_fill_table(s, w, legal, false);
    } else {
        fill_group(s, w, legal);
    }
    if (rk_least_loss(&w->table) > s->most_usable * (1 + RK_LOWER_BOUND_SLACK)) {
        w->large = b;
        return false;
    }
    return true;
}

/*
 * The least factor between the bounds of two of the systems.  The time of an operator is bytes,
 * FLOPs and rounds over rates, and falls no more than these rise; that of an attention kernel which
 * the stack lacks is such a time multiplied by the ratio of two others.  Sums, overlaps and waits
 * fall no more than their parts, and never grow where these fall.
 */
static double loosened(const rk_plan_bounds *s)
{
    const bool ratio = rk_stack_lacks_kernel(s->stack, s->space->base.attention_kernel);
    return 1 / (ratio ? s->faster * s->faster : s->faster);
}

static void loosen_group(const rk_plan_bounds *s, struct group *group, double factor)
{
    const size_t pipes = s->lists.pipe_count;
    double *bounds = &s->group_bounds[group->number * pipes];
    for (size_t i = 0; i < pipes; i++) {
        bounds[i] *= factor;
    }
    for (size_t i = group->open ? group->legal : group->end; i < group->end; i++) {
        for (size_t j = 0; j < pipes; j++) {
            rk_batch_bounds(s, &s->batches[i])[j] *= factor;
        }
    }
    group->loose = true;
}

void rk_loosen_bounds(rk_plan_bounds *s)
{
    for (size_t i = 0; i < s->group_count; i++) {
        if (!s->groups[i].loose) {
            loosen_group(s, &s->groups[i], loosened(s));
        }
    }
    for (int i = 0; i < s->threads; i++) {
        struct worker *w = &s->workers[i];
        rk_gemm_prices_clear(w->prices.gemms);
        memset(w->prices.experts, 0, w->prices.places * sizeof(rk_known_experts));
    }
}

/* Bounds a group with the table of its first legal strategy. */
static void bound_table(const rk_plan_bounds *s, struct worker *w, struct group *group,
                        const rk_strategy *legal)
{
    const rk_chunk_times nothing = {0, 0, 0};
    int experts;
    group->tight = group->end - group->legal < 2;
    if (!loss_fits(s, w, group, legal)) {
        for (; group->legal < group->end; group->legal++) {
            w->counts.by_memory += s->batches[group->legal].count;
            s->batches[group->legal].count = 0;
        }
        group->open = true;
        return;
    }
    if (group->tight) {
        bound_work(s, w, group);
    } else {
        (void)bound_experts(s, w, group, &nothing, (double)INFINITY);
    }
    group->seconds = is_kept(s, group) ? rk_whole_seconds(&w->table, &s->whole, &experts) : 0;
}

void rk_bound_group(const rk_plan_bounds *s, struct worker *w, struct group *group)
{
    rk_strategy legal;
    for (; group->legal < group->end; group->legal++) {
        struct batch *b = &s->batches[group->legal];
        if (rk_find_legal(s, w, b, &legal)) {
            break;
        }
        w->counts.by_rule += b->count;
        b->count = 0;
    }
    group->tight = group->end - group->legal < 2;
    if (group->legal == group->end) {
        group->open = true;
        return;
    }
    group->rough = is_known_slow(s, group);
    if (!group->rough) {
        bound_table(s, w, group, &legal);
    }
}

void rk_open_group(const rk_plan_bounds *s, struct worker *w, struct group *group, double reach,
                   double limit)
{
    const double *floors = &s->group_bounds[group->number * s->lists.pipe_count];
    rk_strategy legal;
    rk_chunk_times least = {0, 0, 0};
    double seconds = 0; /* of a microbatch on all ranks, with `least` in so many layers */
    int layers = 0;
    if (group->rough) { /* others may come first now */
        group->rough = false;
        if (rk_find_legal(s, w, &s->batches[group->legal], &legal)) {
            bound_table(s, w, group, &legal);
        }
        return;
    }
    bool costed =
        group->end - group->legal > 1 && rk_find_legal(s, w, &s->batches[group->legal], &legal);
    if (costed) {
        fill_group(s, w, &legal);
        least = least_of_group(s, w, group, &legal);
        if (group->tight) {
            rk_cost_table_lower_experts(&least, &w->table);
        } else if (bound_experts(s, w, group, &least, limit) > reach) {
            group->tight = true;
            group->loose = false;
            return;
        }
        seconds = rk_whole_seconds(&w->table, &s->whole, &layers);
        layers = legal.order == RK_ORDER_DATA_PIPELINE ? layers : 0; /* see least_of_group */
    }
    group->loose = false;
    group->tight = group->open = true;
    for (size_t i = group->legal; i < group->end; i++) {
        struct batch *b = &s->batches[i];
        const rk_chunk_times own = layers > 0 ? least_experts(s, w, b, &legal) : least;
        const double more =
            own.forward - least.forward + own.backward - least.backward + own.weight - least.weight;
        bound_batch(s, w, b, limit, floors, seconds + layers * more, &costed);
    }
}

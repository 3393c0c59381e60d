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

/* Empties the top lists of all parts. */
static void clear_tops(const rk_plan_bounds *s, rk_top *tops)
{
    for (int i = 0; i < RK_PLAN_PARTS; i++) {
        rk_top_clear(&tops[i]);
        rk_top_init(&tops[i], s->top_n, sizeof(rk_plan_entry));
    }
}

static void settle_batch(void *context, int worker_index, uint64_t index, rk_parallel *shared)
{
    rk_plan_bounds *s = context;
    struct worker *w = &s->workers[worker_index];
    struct batch *b = s->queue[s->done + index];
    clear_tops(s, w->top);
    const bool entered = rk_settle_batch(s, w, b);
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
    return rk_min(rk_limit_of(&s->top[part]), cutoff);
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
        w->first = malloc((l->pipe_count + 1) * sizeof(*w->first));
        w->nodes = malloc((l->shape_count + 1) * sizeof(*w->nodes));
        w->listed = malloc((l->pipe_count + 1) * sizeof(*w->listed));
        w->nowhere = calloc(l->unit_count + 1, sizeof(*w->nowhere));
        w->floors = calloc(l->floor_count * RK_PLAN_CHOICES + 1, sizeof(*w->floors));
        w->spent = calloc(l->floor_count + 1, sizeof(*w->spent));
        w->bases = calloc(l->floor_count + 1, sizeof(*w->bases));
        w->open_floors = malloc((l->floor_count + 1) * sizeof(*w->open_floors));
        /* few are ever filled, so that most of the memory is not touched */
        w->lane_floors =
            malloc((l->floor_count + 1) * (size_t)l->lane_count * sizeof(*w->lane_floors));
        if (!w->least || !w->first || !w->nodes || !w->listed || !w->nowhere || !w->floors ||
            !w->spent || !w->bases || !w->open_floors || !w->lane_floors || !rk_get_prices(s, w)) {
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
        free(s->workers[i].bases);
        free(s->workers[i].open_floors);
        free(s->workers[i].lane_floors);
        rk_put_prices(s, &s->workers[i]);
        free(s->workers[i].nodes);
        free(s->workers[i].listed);
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
    s->whole = rk_whole_blocks(model, &space->base);
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
    bounds->counts = bounds->tallies = true;
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
    bounds->tallies = true;
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
    s->counts = s->tallies = false;
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

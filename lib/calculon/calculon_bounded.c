/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded search: the ranking of the exhaustive one, with most mappings settled in groups.  Units
 * of one tensor degree and one microbatch are sorted by the lower bound of their mappings' times;
 * within a unit, so are its nodes, a family in a cell each.  Work goes in rounds that double in
 * size.  In a round every unit knows the times found by earlier rounds and by itself, not by its
 * neighbours, so the counts do not depend on the number of threads.
 */
#include "calculon/bounded_parts.h"

#include "base/error.h"
#include "base/extremes.h"
#include "calculon/calculon_inputs.h"
#include "calculon/execution.h"
#include "calculon/primitives.h"
#include "work/parallel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INLINE_TOTAL 4000000 /* mappings of a space that threads would not speed up */

/* A unit with what its mappings take at least. */
struct ranked_unit {
    double bound; /* s per sequence; infinite: no mapping fits the networks */
    size_t unit;
};

struct search {
    rk_bounded shared;
    rk_family cores[2][RK_FAMILY_MAX]; /* families without recompute, which bound the others */
    int core_count[2];
    struct ranked_unit *order; /* owned */
    size_t done;               /* units that are settled */
    rk_bounded_worker *workers;
    rk_optimizer_cost (**optimizers)[2][2]; /* owned; by worker and cell of the unit */
    int threads;
    atomic_bool no_bound; /* some mapping may be a fault: evaluate all, as published */
    const rk_search_control *control;
    uint64_t settled; /* mappings, in the rounds before */
};

/* Mappings of a cell at one microbatch whose networks fit. */
static uint64_t cell_size(const rk_bounded *s, size_t cell_index)
{
    const rk_space_cell *cell = &s->plan.cells[cell_index];
    return cell->v_count * s->plan.setting_count[cell->type] * s->nets[cell_index].count;
}

static int64_t microbatch_of(const rk_bounded *s, const rk_space_unit *unit)
{
    return s->units.microbatches.items[unit->b_first];
}

/* ---- bounds of units --------------------------------------------------------------------- */

/* Least block and message of all families and tiers. */
struct least {
    rk_bound_block block;
    double pp_size, weight_space;
};

/* Whether there is time free in which to offload, so that no mapping is a fault. */
static bool has_free_time(const rk_block_column *k)
{
    const double tiny = 1e-9;
    for (int z = RK_BASE; z <= RK_EDGE; z++) {
        const double fw = k->fw_time + k->fw_tp[z];
        const double bw = k->agrad_time + k->wgrad_time + k->agrad_tp[z];
        if (!(fw - k->fw_mem > tiny * fw) || !(bw - (k->agrad_mem + k->wgrad_mem) > tiny * bw)) {
            return false;
        }
    }
    return true;
}

static struct least least_of(struct search *s, const rk_block_column *columns, int count)
{
    assert(count >= 1);
    struct least least = {{(double)INFINITY, (double)INFINITY}, (double)INFINITY, 0};
    for (int i = 0; i < count; i++) {
        const rk_bound_block block = rk_bound_block_of(&columns[i]);
        least.block.base = rk_min(least.block.base, block.base);
        least.block.edge = rk_min(least.block.edge, block.edge);
        least.pp_size = rk_min(least.pp_size, columns[i].pp_size);
        if (!has_free_time(&columns[i])) {
            atomic_store(&s->no_bound, true);
        }
    }
    least.weight_space = columns[0].weight_space; /* the same of all */
    return least;
}

/* Lower bound on the time of the mappings of a cell at one microbatch, s per sequence. */
static double cell_bound(const rk_bounded *s, size_t cell_index, const struct least *least,
                         rk_batch_counts *batches)
{
    const rk_space_cell *cell = &s->plan.cells[cell_index];
    const rk_block_column column = {.weight_space = least->weight_space};
    const rk_optimizer_cost none = {0};
    double message = (double)INFINITY, pipeline = (double)INFINITY, once = (double)INFINITY;
    for (int j = 0; j < cell->nets[1]; j++) {
        message =
            rk_min(message, rk_network_seconds(&s->sys->networks[j], RK_P2P, least->pp_size, 2));
    }
    for (size_t v = 0; v < cell->v_count; v++) {
        pipeline = rk_min(pipeline, rk_bound_pipeline(&least->block, &batches[v], message));
    }
    for (int sharded = 0; sharded < 2; sharded++) {
        once = rk_min(once, rk_bound_once(s->app, s->sys, cell, &s->nets[cell_index], &column,
                                          &none, sharded));
    }
    return (pipeline + once) / (double)cell->B;
}

static void bound_unit(void *context, int worker_index, uint64_t index, rk_parallel *shared)
{
    struct search *s = context;
    rk_bounded_worker *w = &s->workers[worker_index];
    const rk_bounded *b = &s->shared;
    const rk_space_unit *unit = &b->units.items[index];
    const int64_t t = b->plan.cells[unit->cell_first].t, microbatch = microbatch_of(b, unit);
    const bool tensor = t > 1;
    struct ranked_unit *ranked = &s->order[index];
    *ranked = (struct ranked_unit){.bound = (double)INFINITY, .unit = (size_t)index};
    w->status = rk_families_price(b->app, b->sys, b->space, s->cores[tensor], s->core_count[tensor],
                                  t, microbatch, w->columns, &w->error);
    if (w->status) {
        atomic_store(&shared->stop, true);
        return;
    }
    const struct least least =
        least_of(s, w->columns, s->core_count[tensor] * rk_families_tiers(b->sys, t));
    for (size_t i = 0; i < unit->cell_count; i++) {
        const size_t c = unit->cell_first + i;
        const rk_space_cell *cell = &b->plan.cells[c];
        if (b->nets[c].count > 0 &&
            rk_space_find_microbatch(&b->plan, cell, microbatch) != SIZE_MAX) {
            rk_batches_fill(b->app, &b->plan, cell, microbatch, w->batches);
            ranked->bound = rk_min(ranked->bound, cell_bound(b, c, &least, w->batches));
            w->counts.bounds++;
        }
    }
}

static int compare_units(const void *a, const void *b)
{
    const struct ranked_unit *x = a, *y = b;
    return x->bound != y->bound ? (x->bound > y->bound ? 1 : -1)
                                : (x->unit > y->unit) - (x->unit < y->unit);
}

/* ---- nodes of a unit --------------------------------------------------------------------- */

static int compare_nodes(const void *a, const void *b)
{
    const rk_bounded_node *x = a, *y = b;
    if (x->bound != y->bound) {
        return x->bound > y->bound ? 1 : -1;
    }
    return x->cell != y->cell ? (x->cell > y->cell ? 1 : -1) : x->family - y->family;
}

/* Lower bound on the time of a family in a cell, s per sequence. */
static double node_bound(const rk_bounded *s, const rk_bounded_worker *w,
                         const rk_bounded_node *node, const rk_optimizer_cost o[2])
{
    const rk_space_cell *cell = &s->plan.cells[node->cell];
    const rk_net_fits *nets = &s->nets[node->cell];
    const int tiers = rk_families_tiers(s->sys, cell->t);
    const rk_block_column *columns = &w->columns[node->family * tiers];
    const int shardings = cell->type & RK_CELL_DATA ? 2 : 1;
    double pipeline = (double)INFINITY, once = (double)INFINITY;
    for (int i = 0; i < tiers; i++) {
        const rk_bound_block block = rk_bound_block_of(&columns[i]);
        for (int j = 0; j < cell->nets[1]; j++) {
            if (!nets->on_pipeline[i][j]) {
                continue;
            }
            const double message =
                rk_network_seconds(&s->sys->networks[j], RK_P2P, columns[i].pp_size, 2);
            for (size_t v = 0; v < cell->v_count; v++) {
                pipeline = rk_min(pipeline, rk_bound_pipeline(&block, &w->batches[v], message));
            }
        }
    }
    for (int sharding = 0; sharding < shardings; sharding++) {
        once = rk_min(once,
                      rk_bound_once(s->app, s->sys, cell, nets, columns, &o[sharding], sharding));
    }
    return (pipeline + once) / (double)cell->B;
}

/* Whether no lane of a node can fit. */
static bool is_too_large(const rk_bounded *s, const rk_bounded_worker *w,
                         const rk_bounded_node *node, const rk_optimizer_cost o[2])
{
    const rk_space_cell *cell = &s->plan.cells[node->cell];
    const bool tensor = cell->t > 1;
    const rk_block_column *column = &w->columns[node->family * rk_families_tiers(s->sys, cell->t)];
    const bool full = s->families[tensor][node->family].recompute == RK_RECOMPUTE_FULL;
    const double bytes =
        rk_bound_memory(s->sys, column, &o[(cell->type & RK_CELL_DATA) != 0], &w->batches[0], full);
    return bytes > s->sys->mem1.capacity * (1 + RK_BOUND_SLACK);
}

/* Lists the nodes of a cell that bounds do not settle.  Returns their new number. */
static size_t list_nodes(const rk_bounded *s, rk_bounded_worker *w, size_t cell_index,
                         int64_t microbatch, rk_optimizer_cost optimizers[2][2], size_t count)
{
    const rk_space_cell *cell = &s->plan.cells[cell_index];
    const bool tensor = cell->t > 1;
    const size_t b_index = rk_space_find_microbatch(&s->plan, cell, microbatch);
    if (b_index == SIZE_MAX || s->nets[cell_index].count == 0) {
        return count;
    }
    for (int i = 0; i < 4 && !w->status; i++) {
        if (i / 2 == 0 || tensor) {
            w->status = rk_optimizer_cost_of(s->app, s->sys, s->space, cell, microbatch, i / 2,
                                             i % 2, &optimizers[i / 2][i % 2], &w->error);
        }
    }
    rk_batches_fill(s->app, &s->plan, cell, microbatch, w->batches);
    for (int f = 0; f < s->family_count[tensor] && !w->status; f++) {
        const rk_family *family = &s->families[tensor][f];
        const rk_optimizer_cost *o = optimizers[family->tp_overlap != RK_OVERLAP_NONE];
        rk_bounded_node *node = &w->nodes[count];
        *node = (rk_bounded_node){.cell = cell_index, .b_index = b_index, .family = f};
        node->bound = node_bound(s, w, node, o);
        w->counts.bounds++;
        if (!(node->bound <= rk_bounded_limit(w))) {
            w->counts.by_time += rk_bounded_node_size(s, node);
            continue;
        }
        w->counts.bounds++;
        if (is_too_large(s, w, node, o)) {
            w->counts.by_memory += rk_bounded_node_size(s, node);
            continue;
        }
        count++;
    }
    return count;
}

static void settle_nodes(struct search *s, rk_bounded_worker *w, const rk_space_unit *unit,
                         rk_optimizer_cost (*optimizers)[2][2], size_t count)
{
    const rk_bounded *b = &s->shared;
    const int64_t microbatch = microbatch_of(b, unit);
    qsort(w->nodes, count, sizeof(*w->nodes), compare_nodes);
    for (size_t i = 0; i < count && !w->status; i++) {
        const rk_bounded_node *node = &w->nodes[i];
        if (!(node->bound <= rk_bounded_limit(w))) {
            w->counts.by_time += rk_bounded_node_size(b, node);
            continue;
        }
        rk_batches_fill(b->app, &b->plan, &b->plan.cells[node->cell], microbatch, w->batches);
        rk_bounded_node_settle(b, w, node, optimizers[node->cell - unit->cell_first]);
    }
}

/* ---- units ------------------------------------------------------------------------------- */

static uint64_t unit_size(const rk_bounded *s, const rk_space_unit *unit)
{
    uint64_t size = 0;
    for (size_t i = unit->cell_first; i < unit->cell_first + unit->cell_count; i++) {
        const bool has = rk_space_find_microbatch(&s->plan, &s->plan.cells[i],
                                                  microbatch_of(s, unit)) != SIZE_MAX;
        size += has ? cell_size(s, i) : 0;
    }
    return size;
}

static void settle_unit(void *context, int worker_index, uint64_t index, rk_parallel *shared)
{
    struct search *s = context;
    const rk_bounded *b = &s->shared;
    rk_bounded_worker *w = &s->workers[worker_index];
    const rk_space_unit *unit = &b->units.items[s->order[s->done + index].unit];
    const int64_t t = b->plan.cells[unit->cell_first].t, microbatch = microbatch_of(b, unit);
    const bool tensor = t > 1;
    size_t count = 0;
    rk_top_clear(&w->top);
    rk_top_init(&w->top, b->top_n, sizeof(rk_calculon_exe));
    w->status = rk_families_price(b->app, b->sys, b->space, b->families[tensor],
                                  b->family_count[tensor], t, microbatch, w->columns, &w->error);
    for (size_t i = 0; i < unit->cell_count && !w->status; i++) {
        count = list_nodes(b, w, unit->cell_first + i, microbatch, s->optimizers[worker_index][i],
                           count);
    }
    if (!w->status) {
        settle_nodes(s, w, unit, s->optimizers[worker_index], count);
    }
    if (!w->status) {
        w->status = rk_top_merge(&w->found, &w->top, &w->error);
    }
    atomic_fetch_add_explicit(&shared->done, unit_size(b, unit), memory_order_relaxed);
    if (w->status) {
        atomic_store(&shared->stop, true);
    }
}

/* ---- rounds ------------------------------------------------------------------------------ */

/* Runs `count` units of work, on threads if worthwhile. */
static rk_status run_units(struct search *s,
                           void (*work)(void *, int, uint64_t, rk_parallel *shared), uint64_t count,
                           rk_error *err)
{
    rk_status status = RK_OK;
    if (count == 1 || s->shared.plan.total < INLINE_TOTAL) {
        rk_parallel shared;
        atomic_init(&shared.done, 0);
        atomic_init(&shared.stop, false);
        for (uint64_t i = 0; i < count && !atomic_load(&shared.stop); i++) {
            work(s, 0, i, &shared);
        }
    } else {
        const int threads = count < (uint64_t)s->threads ? (int)count : s->threads;
        status = rk_parallel_search(s->control, s->settled, s->shared.plan.total, threads, count,
                                    work, s, err);
    }
    for (int i = 0; i < s->threads && !status; i++) {
        if (s->workers[i].status) {
            *err = s->workers[i].error;
            status = s->workers[i].status;
        }
    }
    return status;
}

/* Takes over what the workers found in a round. */
static rk_status end_round(struct search *s, rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = 0; i < s->threads && !status; i++) {
        rk_bounded_worker *w = &s->workers[i];
        status = rk_top_merge(&s->shared.top, &w->found, err);
        rk_top_clear(&w->found);
        rk_top_init(&w->found, s->shared.top_n, sizeof(rk_calculon_exe));
    }
    return status;
}

static rk_status run_rounds(struct search *s, rk_error *err)
{
    const rk_bounded *b = &s->shared;
    const size_t units = b->units.count;
    const double least_rate = s->control ? s->control->least_rate : 0;
    rk_status status = RK_OK;
    for (size_t size = 1; s->done < units && !status; size *= 2) {
        const double floor_rate = rk_max(rk_top_floor(&b->top), least_rate);
        const double most = floor_rate > 0 ? 1 / floor_rate : (double)INFINITY;
        size_t count = 0;
        while (count < size && s->done + count < units &&
               s->order[s->done + count].bound <= most * (1 + RK_BOUND_SLACK) &&
               s->order[s->done + count].bound < (double)INFINITY) {
            count++;
        }
        if (count == 0) {
            break;
        }
        for (int i = 0; i < s->threads; i++) {
            s->workers[i].most_seconds = most;
        }
        status = run_units(s, settle_unit, count, err);
        for (size_t i = 0; i < count; i++) {
            s->settled += unit_size(b, &b->units.items[s->order[s->done + i].unit]);
        }
        s->done += count;
        status = status ? status : end_round(s, err);
    }
    return status;
}

/* ---- the search -------------------------------------------------------------------------- */

static rk_status fail_memory(rk_error *err)
{
    return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the scratch of a search");
}

static rk_status init_workers(struct search *s, rk_error *err)
{
    const rk_bounded *b = &s->shared;
    const size_t tiers = (size_t)b->sys->network_count, cells = b->units.cells_max;
    s->workers = calloc((size_t)s->threads, sizeof(*s->workers));
    s->optimizers = calloc((size_t)s->threads, sizeof(*s->optimizers));
    if (!s->workers || !s->optimizers) {
        return fail_memory(err);
    }
    for (int i = 0; i < s->threads; i++) {
        rk_bounded_worker *w = &s->workers[i];
        rk_top_init(&w->top, b->top_n, sizeof(rk_calculon_exe));
        rk_top_init(&w->found, b->top_n, sizeof(rk_calculon_exe));
        w->columns = malloc(RK_FAMILY_MAX * tiers * sizeof(*w->columns));
        w->batches = malloc(b->units.v_max * sizeof(*w->batches));
        w->nodes = malloc(cells * RK_FAMILY_MAX * sizeof(*w->nodes));
        w->pass = rk_bounded_pass_new(b->units.v_max);
        s->optimizers[i] = malloc(cells * sizeof(*s->optimizers[i]));
        if (!w->columns || !w->batches || !w->nodes || !w->pass || !s->optimizers[i]) {
            return fail_memory(err);
        }
    }
    return RK_OK;
}

static void list_families(struct search *s)
{
    for (int tensor = 0; tensor < 2; tensor++) {
        rk_family *families = s->shared.families[tensor];
        const int count = rk_families_list(s->shared.space, tensor, families);
        s->shared.family_count[tensor] = count;
        for (int i = 0; i < count; i++) {
            /* fusing does not change times, and piping only adds to the ring's */
            if (families[i].recompute == RK_RECOMPUTE_NONE && !families[i].redo &&
                families[i].tp_overlap != RK_OVERLAP_PIPE &&
                families[i].fused == families[0].fused) {
                s->cores[tensor][s->core_count[tensor]++] = families[i];
            }
        }
    }
}

/* Finds which tiers hold the degrees of every cell. */
static rk_status check_networks(struct search *s, rk_bounded_counts *counts, rk_error *err)
{
    rk_bounded *b = &s->shared;
    b->nets = malloc(b->plan.cell_count * sizeof(*b->nets));
    if (!b->nets) {
        return fail_memory(err);
    }
    for (size_t i = 0; i < b->plan.cell_count; i++) {
        const rk_space_cell *cell = &b->plan.cells[i];
        rk_net_fits_of(b->sys, cell, &b->nets[i]);
        counts->by_rule += cell->v_count * b->plan.setting_count[cell->type] * cell->b_count *
                           (rk_space_net_count(cell) - b->nets[i].count);
    }
    return RK_OK;
}

static void clear_search(struct search *s)
{
    for (int i = 0; s->workers && i < s->threads; i++) {
        rk_bounded_worker *w = &s->workers[i];
        rk_top_clear(&w->top);
        rk_top_clear(&w->found);
        free(w->columns);
        free(w->batches);
        free(w->nodes);
        free(w->pass);
        free(s->optimizers ? s->optimizers[i] : NULL);
    }
    free(s->workers);
    free(s->optimizers);
    free(s->order);
    free(s->shared.nets);
    rk_top_clear(&s->shared.top);
    rk_space_units_clear(&s->shared.units);
    rk_space_plan_clear(&s->shared.plan);
}

/* Returns the ranking and adds up the counts; what no round reached was settled by time. */
static void report(struct search *s, rk_calculon_ranked *ranked, size_t *ranked_count,
                   rk_bounded_counts *counts)
{
    rk_top *top = &s->shared.top;
    for (int i = 0; i < s->threads; i++) {
        const rk_bounded_counts *own = &s->workers[i].counts;
        counts->evaluated += own->evaluated;
        counts->by_time += own->by_time;
        counts->by_memory += own->by_memory;
        counts->by_dominance += own->by_dominance;
        counts->bounds += own->bounds;
    }
    for (size_t i = s->done; i < s->shared.units.count; i++) {
        counts->by_time += unit_size(&s->shared, &s->shared.units.items[s->order[i].unit]);
    }
    rk_top_sort(top);
    *ranked_count = top->count;
    for (size_t i = 0; i < top->count; i++) {
        ranked[i] = (rk_calculon_ranked){
            .exe = *(const rk_calculon_exe *)rk_top_payload(top, i),
            .sample_rate = top->heap[i].score,
            .index = top->heap[i].index,
        };
    }
}

/* Every mapping evaluated: where bounds do not hold. */
static rk_status search_all(const rk_bounded *s, const rk_search_control *control,
                            rk_calculon_ranked *ranked, size_t *ranked_count,
                            rk_bounded_counts *counts, rk_error *err)
{
    rk_calculon_space space = *s->space;
    rk_search_control whole = control ? *control : (rk_search_control){0};
    rk_search_counts all;
    space.mbs_break = false;
    whole.slices = 0;
    const rk_status status = rk_calculon_search(s->app, s->sys, &space, &whole, s->top_n, ranked,
                                                ranked_count, &all, err);
    *counts = (rk_bounded_counts){.total = all.executed, .evaluated = all.executed};
    return status;
}

static rk_status search_units(struct search *s, rk_calculon_ranked *ranked, size_t *ranked_count,
                              rk_bounded_counts *counts, rk_error *err)
{
    rk_status status = run_units(s, bound_unit, s->shared.units.count, err);
    if (!status && atomic_load(&s->no_bound)) {
        return search_all(&s->shared, s->control, ranked, ranked_count, counts, err);
    }
    if (!status) {
        qsort(s->order, s->shared.units.count, sizeof(*s->order), compare_units);
        status = run_rounds(s, err);
    }
    if (!status) {
        report(s, ranked, ranked_count, counts);
    }
    return status;
}

rk_status rk_calculon_search_bounded(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                     const rk_calculon_space *space,
                                     const rk_search_control *control, size_t top_n,
                                     rk_calculon_ranked *ranked, size_t *ranked_count,
                                     rk_bounded_counts *counts, rk_error *err)
{
    struct search s = {
        .shared = {.app = app, .sys = sys, .space = space, .top_n = top_n},
        .threads = control && control->threads > 0 ? control->threads : rk_core_count(),
        .control = control,
    };
    rk_bounded *b = &s.shared;
    rk_status status;
    rk_error ignored;
    err = err ? err : &ignored;
    *ranked_count = 0;
    *counts = (rk_bounded_counts){0};
    atomic_init(&s.no_bound, false);
    rk_top_init(&b->top, top_n, sizeof(rk_calculon_exe));
    if ((status = rk_calculon_inputs_check(app, sys, err)) ||
        (status = rk_calculon_control_check(control, err)) ||
        (status = rk_calculon_sys_check(sys, space->datatype, err)) ||
        (status = rk_space_plan_init(app, sys, space, &b->plan, err)) ||
        (status = rk_space_units_init(&b->plan, false, &b->units, err)) || b->units.count == 0) {
        goto cleanup;
    }
    counts->total = b->plan.total;
    s.order = malloc(b->units.count * sizeof(*s.order));
    if (!s.order) {
        status = fail_memory(err);
    } else if (!(status = check_networks(&s, counts, err)) && !(status = init_workers(&s, err))) {
        list_families(&s);
        for (int i = 0; i < sys->network_count; i++) {
            b->usage[i] = sys->networks[i].processor_usage;
        }
        status = search_units(&s, ranked, ranked_count, counts, err);
    }
cleanup:
    clear_search(&s);
    return status;
}

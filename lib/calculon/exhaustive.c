/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exhaustive search.  The order of work is not the order of enumeration: work is cut into units of
 * one tensor degree t and one microbatch b, because the block depends on little else, so that each
 * block is built and priced once and then serves every pipeline degree, interleaving, sharding,
 * offload, data-parallel choice and network tier.  Rank and count do not depend on the order:
 * equal rates are ordered by the index of their mapping in the enumeration.
 */
#include "base/error.h"
#include "base/extremes.h"
#include "base/top.h"
#include "calculon/batch.h"
#include "calculon/calculon_inputs.h"
#include "calculon/execution.h"
#include "calculon/family.h"
#include "calculon/primitives.h"
#include "calculon/search_units.h"
#include "work/parallel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const rk_calculon_app *app;
    const rk_calculon_sys *sys;
    const rk_calculon_space *space;
    rk_space_plan plan;
    rk_space_units units;
    rk_family families[2][RK_FAMILY_MAX]; /* t = 1, t > 1 */
    int family_count[2];
    double usage[RK_NETWORK_MAX];
    struct worker *workers;
    size_t top_n;
    uint64_t slice, slices; /* of the control */
    double floor;           /* of the control; 0: none */
};

/* Scratch and results of one thread. */
struct worker {
    rk_top top;
    rk_search_counts counts;
    rk_block_column *columns;      /* [family][tier] of one (t, b) */
    rk_batch_counts *batches;      /* [v] */
    double (*limits)[RK_LANE_MAX]; /* [v] */
    bool *fitting;                 /* [v]: some lane fits */
    uint32_t *points;              /* [v]: of one pass of the kernel */
    unsigned char *dead;           /* with mbs_break: [cell of the unit][family][v][lane] */
    rk_status status;
    rk_error error;
};

/* Mappings of one family in a cell, for the callback of the kernel. */
struct family_run {
    const struct search *search;
    struct worker *worker;
    const rk_space_cell *cell;
    const rk_family *family;
    const rk_lanes *lanes;
    const rk_space_setting *settings; /* of each lane */
    size_t b_index;                   /* in the cell */
    int tensor_tier, pipeline_tier;
};

/* ---- one family in one cell -------------------------------------------------------------- */

/* Largest total time whose rate can still enter the top list; slightly generous. */
static double time_limit(const struct search *s, const struct worker *w, const rk_space_cell *cell)
{
    const double floor_rate = rk_max(rk_top_floor(&w->top), s->floor);
    return floor_rate <= 0 ? (double)INFINITY : (double)cell->B / floor_rate * (1 + 1e-14);
}

/* Offers the lanes within their limits to the top list. */
static void offer(void *user, size_t v_index, int data_tier, bool dp_overlap, const double *total)
{
    struct family_run *run = user;
    struct worker *w = run->worker;
    const rk_space_place place = {
        .v_index = v_index,
        .b_index = run->b_index,
        .nets = {run->tensor_tier, run->pipeline_tier, data_tier},
    };
    for (int i = 0; i < run->lanes->count && !w->status; i++) {
        if (!(total[i] <= w->limits[v_index][i])) {
            continue;
        }
        const double rate = (double)run->cell->B / total[i];
        if (rate < rk_top_floor(&w->top)) {
            continue;
        }
        rk_space_setting setting = run->settings[i];
        setting.dp_overlap = dp_overlap;
        const struct search *s = run->search;
        const rk_calculon_exe exe =
            rk_space_mapping(&s->plan, s->space, run->cell, &setting, &place);
        const uint64_t index = rk_space_index(&s->plan, run->cell, &setting, &place);
        w->status = rk_top_offer(&w->top, rate, index, &exe, &w->error);
    }
}

/*
 * Settles the memory of a family: limits of all lanes and interleavings, which interleavings fit,
 * counts of executed and fitting mappings.  With mbs_break, a lane that once had no good mapping is
 * dead for the larger microbatches.  Returns whether any mapping is good.
 */
static bool settle_memory(const struct family_run *run, const rk_block_column *column,
                          const rk_net_fits *nets, unsigned char *dead)
{
    struct worker *w = run->worker;
    const struct search *s = run->search;
    const rk_space_cell *cell = run->cell;
    const bool overlap = (cell->type & RK_CELL_DATA) && !s->space->no_dp_overlap;
    const uint64_t shared = (overlap ? 2 : 1);
    const double most = time_limit(s, w, cell);
    uint64_t executed = 0, good = 0;
    for (size_t v = 0; v < cell->v_count; v++) {
        const uint64_t good_before = good;
        double *limit = w->limits[v];
        rk_kernel_fit(s->sys, column, run->lanes, &w->batches[v],
                      run->family->recompute == RK_RECOMPUTE_FULL, most, limit);
        for (int i = 0; i < run->lanes->count; i++) {
            const bool alive = !dead || !dead[v * RK_LANE_MAX + (size_t)i];
            const bool fits = limit[i] >= 0 && nets->count > 0;
            executed += alive;
            good += alive && fits;
            if (dead && !fits) {
                dead[v * RK_LANE_MAX + (size_t)i] = 1;
            }
            if (!alive) {
                limit[i] = -1;
            }
        }
        w->fitting[v] = good > good_before;
    }
    w->counts.executed += executed * shared * rk_space_net_count(cell);
    w->counts.good += good * shared * nets->count;
    return good > 0;
}

/* A mapping without free time is a fault of the method; its evaluation says so. */
static void report_fault(struct family_run *run, const rk_space_setting *setting)
{
    const struct search *s = run->search;
    const rk_space_place place = {.b_index = run->b_index,
                                  .nets = {run->tensor_tier, run->pipeline_tier, 0}};
    const rk_calculon_exe exe = rk_space_mapping(&s->plan, s->space, run->cell, setting, &place);
    run->worker->status = rk_mapping_fault(s->app, s->sys, &exe, &run->worker->error);
}

/* Times the mappings of a family in a cell, where a lane fits and the networks hold the degrees. */
static void time_family(struct family_run *run, const rk_block_column *columns,
                        const rk_net_fits *nets)
{
    const struct search *s = run->search;
    const rk_space_cell *cell = run->cell;
    struct worker *w = run->worker;
    rk_kernel_pass pass = {
        .lanes = run->lanes,
        .counts = w->batches,
        .limit = (const double(*)[RK_LANE_MAX])w->limits,
        .points = w->points,
        .v_count = cell->v_count,
        .tier_count = cell->nets[2],
        .usage = s->usage,
        .overlap = (cell->type & RK_CELL_DATA) && !s->space->no_dp_overlap,
        .hit = offer,
        .user = run,
    };
    for (int i = 0; i < cell->nets[0]; i++) {
        for (int j = 0; j < cell->nets[1] && !w->status; j++) {
            const double size = cell->p > 1 ? columns[i].pp_size : 0;
            uint32_t points = 0;
            for (int k = 0; k < cell->nets[2]; k++) {
                points |=
                    nets->fits[i][j][k] ? rk_kernel_point(k, false) | rk_kernel_point(k, true) : 0;
            }
            if (!points) {
                continue;
            }
            for (size_t v = 0; v < cell->v_count; v++) {
                w->points[v] = w->fitting[v] ? points : 0;
            }
            run->tensor_tier = pass.tensor_tier = i;
            run->pipeline_tier = pass.pipeline_tier = j;
            pass.column = &columns[i];
            pass.pp_time = rk_network_seconds(&s->sys->networks[j], RK_P2P, size, 2);
            if (rk_kernel_no_free_time(&columns[i], pass.pp_time)) {
                report_fault(run, &run->settings[0]); /* nothing offloaded */
            }
            rk_kernel_run(&pass);
        }
    }
}

/* ---- one cell at one microbatch ---------------------------------------------------------- */

static void search_cell(const struct search *s, struct worker *w, const rk_space_cell *cell,
                        size_t b_index, unsigned char *dead)
{
    assert(b_index < cell->b_count);
    const int tensor = cell->t > 1, tiers = rk_families_tiers(s->sys, cell->t);
    const int64_t b = s->plan.values[cell->b_first + b_index];
    rk_optimizer_cost optimizers[2][2]; /* by tiled, sharded */
    rk_net_fits nets;
    rk_net_fits_of(s->sys, cell, &nets);
    rk_batches_fill(s->app, &s->plan, cell, b, w->batches);
    for (int i = 0; i < 4 && !w->status; i++) {
        if (i / 2 == 0 || tensor) {
            w->status = rk_optimizer_cost_of(s->app, s->sys, s->space, cell, b, i / 2, i % 2,
                                             &optimizers[i / 2][i % 2], &w->error);
        }
    }
    for (int f = 0; f < s->family_count[tensor] && !w->status; f++) {
        const rk_family *family = &s->families[tensor][f];
        const rk_block_column *columns = &w->columns[f * tiers];
        const rk_optimizer_cost *o = optimizers[family->tp_overlap != RK_OVERLAP_NONE];
        rk_space_setting settings[RK_LANE_MAX];
        rk_lanes lanes;
        const int count = rk_lanes_list(s->sys, cell, family, settings);
        for (int i = 0; i < count; i++) {
            rk_lane_fill(s->app, s->sys, cell, columns, &o[settings[i].optimizer_sharding],
                         &settings[i], i, &lanes);
        }
        rk_lanes_pad(count, &lanes);
        struct family_run run = {
            .search = s,
            .worker = w,
            .cell = cell,
            .family = family,
            .lanes = &lanes,
            .settings = settings,
            .b_index = b_index,
        };
        unsigned char *family_dead = dead ? dead + (size_t)f * s->units.v_max * RK_LANE_MAX : NULL;
        if (settle_memory(&run, columns, &nets, family_dead)) {
            time_family(&run, columns, &nets);
        }
    }
}

/* ---- units ------------------------------------------------------------------------------- */

static size_t dead_size(const struct search *s)
{
    return (size_t)RK_FAMILY_MAX * s->units.v_max * RK_LANE_MAX;
}

static void search_unit(void *context, int worker_index, uint64_t number, rk_parallel *shared)
{
    struct search *s = context;
    struct worker *w = &s->workers[worker_index];
    const rk_space_unit *unit = &s->units.items[rk_slice_unit(number, s->slice, s->slices)];
    const int64_t t = s->plan.cells[unit->cell_first].t;
    if (w->dead) {
        memset(w->dead, 0, unit->cell_count * dead_size(s));
    }
    for (size_t j = 0; j < unit->b_count; j++) {
        const int64_t b = s->units.microbatches.items[unit->b_first + j];
        w->status = rk_families_price(s->app, s->sys, s->space, s->families[t > 1],
                                      s->family_count[t > 1], t, b, w->columns, &w->error);
        for (size_t i = 0; i < unit->cell_count && !w->status; i++) {
            const rk_space_cell *cell = &s->plan.cells[unit->cell_first + i];
            const size_t b_index = rk_space_find_microbatch(&s->plan, cell, b);
            if (b_index == SIZE_MAX) {
                continue;
            }
            search_cell(s, w, cell, b_index, w->dead ? w->dead + i * dead_size(s) : NULL);
            atomic_fetch_add_explicit(&shared->done,
                                      cell->v_count * s->plan.setting_count[cell->type] *
                                          rk_space_net_count(cell),
                                      memory_order_relaxed);
            if (atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
                return;
            }
        }
        if (w->status) {
            atomic_store(&shared->stop, true);
            return;
        }
    }
}

/* ---- the search -------------------------------------------------------------------------- */

static rk_status init_workers(struct search *s, int threads, rk_error *err)
{
    assert(threads >= 1);
    const size_t tiers = (size_t)s->sys->network_count;
    s->workers = calloc((size_t)threads, sizeof(*s->workers));
    if (!s->workers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %d threads", threads);
    }
    for (int i = 0; i < threads; i++) {
        struct worker *w = &s->workers[i];
        rk_top_init(&w->top, s->top_n, sizeof(rk_calculon_exe));
        w->columns = malloc(RK_FAMILY_MAX * tiers * sizeof(*w->columns));
        w->batches = malloc(s->units.v_max * sizeof(*w->batches));
        w->limits = aligned_alloc(64, s->units.v_max * sizeof(*w->limits));
        w->fitting = malloc(s->units.v_max * sizeof(*w->fitting));
        w->points = malloc(s->units.v_max * sizeof(*w->points));
        w->dead = s->space->mbs_break ? malloc(s->units.cells_max * dead_size(s)) : NULL;
        if (!w->columns || !w->batches || !w->limits || !w->fitting || !w->points ||
            (s->space->mbs_break && !w->dead)) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the scratch of a search");
        }
    }
    return RK_OK;
}

static void clear_search(struct search *s, int threads)
{
    for (int i = 0; s->workers && i < threads; i++) {
        rk_top_clear(&s->workers[i].top);
        free(s->workers[i].columns);
        free(s->workers[i].batches);
        free(s->workers[i].limits);
        free(s->workers[i].fitting);
        free(s->workers[i].points);
        free(s->workers[i].dead);
    }
    free(s->workers);
    rk_space_units_clear(&s->units);
    rk_space_plan_clear(&s->plan);
}

/* Adds up what the workers found, the top lists in one. */
static rk_status merge_workers(struct search *s, int threads, rk_calculon_ranked *ranked,
                               size_t *ranked_count, rk_search_counts *counts, rk_error *err)
{
    assert(threads >= 1);
    rk_top *top = &s->workers[0].top;
    for (int i = 0; i < threads; i++) {
        const struct worker *w = &s->workers[i];
        if (w->status) {
            *err = w->error;
            return w->status;
        }
        counts->executed += w->counts.executed;
        counts->good += w->counts.good;
        const rk_status status = i > 0 ? rk_top_merge(top, &w->top, err) : RK_OK;
        if (status) {
            return status;
        }
    }
    counts->bad = counts->executed - counts->good;
    rk_top_sort(top);
    *ranked_count = top->count;
    for (size_t i = 0; i < top->count; i++) {
        ranked[i] = (rk_calculon_ranked){
            .exe = *(const rk_calculon_exe *)rk_top_payload(top, i),
            .sample_rate = top->heap[i].score,
            .index = top->heap[i].index,
        };
    }
    return RK_OK;
}

rk_status rk_calculon_search(const rk_calculon_app *app, const rk_calculon_sys *sys,
                             const rk_calculon_space *space, const rk_search_control *control,
                             size_t top_n, rk_calculon_ranked *ranked, size_t *ranked_count,
                             rk_search_counts *counts, rk_error *err)
{
    const int threads = control && control->threads > 0 ? control->threads : rk_core_count();
    struct search s = {.app = app,
                       .sys = sys,
                       .space = space,
                       .top_n = top_n,
                       .slice = control ? control->slice : 0,
                       .slices = control ? control->slices : 0,
                       .floor = control && control->floor ? *control->floor : 0};
    rk_status status;
    rk_error ignored;
    err = err ? err : &ignored;
    *ranked_count = 0;
    *counts = (rk_search_counts){0};
    if ((status = rk_calculon_inputs_check(app, sys, err)) ||
        (status = rk_calculon_control_check(control, err)) ||
        (status = rk_calculon_sys_check(sys, space->datatype, err)) ||
        (status = rk_space_plan_init(app, sys, space, &s.plan, err)) ||
        (status = rk_space_units_init(&s.plan, space->mbs_break, &s.units, err)) ||
        s.units.count == 0 || (status = init_workers(&s, threads, err))) {
        goto cleanup;
    }
    for (int tensor = 0; tensor < 2; tensor++) {
        s.family_count[tensor] = rk_families_list(space, tensor, s.families[tensor]);
    }
    for (int i = 0; i < sys->network_count; i++) {
        s.usage[i] = sys->networks[i].processor_usage;
    }
    status =
        rk_parallel_search(control, 0, s.plan.total / (s.slices ? s.slices : 1), threads,
                           rk_slice_count(s.units.count, s.slice, s.slices), search_unit, &s, err);
    if (!status) {
        status = merge_workers(&s, threads, ranked, ranked_count, counts, err);
    }
cleanup:
    clear_search(&s, threads);
    return status;
}

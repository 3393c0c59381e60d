/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exhaustive search.  The order of work is not the order of enumeration: work is cut into units of
 * one tensor degree t and one microbatch b, because the block depends on little else, so that each
 * block is built and priced once and then serves every pipeline degree, interleaving, sharding,
 * offload, data-parallel choice and network tier.  Rank and count do not depend on the order:
 * equal rates are ordered by the index of their mapping in the enumeration.
 */
#include "base/divisors.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/top.h"
#include "calculon/batch.h"
#include "calculon/block.h"
#include "calculon/execution.h"
#include "calculon/primitives.h"
#include "calculon/search_kernel.h"
#include "calculon/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The choices that the block depends on, besides t, b and the tier: a family of mappings. */
struct family {
    rk_recompute recompute;
    rk_tp_comm comm;
    bool redo;
    rk_tp_overlap tp_overlap;
    bool fused;
};

#define FAMILY_MAX 66 /* 11 of recompute, comm, redo; 3 overlaps; 2 of fused */

/* A unit of work: the microbatches b_first .. b_first+b_count-1 of one t. */
struct unit {
    size_t cell_first, cell_count; /* cells of this t */
    size_t b_first, b_count;       /* in search->microbatches */
};

struct search {
    const rk_calculon_app *app;
    const rk_calculon_sys *sys;
    const rk_calculon_space *space;
    rk_space_plan plan;
    struct unit *units;
    size_t unit_count;
    rk_int_list microbatches;
    size_t v_max;                          /* interleavings of one cell, at most */
    struct family families[2][FAMILY_MAX]; /* t = 1, t > 1 */
    int family_count[2];
    double usage[RK_NETWORK_MAX];
    struct worker *workers;
    size_t top_n;
};

/* Scratch and results of one thread. */
struct worker {
    rk_top top;
    rk_search_counts counts;
    rk_block_column *columns;      /* [family][tier] of one (t, b) */
    rk_batch_counts *batches;      /* [v] */
    double (*limits)[RK_LANE_MAX]; /* [v] */
    unsigned char *dead;           /* with mbs_break: [cell of the unit][family][v][lane] */
    rk_status status;
    rk_error error;
};

/* What is being worked on, for the callback of the kernel. */
struct family_run {
    const struct search *search;
    struct worker *worker;
    const rk_space_cell *cell;
    const struct family *family;
    const rk_lanes *lanes;
    const rk_space_setting *settings; /* of each lane */
    size_t b_index;                   /* in the cell */
    int tensor_tier, pipeline_tier;
    bool fits_network[RK_NETWORK_MAX]; /* by data-parallel tier */
};

/* ---- families and lanes ------------------------------------------------------------------ */

static void list_families(struct search *s, int tensor)
{
    const rk_calculon_space *space = s->space;
    const int overlaps = tensor && !space->no_tp_overlap ? 3 : 1;
    int count = 0;
    for (int rec = RK_RECOMPUTE_FULL; rec <= RK_RECOMPUTE_NONE; rec++) {
        for (int comm = RK_TP_AR; comm <= RK_TP_RS_AG; comm++) {
            const int redos = comm == RK_TP_RS_AG && rec != RK_RECOMPUTE_FULL ? 2 : 1;
            for (int i = 0; i < redos * overlaps * space->fused_count; i++) {
                s->families[tensor][count++] = (struct family){
                    .recompute = (rk_recompute)rec,
                    .comm = (rk_tp_comm)comm,
                    .redo = i % redos,
                    .tp_overlap = (rk_tp_overlap)(i / redos % overlaps),
                    .fused = space->fused[i / redos / overlaps],
                };
            }
        }
    }
    s->family_count[tensor] = count;
}

/* The settings of the lanes of a family in a cell.  Returns their number. */
static int list_lanes(const rk_calculon_sys *sys, const rk_space_cell *cell,
                      const struct family *family, rk_space_setting settings[RK_LANE_MAX])
{
    const bool mem2 = sys->mem2.capacity > 0;
    const bool activations = mem2 && family->recompute != RK_RECOMPUTE_FULL;
    const int shardings = cell->type & RK_CELL_DATA ? 2 : 1;
    const int offloads[3] = {mem2 ? 2 : 1, activations ? 2 : 1, mem2 ? 2 : 1};
    const int count = shardings * offloads[0] * offloads[1] * offloads[2];
    for (int i = 0; i < count; i++) {
        int rest = i;
        rk_space_setting setting = {
            .recompute = family->recompute,
            .comm = family->comm,
            .redo = family->redo,
            .tp_overlap = family->tp_overlap,
            .fused = family->fused,
        };
        setting.optimizer_offload = rest % offloads[2];
        rest /= offloads[2];
        setting.activations_offload = rest % offloads[1];
        rest /= offloads[1];
        setting.weight_offload = rest % offloads[0];
        setting.optimizer_sharding = rest / offloads[0];
        settings[i] = setting;
    }
    return count;
}

/* ---- columns of one (t, b) --------------------------------------------------------------- */

static rk_calculon_exe column_mapping(const struct search *s, int64_t t, int64_t b,
                                      const struct family *family, int tier)
{
    return (rk_calculon_exe){
        .num_procs = s->space->num_procs,
        .tensor_par = t,
        .pipeline_par = 2, /* any but 1: the message between stages is priced */
        .data_par = 1,
        .tensor_par_net = tier,
        .batch_size = b,
        .microbatch_size = b,
        .datatype = s->space->datatype,
        .fused_activation = family->fused,
        .attention_type = RK_MULTIHEAD,
        .activation_recompute = family->recompute,
        .pipeline_interleaving = 1,
        .tensor_par_comm_type = family->comm,
        .tensor_par_overlap = family->tp_overlap,
        .seq_par_ag_redo = family->redo,
        .training = true,
    };
}

static void fill_column(const rk_calculon_stats *s, rk_block_column *k)
{
    *k = (rk_block_column){
        .fw_time = s->block_fw_time,
        .agrad_time = s->block_agrad_time,
        .wgrad_time = s->block_wgrad_time,
        .re_time = s->block_re_time,
        .fw_mem = s->block_fw_mem_time,
        .agrad_mem = s->block_agrad_mem_time,
        .wgrad_mem = s->block_wgrad_mem_time,
        .re_mem = s->block_re_mem_time,
        .agrad_flops = s->block_agrad_flops_time,
        .wgrad_flops = s->block_wgrad_flops_time,
        .re_flops = s->block_re_flops_time,
        .fw_tp = {s->baseblock_fw_tp_time_exposed, s->edgeblock_fw_tp_time_exposed},
        .agrad_tp = {s->baseblock_agrad_tp_time_exposed, s->edgeblock_agrad_tp_time_exposed},
        .recomm = {s->baseblock_recomm_time_exposed, s->edgeblock_recomm_time_exposed},
        .tp_conflict = {s->baseblock_recomm_time + s->baseblock_agrad_tp_time,
                        s->edgeblock_recomm_time + s->edgeblock_agrad_tp_time},
        .weight_space = s->block_weight_space,
        .working_space = s->block_act_working_space,
        .storage_space = s->block_act_storage_space,
        .checkpoint_size = s->block_act_checkpoint_size,
        .act_grad_space = s->block_act_grad_space,
        .gradient_unsharded = s->block_weight_grad_space_no_sharding,
        .pp_size = s->block_fw_pp_size,
    };
}

static int tensor_tiers(const struct search *s, int64_t t)
{
    return t > 1 ? s->sys->network_count : 1;
}

static rk_status build_columns(const struct search *s, struct worker *w, int64_t t, int64_t b)
{
    const int tensor = t > 1, tiers = tensor_tiers(s, t);
    for (int f = 0; f < s->family_count[tensor]; f++) {
        for (int tier = 0; tier < tiers; tier++) {
            rk_block block;
            rk_calculon_stats stats;
            const rk_calculon_exe exe = column_mapping(s, t, b, &s->families[tensor][f], tier);
            const rk_status status =
                rk_block_evaluate(s->app, s->sys, &exe, &block, &stats, &w->error);
            if (status) {
                return status;
            }
            fill_column(&stats, &w->columns[f * tiers + tier]);
        }
    }
    return RK_OK;
}

/* ---- optimizer --------------------------------------------------------------------------- */

/* Optimizer of one block, by sharding and by whether the linears are tiled. */
struct optimizer {
    double time, mem_time, flops_time; /* s */
    double state, gradient;            /* bytes */
};

static rk_status build_optimizer(const struct search *s, const rk_space_cell *cell, int64_t b,
                                 bool tiled, bool sharded, struct optimizer *o, rk_error *err)
{
    const struct family family = {.tp_overlap = tiled ? RK_OVERLAP_RING : RK_OVERLAP_NONE};
    rk_calculon_exe exe = column_mapping(s, cell->t, b, &family, 0);
    rk_block block;
    rk_calculon_stats stats = {0};
    exe.data_par = cell->D;
    exe.optimizer_sharding = sharded;
    const rk_status status = rk_block_shape_init(s->app, &exe, &block.shape, err);
    if (status) {
        return status;
    }
    block.layer_count = rk_block_layers(s->app, &exe, &block.shape, block.layers);
    rk_block_evaluate_optimizer(s->sys, &exe, &block, &stats);
    *o = (struct optimizer){
        .time = stats.block_optim_time,
        .mem_time = stats.block_optim_mem_time,
        .flops_time = stats.block_optim_flops_time,
        .state = stats.block_optimizer_space,
        .gradient = stats.block_weight_grad_space,
    };
    return RK_OK;
}

/* ---- one family in one cell -------------------------------------------------------------- */

static void fill_reduce(const struct search *s, const rk_space_cell *cell, double bytes,
                        bool sharded, int lane, rk_lanes *lanes)
{
    const double ranks = (double)cell->D;
    for (int tier = 0; tier < cell->nets[2]; tier++) {
        const rk_calculon_network *net = &s->sys->networks[tier];
        double seconds = 0;
        if (cell->D > 1 && sharded) {
            seconds = rk_network_seconds(net, RK_REDUCE_SCATTER, bytes, ranks) +
                      rk_network_seconds(net, RK_ALL_GATHER, bytes, ranks);
        } else if (cell->D > 1) {
            seconds = rk_network_seconds(net, RK_ALL_REDUCE, bytes, ranks);
        }
        lanes->reduce[tier][lane] = seconds;
    }
}

static void fill_lane(const struct search *s, const rk_space_cell *cell, const rk_block_column *k,
                      const struct optimizer *o, const rk_space_setting *setting, int i,
                      rk_lanes *lanes)
{
    const double L = (double)(s->app->num_blocks / cell->p);
    const bool w = setting->weight_offload, a = setting->activations_offload;
    const bool x = setting->optimizer_offload;
    const double weights = w ? k->weight_space : 0;
    const double kept =
        setting->recompute == RK_RECOMPUTE_FULL ? k->checkpoint_size : k->storage_space;
    const double activations = a ? kept : 0;
    const double size_bw = weights + activations + (x ? o->state : 0);

    lanes->act_offloaded[i] = a ? 1 : 0;
    lanes->least_blocks[i] = w || a || x ? 3 : 0;
    lanes->off_fw[i] =
        rk_curve_seconds(&s->sys->mem2.curve, weights > activations ? weights : activations);
    lanes->off_bw[i] = rk_curve_seconds(&s->sys->mem2.curve, size_bw);
    lanes->step[i] = L * o->time;
    lanes->gap[i] = setting->optimizer_sharding ? 0 : o->time - o->mem_time;
    lanes->step_flops[i] = setting->optimizer_sharding ? 0 : o->flops_time;
    fill_reduce(s, cell, k->weight_space, setting->optimizer_sharding, i, lanes);

    lanes->weight1[i] = w ? 2 * k->weight_space : L * k->weight_space;
    lanes->weight2[i] = w ? L * k->weight_space : 0;
    lanes->optim1[i] = x ? k->gradient_unsharded + o->gradient + 2 * o->state
                         : k->gradient_unsharded + o->gradient * (L - 1) + L * o->state;
    lanes->optim2[i] = x ? o->gradient * L + L * o->state : 0;
}

/* Lanes that fill up the last group never fit. */
static void pad_lanes(int count, rk_lanes *lanes)
{
    lanes->count = count;
    lanes->padded = (count + RK_LANE_WIDTH - 1) / RK_LANE_WIDTH * RK_LANE_WIDTH;
    for (int i = count; i < lanes->padded; i++) {
        lanes->act_offloaded[i] = 0;
        lanes->least_blocks[i] = (double)INFINITY;
        lanes->off_fw[i] = lanes->off_bw[i] = lanes->step[i] = lanes->gap[i] = 0;
        lanes->step_flops[i] = lanes->weight1[i] = lanes->weight2[i] = 0;
        lanes->optim1[i] = lanes->optim2[i] = 0;
        for (int tier = 0; tier < RK_NETWORK_MAX; tier++) {
            lanes->reduce[tier][i] = 0;
        }
    }
}

/* Largest total time whose rate can still enter the top list; slightly generous. */
static double time_limit(const struct worker *w, const rk_space_cell *cell)
{
    const double floor_rate = rk_top_floor(&w->top);
    return floor_rate <= 0 ? (double)INFINITY : (double)cell->B / floor_rate * (1 + 1e-14);
}

/* Offers the lanes within their limits to the top list. */
static void offer(void *user, size_t v_index, int data_tier, bool dp_overlap, const double *total)
{
    struct family_run *run = user;
    struct worker *w = run->worker;
    if (!run->fits_network[data_tier]) {
        return;
    }
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

/* Network tiers of a cell that its degrees fit; [tensor][pipeline][data], and their number. */
struct net_fits {
    bool fits[RK_NETWORK_MAX][RK_NETWORK_MAX][RK_NETWORK_MAX];
    uint64_t count;
};

static void check_networks(const struct search *s, const rk_space_cell *cell, struct net_fits *nets)
{
    rk_calculon_exe exe = {.tensor_par = cell->t, .pipeline_par = cell->p, .data_par = cell->D};
    nets->count = 0;
    for (int i = 0; i < cell->nets[0]; i++) {
        for (int j = 0; j < cell->nets[1]; j++) {
            for (int k = 0; k < cell->nets[2]; k++) {
                int tier;
                exe.tensor_par_net = i;
                exe.pipeline_par_net = j;
                exe.data_par_net = k;
                nets->fits[i][j][k] = rk_network_verdict(s->sys, &exe, &tier) == RK_FITS;
                nets->count += nets->fits[i][j][k];
            }
        }
    }
}

/*
 * Settles the memory of a family: limits of all lanes and interleavings, counts of executed and
 * fitting mappings.  With mbs_break, a lane that once had no good mapping is dead for the larger
 * microbatches.  Returns whether any mapping is good.
 */
static bool settle_memory(const struct family_run *run, const rk_block_column *column,
                          const struct net_fits *nets, unsigned char *dead)
{
    struct worker *w = run->worker;
    const struct search *s = run->search;
    const rk_space_cell *cell = run->cell;
    const bool overlap = (cell->type & RK_CELL_DATA) && !s->space->no_dp_overlap;
    const uint64_t shared = (overlap ? 2 : 1);
    const double most = time_limit(w, cell);
    uint64_t executed = 0, good = 0;
    for (size_t v = 0; v < cell->v_count; v++) {
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
    }
    w->counts.executed += executed * shared * rk_space_net_count(cell);
    w->counts.good += good * shared * nets->count;
    return good > 0;
}

/* A mapping without free time is a fault of the method; the evaluation of it says so. */
static void report_fault(struct family_run *run, const rk_space_setting *setting)
{
    const struct search *s = run->search;
    const rk_space_place place = {.b_index = run->b_index,
                                  .nets = {run->tensor_tier, run->pipeline_tier, 0}};
    rk_calculon_exe exe = rk_space_mapping(&s->plan, s->space, run->cell, setting, &place);
    rk_calculon_sys roomy = *s->sys;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    roomy.mem1.capacity = roomy.mem2.capacity = (double)INFINITY;
    for (int i = 0; i < roomy.network_count; i++) {
        roomy.networks[i].size = INT64_MAX;
        roomy.networks[i].must_be_filled = false;
    }
    run->worker->status = rk_calculon_evaluate(s->app, &roomy, &exe, &stats, NULL, NULL, &verdict,
                                               &run->worker->error);
}

/* Times all mappings of a family in a cell. */
static void time_family(struct family_run *run, const rk_block_column *columns,
                        const struct net_fits *nets, bool any_good)
{
    const struct search *s = run->search;
    const rk_space_cell *cell = run->cell;
    rk_kernel_pass pass = {
        .lanes = run->lanes,
        .counts = run->worker->batches,
        .limit = (const double(*)[RK_LANE_MAX])run->worker->limits,
        .v_count = cell->v_count,
        .tier_count = cell->nets[2],
        .usage = s->usage,
        .overlap = (cell->type & RK_CELL_DATA) && !s->space->no_dp_overlap,
        .hit = offer,
        .user = run,
    };
    for (int i = 0; i < cell->nets[0]; i++) {
        for (int j = 0; j < cell->nets[1] && !run->worker->status; j++) {
            const double size = cell->p > 1 ? columns[i].pp_size : 0;
            bool fits = false;
            for (int k = 0; k < cell->nets[2]; k++) {
                run->fits_network[k] = nets->fits[i][j][k];
                fits = fits || nets->fits[i][j][k];
            }
            run->tensor_tier = pass.tensor_tier = i;
            run->pipeline_tier = pass.pipeline_tier = j;
            pass.column = &columns[i];
            pass.pp_time = rk_network_seconds(&s->sys->networks[j], RK_P2P, size, 2);
            if (any_good && fits && rk_kernel_no_free_time(&columns[i], pass.pp_time)) {
                report_fault(run, &run->settings[0]); /* nothing offloaded */
            }
            rk_kernel_run(&pass);
        }
    }
}

/* ---- one cell at one microbatch ---------------------------------------------------------- */

static void fill_batches(const struct search *s, const rk_space_cell *cell, int64_t b,
                         rk_batch_counts *batches)
{
    const int64_t M = cell->B / cell->D / b, p = cell->p, rest = M % p;
    const int64_t L = s->app->num_blocks / p;
    const double in_flight = (double)(M < p ? M : p);
    for (size_t i = 0; i < cell->v_count; i++) {
        const int64_t v = s->plan.values[cell->v_first + i];
        batches[i] = (rk_batch_counts){
            .L = (double)L,
            .c = (double)(L / v),
            .v = (double)v,
            .M = (double)M,
            .p = (double)p,
            .last_group = (double)(rest ? rest : p),
            .extra = rest ? (double)(v - 1) * (double)(p - rest) : 0,
            .depth =
                v == 1 ? in_flight : in_flight * (1 + (double)(p - 1) / ((double)v * (double)p)),
        };
    }
}

static void search_cell(const struct search *s, struct worker *w, const rk_space_cell *cell,
                        size_t b_index, unsigned char *dead)
{
    const int tensor = cell->t > 1, tiers = tensor_tiers(s, cell->t);
    const int64_t b = s->plan.values[cell->b_first + b_index];
    struct optimizer optimizers[2][2]; /* by tiled, sharded */
    struct net_fits nets;
    check_networks(s, cell, &nets);
    fill_batches(s, cell, b, w->batches);
    for (int i = 0; i < 4 && !w->status; i++) {
        if (i / 2 == 0 || tensor) {
            w->status =
                build_optimizer(s, cell, b, i / 2, i % 2, &optimizers[i / 2][i % 2], &w->error);
        }
    }
    for (int f = 0; f < s->family_count[tensor] && !w->status; f++) {
        const struct family *family = &s->families[tensor][f];
        const rk_block_column *columns = &w->columns[f * tiers];
        const struct optimizer *o = optimizers[family->tp_overlap != RK_OVERLAP_NONE];
        rk_space_setting settings[RK_LANE_MAX];
        rk_lanes lanes;
        const int count = list_lanes(s->sys, cell, family, settings);
        for (int i = 0; i < count; i++) {
            fill_lane(s, cell, columns, &o[settings[i].optimizer_sharding], &settings[i], i,
                      &lanes);
        }
        pad_lanes(count, &lanes);
        struct family_run run = {
            .search = s,
            .worker = w,
            .cell = cell,
            .family = family,
            .lanes = &lanes,
            .settings = settings,
            .b_index = b_index,
        };
        unsigned char *family_dead = dead ? dead + (size_t)f * s->v_max * RK_LANE_MAX : NULL;
        const bool any_good = settle_memory(&run, columns, &nets, family_dead);
        time_family(&run, columns, &nets, any_good);
    }
}

/* ---- units ------------------------------------------------------------------------------- */

static size_t dead_size(const struct search *s)
{
    return (size_t)FAMILY_MAX * s->v_max * RK_LANE_MAX;
}

/* Returns the place of b among the microbatches of a cell, or SIZE_MAX. */
static size_t find_microbatch(const struct search *s, const rk_space_cell *cell, int64_t b)
{
    for (size_t i = 0; i < cell->b_count; i++) {
        if (s->plan.values[cell->b_first + i] == b) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void search_unit(void *context, int worker_index, uint64_t unit_index, rk_parallel *shared)
{
    struct search *s = context;
    struct worker *w = &s->workers[worker_index];
    const struct unit *unit = &s->units[unit_index];
    const int64_t t = s->plan.cells[unit->cell_first].t;
    if (w->dead) {
        memset(w->dead, 0, unit->cell_count * dead_size(s));
    }
    for (size_t j = 0; j < unit->b_count; j++) {
        const int64_t b = s->microbatches.items[unit->b_first + j];
        w->status = build_columns(s, w, t, b);
        for (size_t i = 0; i < unit->cell_count && !w->status; i++) {
            const rk_space_cell *cell = &s->plan.cells[unit->cell_first + i];
            const size_t b_index = find_microbatch(s, cell, b);
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

static int compare_int64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Appends the union of the microbatches of some cells, ascending. */
static rk_status merge_microbatches(struct search *s, size_t cell_first, size_t cell_count,
                                    rk_error *err)
{
    rk_int_list *list = &s->microbatches;
    const size_t first = list->count;
    for (size_t i = cell_first; i < cell_first + cell_count; i++) {
        const rk_space_cell *cell = &s->plan.cells[i];
        for (size_t j = 0; j < cell->b_count; j++) {
            const rk_status status = rk_int_list_add(list, s->plan.values[cell->b_first + j], err);
            if (status) {
                return status;
            }
        }
    }
    qsort(list->items + first, list->count - first, sizeof(*list->items), compare_int64);
    size_t kept = first;
    for (size_t i = first; i < list->count; i++) {
        if (kept == first || list->items[kept - 1] != list->items[i]) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    return RK_OK;
}

/*
 * Cuts the cells of one t into units: one per microbatch, or, with mbs_break, one in all, because
 * what a microbatch settles decides about the larger ones.
 */
static rk_status add_units(struct search *s, size_t cell_first, size_t cell_count, rk_error *err)
{
    const size_t b_first = s->microbatches.count;
    const rk_status status = merge_microbatches(s, cell_first, cell_count, err);
    if (status) {
        return status;
    }
    const size_t b_count = s->microbatches.count - b_first;
    const size_t step = s->space->mbs_break ? b_count : 1;
    struct unit *units = realloc(s->units, (s->unit_count + b_count / step) * sizeof(*units));
    if (!units) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory for the units of a search");
    }
    s->units = units;
    for (size_t i = 0; i < b_count; i += step) {
        s->units[s->unit_count++] = (struct unit){
            .cell_first = cell_first,
            .cell_count = cell_count,
            .b_first = b_first + i,
            .b_count = step,
        };
    }
    return RK_OK;
}

static rk_status plan_units(struct search *s, size_t *cells_max, rk_error *err)
{
    const rk_space_plan *plan = &s->plan;
    rk_status status = RK_OK;
    for (size_t i = 0, next; i < plan->cell_count && !status; i = next) {
        for (next = i; next < plan->cell_count && plan->cells[next].t == plan->cells[i].t; next++) {
            s->v_max = plan->cells[next].v_count > s->v_max ? plan->cells[next].v_count : s->v_max;
        }
        *cells_max = next - i > *cells_max ? next - i : *cells_max;
        status = add_units(s, i, next - i, err);
    }
    return status;
}

/* ---- the search -------------------------------------------------------------------------- */

static rk_status init_workers(struct search *s, int threads, size_t cells_max, rk_error *err)
{
    const size_t tiers = (size_t)s->sys->network_count;
    s->workers = calloc((size_t)threads, sizeof(*s->workers));
    if (!s->workers) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory for %d threads", threads);
    }
    for (int i = 0; i < threads; i++) {
        struct worker *w = &s->workers[i];
        rk_top_init(&w->top, s->top_n, sizeof(rk_calculon_exe));
        w->columns = malloc(FAMILY_MAX * tiers * sizeof(*w->columns));
        w->batches = malloc(s->v_max * sizeof(*w->batches));
        w->limits = aligned_alloc(64, s->v_max * sizeof(*w->limits));
        w->dead = s->space->mbs_break ? malloc(cells_max * dead_size(s)) : NULL;
        if (!w->columns || !w->batches || !w->limits || (s->space->mbs_break && !w->dead)) {
            return rk_fail(err, RK_ERR_MEMORY, "no memory for the scratch of a search");
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
        free(s->workers[i].dead);
    }
    free(s->workers);
    free(s->units);
    rk_int_list_clear(&s->microbatches);
    rk_space_plan_clear(&s->plan);
}

/* Adds up what the workers found, the top lists in one. */
static rk_status merge_workers(struct search *s, int threads, rk_calculon_ranked *ranked,
                               size_t *ranked_count, rk_search_counts *counts, rk_error *err)
{
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

struct ticker {
    const rk_search_control *control;
    uint64_t total;
};

static bool tick(void *user, uint64_t done)
{
    const struct ticker *t = user;
    return t->control->progress(t->control->user, done, t->total);
}

rk_status rk_calculon_search(const rk_calculon_app *app, const rk_calculon_sys *sys,
                             const rk_calculon_space *space, const rk_search_control *control,
                             size_t top_n, rk_calculon_ranked *ranked, size_t *ranked_count,
                             rk_search_counts *counts, rk_error *err)
{
    const int threads = control && control->threads > 0 ? control->threads : rk_core_count();
    struct search s = {.app = app, .sys = sys, .space = space, .top_n = top_n};
    size_t cells_max = 0;
    rk_status status;
    rk_error ignored;
    err = err ? err : &ignored;
    *ranked_count = 0;
    *counts = (rk_search_counts){0};
    if ((status = rk_calculon_sys_check(sys, space->datatype, err)) ||
        (status = rk_space_plan_init(app, sys, space, &s.plan, err)) ||
        (status = plan_units(&s, &cells_max, err)) || s.unit_count == 0 ||
        (status = init_workers(&s, threads, cells_max, err))) {
        goto cleanup;
    }
    list_families(&s, 0);
    list_families(&s, 1);
    for (int i = 0; i < sys->network_count; i++) {
        s.usage[i] = sys->networks[i].processor_usage;
    }
    struct ticker ticker = {.control = control, .total = s.plan.total};
    status = rk_parallel_run(threads, s.unit_count, search_unit, &s,
                             control && control->progress ? tick : NULL, &ticker, err);
    if (!status) {
        status = merge_workers(&s, threads, ranked, ranked_count, counts, err);
    }
cleanup:
    clear_search(&s, threads);
    return status;
}

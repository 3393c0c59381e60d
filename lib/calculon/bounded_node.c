/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node of the bounded search: a family in a cell at a microbatch.  Memory is settled lane by
 * lane, time by a bound per interleaving and pair of tiers, and what is left in two passes of the
 * kernel: first the lanes that offload nothing, then the others where these are fast enough.
 */
#include "calculon/bounded_parts.h"
#include "calculon/primitives.h"

#include <math.h>
#include <stdlib.h>

/* Lanes of a node, a bit each. */
typedef uint32_t lane_set;

/* One interleaving that is not settled by time. */
struct point {
    size_t v_index;
    lane_set fitting;  /* and within their bound */
    lane_set slow;     /* fitting, but beyond their bound */
    uint32_t alive[2]; /* by sharding: kernel points at which the lane without offload can enter */
};

struct rk_bounded_pass {
    lane_set *fitting;             /* [v] */
    struct point *points;          /* [v] */
    rk_batch_counts *counts;       /* [v]: of the points */
    uint32_t *masks;               /* [v]: of the points */
    double (*limits)[RK_LANE_MAX]; /* [v]: of the points */
    size_t point_count;
};

/* The search over the mappings of one node. */
struct run {
    const rk_bounded *search;
    rk_bounded_worker *worker;
    const rk_bounded_node *node;
    const rk_space_cell *cell;
    const rk_net_fits *nets;
    const rk_block_column *columns; /* by tensor tier */
    rk_space_setting settings[RK_LANE_MAX];
    rk_lanes lanes;
    int shardings, width; /* lanes: `width` of each sharding, the first offloads nothing */
    double once[2];       /* s, by sharding: rk_bound_once */
    double seconds;       /* of the longest step that can still enter; generous */
    int tiers[2];         /* tensor, pipeline */
    uint32_t mask;        /* kernel points whose networks fit */
    uint64_t mask_count;
    double message;     /* s */
    const int *lane_of; /* of the kernel's lanes */
    const rk_lanes *timed;
    bool plain; /* the pass of the lanes that offload nothing */
};

struct rk_bounded_pass *rk_bounded_pass_new(size_t v_max)
{
    /* one block of memory: the struct, then its arrays, those with the largest alignment first */
    struct rk_bounded_pass *p;
    const size_t head = (sizeof(*p) + 63) / 64 * 64;
    const size_t each = sizeof(*p->limits) + sizeof(*p->counts) + sizeof(*p->points) +
                        sizeof(*p->fitting) + sizeof(*p->masks);
    char *memory = aligned_alloc(64, (head + v_max * each + 63) / 64 * 64);
    if (!memory) {
        return NULL;
    }
    p = (struct rk_bounded_pass *)(void *)memory;
    p->limits = (double(*)[RK_LANE_MAX])(void *)(memory + head);
    p->counts = (rk_batch_counts *)(void *)(p->limits + v_max);
    p->points = (struct point *)(void *)(p->counts + v_max);
    p->fitting = (lane_set *)(void *)(p->points + v_max);
    p->masks = p->fitting + v_max;
    p->point_count = 0;
    return p;
}

static uint64_t count_bits(uint32_t bits)
{
    uint64_t count = 0;
    for (; bits; bits &= bits - 1) {
        count++;
    }
    return count;
}

/* Lanes of a sharding, and of all. */
static lane_set lanes_of(const struct run *run, int sharding)
{
    return (((lane_set)1 << run->width) - 1) << (sharding * run->width);
}

static lane_set all_lanes(const struct run *run)
{
    return ((lane_set)1 << (run->shardings * run->width)) - 1;
}

/* ---- offers ------------------------------------------------------------------------------ */

static void refresh_limit(struct run *run)
{
    run->seconds = rk_bounded_limit(run->worker) * (double)run->cell->B;
}

static void offer(struct run *run, const struct point *point, int lane, int data_tier,
                  bool dp_overlap, double total)
{
    rk_bounded_worker *w = run->worker;
    const rk_bounded *s = run->search;
    const double rate = (double)run->cell->B / total;
    if (!(total <= run->seconds) || rate < rk_top_floor(&w->top)) {
        return;
    }
    const rk_space_place place = {
        .v_index = point->v_index,
        .b_index = run->node->b_index,
        .nets = {run->tiers[0], run->tiers[1], data_tier},
    };
    rk_space_setting setting = run->settings[lane];
    setting.dp_overlap = dp_overlap;
    const rk_calculon_exe exe = rk_space_mapping(&s->plan, s->space, run->cell, &setting, &place);
    const uint64_t index = rk_space_index(&s->plan, run->cell, &setting, &place);
    const rk_status status = rk_top_offer(&w->top, rate, index, &exe, &w->error);
    w->status = w->status ? w->status : status;
    refresh_limit(run);
}

/*
 * Upper bound of the time that offloading saves, s: messages that no longer collide with the
 * reduction of gradients, if both are on one tier.
 */
static double collisions(const struct run *run, const rk_batch_counts *n)
{
    return (n->v - 1) * n->last_group * run->message;
}

/* Results of the kernel at one interleaving, data-parallel tier and overlap. */
static void take_totals(void *user, size_t index, int data_tier, bool dp_overlap,
                        const double *total)
{
    struct run *run = user;
    struct rk_bounded_pass *pass = run->worker->pass;
    struct point *point = &pass->points[index];
    const bool shared = dp_overlap && data_tier == run->tiers[1];
    const double spare = shared ? collisions(run, &pass->counts[index]) : 0;
    for (int i = 0; i < run->timed->count; i++) {
        const int lane = run->lane_of[i];
        if (run->plain && total[i] - spare <= run->seconds) {
            point->alive[lane / run->width] |= rk_kernel_point(data_tier, dp_overlap);
        }
        if (point->fitting >> lane & 1) {
            offer(run, point, lane, data_tier, dp_overlap, total[i]);
        }
    }
}

/* ---- the kernel -------------------------------------------------------------------------- */

/* Copies one lane to another place. */
static void copy_lane(const rk_lanes *from, int i, int tiers, rk_lanes *to, int j)
{
    to->act_offloaded[j] = from->act_offloaded[i];
    to->least_blocks[j] = from->least_blocks[i];
    to->off_fw[j] = from->off_fw[i];
    to->off_bw[j] = from->off_bw[i];
    to->step[j] = from->step[i];
    to->gap[j] = from->gap[i];
    to->step_flops[j] = from->step_flops[i];
    for (int tier = 0; tier < tiers; tier++) {
        to->reduce[tier][j] = from->reduce[tier][i];
    }
    to->weight1[j] = from->weight1[i];
    to->weight2[j] = from->weight2[i];
    to->optim1[j] = from->optim1[i];
    to->optim2[j] = from->optim2[i];
}

/* Times a set of lanes at the masked points of all interleavings that are left. */
static void time_lanes(struct run *run, lane_set set, double spare)
{
    const rk_bounded *s = run->search;
    struct rk_bounded_pass *p = run->worker->pass;
    rk_lanes timed;
    int lane_of[RK_LANE_MAX], count = 0;
    for (int lane = 0; lane < run->lanes.count; lane++) {
        if (set >> lane & 1) {
            copy_lane(&run->lanes, lane, run->cell->nets[2], &timed, count);
            lane_of[count++] = lane;
        }
    }
    rk_lanes_pad(count, &timed);
    for (size_t i = 0; i < p->point_count; i++) {
        const double limit = run->seconds + spare * collisions(run, &p->counts[i]);
        for (int j = 0; j < timed.padded; j++) {
            p->limits[i][j] = j < count ? limit : -1;
        }
    }
    run->timed = &timed;
    run->lane_of = lane_of;
    const rk_kernel_pass pass = {
        .column = &run->columns[run->tiers[0]],
        .lanes = &timed,
        .counts = p->counts,
        .limit = (const double(*)[RK_LANE_MAX])p->limits,
        .points = p->masks,
        .v_count = p->point_count,
        .pp_time = run->message,
        .tier_count = run->cell->nets[2],
        .tensor_tier = run->tiers[0],
        .pipeline_tier = run->tiers[1],
        .usage = s->usage,
        .overlap = rk_bounded_overlaps(s, run->cell) == 2,
        .hit = take_totals,
        .user = run,
    };
    rk_kernel_run(&pass);
}

/* Counts lanes at so many points as settled: by time those that are slow, else by memory. */
static void count_settled(struct run *run, lane_set slow, lane_set lanes, uint64_t points)
{
    run->worker->counts.by_time += count_bits(lanes & slow) * points;
    run->worker->counts.by_memory += count_bits(lanes & ~slow) * points;
}

/* First pass: the lanes that offload nothing, of shardings with a lane that fits. */
static void time_plain(struct run *run)
{
    struct rk_bounded_pass *p = run->worker->pass;
    lane_set any = 0, set = 0;
    for (size_t i = 0; i < p->point_count; i++) {
        any |= p->points[i].fitting;
        p->masks[i] = run->mask;
    }
    for (int sharding = 0; sharding < run->shardings; sharding++) {
        if (any & lanes_of(run, sharding)) {
            set |= (lane_set)1 << (sharding * run->width);
        }
    }
    run->plain = true;
    time_lanes(run, set, 1);
    run->plain = false;
    for (size_t i = 0; i < p->point_count; i++) {
        const struct point *point = &p->points[i];
        run->worker->counts.evaluated += count_bits(set) * run->mask_count;
        count_settled(run, point->slow, all_lanes(run) & ~set & ~point->fitting, run->mask_count);
    }
}

/* Second pass: the lanes of a sharding that offload, where the one that does not was fast. */
static void time_offloads(struct run *run, int sharding)
{
    struct rk_bounded_pass *p = run->worker->pass;
    const lane_set own = lanes_of(run, sharding) & ~((lane_set)1 << (sharding * run->width));
    lane_set set = 0;
    for (size_t i = 0; i < p->point_count; i++) {
        p->masks[i] = p->points[i].fitting & own ? p->points[i].alive[sharding] : 0;
        set |= p->masks[i] ? p->points[i].fitting & own : 0;
    }
    for (size_t i = 0; i < p->point_count; i++) {
        const struct point *point = &p->points[i];
        const uint64_t fits = count_bits(point->fitting & own), timed = count_bits(p->masks[i]);
        run->worker->counts.by_dominance += fits * (run->mask_count - timed);
        if (timed > 0) {
            /* the kernel times a lane at all points, even those already settled */
            run->worker->counts.evaluated += count_bits(set) * timed;
            count_settled(run, point->slow, set & ~point->fitting, 0 - timed);
        }
    }
    if (set) {
        time_lanes(run, set, 0);
    }
}

/* ---- bounds ------------------------------------------------------------------------------ */

/* Finds the lanes that fit, by interleaving. */
static void settle_memory(struct run *run)
{
    rk_bounded_worker *w = run->worker;
    double limit[RK_LANE_MAX];
    const bool full = run->settings[0].recompute == RK_RECOMPUTE_FULL;
    for (size_t v = 0; v < run->cell->v_count; v++) {
        rk_kernel_fit(run->search->sys, run->columns, &run->lanes, &w->batches[v], full, 1, limit);
        w->counts.bounds++;
        w->pass->fitting[v] = 0;
        for (int i = 0; i < run->lanes.count; i++) {
            w->pass->fitting[v] |= limit[i] > 0 ? (lane_set)1 << i : 0;
        }
    }
}

/* Settles by bounds what they settle on the tiers at hand; the rest becomes points. */
static void find_points(struct run *run)
{
    rk_bounded_worker *w = run->worker;
    struct rk_bounded_pass *p = w->pass;
    const rk_bound_block block = rk_bound_block_of(&run->columns[run->tiers[0]]);
    p->point_count = 0;
    for (size_t v = 0; v < run->cell->v_count; v++) {
        const double pace = rk_bound_pipeline(&block, &w->batches[v], run->message);
        lane_set within = 0;
        for (int sharding = 0; sharding < run->shardings; sharding++) {
            if (pace + run->once[sharding] <= run->seconds) {
                within |= lanes_of(run, sharding);
            }
        }
        const lane_set slow = p->fitting[v] & ~within;
        w->counts.bounds++;
        if (p->fitting[v] == slow) {
            count_settled(run, slow, all_lanes(run), run->mask_count);
            continue;
        }
        p->counts[p->point_count] = w->batches[v];
        p->points[p->point_count++] =
            (struct point){.v_index = v, .fitting = p->fitting[v] & within, .slow = slow};
    }
}

/* All mappings of the node on one tensor and one pipeline tier. */
static void settle_tiers(struct run *run, int tensor_tier, int pipeline_tier)
{
    const rk_block_column *column = &run->columns[tensor_tier];
    const bool overlaps = rk_bounded_overlaps(run->search, run->cell) == 2;
    run->mask = 0;
    for (int k = 0; k < run->cell->nets[2]; k++) {
        if (run->nets->fits[tensor_tier][pipeline_tier][k]) {
            run->mask |= rk_kernel_point(k, false);
            run->mask |= overlaps ? rk_kernel_point(k, true) : 0;
        }
    }
    run->mask_count = count_bits(run->mask);
    if (!run->mask) {
        return;
    }
    run->tiers[0] = tensor_tier;
    run->tiers[1] = pipeline_tier;
    run->message = rk_network_seconds(&run->search->sys->networks[pipeline_tier], RK_P2P,
                                      run->cell->p > 1 ? column->pp_size : 0, 2);
    find_points(run);
    if (run->worker->pass->point_count == 0) {
        return;
    }
    time_plain(run);
    for (int sharding = 0; sharding < run->shardings; sharding++) {
        time_offloads(run, sharding);
    }
}

void rk_bounded_node_settle(const rk_bounded *s, rk_bounded_worker *w, const rk_bounded_node *node,
                            rk_optimizer_cost optimizers[2][2])
{
    const rk_space_cell *cell = &s->plan.cells[node->cell];
    const bool tensor = cell->t > 1;
    const rk_family *family = &s->families[tensor][node->family];
    const rk_optimizer_cost *o = optimizers[family->tp_overlap != RK_OVERLAP_NONE];
    struct run run = {
        .search = s,
        .worker = w,
        .node = node,
        .cell = cell,
        .nets = &s->nets[node->cell],
        .columns = &w->columns[node->family * rk_families_tiers(s->sys, cell->t)],
        .shardings = cell->type & RK_CELL_DATA ? 2 : 1,
    };
    const int count = rk_lanes_list(s->sys, cell, family, run.settings);
    for (int i = 0; i < count; i++) {
        rk_lane_fill(s->app, s->sys, cell, run.columns, &o[run.settings[i].optimizer_sharding],
                     &run.settings[i], i, &run.lanes);
    }
    rk_lanes_pad(count, &run.lanes);
    run.width = count / run.shardings;
    for (int sharding = 0; sharding < run.shardings; sharding++) {
        run.once[sharding] =
            rk_bound_once(s->app, s->sys, cell, run.nets, run.columns, &o[sharding], sharding);
    }
    refresh_limit(&run);
    settle_memory(&run);
    for (int i = 0; i < cell->nets[0]; i++) {
        for (int j = 0; j < cell->nets[1]; j++) {
            settle_tiers(&run, i, j);
        }
    }
}

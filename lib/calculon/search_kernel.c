/* SPDX-License-Identifier: Apache-2.0 */
/* Step time and memory of all lanes of a family in loops that compilers vectorise. */
#include "calculon/search_kernel.h"

#include "base/compat.h"

#include <math.h>
#include <stdalign.h>

/* Times of one block by lane; they do not depend on interleaving. */
struct lane_blocks {
    alignas(64) double fw_off[2][RK_LANE_MAX];
    alignas(64) double bw_off[2][RK_LANE_MAX];
    alignas(64) double fw[2][RK_LANE_MAX];
    alignas(64) double bw[2][RK_LANE_MAX];
    alignas(64) double window[2][RK_LANE_MAX]; /* for reducing gradients */
    alignas(64) double half[RK_LANE_MAX];      /* of the last chunk's first and last block */
    alignas(64) double compute[RK_LANE_MAX];
};

/* Times of one interleaving by lane. */
struct lane_batch {
    alignas(64) double total[RK_LANE_MAX]; /* all but data-parallel communication */
    alignas(64) double chunk_bw[RK_LANE_MAX];
};

static RK_ALWAYS_INLINE double positive(double x)
{
    return x > 0 ? x : 0;
}

static double fw_bare(const rk_block_column *k, int z, double pp_time)
{
    const double tp = k->fw_time + k->fw_tp[z];
    return z == RK_EDGE ? tp + pp_time : tp;
}

static double bw_bare(const rk_block_column *k, int z, double pp_time)
{
    const double tp = k->re_time + k->recomm[z] + k->agrad_time + k->wgrad_time + k->agrad_tp[z];
    return z == RK_EDGE ? tp + pp_time : tp;
}

bool rk_kernel_no_free_time(const rk_block_column *k, double pp_time)
{
    const double mem_bw = k->agrad_mem + k->wgrad_mem;
    double free_fw[2], free_bw[2];
    for (int z = RK_BASE; z <= RK_EDGE; z++) {
        free_fw[z] = fw_bare(k, z, pp_time) - k->fw_mem;
        free_bw[z] = bw_bare(k, z, pp_time) - mem_bw;
    }
    return (free_fw[0] < free_fw[1] ? free_fw[0] : free_fw[1]) == 0 ||
           (free_bw[0] < free_bw[1] ? free_bw[0] : free_bw[1]) == 0;
}

static RK_ALWAYS_INLINE void time_blocks(const rk_kernel_pass *pass, struct lane_blocks *b)
{
    const rk_block_column *k = pass->column;
    const rk_lanes *lanes = pass->lanes;
    const double busy = k->agrad_mem + k->wgrad_mem + k->re_mem;
    const double compute = k->agrad_flops + k->wgrad_flops + k->re_flops;
    for (int z = RK_BASE; z <= RK_EDGE; z++) {
        const double fw0 = fw_bare(k, z, pass->pp_time), bw0 = bw_bare(k, z, pass->pp_time);
        for (int i = 0; i < lanes->padded; i++) {
            b->fw_off[z][i] = positive(lanes->off_fw[i] + k->fw_mem - fw0);
            b->bw_off[z][i] = positive(lanes->off_bw[i] + k->agrad_mem + k->wgrad_mem - bw0);
            b->fw[z][i] = fw0 + b->fw_off[z][i];
            b->bw[z][i] = bw0 + b->bw_off[z][i];
            b->window[z][i] = b->bw[z][i] - busy + lanes->gap[i];
        }
    }
    for (int i = 0; i < lanes->padded; i++) {
        b->half[i] = (b->bw[RK_BASE][i] + b->bw[RK_EDGE][i]) / 2;
        b->compute[i] = compute + lanes->step_flops[i];
    }
}

/* Total time without data-parallel communication; stages are even, so no block is missing. */
static RK_ALWAYS_INLINE void time_batch(const rk_kernel_pass *pass, const rk_batch_counts *n,
                                        const struct lane_blocks *b, struct lane_batch *t)
{
    const rk_block_column *k = pass->column;
    const rk_lanes *lanes = pass->lanes;
    const double blocks = n->L * n->M, chunks = n->M * n->v, bases = n->c - 1;
    const double messages = n->p > 1 ? n->v : 0;
    const double passes = blocks * k->fw_time + (blocks * k->agrad_time + blocks * k->wgrad_time);
    const double recompute = blocks * k->re_time;
    const double recomm = chunks * (bases * k->recomm[RK_BASE] + k->recomm[RK_EDGE]);
    const double tensor = chunks * (bases * k->fw_tp[RK_BASE] + k->fw_tp[RK_EDGE]) +
                          chunks * (bases * k->agrad_tp[RK_BASE] + k->agrad_tp[RK_EDGE]);
    const double pipeline = n->M * messages * pass->pp_time + n->M * messages * pass->pp_time;
    for (int i = 0; i < lanes->padded; i++) {
        const double fw_off = chunks * (bases * b->fw_off[RK_BASE][i] + b->fw_off[RK_EDGE][i]);
        const double bw_off = chunks * (bases * b->bw_off[RK_BASE][i] + b->bw_off[RK_EDGE][i]);
        const double chunk_fw = bases * b->fw[RK_BASE][i] + b->fw[RK_EDGE][i];
        const double chunk_bw = bases * b->bw[RK_BASE][i] + b->bw[RK_EDGE][i];
        const double chunk = chunk_fw + chunk_bw;
        const double bubble = (n->p - 1) * chunk + n->extra * chunk;
        t->chunk_bw[i] = chunk_bw;
        t->total[i] = passes + lanes->step[i] + fw_off + bw_off + recompute + recomm + bubble +
                      tensor + pipeline;
    }
}

/* Total time with gradients reduced after the backward pass. */
static RK_ALWAYS_INLINE void total_plain(const rk_kernel_pass *pass, const rk_batch_counts *n,
                                         const struct lane_batch *t, int data_tier, double *total)
{
    const double *reduce = pass->lanes->reduce[data_tier];
    for (int i = 0; i < pass->lanes->padded; i++) {
        total[i] = t->total[i] + n->L * reduce[i];
    }
}

/* Total time with gradients reduced under the backward pass. */
static RK_ALWAYS_INLINE void total_overlapped(const rk_kernel_pass *pass, const rk_batch_counts *n,
                                              const struct lane_blocks *b,
                                              const struct lane_batch *t, int data_tier,
                                              double *total)
{
    const rk_block_column *k = pass->column;
    const double *reduces = pass->lanes->reduce[data_tier], *gap = pass->lanes->gap;
    const double usage = pass->usage[data_tier], bases = n->c - 1, others = n->v - 1;
    const bool conflict = data_tier == pass->tensor_tier;
    const double busy[2] = {conflict ? k->tp_conflict[RK_BASE] : 0,
                            conflict ? k->tp_conflict[RK_EDGE] : 0};
    /* Messages collide with the reduction only on a shared tier. */
    const double colliding = data_tier == pass->pipeline_tier ? n->last_group : 0;
    const double has_tail = n->c > 1 ? 1 : 0;
    for (int i = 0; i < pass->lanes->padded; i++) {
        const double reduce = reduces[i];
        const double chunk = bases * (b->window[RK_BASE][i] - busy[RK_BASE]) +
                             (b->window[RK_EDGE][i] - busy[RK_EDGE]);
        const double window = n->p * chunk, compute = n->p * (n->c * b->compute[i]);
        const double chunk_reduce = n->c * reduce;
        const double during = floor(chunk_reduce / t->chunk_bw[i]);
        const double collisions = during < colliding ? during : colliding;
        const double excess =
            chunk_reduce - (window - collisions * pass->pp_time) + compute * usage;
        const double seen = others * excess, hidden = (others * chunk_reduce) * usage;
        const double chunks = excess > 0 ? seen : hidden;
        const double tail = has_tail * (chunk - pass->pp_time - b->half[i] + gap[i]);
        const double tail_reduce = bases * reduce, tail_hidden = tail_reduce * usage;
        const double tail_excess = tail_reduce + (b->compute[i] * usage - tail);
        const double tail_time = tail_excess > 0 ? tail_excess : tail_hidden;
        total[i] = t->total[i] + (reduce + (chunks + tail_time));
    }
}

static RK_ALWAYS_INLINE bool any_within(int count, const double *total, const double *limit)
{
    int within = 0;
    for (int group = 0; group < count; group += RK_LANE_WIDTH) {
        for (int i = group; i < group + RK_LANE_WIDTH; i++) {
            within |= total[i] <= limit[i];
        }
    }
    return within != 0;
}

RK_SIMD_CLONES void rk_kernel_run(const rk_kernel_pass *pass)
{
    struct lane_blocks b;
    struct lane_batch t;
    alignas(64) double total[RK_LANE_MAX];
    const int padded = pass->lanes->padded;
    time_blocks(pass, &b);
    for (size_t v = 0; v < pass->v_count; v++) {
        const rk_batch_counts *n = &pass->counts[v];
        const double *limit = pass->limit[v];
        if (!pass->points[v]) {
            continue;
        }
        time_batch(pass, n, &b, &t);
        for (int tier = 0; tier < pass->tier_count; tier++) {
            for (int overlap = pass->overlap; overlap >= 0; overlap--) {
                if (!(pass->points[v] & rk_kernel_point(tier, overlap))) {
                    continue;
                }
                if (overlap) {
                    total_overlapped(pass, n, &b, &t, tier, total);
                } else {
                    total_plain(pass, n, &t, tier, total);
                }
                if (any_within(padded, total, limit)) {
                    pass->hit(pass->user, v, tier, overlap, total);
                }
            }
        }
    }
}

RK_SIMD_CLONES void rk_kernel_fit(const rk_calculon_sys *sys, const rk_block_column *k,
                                  const rk_lanes *lanes, const rk_batch_counts *n,
                                  bool full_recompute, double most, double limit[RK_LANE_MAX])
{
    const double stored = full_recompute ? 0 : k->storage_space;
    const double resident = full_recompute
                                ? k->working_space + (n->L * k->checkpoint_size * n->depth)
                                : k->working_space + k->storage_space * (n->L * n->depth - 1);
    const double offloaded = k->working_space + stored;
    const double capacity1 = sys->mem1.capacity, capacity2 = sys->mem2.capacity;
    for (int i = 0; i < lanes->padded; i++) {
        /* The shares are 0 or 1, so the products and their sum are exact. */
        const double away = lanes->act_offloaded[i], here = 1 - away;
        const double tier1 = lanes->weight1[i] + (here * resident + away * offloaded) +
                             lanes->optim1[i] + k->act_grad_space;
        const double tier2 = lanes->weight2[i] + away * resident + lanes->optim2[i];
        const double misfits = (tier1 > capacity1 ? 1.0 : 0.0) + (tier2 > capacity2 ? 1.0 : 0.0) +
                               (n->L < lanes->least_blocks[i] ? 1.0 : 0.0);
        limit[i] = misfits > 0 ? -1 : most;
    }
}

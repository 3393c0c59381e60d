/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of the search: batch.c for many mappings at once.
 *
 * A family is all mappings that share degrees, microbatch, recompute, tensor-parallel choices and
 * fused activation.  Within it, a lane is one choice of optimizer sharding and offloading; lanes
 * are computed side by side in vectors.  The rest, network tiers, interleaving and data-parallel
 * overlap, are loops around the lanes.  Every time and every size is formed by the same operations
 * in the same order as in batch.c, so the results are equal bit for bit.
 */
#ifndef RK_CALCULON_SEARCH_KERNEL_H
#define RK_CALCULON_SEARCH_KERNEL_H

#include "calculon/calculon_layers.h"

#define RK_LANE_MAX   16 /* 2 shardings x 2 x 2 x 2 offloads */
#define RK_LANE_WIDTH 8  /* lanes are computed in groups of this many */

/* Block-level columns of one family on one tensor-parallel tier; [RK_BASE], [RK_EDGE]. */
typedef struct rk_block_column {
    double fw_time, agrad_time, wgrad_time, re_time;   /* s, processing */
    double fw_mem, agrad_mem, wgrad_mem, re_mem;       /* s, memory */
    double agrad_flops, wgrad_flops, re_flops;         /* s, compute */
    double fw_tp[2], agrad_tp[2], recomm[2];           /* s, exposed */
    double tp_conflict[2];                             /* s, network busy in the backward pass */
    double weight_space, working_space, storage_space; /* bytes */
    double checkpoint_size, act_grad_space, gradient_unsharded;
    double pp_size; /* bytes of a pipeline message, if there are stages */
} rk_block_column;

/* The integers of a batch with one interleaving, as doubles. */
typedef struct rk_batch_counts {
    double L, c, v, M, p;
    double last_group; /* M mod p, or p */
    double extra;      /* chunks of bubble for incomplete groups */
    double depth;      /* microbatches in flight, in blocks per block */
} rk_batch_counts;

/* The lanes of a family: everything that depends on sharding and offloading only. */
typedef struct rk_lanes {
    int count, padded; /* padded to a multiple of RK_LANE_WIDTH with lanes that never fit */
    double act_offloaded[RK_LANE_MAX];                /* 1 or 0 */
    double least_blocks[RK_LANE_MAX];                 /* blocks per processor that the lane needs */
    double off_fw[RK_LANE_MAX], off_bw[RK_LANE_MAX];  /* s of transfers per block */
    double step[RK_LANE_MAX];                         /* s, optimizer of the batch */
    double gap[RK_LANE_MAX], step_flops[RK_LANE_MAX]; /* s, added to overlap windows */
    double reduce[RK_NETWORK_MAX][RK_LANE_MAX];       /* s per block, by data-parallel tier */
    double weight1[RK_LANE_MAX], weight2[RK_LANE_MAX]; /* bytes in tier 1 and 2 */
    double optim1[RK_LANE_MAX], optim2[RK_LANE_MAX];
} rk_lanes;

/* One pass of the kernel: a family on one tensor and one pipeline tier, all interleavings. */
typedef struct rk_kernel_pass {
    const rk_block_column *column;
    const rk_lanes *lanes;
    const rk_batch_counts *counts;      /* [v_count] */
    const double (*limit)[RK_LANE_MAX]; /* [v_count]: largest total time of interest, by lane */
    const uint32_t *points;             /* [v_count]: a bit per rk_kernel_point to compute */
    size_t v_count;
    double pp_time; /* s of a pipeline message */
    int tier_count; /* data-parallel tiers to try */
    int tensor_tier, pipeline_tier;
    const double *usage; /* processor_usage by tier */
    bool overlap;        /* also try data-parallel overlap */
    /* Called with the total times of all lanes when some lane is within its limit. */
    void (*hit)(void *user, size_t v_index, int data_tier, bool dp_overlap, const double *total);
    void *user;
} rk_kernel_pass;

/* The bit of a data-parallel tier and overlap. */
static inline uint32_t rk_kernel_point(int data_tier, bool overlap)
{
    return (uint32_t)1 << (2 * data_tier + overlap);
}

void rk_kernel_run(const rk_kernel_pass *pass);

/* Memory of every lane: sets limit[l] to `most` if both capacities suffice, else to -1. */
void rk_kernel_fit(const rk_calculon_sys *sys, const rk_block_column *column, const rk_lanes *lanes,
                   const rk_batch_counts *counts, bool full_recompute, double most,
                   double limit[RK_LANE_MAX]);

/* Whether a mapping of the column has no time at all free to offload in, which is a fault. */
bool rk_kernel_no_free_time(const rk_block_column *column, double pp_time);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families of mappings: what the exhaustive and the bounded search share.  A family is all mappings
 * of a cell and a microbatch whose block is the same; its lanes differ in optimizer sharding and
 * offloading (search_kernel.h).
 */
#ifndef RK_CALCULON_FAMILY_H
#define RK_CALCULON_FAMILY_H

#include "calculon/search_kernel.h"
#include "calculon/space.h"

/* The choices that the block depends on, apart from t, b and the tier. */
typedef struct rk_family {
    rk_recompute recompute;
    rk_tp_comm comm;
    bool redo;
    rk_tp_overlap tp_overlap;
    bool fused;
} rk_family;

#define RK_FAMILY_MAX 66 /* 11 of recompute, comm, redo; 3 overlaps; 2 of fused */

/* Fills the families of t = 1 or of t > 1.  Returns their number. */
int rk_families_list(const rk_calculon_space *space, bool tensor,
                     rk_family families[RK_FAMILY_MAX]);

/* Tensor-parallel tiers to try at t. */
int rk_families_tiers(const rk_calculon_sys *sys, int64_t t);

/*
 * Builds and prices the blocks of families at (t, b): columns[f * tiers + tier].  Families that
 * differ only in recompute or redo share what does not depend on these.
 */
rk_status rk_families_price(const rk_calculon_app *app, const rk_calculon_sys *sys,
                            const rk_calculon_space *space, const rk_family *families, int count,
                            int64_t t, int64_t b, rk_block_column *columns, rk_error *err);

/* Optimizer of one block, by sharding and by whether the linears are tiled. */
typedef struct rk_optimizer_cost {
    double time, mem_time, flops_time; /* s */
    double state, gradient;            /* bytes */
} rk_optimizer_cost;

rk_status rk_optimizer_cost_of(const rk_calculon_app *app, const rk_calculon_sys *sys,
                               const rk_calculon_space *space, const rk_space_cell *cell, int64_t b,
                               bool tiled, bool sharded, rk_optimizer_cost *cost, rk_error *err);

/* Number of lanes of a family in a cell, and their settings. */
int rk_lanes_count(const rk_calculon_sys *sys, const rk_space_cell *cell, const rk_family *family);
int rk_lanes_list(const rk_calculon_sys *sys, const rk_space_cell *cell, const rk_family *family,
                  rk_space_setting settings[RK_LANE_MAX]);

/* Fills lane i of a family whose block is `column` on any tier. */
void rk_lane_fill(const rk_calculon_app *app, const rk_calculon_sys *sys, const rk_space_cell *cell,
                  const rk_block_column *column, const rk_optimizer_cost *optimizer,
                  const rk_space_setting *setting, int i, rk_lanes *lanes);

/* Ends a list of `count` lanes: those that fill up the last group never fit. */
void rk_lanes_pad(int count, rk_lanes *lanes);

/* Reducing the gradients of one block, of `bytes`, on a tier, s. */
double rk_reduce_block_seconds(const rk_calculon_sys *sys, const rk_space_cell *cell, double bytes,
                               bool sharded, int tier);

/* The integers of a cell at microbatch b, by interleaving: batches[0 .. v_count). */
void rk_batches_fill(const rk_calculon_app *app, const rk_space_plan *plan,
                     const rk_space_cell *cell, int64_t b, rk_batch_counts *batches);

/* Network tiers of a cell that its degrees fit; [tensor][pipeline][data]. */
typedef struct rk_net_fits {
    bool fits[RK_NETWORK_MAX][RK_NETWORK_MAX][RK_NETWORK_MAX];
    /* whether some tier of the dimension that is left out fits with those that are given */
    bool on_pipeline[RK_NETWORK_MAX][RK_NETWORK_MAX]; /* [tensor][pipeline] */
    bool on_data[RK_NETWORK_MAX];
    uint64_t count;
} rk_net_fits;

void rk_net_fits_of(const rk_calculon_sys *sys, const rk_space_cell *cell, rk_net_fits *nets);

/*
 * Evaluates a mapping without limits of memory and network, for the text of its fault.  Returns
 * RK_OK when it has none.
 */
rk_status rk_mapping_fault(const rk_calculon_app *app, const rk_calculon_sys *sys,
                           const rk_calculon_exe *exe, rk_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of a group of mappings, term by term from those of the evaluation in batch.c. */
#include "calculon/bounds.h"

#include "base/extremes.h"

#include <math.h>

rk_bound_block rk_bound_block_of(const rk_block_column *k)
{
    const double work = k->fw_time + k->agrad_time + k->wgrad_time + k->re_time;
    return (rk_bound_block){
        .base = work + k->fw_tp[RK_BASE] + k->agrad_tp[RK_BASE] + k->recomm[RK_BASE],
        .edge = work + k->fw_tp[RK_EDGE] + k->agrad_tp[RK_EDGE] + k->recomm[RK_EDGE],
    };
}

double rk_bound_once(const rk_calculon_app *app, const rk_calculon_sys *sys,
                     const rk_space_cell *cell, const rk_net_fits *nets,
                     const rk_block_column *column, const rk_optimizer_cost *optimizer,
                     bool sharded)
{
    const double L = (double)(app->num_blocks / cell->p);
    double reduce = (double)INFINITY;
    for (int tier = 0; tier < cell->nets[2]; tier++) {
        if (nets->on_data[tier]) {
            reduce = rk_min(
                reduce, rk_reduce_block_seconds(sys, cell, column->weight_space, sharded, tier));
        }
    }
    return L * optimizer->time + reduce;
}

double rk_bound_memory(const rk_calculon_sys *sys, const rk_block_column *k,
                       const rk_optimizer_cost *o, const rk_batch_counts *n, bool full_recompute)
{
    const double L = n->L;
    const bool offloads = sys->mem2.capacity > 0 && L >= 3;
    const double stored =
        full_recompute ? L * k->checkpoint_size * n->depth : k->storage_space * (L * n->depth - 1);
    const double kept = full_recompute || !offloads ? stored : rk_min(stored, k->storage_space);
    const double weights = offloads ? rk_min(L, 2) * k->weight_space : L * k->weight_space;
    const double states =
        offloads ? o->gradient + 2 * o->state : o->gradient * (L - 1) + L * o->state;
    return weights + (k->working_space + kept) + (k->gradient_unsharded + states) +
           k->act_grad_space;
}

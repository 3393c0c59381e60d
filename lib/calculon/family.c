/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates families and their lanes, and prices them as columns for the vectorised kernel. */
#include "calculon/family.h"

#include "calculon/calculon_block.h"
#include "calculon/primitives.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define ROOMY 1e30 /* bytes that every mapping fits in */

/* ---- families ---------------------------------------------------------------------------- */

int rk_families_list(const rk_calculon_space *space, bool tensor, rk_family families[RK_FAMILY_MAX])
{
    const int overlaps = tensor && !space->no_tp_overlap ? 3 : 1;
    int count = 0;
    for (int rec = RK_RECOMPUTE_FULL; rec <= RK_RECOMPUTE_NONE; rec++) {
        for (int comm = RK_TP_AR; comm <= RK_TP_RS_AG; comm++) {
            const int redos = comm == RK_TP_RS_AG && rec != RK_RECOMPUTE_FULL ? 2 : 1;
            for (int i = 0; i < redos * overlaps * space->fused_count; i++) {
                families[count++] = (rk_family){
                    .recompute = (rk_recompute)rec,
                    .comm = (rk_tp_comm)comm,
                    .redo = i % redos,
                    .tp_overlap = (rk_tp_overlap)(i / redos % overlaps),
                    .fused = space->fused[i / redos / overlaps],
                };
            }
        }
    }
    return count;
}

int rk_families_tiers(const rk_calculon_sys *sys, int64_t t)
{
    return t > 1 ? sys->network_count : 1;
}

/* ---- columns ----------------------------------------------------------------------------- */

static rk_calculon_exe column_mapping(const rk_calculon_space *space, int64_t t, int64_t b,
                                      const rk_family *family)
{
    assert(t >= 1 && b >= 1);
    return (rk_calculon_exe){
        .num_procs = space->num_procs,
        .tensor_par = t,
        .pipeline_par = 2, /* any but 1: the message between stages is priced */
        .data_par = 1,
        .batch_size = b,
        .microbatch_size = b,
        .datatype = space->datatype,
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

/* Whether the layers of two families take the same time but for what is communicated again. */
static bool same_layers(const rk_family *a, const rk_family *b)
{
    return a->comm == b->comm && a->tp_overlap == b->tp_overlap && a->fused == b->fused;
}

/* Columns of one family on all tiers, from a block whose work is priced. */
static void finish_family(const rk_calculon_sys *sys, const rk_calculon_exe *family_exe,
                          rk_block *block, rk_block_column *columns)
{
    rk_calculon_exe exe = *family_exe;
    for (int tier = 0; tier < rk_families_tiers(sys, exe.tensor_par); tier++) {
        rk_calculon_stats stats;
        exe.tensor_par_net = tier;
        rk_block_finish(sys, &exe, block, &stats);
        fill_column(&stats, &columns[tier]);
    }
}

rk_status rk_families_price(const rk_calculon_app *app, const rk_calculon_sys *sys,
                            const rk_calculon_space *space, const rk_family *families, int count,
                            int64_t t, int64_t b, rk_block_column *columns, rk_error *err)
{
    assert(t >= 1 && b >= 1 && count >= 1 && count <= RK_FAMILY_MAX);
    const int tiers = rk_families_tiers(sys, t);
    bool done[RK_FAMILY_MAX] = {false};
    for (int first = 0; first < count; first++) {
        if (done[first]) {
            continue;
        }
        rk_block block;
        rk_calculon_exe exe = column_mapping(space, t, b, &families[first]);
        const rk_status status = rk_block_price(app, sys, &exe, &block, err);
        if (status) {
            return status;
        }
        finish_family(sys, &exe, &block, &columns[first * tiers]);
        for (int f = first + 1; f < count; f++) {
            if (same_layers(&families[first], &families[f])) {
                exe = column_mapping(space, t, b, &families[f]);
                block.layer_count = rk_block_layers(app, &exe, &block.shape, block.layers);
                finish_family(sys, &exe, &block, &columns[f * tiers]);
                done[f] = true;
            }
        }
    }
    return RK_OK;
}

/* ---- optimizer --------------------------------------------------------------------------- */

rk_status rk_optimizer_cost_of(const rk_calculon_app *app, const rk_calculon_sys *sys,
                               const rk_calculon_space *space, const rk_space_cell *cell, int64_t b,
                               bool tiled, bool sharded, rk_optimizer_cost *cost, rk_error *err)
{
    const rk_family family = {.tp_overlap = tiled ? RK_OVERLAP_RING : RK_OVERLAP_NONE};
    rk_calculon_exe exe = column_mapping(space, cell->t, b, &family);
    rk_block block;
    rk_calculon_stats stats = {0};
    exe.data_par = cell->D;
    exe.optimizer_sharding = sharded;
    const rk_status status = rk_block_shape_init(app, &exe, &block.shape, err);
    if (status) {
        return status;
    }
    block.layer_count = rk_block_layers(app, &exe, &block.shape, block.layers);
    rk_block_evaluate_optimizer(sys, &exe, &block, &stats);
    *cost = (rk_optimizer_cost){
        .time = stats.block_optim_time,
        .mem_time = stats.block_optim_mem_time,
        .flops_time = stats.block_optim_flops_time,
        .state = stats.block_optimizer_space,
        .gradient = stats.block_weight_grad_space,
    };
    return RK_OK;
}

/* ---- lanes ------------------------------------------------------------------------------- */

int rk_lanes_count(const rk_calculon_sys *sys, const rk_space_cell *cell, const rk_family *family)
{
    const int shardings = cell->type & RK_CELL_DATA ? 2 : 1;
    if (!(sys->mem2.capacity > 0)) {
        return shardings;
    }
    /* weights and optimizer; activations too unless they are recomputed */
    return shardings * (family->recompute == RK_RECOMPUTE_FULL ? 4 : 8);
}

int rk_lanes_list(const rk_calculon_sys *sys, const rk_space_cell *cell, const rk_family *family,
                  rk_space_setting settings[RK_LANE_MAX])
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

double rk_reduce_block_seconds(const rk_calculon_sys *sys, const rk_space_cell *cell, double bytes,
                               bool sharded, int tier)
{
    assert(tier >= 0 && tier < sys->network_count && bytes >= 0);
    const double ranks = (double)cell->D;
    const rk_calculon_network *net = &sys->networks[tier];
    if (cell->D == 1) {
        return 0;
    }
    return sharded ? rk_network_seconds(net, RK_REDUCE_SCATTER, bytes, ranks) +
                         rk_network_seconds(net, RK_ALL_GATHER, bytes, ranks)
                   : rk_network_seconds(net, RK_ALL_REDUCE, bytes, ranks);
}

void rk_lane_fill(const rk_calculon_app *app, const rk_calculon_sys *sys, const rk_space_cell *cell,
                  const rk_block_column *k, const rk_optimizer_cost *o,
                  const rk_space_setting *setting, int i, rk_lanes *lanes)
{
    const double L = (double)(app->num_blocks / cell->p);
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
        rk_curve_seconds(&sys->mem2.curve, weights > activations ? weights : activations);
    lanes->off_bw[i] = rk_curve_seconds(&sys->mem2.curve, size_bw);
    lanes->step[i] = L * o->time;
    lanes->gap[i] = setting->optimizer_sharding ? 0 : o->time - o->mem_time;
    lanes->step_flops[i] = setting->optimizer_sharding ? 0 : o->flops_time;
    for (int tier = 0; tier < cell->nets[2]; tier++) {
        lanes->reduce[tier][i] =
            rk_reduce_block_seconds(sys, cell, k->weight_space, setting->optimizer_sharding, tier);
    }
    lanes->weight1[i] = w ? 2 * k->weight_space : L * k->weight_space;
    lanes->weight2[i] = w ? L * k->weight_space : 0;
    lanes->optim1[i] = x ? k->gradient_unsharded + o->gradient + 2 * o->state
                         : k->gradient_unsharded + o->gradient * (L - 1) + L * o->state;
    lanes->optim2[i] = x ? o->gradient * L + L * o->state : 0;
}

void rk_lanes_pad(int count, rk_lanes *lanes)
{
    assert(count >= 0 && count <= RK_LANE_MAX);
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

/* ---- batches and networks ---------------------------------------------------------------- */

void rk_batches_fill(const rk_calculon_app *app, const rk_space_plan *plan,
                     const rk_space_cell *cell, int64_t b, rk_batch_counts *batches)
{
    assert(b >= 1 && cell->B % cell->D == 0);
    const int64_t M = cell->B / cell->D / b, p = cell->p, rest = M % p;
    const int64_t L = app->num_blocks / p;
    const double in_flight = (double)(M < p ? M : p);
    for (size_t i = 0; i < cell->v_count; i++) {
        const int64_t v = plan->values[cell->v_first + i];
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

void rk_net_fits_of(const rk_calculon_sys *sys, const rk_space_cell *cell, rk_net_fits *nets)
{
    rk_calculon_exe exe = {.tensor_par = cell->t, .pipeline_par = cell->p, .data_par = cell->D};
    nets->count = 0;
    memset(nets->on_data, 0, sizeof(nets->on_data));
    memset(nets->on_pipeline, 0, sizeof(nets->on_pipeline));
    for (int i = 0; i < cell->nets[0]; i++) {
        for (int j = 0; j < cell->nets[1]; j++) {
            for (int k = 0; k < cell->nets[2]; k++) {
                int tier;
                exe.tensor_par_net = i;
                exe.pipeline_par_net = j;
                exe.data_par_net = k;
                const bool fits = rk_network_verdict(sys, &exe, &tier) == RK_FITS;
                nets->fits[i][j][k] = fits;
                nets->on_pipeline[i][j] = nets->on_pipeline[i][j] || fits;
                nets->on_data[k] = nets->on_data[k] || fits;
                nets->count += fits;
            }
        }
    }
}

/* ---- faults ------------------------------------------------------------------------------ */

rk_status rk_mapping_fault(const rk_calculon_app *app, const rk_calculon_sys *sys,
                           const rk_calculon_exe *exe, rk_error *err)
{
    rk_calculon_sys roomy = *sys;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    roomy.mem1.capacity = roomy.mem2.capacity = ROOMY;
    for (int i = 0; i < roomy.network_count; i++) {
        roomy.networks[i].size = INT64_MAX;
        roomy.networks[i].must_be_filled = false;
    }
    return rk_calculon_evaluate(app, &roomy, exe, &stats, NULL, NULL, &verdict, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Prices the layers of a block: compute, memory and network time per pass, and tiled overlap. */
#include "calculon/calculon_block.h"

#include "calculon/primitives.h"

#include <assert.h>
#include <string.h>

/* The collective that a layer runs in a phase; *op is set when there is one. */
static bool collective(const rk_layer *layer, int phase, bool splits, rk_net_op *op)
{
    const bool entering = (layer->role == RK_GATHER) == (phase == RK_FW);
    if (entering) {
        *op = RK_ALL_GATHER;
        return splits;
    }
    *op = splits ? RK_REDUCE_SCATTER : RK_ALL_REDUCE;
    return true;
}

/* ---- communication ----------------------------------------------------------------------- */

struct pricing {
    const rk_calculon_sys *sys;
    const rk_calculon_engine *matrix, *vector;
    const rk_calculon_network *net; /* of the tensor-parallel group */
    rk_tp_overlap overlap;
    double ranks; /* t */
    const rk_block_shape *shape;
};

/*
 * Network time of a phase at a position: the collective, and the additions of its reduction.  A
 * separate communication layer also pays its local work there.  The repetition of a forward
 * collective in the backward pass (phase W) has no additions.
 */
static double network_time(const struct pricing *p, const rk_layer *layer,
                           const rk_layer_times *times, int phase, int position)
{
    assert(position >= RK_BASE && position <= RK_EDGE);
    rk_net_op op;
    const int like = phase == RK_WGRAD ? RK_FW : phase;
    if (phase == RK_WGRAD && !layer->recommunicated) {
        return 0;
    }
    const double bytes = (double)layer->comm_bytes[phase][position];
    const bool runs = collective(layer, like, p->shape->splits[position], &op);
    double time = runs ? rk_network_seconds(p->net, op, bytes, p->ranks) : 0;
    if (phase == RK_WGRAD) {
        return time;
    }
    if (layer->kind == RK_LAYER_COMM) {
        return time + rk_process_seconds(p->sys, times->compute[phase], times->memory[phase]);
    }
    const bool reduces = (layer->role == RK_REDUCE) == (phase == RK_FW);
    if (runs && reduces) {
        const double additions = ((bytes / (double)p->shape->element) * (p->ranks - 1)) / p->ranks;
        time += rk_curve_seconds(&p->vector->curve, additions);
    }
    return time;
}

/*
 * Processing and exposed time of a tiled layer in one phase.  The work is cut into t tiles; the
 * communication of a tile hides under the compute of the next one, which it slows by the share
 * `processor_usage` of the engine.  With `pipe` one more tile of communication is paid.
 */
static void overlap_tiles(const struct pricing *p, double compute, double memory, double net,
                          double *process, double *exposed)
{
    assert(p->ranks >= 1 && p->net->processor_usage < 1);
    const double usage = p->net->processor_usage, t = p->ranks;
    const double slowed = compute / (1 - usage);
    const double alone = rk_process_seconds(p->sys, compute, memory);
    *exposed = 0;
    *process = alone;
    if (net == 0) {
        return;
    }
    const double excess = net / t - slowed / t;
    if (excess > 0) {
        const double together = rk_process_seconds(p->sys, slowed, memory);
        *process = alone / t + (t - 1) * (together / t);
        *exposed = (t - 1) * excess;
    } else {
        *process = alone / t + (t - 1) * (alone / t) + ((t - 1) * (net / t)) * usage;
    }
    if (p->overlap == RK_OVERLAP_PIPE) {
        *exposed += net / t;
        *process += net / t;
    }
}

/* ---- one layer --------------------------------------------------------------------------- */

/* Times of a layer without its network. */
static void price_work(const struct pricing *p, const rk_layer *layer, rk_layer_times *times)
{
    const rk_calculon_engine *engine = layer->vector ? p->vector : p->matrix;
    for (int s = RK_FW; s <= RK_WGRAD; s++) {
        times->compute[s] = rk_curve_seconds(&engine->curve, (double)layer->flops[s]);
        times->memory[s] = rk_curve_seconds(&p->sys->mem1.curve, (double)layer->bytes[s]);
        times->process[s] = rk_process_seconds(p->sys, times->compute[s], times->memory[s]);
    }
    memset(times->net, 0, sizeof(times->net));
    memset(times->exposed, 0, sizeof(times->exposed));
}

/* The network of a layer, and what its overlap makes of the work. */
static void price_network(const struct pricing *p, const rk_layer *layer, rk_layer_times *times)
{
    if (layer->kind == RK_LAYER_LOCAL || p->ranks == 1) {
        return;
    }
    for (int s = RK_FW; s <= RK_WGRAD; s++) {
        for (int z = RK_BASE; z <= RK_EDGE; z++) {
            times->net[s][z] = network_time(p, layer, times, s, z);
            times->exposed[s][z] = times->net[s][z];
        }
        if (layer->kind == RK_LAYER_COMM) {
            times->process[s] = 0;
        } else {
            /* Both positions get what the base block hides. */
            overlap_tiles(p, times->compute[s], times->memory[s], times->net[s][RK_BASE],
                          &times->process[s], &times->exposed[s][RK_BASE]);
            times->exposed[s][RK_EDGE] = times->exposed[s][RK_BASE];
        }
    }
}

rk_layer_optimizer rk_layer_optimizer_of(const rk_layer *layer, int64_t element, double shards)
{
    assert(shards >= 1 && element >= 1);
    const double w = (double)layer->weights;
    const double master = element < 4 ? 4 * w : 0;
    return (rk_layer_optimizer){
        .flops = (w / shards) * 11,
        .state_bytes = (master + 8 * w) / shards,
        .weight_grad_bytes = w * (double)element / shards,
    };
}

/* ---- sums over the block ----------------------------------------------------------------- */

static void sum_forward(const rk_block *block, rk_calculon_stats *s)
{
    for (int i = 0; i < block->layer_count; i++) {
        const rk_layer *layer = &block->layers[i];
        const rk_layer_times *t = &block->times[i];
        s->block_fw_flops += layer->flops[RK_FW];
        s->block_fw_flops_time += t->compute[RK_FW];
        s->block_fw_mem_accessed += (double)layer->bytes[RK_FW];
        s->block_fw_mem_time += t->memory[RK_FW];
        s->block_fw_time += t->process[RK_FW];
        s->baseblock_fw_tp_size += (double)layer->comm_bytes[RK_FW][RK_BASE];
        s->edgeblock_fw_tp_size += (double)layer->comm_bytes[RK_FW][RK_EDGE];
        s->baseblock_fw_tp_time += t->net[RK_FW][RK_BASE];
        s->edgeblock_fw_tp_time += t->net[RK_FW][RK_EDGE];
        s->baseblock_fw_tp_time_exposed += t->exposed[RK_FW][RK_BASE];
        s->edgeblock_fw_tp_time_exposed += t->exposed[RK_FW][RK_EDGE];
    }
}

/*
 * Sums of the recomputation in the backward pass.  Of the five recompute sums, four add the running
 * total of the forward quantity up to each recomputed layer, as published; only block_re_time adds
 * the layer.
 */
static void sum_recompute(const rk_block *block, rk_calculon_stats *s)
{
    long double flops = 0;
    double flops_time = 0, bytes = 0, mem_time = 0;
    for (int i = 0; i < block->layer_count; i++) {
        const rk_layer *layer = &block->layers[i];
        const rk_layer_times *t = &block->times[i];
        flops += layer->flops[RK_FW];
        flops_time += t->compute[RK_FW];
        bytes += (double)layer->bytes[RK_FW];
        mem_time += t->memory[RK_FW];
        if (layer->recomputed) {
            s->block_re_flops += flops;
            s->block_re_flops_time += flops_time;
            s->block_re_mem_accessed += bytes;
            s->block_re_mem_time += mem_time;
            s->block_re_time += t->process[RK_FW];
        }
        if (layer->recommunicated) {
            /* A tiled layer is charged with the exposure of its forward pass. */
            const int phase = layer->kind == RK_LAYER_TILED ? RK_FW : RK_WGRAD;
            s->baseblock_recomm_size += (double)layer->comm_bytes[RK_WGRAD][RK_BASE];
            s->edgeblock_recomm_size += (double)layer->comm_bytes[RK_WGRAD][RK_EDGE];
            s->baseblock_recomm_time += t->net[RK_WGRAD][RK_BASE];
            s->edgeblock_recomm_time += t->net[RK_WGRAD][RK_EDGE];
            s->baseblock_recomm_time_exposed += t->exposed[phase][RK_BASE];
            s->edgeblock_recomm_time_exposed += t->exposed[phase][RK_EDGE];
        }
    }
}

static void sum_backward(const rk_block *block, rk_calculon_stats *s)
{
    for (int i = 0; i < block->layer_count; i++) {
        const rk_layer *layer = &block->layers[i];
        const rk_layer_times *t = &block->times[i];
        s->block_agrad_flops += layer->flops[RK_AGRAD];
        s->block_agrad_flops_time += t->compute[RK_AGRAD];
        s->block_agrad_mem_accessed += (double)layer->bytes[RK_AGRAD];
        s->block_agrad_mem_time += t->memory[RK_AGRAD];
        s->block_agrad_time += t->process[RK_AGRAD];
        s->baseblock_bw_tp_size += (double)layer->comm_bytes[RK_AGRAD][RK_BASE];
        s->edgeblock_bw_tp_size += (double)layer->comm_bytes[RK_AGRAD][RK_EDGE];
        s->baseblock_agrad_tp_time += t->net[RK_AGRAD][RK_BASE];
        s->edgeblock_agrad_tp_time += t->net[RK_AGRAD][RK_EDGE];
        s->baseblock_agrad_tp_time_exposed += t->exposed[RK_AGRAD][RK_BASE];
        s->edgeblock_agrad_tp_time_exposed += t->exposed[RK_AGRAD][RK_EDGE];
        s->block_wgrad_flops += layer->flops[RK_WGRAD];
        s->block_wgrad_flops_time += t->compute[RK_WGRAD];
        s->block_wgrad_mem_accessed += (double)layer->bytes[RK_WGRAD];
        s->block_wgrad_mem_time += t->memory[RK_WGRAD];
        s->block_wgrad_time += t->process[RK_WGRAD];
    }
}

/* Bandwidth that would hide the collectives of tiled layers under their compute. */
static double overlap_bandwidth(const struct pricing *p, const rk_block *block, bool training)
{
    const double t = p->ranks, free_share = 1 - p->net->processor_usage;
    double required = 0;
    for (int i = 0; i < block->layer_count; i++) {
        const rk_layer *layer = &block->layers[i];
        if (layer->kind != RK_LAYER_TILED) {
            continue;
        }
        for (int s = RK_FW; s <= (training ? RK_AGRAD : RK_FW); s++) {
            const double tile_time = (block->times[i].compute[s] / free_share) / t;
            for (int z = RK_BASE; z <= RK_EDGE; z++) {
                const double rate = ((double)layer->comm_bytes[s][z] / t) / tile_time;
                required = rate > required ? rate : required;
            }
        }
    }
    return required;
}

static void sum_space(const rk_block *block, const rk_calculon_exe *exe, rk_calculon_stats *s)
{
    const double element = (double)block->shape.element;
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    for (int i = 0; i < block->layer_count; i++) {
        const rk_layer *layer = &block->layers[i];
        const double activation = (double)layer->activation_bytes;
        s->block_weight_space += (double)layer->weights * element;
        if (!layer->reused) {
            s->block_act_working_space += activation;
        }
        s->block_act_storage_space += activation;
        if (exe->training) {
            if (layer->drops_output) {
                s->block_act_storage_space -= (double)layer->outputs * element;
            }
            if (layer->drops_activation) {
                s->block_act_storage_space -= activation;
            }
            s->block_weight_grad_space_no_sharding += 4 * (double)layer->weights;
            s->block_act_grad_space += (double)layer->gradient_bytes;
        }
    }
    if (exe->training && full) {
        s->block_act_storage_space = 0;
        s->block_act_checkpoint_size = (double)block->shape.full * element;
    }
}

/* Bytes of one message between pipeline stages. */
static double pipeline_bytes(const rk_block *block, const rk_calculon_exe *exe)
{
    if (exe->pipeline_par == 1) {
        return 0;
    }
    const rk_block_shape *shape = &block->shape;
    const bool split = exe->tensor_par_comm_type != RK_TP_AR;
    return (double)((split ? shape->sharded : shape->full) * shape->element);
}

static struct pricing pricing_of(const rk_calculon_sys *sys, const rk_calculon_exe *exe,
                                 const rk_block_shape *shape)
{
    return (struct pricing){
        .sys = sys,
        .matrix = &sys->matrix[exe->datatype],
        .vector = &sys->vector[exe->datatype],
        .net = &sys->networks[exe->tensor_par_net],
        .overlap = exe->tensor_par_overlap,
        .ranks = (double)exe->tensor_par,
        .shape = shape,
    };
}

rk_status rk_block_price(const rk_calculon_app *app, const rk_calculon_sys *sys,
                         const rk_calculon_exe *exe, rk_block *block, rk_error *err)
{
    const rk_status status = rk_block_shape_init(app, exe, &block->shape, err);
    if (status) {
        return status;
    }
    const struct pricing p = pricing_of(sys, exe, &block->shape);
    block->layer_count = rk_block_layers(app, exe, &block->shape, block->layers);
    for (int i = 0; i < block->layer_count; i++) {
        price_work(&p, &block->layers[i], &block->times[i]);
    }
    return RK_OK;
}

void rk_block_finish(const rk_calculon_sys *sys, const rk_calculon_exe *exe, rk_block *block,
                     rk_calculon_stats *stats)
{
    const struct pricing p = pricing_of(sys, exe, &block->shape);
    memset(stats, 0, sizeof(*stats));
    for (int i = 0; i < block->layer_count; i++) {
        price_network(&p, &block->layers[i], &block->times[i]);
    }
    sum_forward(block, stats);
    if (exe->training) {
        sum_recompute(block, stats);
        sum_backward(block, stats);
    }
    stats->tp_bw_overlap_req = overlap_bandwidth(&p, block, exe->training);
    sum_space(block, exe, stats);
    stats->block_fw_pp_size = pipeline_bytes(block, exe);
    stats->block_bw_pp_size = exe->training ? stats->block_fw_pp_size : 0;
}

rk_status rk_block_evaluate(const rk_calculon_app *app, const rk_calculon_sys *sys,
                            const rk_calculon_exe *exe, rk_block *block, rk_calculon_stats *stats,
                            rk_error *err)
{
    const rk_status status = rk_block_price(app, sys, exe, block, err);
    if (!status) {
        rk_block_finish(sys, exe, block, stats);
    }
    return status;
}

void rk_block_evaluate_optimizer(const rk_calculon_sys *sys, const rk_calculon_exe *exe,
                                 rk_block *block, rk_calculon_stats *stats)
{
    const double shards = rk_optimizer_shards(exe);
    double flops = 0, flops_time = 0, bytes = 0, mem_time = 0, time = 0, gradients = 0;
    for (int i = 0; i < block->layer_count; i++) {
        const rk_layer *layer = &block->layers[i];
        rk_layer_times *t = &block->times[i];
        const rk_layer_optimizer o = rk_layer_optimizer_of(layer, block->shape.element, shards);
        t->compute[RK_OPTIM] = rk_curve_seconds(&sys->vector[exe->datatype].curve, o.flops);
        t->memory[RK_OPTIM] = rk_curve_seconds(&sys->mem1.curve, o.state_bytes);
        t->process[RK_OPTIM] = rk_process_seconds(sys, t->compute[RK_OPTIM], t->memory[RK_OPTIM]);
        flops += o.flops;
        flops_time += t->compute[RK_OPTIM];
        bytes += o.state_bytes;
        mem_time += t->memory[RK_OPTIM];
        time += t->process[RK_OPTIM];
        gradients += o.weight_grad_bytes;
    }
    if (exe->training) {
        stats->block_optim_flops = flops;
        stats->block_optim_flops_time = flops_time;
        stats->block_optim_mem_accessed = bytes;
        stats->block_optim_mem_time = mem_time;
        stats->block_optim_time = time;
        stats->block_weight_grad_space = gradients;
        stats->block_optimizer_space = bytes;
    }
}

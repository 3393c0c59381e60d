/* SPDX-License-Identifier: Apache-2.0 */
/* One mapping, evaluated in full: checks in the published order, statistics, layer list. */
#include "base/error.h"
#include "base/text.h"
#include "calculon/batch.h"
#include "calculon/calculon_block.h"
#include "calculon/calculon_inputs.h"
#include "calculon/execution.h"
#include "calculon/primitives.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- verdicts ---------------------------------------------------------------------------- */

const char *rk_calculon_verdict_text(const rk_calculon_verdict *v, char *out, size_t size)
{
    char needed[RK_NUMBER_TEXT_SIZE], available[RK_NUMBER_TEXT_SIZE];
    switch (v->verdict) {
    case RK_FITS:
        (void)snprintf(out, size, "fits");
        break;
    case RK_NETWORK_TOO_SMALL:
        (void)snprintf(out, size, "Network tier%d isn't big enough", v->tier);
        break;
    case RK_NETWORK_NOT_FILLED:
        (void)snprintf(out, size, "Network tier%d isn't fully used", v->tier);
        break;
    case RK_INTERLEAVING_TOO_LARGE:
        (void)snprintf(out, size,
                       "Pipeline interleaving must be less than or equal to the number of blocks "
                       "per processor");
        break;
    case RK_INTERLEAVING_NOT_FACTOR:
        (void)snprintf(out, size,
                       "Pipeline interleaving must be a factor value of the number of blocks per "
                       "processor");
        break;
    case RK_OFFLOAD_TOO_FEW_BLOCKS:
        (void)snprintf(out, size, "Offloading requires each processor to handle at least 3 blocks");
        break;
    case RK_MEM1_TOO_SMALL:
    case RK_MEM2_TOO_SMALL:
        (void)snprintf(out, size, "Mem tier%d needs %s but only has %s",
                       v->verdict == RK_MEM1_TOO_SMALL ? 1 : 2,
                       rk_human_text(v->needed, RK_HUMAN_BYTES, needed),
                       rk_human_text(v->available, RK_HUMAN_BYTES, available));
        break;
    }
    return out;
}

static rk_verdict block_verdict(const rk_calculon_app *app, const rk_calculon_exe *exe)
{
    const int64_t L = rk_blocks_per_proc(app, exe);
    if (exe->pipeline_interleaving > L) {
        return RK_INTERLEAVING_TOO_LARGE;
    }
    if (L % exe->pipeline_interleaving != 0) {
        return RK_INTERLEAVING_NOT_FACTOR;
    }
    if ((exe->weight_offload || exe->activations_offload || exe->optimizer_offload) && L <= 2) {
        return RK_OFFLOAD_TOO_FEW_BLOCKS;
    }
    return RK_FITS;
}

static rk_verdict memory_verdict(const rk_calculon_sys *sys, const rk_calculon_stats *stats,
                                 rk_calculon_verdict *v)
{
    if (stats->proc_mem_tier1_cap_req > sys->mem1.capacity) {
        *v = (rk_calculon_verdict){RK_MEM1_TOO_SMALL, 0, stats->proc_mem_tier1_cap_req,
                                   sys->mem1.capacity};
    } else if (stats->proc_mem_tier2_cap_req > sys->mem2.capacity) {
        *v = (rk_calculon_verdict){RK_MEM2_TOO_SMALL, 0, stats->proc_mem_tier2_cap_req,
                                   sys->mem2.capacity};
    }
    return v->verdict;
}

/* ---- system ------------------------------------------------------------------------------ */

/* Every run looks up size 0 on all curves but, when it offloads, the curve of mem2. */
static rk_status check_curve(const rk_curve *curve, bool from_zero, const char *what, rk_error *err)
{
    for (int i = 0; i < curve->count; i++) {
        if (!(curve->rate[i] > 0)) {
            return rk_fail(err, RK_ERR_INVALID,
                           "the rate of %s is zero, and every run divides by it: give the peak "
                           "rate or bandwidth, also of a memory of capacity 0",
                           what);
        }
    }
    if (!from_zero || rk_curve_covers(curve, 0)) {
        return RK_OK;
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "the efficiency curve of %s does not reach down to size 0, which every run "
                   "looks up: add an entry [0, efficiency] at its end",
                   what);
}

static rk_status check_datatype(rk_datatype datatype, rk_error *err)
{
    if ((unsigned)datatype < RK_DATATYPE_COUNT) {
        return RK_OK;
    }
    return rk_fail_at(err, RK_ERR_INVALID, "datatype",
                      "expected \"float8\", \"float16\", \"bfloat16\" or \"float32\"");
}

static rk_status check_rates(const rk_calculon_sys *sys, rk_datatype datatype, bool mem2_from_zero,
                             rk_error *err)
{
    static const char *const names[] = {"float8", "float16", "bfloat16", "float32"};
    rk_status known = check_datatype(datatype, err);
    if (known) {
        return known;
    }
    const rk_calculon_engine *engines[2] = {&sys->matrix[datatype], &sys->vector[datatype]};
    rk_status status;
    for (int i = 0; i < 2; i++) {
        const char *engine = i ? "vector" : "matrix";
        char what[32];
        if (!engines[i]->present) {
            return rk_fail(err, RK_ERR_INVALID,
                           "the %s engine of the system has no datatype %s: choose one that both "
                           "engines have",
                           engine, names[datatype]);
        }
        (void)snprintf(what, sizeof(what), "%s.%s", engine, names[datatype]);
        if ((status = check_curve(&engines[i]->curve, true, what, err))) {
            return status;
        }
    }
    status = check_curve(&sys->mem1.curve, true, "mem1", err);
    return status ? status : check_curve(&sys->mem2.curve, mem2_from_zero, "mem2", err);
}

rk_status rk_calculon_sys_check(const rk_calculon_sys *sys, rk_datatype datatype, rk_error *err)
{
    return check_rates(sys, datatype, true, err);
}

static rk_status check_tiers(const rk_calculon_sys *sys, const rk_calculon_exe *exe, rk_error *err)
{
    const int64_t tiers[3] = {exe->tensor_par_net, exe->pipeline_par_net, exe->data_par_net};
    static const char *const names[3] = {"tensor_par_net", "pipeline_par_net", "data_par_net"};
    for (int i = 0; i < 3; i++) {
        if (tiers[i] < 0 || tiers[i] >= sys->network_count) {
            return rk_fail(err, RK_ERR_INVALID,
                           "%s is %" PRId64 ", but the system has network tiers 0 to %d only",
                           names[i], tiers[i], sys->network_count - 1);
        }
    }
    return RK_OK;
}

/* ---- layer list -------------------------------------------------------------------------- */

static double intensity(double flops, double bytes)
{
    return flops == 0 ? 0 : bytes == 0 ? (double)INFINITY : flops / bytes;
}

static void list_layer(const rk_block *block, int i, const rk_calculon_exe *exe,
                       rk_calculon_layer_stats *out)
{
    assert(i >= 0 && i < block->layer_count);
    const rk_layer *layer = &block->layers[i];
    const rk_layer_times *t = &block->times[i];
    const rk_layer_optimizer o =
        rk_layer_optimizer_of(layer, block->shape.element, rk_optimizer_shards(exe));
    const double tiles = layer->kind == RK_LAYER_TILED ? (double)exe->tensor_par : 1;
    const double flops[RK_PHASE_COUNT] = {(double)layer->flops[RK_FW],
                                          (double)layer->flops[RK_AGRAD],
                                          (double)layer->flops[RK_WGRAD], o.flops};
    const double bytes[RK_PHASE_COUNT] = {(double)layer->bytes[RK_FW],
                                          (double)layer->bytes[RK_AGRAD],
                                          (double)layer->bytes[RK_WGRAD], o.state_bytes};

    out->name = layer->name;
    out->inputs_size = layer->inputs;
    out->outputs_size = layer->outputs;
    for (int s = RK_FW; s < RK_PHASE_COUNT; s++) {
        rk_calculon_phase_stats *phase[] = {&out->fw, &out->agrad, &out->wgrad, &out->optim};
        *phase[s] = (rk_calculon_phase_stats){flops[s], bytes[s], intensity(flops[s], bytes[s]),
                                              t->process[s]};
    }
    for (int s = RK_FW; s <= RK_WGRAD; s++) {
        rk_calculon_comm_stats *comm[] = {out->fw_tp, out->bw_tp, out->recomm};
        for (int z = RK_BASE; z <= RK_EDGE; z++) {
            const double size = (double)layer->comm_bytes[s][z];
            comm[s][z] =
                (rk_calculon_comm_stats){size / tiles, size, t->net[s][z], t->exposed[s][z]};
        }
    }
    out->weight = (double)layer->weights * (double)block->shape.element;
    out->activation = (double)layer->activation_bytes;
    out->weight_grad = o.weight_grad_bytes;
    out->activation_grad = (double)layer->gradient_bytes;
    out->optimizer = o.state_bytes;
}

/* ---- evaluation -------------------------------------------------------------------------- */

rk_status rk_calculon_evaluate(const rk_calculon_app *app, const rk_calculon_sys *sys,
                               const rk_calculon_exe *exe, rk_calculon_stats *stats,
                               rk_calculon_layer_stats *layers, int *layer_count,
                               rk_calculon_verdict *verdict, rk_error *err)
{
    rk_block block;
    rk_status status;
    *verdict = (rk_calculon_verdict){0};
    if (layer_count) {
        *layer_count = 0;
    }
    if ((status = rk_calculon_inputs_check(app, sys, err)) ||
        (status = rk_calculon_exe_check(exe, err)) || (status = check_tiers(sys, exe, err))) {
        return status;
    }
    /* The published order: network, name of the datatype, blocks of a processor, rates. */
    verdict->verdict = rk_network_verdict(sys, exe, &verdict->tier);
    if (verdict->verdict) {
        return RK_OK;
    }
    if ((status = check_datatype(exe->datatype, err))) {
        return status;
    }
    verdict->verdict = block_verdict(app, exe);
    if (verdict->verdict) {
        return RK_OK;
    }
    if ((status = check_rates(sys, exe->datatype, false, err)) ||
        (status = rk_block_evaluate(app, sys, exe, &block, stats, err))) {
        return status;
    }
    rk_block_evaluate_optimizer(sys, exe, &block, stats);
    if ((status = rk_batch_evaluate(app, sys, exe, stats, err))) {
        return status;
    }
    if (memory_verdict(sys, stats, verdict)) {
        return RK_OK;
    }
    if ((status = rk_batch_rates(app, sys, exe, stats, err))) {
        return status;
    }
    if (layers) {
        for (int i = 0; i < block.layer_count; i++) {
            list_layer(&block, i, exe, &layers[i]);
        }
        *layer_count = block.layer_count;
    }
    return RK_OK;
}

double rk_calculon_parameters(const rk_calculon_app *app)
{
    const double h = (double)app->hidden, f = (double)app->feedforward;
    const double heads = (double)app->attn_heads * (double)app->attn_size;
    const double block = 2 * h * f + 4 * h * heads + (h + f) + (3 * heads + h) + 4 * h;
    return (double)app->num_blocks * block + (51200 + (double)app->seq_size) * h;
}

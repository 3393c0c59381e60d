/* SPDX-License-Identifier: Apache-2.0 */
/* Step time and memory of a mapping in the published order of operations. */
#include "calculon/batch.h"

#include "base/error.h"
#include "base/extremes.h"
#include "calculon/calculon_layers.h"
#include "calculon/primitives.h"

#include <assert.h>
#include <math.h>

/* The integers of a batch, as doubles (all are below 2^53). */
struct counts {
    double L;       /* blocks per processor */
    double missing; /* blocks that the less loaded stages do not have */
    double c;       /* blocks per chunk */
    double v;       /* chunks per processor */
    double M;       /* microbatches */
    double M_mod_p;
    double p;
};

static struct counts count(const rk_calculon_app *app, const rk_calculon_exe *exe)
{
    const int64_t p = exe->pipeline_par, rest = app->num_blocks % p;
    const int64_t L = rk_blocks_per_proc(app, exe);
    const int64_t M = exe->batch_size / exe->data_par / exe->microbatch_size;
    return (struct counts){
        .L = (double)L,
        .missing = rest ? (double)(p - rest) : 0,
        .c = (double)(L / exe->pipeline_interleaving),
        .v = (double)exe->pipeline_interleaving,
        .M = (double)M,
        .M_mod_p = (double)(M % p),
        .p = (double)p,
    };
}

/* A time of base blocks and edge blocks over all chunks and microbatches. */
static double over_batch(const struct counts *n, double base, double edge)
{
    return (n->M * n->v) * ((n->c - 1) * base + edge);
}

/* Sizes and times of one block with its messages; [RK_BASE], [RK_EDGE]. */
struct block_times {
    double pp_fw, pp_bw;           /* s of one pipeline message */
    double size_fw, size_bw;       /* bytes offloaded per block */
    double fw_bare[2], bw_bare[2]; /* s without offloading */
    double fw_off[2], bw_off[2];   /* s of offloading not hidden */
    double fw[2], bw[2];           /* s with it */
    double chunk_fw, chunk_bw, chunk;
};

/* Bytes that a block sends to and fetches from tier 2 in each pass. */
static void size_offload(const rk_calculon_exe *exe, const rk_calculon_stats *s,
                         struct block_times *b)
{
    const double kept = exe->activation_recompute == RK_RECOMPUTE_FULL
                            ? s->block_act_checkpoint_size
                            : s->block_act_storage_space;
    const double weights = exe->weight_offload ? s->block_weight_space : 0;
    const double activations = exe->activations_offload ? kept : 0;
    const double optimizer = exe->optimizer_offload ? s->block_optimizer_space : 0;
    b->size_fw = weights > activations ? weights : activations;
    b->size_bw = exe->training ? weights + activations + optimizer : 0;
}

/* Offloaded bytes, even if 0, are looked up in the curve of mem2. */
static rk_status check_offload(const rk_calculon_sys *sys, const rk_calculon_exe *exe,
                               const rk_calculon_stats *s, rk_error *err)
{
    struct block_times b;
    size_offload(exe, s, &b);
    const double least = exe->training && b.size_bw < b.size_fw ? b.size_bw : b.size_fw;
    if (rk_curve_covers(&sys->mem2.curve, least)) {
        return RK_OK;
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "the efficiency curve of mem2 does not reach down to the %.0f bytes that a "
                   "block offloads: add an entry [0, efficiency] at its end",
                   least);
}

static double excess(double offload_and_memory, double block)
{
    const double x = offload_and_memory - block;
    return x > 0 ? x : 0;
}

static struct block_times time_blocks(const rk_calculon_sys *sys, const rk_calculon_exe *exe,
                                      const struct counts *n, const rk_calculon_stats *s)
{
    const rk_calculon_network *net = &sys->networks[exe->pipeline_par_net];
    struct block_times b;
    size_offload(exe, s, &b);
    b.pp_fw = rk_network_seconds(net, RK_P2P, s->block_fw_pp_size, 2);
    b.pp_bw = rk_network_seconds(net, RK_P2P, s->block_bw_pp_size, 2);
    const double off_fw = rk_curve_seconds(&sys->mem2.curve, b.size_fw);
    const double off_bw = rk_curve_seconds(&sys->mem2.curve, b.size_bw);

    b.fw_bare[RK_BASE] = s->block_fw_time + s->baseblock_fw_tp_time_exposed;
    b.fw_bare[RK_EDGE] = s->block_fw_time + s->edgeblock_fw_tp_time_exposed + b.pp_fw;
    b.bw_bare[RK_BASE] = s->block_re_time + s->baseblock_recomm_time_exposed + s->block_agrad_time +
                         s->block_wgrad_time + s->baseblock_agrad_tp_time_exposed;
    b.bw_bare[RK_EDGE] = s->block_re_time + s->edgeblock_recomm_time_exposed + s->block_agrad_time +
                         s->block_wgrad_time + s->edgeblock_agrad_tp_time_exposed + b.pp_bw;
    for (int z = RK_BASE; z <= RK_EDGE; z++) {
        b.fw_off[z] = excess(off_fw + s->block_fw_mem_time, b.fw_bare[z]);
        b.bw_off[z] =
            excess(off_bw + s->block_agrad_mem_time + s->block_wgrad_mem_time, b.bw_bare[z]);
        b.fw[z] = b.fw_bare[z] + b.fw_off[z];
        b.bw[z] = b.bw_bare[z] + b.bw_off[z];
    }
    b.chunk_fw = (n->c - 1) * b.fw[RK_BASE] + b.fw[RK_EDGE];
    b.chunk_bw = (n->c - 1) * b.bw[RK_BASE] + b.bw[RK_EDGE];
    b.chunk = b.chunk_fw + b.chunk_bw;
    return b;
}

/* Idle time: filling and draining the pipeline, incomplete groups, less the missing blocks. */
static double bubble_time(const struct counts *n, const struct block_times *b)
{
    const double reduction =
        n->c > 1
            ? n->missing * (b->fw[RK_BASE] + b->fw[RK_EDGE] + b->bw[RK_BASE] + b->bw[RK_EDGE]) / 2
            : n->missing * (b->fw[RK_EDGE] + b->bw[RK_EDGE]);
    const double extra = n->M_mod_p != 0 ? (n->v - 1) * (n->p - n->M_mod_p) : 0;
    return (n->p - 1) * b->chunk + (extra * b->chunk - reduction);
}

/* ---- data parallelism -------------------------------------------------------------------- */

/* Reducing the gradients of one block. */
static double reduce_seconds(const rk_calculon_network *net, const rk_calculon_exe *exe,
                             double bytes)
{
    assert(bytes >= 0 && exe->data_par >= 1);
    const double ranks = (double)exe->data_par;
    if (exe->data_par == 1 || !exe->training) {
        return 0;
    }
    if (exe->optimizer_sharding) {
        return rk_network_seconds(net, RK_REDUCE_SCATTER, bytes, ranks) +
               rk_network_seconds(net, RK_ALL_GATHER, bytes, ranks);
    }
    return rk_network_seconds(net, RK_ALL_REDUCE, bytes, ranks);
}

/* Time and compute of the backward pass under which gradients can be reduced. */
struct dp_window {
    double chunk, chunk_compute; /* of one chunk */
    double compute;              /* of one block */
    double tail;                 /* of the last chunk */
};

static struct dp_window dp_window(const rk_calculon_exe *exe, const struct counts *n,
                                  const struct block_times *b, const rk_calculon_stats *s)
{
    const double memory = s->block_agrad_mem_time + s->block_wgrad_mem_time + s->block_re_mem_time;
    const double step = exe->optimizer_sharding ? 0 : s->block_optim_time - s->block_optim_mem_time;
    const bool conflict = exe->data_par_net == exe->tensor_par_net;
    const double busy[2] = {
        conflict ? s->baseblock_recomm_time + s->baseblock_agrad_tp_time : 0,
        conflict ? s->edgeblock_recomm_time + s->edgeblock_agrad_tp_time : 0,
    };
    double win[2];
    for (int z = RK_BASE; z <= RK_EDGE; z++) {
        win[z] = b->bw[z] - memory + step - busy[z];
    }
    struct dp_window w;
    w.compute = s->block_agrad_flops_time + s->block_wgrad_flops_time + s->block_re_flops_time +
                (exe->optimizer_sharding ? 0 : s->block_optim_flops_time);
    w.chunk = (n->c - 1) * win[RK_BASE] + win[RK_EDGE];
    w.chunk_compute = n->c * w.compute;
    w.tail = n->c > 1 ? w.chunk - b->pp_bw - (b->bw[RK_BASE] + b->bw[RK_EDGE]) / 2 + step : 0;
    return w;
}

/*
 * Reduction of gradients hidden under the backward pass: all chunks but the last against the
 * window of p microbatches, the last against its own tail; what is hidden still slows compute.
 */
static void overlap_data_parallel(const rk_calculon_sys *sys, const rk_calculon_exe *exe,
                                  const struct counts *n, const struct block_times *b,
                                  double reduce, rk_calculon_stats *s)
{
    const rk_calculon_network *net = &sys->networks[exe->data_par_net];
    const double usage = net->processor_usage;
    const bool shared = exe->data_par_net == exe->pipeline_par_net;
    const struct dp_window w = dp_window(exe, n, b, s);

    const double window = n->p * w.chunk, compute = n->p * w.chunk_compute;
    const double chunk_reduce = n->c * reduce;
    double collisions = 0;
    if (shared) {
        const double during = floor(chunk_reduce / b->chunk_bw);
        const double last = n->M_mod_p != 0 ? n->M_mod_p : n->p;
        collisions = during < last ? during : last;
    }
    const double chunk_excess = chunk_reduce - (window - collisions * b->pp_bw) + compute * usage;
    const double chunks =
        chunk_excess > 0 ? (n->v - 1) * chunk_excess : ((n->v - 1) * chunk_reduce) * usage;
    const double tail_excess = (n->c - 1) * reduce + (w.compute * usage - w.tail);
    const double tail = tail_excess > 0 ? tail_excess : ((n->c - 1) * reduce) * usage;
    s->dp_comm_exposed_time = reduce + (chunks + tail);

    const double scalar = exe->optimizer_sharding
                              ? net->scalar[RK_REDUCE_SCATTER] + net->scalar[RK_ALL_GATHER]
                              : net->scalar[RK_ALL_REDUCE];
    const double bytes = n->c * s->block_dp_size;
    const double chunk_room = (window + compute * usage - (shared ? b->pp_bw : 0)) * (n->v - 1);
    const double tail_room = w.tail + ((n->c - 1) * reduce) * usage;
    s->dp_bw_overlap_req_chunk = chunk_room > 0 ? bytes / chunk_room * scalar : 0;
    s->dp_bw_overlap_req_tail = tail_room > 0 ? bytes / tail_room * scalar : 0;
}

static void evaluate_data_parallel(const rk_calculon_sys *sys, const rk_calculon_exe *exe,
                                   const struct counts *n, const struct block_times *b,
                                   rk_calculon_stats *s)
{
    const bool reduces = exe->data_par > 1 && exe->training;
    s->block_dp_size = reduces ? s->block_weight_space : 0;
    const double reduce = reduce_seconds(&sys->networks[exe->data_par_net], exe, s->block_dp_size);
    s->dp_comm_link_time = n->L * reduce;
    if (exe->data_par_overlap && reduces) {
        overlap_data_parallel(sys, exe, n, b, reduce, s);
    } else {
        s->dp_comm_exposed_time = s->dp_comm_link_time;
    }
}

/* ---- memory ------------------------------------------------------------------------------ */

/* Bytes of each category in the processor's memory, when all is resident and when offloaded. */
static void evaluate_spaces(const rk_calculon_exe *exe, const struct counts *n,
                            rk_calculon_stats *s)
{
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    const double in_flight = n->M < n->p ? n->M : n->p;
    const double depth = n->v == 1 ? in_flight : in_flight * (1 + (n->p - 1) / (n->v * n->p));

    s->weight_space = n->L * s->block_weight_space;
    s->weight_space_with_offload = 2 * s->block_weight_space;
    s->act_space_with_offload =
        s->block_act_working_space + (full ? 0 : s->block_act_storage_space);
    s->act_grad_space = s->block_act_grad_space;
    s->act_grad_space_with_offload = s->block_act_grad_space;
    s->act_space = s->block_act_working_space;
    s->act_checkpoint_size_with_offload = (double)NAN;
    if (!exe->training) {
        return;
    }
    if (!full) {
        s->act_space += s->block_act_storage_space * (n->L * depth - 1);
    }
    s->act_checkpoint_size = full ? n->L * s->block_act_checkpoint_size * depth : 0;
    s->act_checkpoint_size_with_offload = 2 * s->block_act_checkpoint_size;
    s->weight_grad_space =
        s->block_weight_grad_space_no_sharding + s->block_weight_grad_space * (n->L - 1);
    s->weight_grad_space_with_offload =
        s->block_weight_grad_space_no_sharding + s->block_weight_grad_space;
    s->optimizer_space = n->L * s->block_optimizer_space;
    s->optimizer_space_with_offload = 2 * s->block_optimizer_space;
}

static void evaluate_capacities(const rk_calculon_exe *exe, const struct counts *n,
                                rk_calculon_stats *s)
{
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    double tier1 = 0, tier2 = 0;
    if (exe->weight_offload) {
        tier1 += s->weight_space_with_offload;
        tier2 += s->weight_space;
    } else {
        tier1 += s->weight_space;
    }
    if (exe->activations_offload && full) {
        tier1 += s->act_space_with_offload + s->act_checkpoint_size_with_offload;
        tier2 += s->act_checkpoint_size;
    } else if (exe->activations_offload) {
        tier1 += s->act_space_with_offload;
        tier2 += s->act_space;
    } else {
        tier1 += s->act_space + s->act_checkpoint_size;
    }
    if (exe->optimizer_offload) {
        tier1 += s->weight_grad_space_with_offload + s->optimizer_space_with_offload;
        tier2 += s->block_weight_grad_space * n->L + s->optimizer_space;
    } else {
        tier1 += s->weight_grad_space + s->optimizer_space;
    }
    s->proc_mem_tier1_cap_req = tier1 + s->act_grad_space;
    s->proc_mem_tier2_cap_req = tier2;
}

/* ---- the batch --------------------------------------------------------------------------- */

rk_status rk_batch_evaluate(const rk_calculon_app *app, const rk_calculon_sys *sys,
                            const rk_calculon_exe *exe, rk_calculon_stats *s, rk_error *err)
{
    const rk_status status = check_offload(sys, exe, s, err);
    if (status) {
        return status;
    }
    const struct counts n = count(app, exe);
    const struct block_times b = time_blocks(sys, exe, &n, s);
    const double blocks = n.L * n.M;

    s->fw_time = blocks * s->block_fw_time;
    s->bw_time = blocks * s->block_agrad_time + blocks * s->block_wgrad_time;
    s->recompute_time = blocks * s->block_re_time;
    s->optim_step_time = n.L * s->block_optim_time;
    s->tp_comm_link_time = over_batch(&n, s->baseblock_fw_tp_time, s->edgeblock_fw_tp_time) +
                           over_batch(&n, s->baseblock_agrad_tp_time, s->edgeblock_agrad_tp_time);
    s->tp_comm_exposed_time =
        over_batch(&n, s->baseblock_fw_tp_time_exposed, s->edgeblock_fw_tp_time_exposed) +
        over_batch(&n, s->baseblock_agrad_tp_time_exposed, s->edgeblock_agrad_tp_time_exposed);
    s->recomm_link_time = over_batch(&n, s->baseblock_recomm_time, s->edgeblock_recomm_time);
    s->recomm_exposed_time =
        over_batch(&n, s->baseblock_recomm_time_exposed, s->edgeblock_recomm_time_exposed);

    const double messages_fw = n.p > 1 ? n.v : 0, messages_bw = exe->training ? messages_fw : 0;
    s->pp_comm_link_time = n.M * messages_fw * b.pp_fw + n.M * messages_bw * b.pp_bw;
    s->pp_comm_exposed_time = s->pp_comm_link_time;
    s->fw_offload_exposed_time = over_batch(&n, b.fw_off[RK_BASE], b.fw_off[RK_EDGE]);
    s->bw_offload_exposed_time =
        exe->training ? over_batch(&n, b.bw_off[RK_BASE], b.bw_off[RK_EDGE]) : 0;
    s->bubble_time = bubble_time(&n, &b);
    evaluate_data_parallel(sys, exe, &n, &b, s);

    s->total_time = s->fw_time + s->bw_time + s->optim_step_time + s->fw_offload_exposed_time +
                    s->bw_offload_exposed_time + s->recompute_time + s->recomm_exposed_time +
                    s->bubble_time + s->tp_comm_exposed_time + s->pp_comm_exposed_time +
                    s->dp_comm_exposed_time;
    evaluate_spaces(exe, &n, s);
    evaluate_capacities(exe, &n, s);
    return RK_OK;
}

rk_status rk_batch_rates(const rk_calculon_app *app, const rk_calculon_sys *sys,
                         const rk_calculon_exe *exe, rk_calculon_stats *s, rk_error *err)
{
    const struct counts n = count(app, exe);
    const struct block_times b = time_blocks(sys, exe, &n, s);
    const double memory_bw = s->block_agrad_mem_time + s->block_wgrad_mem_time;
    const double free_fw = rk_min(b.fw_bare[RK_BASE] - s->block_fw_mem_time,
                                  b.fw_bare[RK_EDGE] - s->block_fw_mem_time);
    const double free_bw = rk_min(b.bw_bare[RK_BASE] - memory_bw, b.bw_bare[RK_EDGE] - memory_bw);
    if (free_fw == 0 || (exe->training && free_bw == 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "every layer is bound by memory alone, so no time is left to offload in "
                       "and the offload bandwidth required is infinite: use processing_mode "
                       "no_overlap or a faster mem1");
    }
    const double kept = exe->activation_recompute == RK_RECOMPUTE_FULL
                            ? s->block_act_checkpoint_size
                            : s->block_act_storage_space;
    s->act_offload_bw_req = kept / free_fw;
    s->weight_offload_bw_req = s->block_weight_space / free_fw;
    s->offload_mem_bw_req = b.size_fw / free_fw;
    if (exe->training) {
        s->optim_offload_bw_req = (s->block_weight_grad_space + s->block_optimizer_space) / free_bw;
        s->offload_mem_bw_req = rk_max(s->offload_mem_bw_req, b.size_bw / free_bw);
    }

    s->useful_flops = s->block_fw_flops + s->block_agrad_flops + s->block_wgrad_flops +
                      (long double)s->block_optim_flops;
    const double ideal =
        (double)((long double)(n.L * n.M) * s->useful_flops) / sys->matrix[exe->datatype].peak;
    const double busy = s->fw_time + s->bw_time + s->optim_step_time;
    s->compute_efficiency = ideal / busy;
    s->system_efficiency = busy / s->total_time;
    s->total_efficiency = ideal / s->total_time;
    s->sample_rate = (double)exe->batch_size / s->total_time;
    return RK_OK;
}

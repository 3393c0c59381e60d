/* SPDX-License-Identifier: Apache-2.0 */
/* States off the device: bytes in host memory and on NVMe disks, and the seconds of their update.
 */
#include "estimate/offload.h"

#include "base/extremes.h"
#include "layer/precision.h"
#include "strategy/optimizer.h"

double rk_away_share(const rk_strategy *s)
{
    return !s->offload_optimizer ? 0 : s->offload_share > 0 ? rk_min(s->offload_share, 1) : 1;
}

bool rk_steps_on_host(const rk_stack *stack, const rk_strategy *s)
{
    return s->offload_optimizer && stack->host_bandwidth > 0 && !rk_optimizer_of(s)->on_device;
}

double rk_host_gradient_bytes(const rk_stack *stack, const rk_strategy *s)
{
    return stack->step_bytes > 0 ? rk_strategy_learning(s) * RK_FP32_BYTES : s->states.gradient;
}

/* ---- places ---------------------------------------------------------------------------------- */

/*
 * Pinned buffers of ZeRO-Infinity, by the defaults of DeepSpeed (edaa7221): four of the largest
 * sub-group in fp32 for the optimizer (swap_tensor/optimizer_utils.py); for weights five of 1e8
 * parameters (swap_tensor/partitioned_param_swapper.py), and max_in_cpu, 1e9 parameters, that stay
 * in host memory (zero/offload_config.py).
 */
static const double optimizer_buffers = 4, weight_buffers = 5, weight_buffer = 1e8,
                    kept_params = 1e9;

void rk_place_away(const rk_stack *stack, const rk_strategy *s, const rk_offloaded_states *away,
                   rk_stage_need *need)
{
    const double wanted = s->step_params > 0 ? s->step_params : stack->step_params;
    const double group = wanted > 0 ? rk_min(wanted, away->stepped) : away->stepped;
    const double states = away->optimizer + away->gradients;
    const double held = (weight_buffers * weight_buffer + kept_params) * s->states.gather;
    const double pinned =
        s->nvme_optimizer ? rk_min(states, optimizer_buffers * RK_FP32_BYTES * group) : states;
    need->host = (1 + stack->host_share) *
                 (pinned + (s->nvme_weights ? rk_min(away->weights, held) : away->weights));
    need->nvme = (s->nvme_optimizer ? states : 0) + (s->nvme_weights ? away->weights : 0);
}

/* ---- seconds --------------------------------------------------------------------------------- */

/*
 * Bytes that CPUs read and write to step the parameters of a rank, by cores of its own: states both
 * ways, gradients, and weights, which are only written where the states have a copy of them in
 * fp32.  30 for a parameter of DeepSpeed's AdamW, 14 in bf16 throughout.
 */
static double stepped_bytes(const rk_stack *stack, const rk_strategy *s, const rk_stage *heaviest)
{
    const double learning = rk_strategy_learning(s);
    const bool copied = s->states.optimizer > 2 * RK_FP32_BYTES * learning;
    const double weights = (copied ? 1 : 2) * learning * s->states.weight;
    return 2 * rk_stage_optimizer_bytes(s, heaviest) +
           (rk_host_gradient_bytes(stack, s) + weights) * rk_stage_optimized_params(s, heaviest);
}

/*
 * Disks hold states and gradients: the step reads both and writes the states, one sub-group after
 * the other (pipeline_read and pipeline_write of DeepSpeed are off by default). Gradients are
 * written during backward.  Weights are written once.
 */
static double disk_seconds(const rk_cost_table *table, const rk_strategy *s,
                           const rk_stage *heaviest)
{
    const rk_accelerator *a = &table->context.system->accelerator;
    const double share = rk_away_share(s);
    const double states = rk_stage_optimizer_bytes(s, heaviest);
    const double gradients = s->offload_gradients
                                 ? rk_host_gradient_bytes(table->context.stack, s) *
                                       rk_stage_optimized_params(s, heaviest)
                                 : 0;
    return (s->nvme_optimizer ? rk_nvme_seconds(a, share * (2 * states + gradients)) : 0) +
           (s->nvme_weights ? rk_nvme_seconds(a, rk_stage_stored_weights(s, heaviest)) : 0);
}

double rk_away_step_seconds(const rk_cost_table *table, const rk_strategy *s,
                            const rk_stage *heaviest, double backward)
{
    const rk_accelerator *a = &table->context.system->accelerator;
    const rk_stack *stack = table->context.stack;
    double seconds = 0;
    if (rk_steps_on_host(stack, s)) {
        seconds = stepped_bytes(stack, s, heaviest) / stack->host_bandwidth;
    } else if (s->offload_optimizer) {
        const double copies = 2 * rk_host_copy_seconds(a, rk_stage_optimizer_bytes(s, heaviest));
        seconds = rk_max(copies - (s->step_in_backward ? backward : 0), 0);
    }
    seconds *= rk_away_share(s);
    return seconds + (s->nvme_optimizer || s->nvme_weights ? disk_seconds(table, s, heaviest) : 0);
}

double rk_weights_in_seconds(const rk_accelerator *a, const rk_strategy *s, const rk_stage *stage)
{
    const double bytes = rk_stage_stored_weights(s, stage);
    const double link = rk_host_copy_seconds(a, bytes);
    return s->nvme_weights ? rk_max(link, rk_nvme_seconds(a, bytes)) : link;
}
